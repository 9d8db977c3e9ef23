#include "archive/standing.h"

#include "archive/database.h"
#include "archive/lock.h"
#include "archive/pending.h"
#include "archive/schema.h"
#include "core/io.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_in_new(const char *name)
{
    size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, ".new") == 0;
}

char *sb_standing_path(const char *archive, struct sb_error *err)
{
    const char *slash = strrchr(archive, '/');
    const char *base = slash ? slash + 1 : archive;

    if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0) {
        sb_fail(err, SB_INVALID, "%s: a directory's name; an archive needs a file name", archive);
        return NULL;
    }
    if (ends_in_new(base)) {
        sb_fail(err, SB_INVALID,
                "%s: names in .new are for archives that are being made; choose another", archive);
        return NULL;
    }
    return sb_resolve_directory_of(archive, err);
}

enum sb_code sb_standing_index(char **file, const char *path, struct sb_error *err)
{
    struct stat st;

    *file = NULL;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return sb_fail(err, SB_INVALID,
                       "%s: a symbolic link; give the name of the archive itself to write to it",
                       path);
    *file = sb_index_file(path, err);
    return *file || err->code == SB_NOENT ? SB_OK : err->code;
}

enum sb_code sb_standing_refuse_links(const char *file, struct sb_error *err)
{
    struct stat st;

    if (lstat(file, &st) || !S_ISREG(st.st_mode) || st.st_nlink < 2)
        return SB_OK;
    return sb_fail(err, SB_INVALID,
                   "%s: has %ju hard links, and would change under all these names; copy it, and "
                   "rename the copy to this name",
                   file, (uintmax_t)st.st_nlink);
}

static enum sb_code refuse_schema(enum sb_schema schema, int major, int minor, const char *path,
                                  const char *file, struct sb_error *err)
{
    if (schema == SB_SCHEMA_03)
        return SB_OK;
    if (schema == SB_SCHEMA_NEWER)
        return sb_fail(err, SB_FORMAT,
                       "%s: schema %d.%d is newer than this program, which can only read it", file,
                       major, minor);
    return sb_fail(err, SB_FORMAT, "%s: an older schema; run 'shardbox upgrade %s' first", file,
                   path);
}

enum sb_code sb_standing_vet(struct sqlite3 *db, const char *path, const char *file,
                             struct sb_error *err)
{
    enum sb_schema schema;
    int major, minor;
    enum sb_code code = sb_schema_vet(db, &schema, &major, &minor, true, err);

    return code ? code : refuse_schema(schema, major, minor, path, file, err);
}

enum sb_code sb_standing_open(struct sqlite3 **db, const char *path, const char *file,
                              bool to_change, struct sb_error *err)
{
    enum sb_schema schema = SB_SCHEMA_03;
    int major, minor;
    enum sb_code code = sb_database_open(db, file, SB_DB_WRITE, err);

    if (code == SB_OK)
        code = to_change ? sb_standing_vet(*db, path, file, err)
                         : sb_schema_vet(*db, &schema, &major, &minor, false, err);
    if (code)
        return code;
    /* EXTRA syncs the directory after a commit too: bytes of a shard may be overwritten after it.
     */
    code = sb_database_run(*db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA", err);
    if (code == SB_OK && schema != SB_SCHEMA_OLD)
        code = sb_pending_finish(*db, path, file, err);
    if (code == SB_OK)
        code = sb_lock_index(*db, file, err);
    return code;
}
