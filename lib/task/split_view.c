#include "task/split_view.h"

#include "archive/bytes.h"
#include "archive/database.h"
#include "archive/tally.h"

#include <sqlite3.h>
#include <stdlib.h>

/* The bytes of the whole. */
struct view_bytes {
    struct sb_bytes base;
    struct sb_shards *shards;
};

static struct sb_shards *shards_of(struct sb_bytes *bytes)
{
    return ((struct view_bytes *)bytes)->shards;
}

static enum sb_code read_bytes(struct sb_bytes *bytes, uint32_t shard, int64_t offset, void *data,
                               size_t size, struct sb_error *err)
{
    return sb_shards_read(shards_of(bytes), shard, offset, data, size, err);
}

static enum sb_code stream_bytes(struct sb_bytes *bytes, uint32_t shard, int64_t offset,
                                 int64_t size, sb_each_block *each, void *context,
                                 struct sb_error *err)
{
    return sb_shards_stream(shards_of(bytes), shard, offset, size, NULL, each, context, err);
}

static enum sb_code stat_bytes(struct sb_bytes *bytes, uint32_t shard, struct stat *out,
                               struct sb_error *err)
{
    return sb_shards_stat(shards_of(bytes), shard, out, err);
}

static enum sb_code name_bytes(struct sb_bytes *bytes, uint32_t shard, struct sb_buf *out)
{
    return sb_shards_path(shards_of(bytes), shard, out);
}

static void free_bytes(struct sb_bytes *bytes)
{
    free(bytes);
}

static struct sb_bytes *new_bytes(struct sb_shards *shards)
{
    static const struct sb_bytes_ops ops = {
        .free = free_bytes,
        .read = read_bytes,
        .stream = stream_bytes,
        .stat = stat_bytes,
        .path = name_bytes,
    };
    struct view_bytes *bytes = malloc(sizeof(*bytes));

    if (bytes)
        *bytes = (struct view_bytes){.base = {.ops = &ops}, .shards = shards};
    return bytes ? &bytes->base : NULL;
}

struct view {
    sqlite3 *db;
    sqlite3_stmt *add_file;
    struct sb_tally *tally;
};

/* As those of a catalog (store/catalog.c): reading does without `parent`. */
static const char tables[] =
    "CREATE TABLE files (path TEXT NOT NULL, shard INTEGER, offset INTEGER, size INTEGER,"
    " crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER);"
    "CREATE TABLE dirs (path TEXT NOT NULL, num_subdirs INTEGER, num_files INTEGER,"
    " num_files_tree INTEGER, size_tree INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,"
    " mtime_ns INTEGER); BEGIN";

static const char indexes[] = "CREATE UNIQUE INDEX " SB_ADOPTED_FILES " ON files (path);"
                              "CREATE UNIQUE INDEX " SB_ADOPTED_DIRS " ON dirs (path); COMMIT";

static enum sb_code open_tables(struct view *view, const char *beside, struct sb_error *err)
{
    enum sb_code code = sb_database_open_private(&view->db, beside, err);

    if (!code)
        code = sb_database_run(view->db, tables, err);
    if (!code)
        code = sb_database_prepare(view->db, &view->add_file,
                                   "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                                   err);
    if (!code)
        code = sb_tally_new(&view->tally, view->db, err);
    return code;
}

static enum sb_code add(void *context, const struct sb_entry *entry, struct sb_error *err)
{
    struct view *view = context;
    enum sb_code code;

    if (entry->type == SB_DIR)
        return sb_tally_dir(view->tally, entry, err);
    sb_database_bind_file(view->add_file, 1, entry);
    code = sb_database_step(view->add_file, err);
    if (code)
        return code;
    return sb_tally_file(view->tally, entry->path, entry->path_size, 1, entry->size, err);
}

enum sb_code sb_split_view_open(struct sb_archive **out, struct sb_split_plan *plan, int64_t part,
                                struct sb_archive *whole, struct sb_shards *shards,
                                const char *beside, struct sb_error *err)
{
    struct sb_bytes *bytes = new_bytes(shards);
    struct view view = {0};
    enum sb_code code;

    *out = NULL;
    if (!bytes)
        return sb_fail_memory(err);
    code = open_tables(&view, beside, err);
    if (!code)
        code = sb_split_plan_walk(plan, part, SB_BY_ADDRESS, add, &view, err);
    if (!code)
        code = sb_tally_apply(view.tally, view.db, true, err);
    if (!code)
        code = sb_database_run(view.db, indexes, err);
    sqlite3_finalize(view.add_file);
    sb_tally_free(view.tally);
    if (!code)
        return sb_archive_adopt(out, view.db, sb_archive_path(whole), bytes, err);
    sb_database_close(view.db);
    free_bytes(bytes);
    return code;
}
