#include "archive/writer/private.h"

#include "archive/database.h"

#include <sys/stat.h>

#define AHEAD_MOST 512

#define FILE_COLUMNS "SELECT mode, uid, gid, mtime_ns, rowid, shard, offset, size, crc32c, path"
#define DIR_COLUMNS  "SELECT mode, uid, gid, mtime_ns, rowid"

enum column { MODE, UID, GID, MTIME_NS, ROW, SHARD, OFFSET, SIZE, CRC32C, PATH };

static const char one_file[] = FILE_COLUMNS " FROM main.files WHERE path = ?1";

/* Every text comes before every blob. */
static const char files_from[] = FILE_COLUMNS " FROM main.files WHERE path >= ?1 AND path < x''"
                                              " ORDER BY path";

static const char one_dir[] = DIR_COLUMNS " FROM main.dirs WHERE path = ?1";

/* Also a directory without a row of its own, but with something below it. */
static const char any_dir[] = DIR_COLUMNS " FROM main.dirs WHERE path = ?1"
                                          " UNION ALL SELECT NULL, NULL, NULL, NULL, 0"
                                          " FROM main.files"
                                          " WHERE path > ?1 || '/' AND path < ?1 || '0'"
                                          " UNION ALL SELECT NULL, NULL, NULL, NULL, 0"
                                          " FROM main.dirs"
                                          " WHERE path > ?1 || '/' AND path < ?1 || '0' LIMIT 1";

enum sb_code sb_lookups_prepare(struct sb_lookups *lookups, sqlite3 *db, bool renames)
{
    TRY(SB_PREPARE(db, {&lookups->file, one_file}, {&lookups->dir, renames ? any_dir : one_dir}));
    return renames ? SB_OK : sb_database_prepare(db, &lookups->files, files_from);
}

void sb_lookups_release(struct sb_lookups *lookups)
{
    sqlite3_finalize(lookups->dir);
    sqlite3_finalize(lookups->file);
    sqlite3_finalize(lookups->files);
    sb_rows_release(&lookups->ahead);
}

static int64_t known_integer(sqlite3_stmt *row, int column, unsigned bit, unsigned *has)
{
    if (sqlite3_column_type(row, column) == SQLITE_INTEGER)
        *has |= bit;
    return sqlite3_column_int64(row, column);
}

static struct sb_entry entry_of(sqlite3_stmt *row, enum sb_type type)
{
    struct sb_entry entry = {.type = type, .row = sqlite3_column_int64(row, ROW)};

    entry.mode = (uint32_t)known_integer(row, MODE, SB_HAS_MODE, &entry.has);
    entry.uid = known_integer(row, UID, SB_HAS_UID, &entry.has);
    entry.gid = known_integer(row, GID, SB_HAS_GID, &entry.has);
    entry.mtime_ns = known_integer(row, MTIME_NS, SB_HAS_MTIME, &entry.has);
    if (type == SB_DIR)
        return entry;
    entry.shard = (uint32_t)sqlite3_column_int64(row, SHARD);
    entry.offset = sqlite3_column_int64(row, OFFSET);
    entry.size = sqlite3_column_int64(row, SIZE);
    entry.crc32c = (uint32_t)known_integer(row, CRC32C, SB_HAS_CRC, &entry.has);
    if ((entry.has & SB_HAS_MODE) && S_ISLNK(entry.mode))
        entry.type = SB_LINK;
    return entry;
}

static enum sb_code find_one(sqlite3_stmt *find, enum sb_type type, const char *path, size_t size,
                             struct sb_entry *entry)
{
    enum sb_code code = SB_OK;
    bool found;

    sqlite3_bind_text(find, 1, path, (int)size, SQLITE_STATIC);
    found = sb_database_row(find, &code);
    if (found)
        *entry = entry_of(find, type);
    sqlite3_reset(find);
    return code || found ? code : SB_NOENT;
}

/* The files from this name on: twice as many as were found among the last ones. */
static enum sb_code read_ahead(struct sb_lookups *lookups, const char *path, size_t size)
{
    struct sb_rows *ahead = &lookups->ahead;
    size_t wanted = 2 * lookups->found + 1;
    enum sb_code code = SB_OK;

    sb_rows_begin(ahead);
    ahead->limit = wanted < AHEAD_MOST ? wanted : AHEAD_MOST;
    lookups->found = 0;
    sqlite3_bind_text(lookups->files, 1, path, (int)size, SQLITE_STATIC);
    while (!sb_rows_is_full(ahead) && sb_database_row(lookups->files, &code)) {
        struct sb_entry entry = entry_of(lookups->files, SB_FILE);

        entry.path = (const char *)sqlite3_column_text(lookups->files, PATH);
        entry.path_size = (size_t)sqlite3_column_bytes(lookups->files, PATH);
        code = entry.path ? sb_rows_add(ahead, &entry, false) : sb_fail_memory();
    }
    lookups->ahead_to_the_end = !code && ahead->count > 0 && !sb_rows_is_full(ahead);
    sqlite3_reset(lookups->files);
    if (code)
        sb_rows_begin(ahead);
    return code;
}

/* The order of the row at this place, and of a name. */
static int compare(const struct sb_rows *rows, size_t at, const char *path, size_t size)
{
    return sb_compare_bytes(sb_row_path(rows, &rows->rows[at]), rows->rows[at].entry.path_size,
                            path, size);
}

static enum sb_code find_ahead(struct sb_lookups *lookups, const char *path, size_t size,
                               struct sb_entry *entry)
{
    struct sb_rows *ahead = &lookups->ahead;

    while (ahead->at < ahead->count && compare(ahead, ahead->at, path, size) < 0)
        ahead->at++;
    if (ahead->at == ahead->count && !lookups->ahead_to_the_end)
        TRY(read_ahead(lookups, path, size));
    if (ahead->at == ahead->count || compare(ahead, ahead->at, path, size) != 0)
        return SB_NOENT;
    *entry = ahead->rows[ahead->at].entry;
    lookups->found++;
    return SB_OK;
}

enum sb_code sb_lookups_find(struct sb_lookups *lookups, const char *path, size_t size,
                             struct sb_entry *entry)
{
    const struct sb_rows *ahead = &lookups->ahead;
    enum sb_code code;

    *entry = (struct sb_entry){0};
    /* Names that were passed, such as those of directories above, do not move what is read ahead.
     */
    if (!lookups->files ||
        (ahead->count > 0 && compare(ahead, ahead->at > 0 ? ahead->at - 1 : 0, path, size) >= 0))
        code = find_one(lookups->file, SB_FILE, path, size, entry);
    else
        code = find_ahead(lookups, path, size, entry);
    if (code == SB_NOENT)
        code = find_one(lookups->dir, SB_DIR, path, size, entry);
    entry->path = path;
    entry->path_size = size;
    return code;
}
