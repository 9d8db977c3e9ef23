#include "archive/pending.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/lock.h"
#include "archive/progress.h"
#include "archive/renumber.h"
#include "archive/shardcount.h"
#include "archive/shards.h"
#include "archive/standing.h"
#include "core/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARD_DIGITS 5

/* Number of a shard named PREFIX-shard-NNNNN; false for any other name. */
static bool shard_number(const char *name, const char *prefix, uint32_t *number)
{
    size_t size = strlen(prefix);
    const char *digits;

    if (strncmp(name, prefix, size) != 0 || strncmp(name + size, "-shard-", 7) != 0)
        return false;
    digits = name + size + 7;
    if (strlen(digits) != SHARD_DIGITS || strspn(digits, "0123456789") != SHARD_DIGITS)
        return false;
    *number = (uint32_t)strtoul(digits, NULL, 10);
    return true;
}

/* Calls each for every file named ARCHIVE<suffix>-shard-NNNNN, with its directory open. */
static enum sb_code for_each_shard(const char *archive, const char *suffix,
                                   enum sb_code (*each)(void *context, int dir_fd, const char *name,
                                                        uint32_t number, struct sb_error *err),
                                   void *context, struct sb_error *err)
{
    char *dir_copy = strdup(archive), *base_copy = strdup(archive), *prefix = NULL;
    const struct dirent *entry;
    enum sb_code code = SB_OK;
    DIR *dir = NULL;
    uint32_t number;

    if (!dir_copy || !base_copy || asprintf(&prefix, "%s%s", basename(base_copy), suffix) < 0) {
        prefix = NULL;
        code = sb_fail_memory(err);
        goto out;
    }
    dir = opendir(dirname(dir_copy));
    if (!dir) {
        code = sb_fail_errno(err, errno, "%s", dir_copy);
        goto out;
    }
    while (code == SB_OK && (errno = 0, entry = readdir(dir))) {
        if (shard_number(entry->d_name, prefix, &number))
            code = each(context, dirfd(dir), entry->d_name, number, err);
    }
    if (code == SB_OK && errno)
        code = sb_fail_errno(err, errno, "%s", dir_copy);
out:
    if (dir)
        closedir(dir);
    free(prefix);
    free(base_copy);
    free(dir_copy);
    return code;
}

struct renaming {
    const char *base;
    int64_t done;
};

static enum sb_code rename_one(void *context, int dir_fd, const char *name, uint32_t number,
                               struct sb_error *err)
{
    struct renaming *renaming = context;
    char *to = sb_shard_name(renaming->base, number, err);
    enum sb_code code = SB_OK;
    struct stat st;

    if (!to)
        return err->code;
    /* Where both are names of one file already, rename leaves both. */
    if (renameat(dir_fd, name, dir_fd, to) ||
        (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(dir_fd, name, 0) &&
         errno != ENOENT))
        code = sb_fail_errno(err, errno, "cannot rename %s to %s", name, to);
    free(to);
    renaming->done++;
    return code;
}

/* Renames ARCHIVE<suffix>-shard-* to ARCHIVE-shard-*, and syncs the directory. */
static enum sb_code rename_shards(const char *archive, const char *suffix, struct sb_error *err)
{
    char *copy = strdup(archive);
    struct renaming renaming = {.done = 1};
    enum sb_code code = SB_OK;

    if (!copy)
        return sb_fail_memory(err);
    renaming.base = basename(copy);
    /* A directory that changes while it is read may leave names out: once more, until none is left.
     */
    while (code == SB_OK && renaming.done > 0) {
        renaming.done = 0;
        code = for_each_shard(archive, suffix, rename_one, &renaming, err);
    }
    free(copy);
    if (code == SB_OK)
        code = sb_sync_directory_of(archive, err);
    return code;
}

enum sb_code sb_pending_rename_shards(const char *archive, struct sb_error *err)
{
    return rename_shards(archive, ".new", err);
}

static enum sb_code remove_one(void *context, int dir_fd, const char *name, uint32_t number,
                               struct sb_error *err)
{
    const uint32_t *from = context;

    if (number >= *from && unlinkat(dir_fd, name, 0) && errno != ENOENT)
        return sb_fail_errno(err, errno, "cannot remove %s", name);
    return SB_OK;
}

enum sb_code sb_pending_remove_shards(const char *archive, struct sb_error *err)
{
    uint32_t from = 0;

    return for_each_shard(archive, ".new", remove_one, &from, err);
}

enum sb_code sb_pending_clear(const char *archive, struct sb_error *err)
{
    struct sb_new_lock lock = {.fd = -1};
    enum sb_code code = SB_OK;
    char *path;

    if (asprintf(&path, "%s.new", archive) < 0)
        return sb_fail_memory(err);
    if (access(path, F_OK) == 0) {
        code = sb_new_lock_take(&lock, path, err);
        if (code == SB_OK)
            unlink(path);
        sb_new_lock_drop(&lock);
    }
    free(path);
    return code ? code : sb_pending_remove_shards(archive, err);
}

enum sb_code sb_pending_remove_from(const char *archive, uint32_t from, struct sb_error *err)
{
    return for_each_shard(archive, "", remove_one, &from, err);
}

struct refusal {
    const char *archive;
    uint32_t from;
};

static enum sb_code refuse_one(void *context, int dir_fd, const char *name, uint32_t number,
                               struct sb_error *err)
{
    const struct refusal *refusal = context;
    struct stat st;

    if (number < refusal->from)
        return SB_OK;
    if (refusal->from > 0 && fstatat(dir_fd, name, &st, 0) == 0 && st.st_size == 0)
        return SB_OK;
    if (refusal->from > 0)
        return sb_fail(err, SB_EXISTS,
                       "%s: no index says what is in %s, and it may be data; move it away, or, if "
                       "it was this archive's, run 'shardbox defrag --force %s'",
                       refusal->archive, name, refusal->archive);
    return sb_fail(err, SB_EXISTS,
                   "%s: no index says what is in %s, and it may be data; move it away, or choose "
                   "another name for the archive",
                   refusal->archive, name);
}

enum sb_code sb_pending_refuse_shards(const char *archive, uint32_t from, struct sb_error *err)
{
    struct refusal refusal = {.archive = archive, .from = from};

    return for_each_shard(archive, "", refuse_one, &refusal, err);
}

enum sb_code sb_pending_refuse_journal(const char *file, struct sb_error *err)
{
    static const char *const suffixes[] = {"-journal", "-wal"};
    enum sb_code code = SB_OK;
    char *name;

    for (size_t i = 0; code == SB_OK && i < 2; i++) {
        if (asprintf(&name, "%s%s", file, suffixes[i]) < 0)
            return sb_fail_memory(err);
        if (sb_journal_says_something(name))
            code = sb_fail(err, SB_LOCKED,
                           "%s: a journal stands where the new index is to be; end its writer, or "
                           "remove the journal if there is none",
                           name);
        free(name);
    }
    return code;
}

const char *sb_pending_suffix(const char *prefix, const char *base, size_t base_size)
{
    static const char *const suffixes[] = {".new", ".part", ""};

    if (!prefix || strncmp(prefix, base, base_size) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        if (strcmp(prefix + base_size, suffixes[i]) == 0)
            return suffixes[i];
    }
    return NULL;
}

enum sb_code sb_pending_record(struct sqlite3 *db, const char *prefix, uint32_t count,
                               struct sb_error *err)
{
    int64_t wide = count;

    return sb_config_put(db, SB_CONFIG_SHARD_PREFIX, strrchr(prefix, '/') + 1, &wide, err);
}

/* What the row states. */
struct pending {
    int64_t count; /* of shards; -1: nothing is to be renamed */
    const char *suffix;
};

/*
 * A row that is not as we write it, or that disowns shards which files name, would make us remove
 * data: it is damage.
 */
static enum sb_code vet_pending(struct sqlite3 *db, const char *archive, struct pending *pending,
                                struct sb_error *err)
{
    const char *base = strrchr(archive, '/') ? strrchr(archive, '/') + 1 : archive;
    struct sb_config_row row;
    uint32_t in_use = 0;
    enum sb_code code = sb_config_get(db, SB_CONFIG_SHARD_PREFIX, &row, err);

    *pending = (struct pending){.count = -1};
    if (code == SB_OK && row.there)
        code = sb_shard_count_in_use(db, archive, &in_use, err);
    if (code == SB_OK && row.there) {
        pending->suffix = sb_pending_suffix(row.text, base, strlen(base));
        if (!pending->suffix || row.number < 1 || row.number > SB_SHARD_MAX + 1 ||
            row.number < in_use)
            code = sb_fail(err, SB_DAMAGED, "%s: the config row %s makes no sense", archive,
                           SB_CONFIG_SHARD_PREFIX);
        else if (*pending->suffix)
            pending->count = row.number;
    }
    sb_config_release(&row);
    return code;
}

/* In one transaction, for another writer may change the row, and which shards files name, at once.
 */
static enum sb_code read_pending(struct sqlite3 *db, const char *archive, struct pending *pending,
                                 struct sb_error *err)
{
    enum sb_code code = sb_database_run(db, "SAVEPOINT pending", err);

    if (code)
        return code;
    code = vet_pending(db, archive, pending, err);
    sqlite3_exec(db, "RELEASE pending", NULL, NULL, NULL);
    return code;
}

/* A part that became this archive is there no more: shards of one that is are its own. */
static enum sb_code refuse_part(const char *archive, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    char *part;

    if (asprintf(&part, "%s.part", archive) < 0)
        return sb_fail_memory(err);
    if (access(part, F_OK) == 0)
        code = sb_fail(err, SB_EXISTS,
                       "%s: shards of this archive have names that are those of %s; move that away",
                       archive, part);
    free(part);
    return code;
}

/* Under the lock, inside the transaction, which it ends. */
static enum sb_code finish_locked(struct sqlite3 *db, const char *archive, struct sb_error *err)
{
    struct pending pending;
    enum sb_code code = read_pending(db, archive, &pending, err);

    if (code == SB_OK && pending.count >= 0 && strcmp(pending.suffix, ".part") == 0)
        code = refuse_part(archive, err);
    if (code == SB_OK && pending.count >= 0) {
        code = rename_shards(archive, pending.suffix, err);
        if (code == SB_OK)
            code = sb_pending_remove_from(archive, (uint32_t)pending.count, err);
        /* What was a part is one no more. */
        if (code == SB_OK && strcmp(pending.suffix, ".part") == 0)
            code = sb_progress_save(db, NULL, err);
        if (code == SB_OK)
            code = sb_config_drop(db, SB_CONFIG_SHARD_PREFIX, err);
    }
    if (code == SB_OK)
        code = sb_database_run(db, "PRAGMA application_id = 0; COMMIT", err);
    return code;
}

static enum sb_code finish_renames(struct sqlite3 *db, const char *archive, const char *file,
                                   struct sb_error *err)
{
    struct pending pending;
    bool marked;
    enum sb_code code;

    code = read_pending(db, archive, &pending, err);
    if (code == SB_OK)
        code = sb_new_index_is_marked(db, &marked, err);
    if (code || (pending.count < 0 && !marked))
        return code;
    /* Under its other names, as after cp -al, shards have the names that the row says. */
    code = sb_standing_refuse_links(file, err);
    if (code == SB_OK)
        code = sb_lock_index(db, file, err);
    if (code)
        return code;
    /* Read once more, now that nobody else can be finishing it. */
    code = finish_locked(db, archive, err);
    if (code)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

enum sb_code sb_pending_finish(struct sqlite3 *db, const char *archive, const char *file,
                               struct sb_error *err)
{
    enum sb_code code = finish_renames(db, archive, file, err);

    return code ? code : sb_renumbering_part_names(db, archive, file, err);
}

enum sb_code sb_pending_finish_own(struct sqlite3 *db, const char *archive, const char *file,
                                   struct sb_error *err)
{
    enum sb_code code = sb_pending_finish(db, archive, file, err);

    return code == SB_LOCKED || code == SB_CHANGED ? SB_OK : code;
}

enum sb_code sb_pending_is_complete(struct sqlite3 *db, const char *archive, bool *complete,
                                    struct sb_error *err)
{
    struct pending pending;
    enum sb_code code;

    *complete = false;
    code = read_pending(db, archive, &pending, err);
    if (code == SB_OK)
        *complete = pending.count >= 0;
    return code;
}

enum sb_code sb_pending_tidy_up(const char *archive, struct sb_error *err)
{
    sqlite3 *db;
    enum sb_code code;

    code = sb_database_open(&db, archive, SB_DB_WRITE, err);
    if (code)
        return code;
    code = sb_database_run(db, "PRAGMA synchronous=EXTRA", err);
    if (code == SB_OK)
        code = sb_pending_finish_own(db, archive, archive, err);
    sb_database_close(db);
    return code;
}
