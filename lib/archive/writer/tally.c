#include "archive/writer/tally_private.h"

#include "archive/database.h"
#include "core/name.h"

#include <stdlib.h>
#include <string.h>

/*
 * The counts of a directory itself; its parents get their sums when all is applied. A directory
 * that is entered again gets another row: searching for its first row would read and write a random
 * page for each file, if files come in no order.
 */
static const char make_table[] =
    "CREATE TEMP TABLE tally (key TEXT, files INTEGER, bytes INTEGER, has INTEGER, mode INTEGER,"
    " uid INTEGER, gid INTEGER, mtime_ns INTEGER, said INTEGER)";

static const char save_frame[] =
    "INSERT INTO temp.tally VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

enum sb_code sb_tally_new(struct sb_tally **out, struct sqlite3 *db)
{
    struct sb_tally *tally = calloc(1, sizeof(*tally));
    enum sb_code code;

    *out = NULL;
    if (!tally)
        return sb_fail_memory();
    tally->db = db;
    code = sb_database_run(db, make_table);
    if (code == SB_OK)
        code = sb_database_prepare(db, &tally->save, save_frame);
    if (code) {
        sb_tally_free(tally);
        return code;
    }
    *out = tally;
    return SB_OK;
}

void sb_tally_free(struct sb_tally *tally)
{
    if (!tally)
        return;
    sqlite3_finalize(tally->save);
    sb_buf_release(&tally->key);
    free(tally->frames);
    free(tally);
}

void sb_tally_bind_metadata(sqlite3_stmt *statement, int column, const struct metadata *metadata)
{
    sb_database_bind_known(statement, column, metadata->has & SB_HAS_MODE, metadata->mode);
    sb_database_bind_known(statement, column + 1, metadata->has & SB_HAS_UID, metadata->uid);
    sb_database_bind_known(statement, column + 2, metadata->has & SB_HAS_GID, metadata->gid);
    sb_database_bind_known(statement, column + 3, metadata->has & SB_HAS_MTIME, metadata->mtime_ns);
}

enum sb_code sb_tally_add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        return sb_fail(SB_LIMIT, "the sizes add up to more than 2^63 - 1 bytes");
    return SB_OK;
}

/* Nothing is saved for a directory that only leads to others. */
static enum sb_code save_innermost(struct sb_tally *tally)
{
    const struct frame *frame = &tally->frames[tally->depth - 1];
    sqlite3_int64 last_row = sqlite3_last_insert_rowid(tally->db);
    sqlite3_stmt *save = tally->save;
    enum sb_code code;

    if (!frame->flags && !frame->counts.files && !frame->counts.size_tree && tally->depth > 1)
        return SB_OK;
    sqlite3_bind_text(save, 1, tally->key.data ? tally->key.data : "", (int)tally->key.size,
                      SQLITE_STATIC);
    sqlite3_bind_int64(save, 2, frame->counts.files);
    sqlite3_bind_int64(save, 3, frame->counts.size_tree);
    sqlite3_bind_int64(save, 4, frame->metadata.has);
    sb_tally_bind_metadata(save, 5, &frame->metadata);
    sqlite3_bind_int64(save, 9, frame->flags);
    code = sb_database_step(save);
    sqlite3_set_last_insert_rowid(tally->db, last_row);
    return code;
}

void sb_tally_pop(struct sb_tally *tally)
{
    tally->depth--;
    sb_buf_cut(&tally->key, tally->depth ? tally->frames[tally->depth - 1].key_size : 0);
}

static enum sb_code push(struct sb_tally *tally, size_t key_size)
{
    if (tally->depth > SB_DEPTH_MAX + 1)
        return sb_fail(SB_LIMIT, "%s: more than %d directories deep", tally->key.data,
                       SB_DEPTH_MAX);
    TRY(sb_grow(&tally->frames, &tally->capacity, tally->depth, sizeof(*tally->frames)));
    tally->frames[tally->depth++] = (struct frame){.key_size = key_size};
    return SB_OK;
}

bool sb_tally_is_within(const struct sb_tally *tally, const char *key, size_t key_size)
{
    size_t size = tally->frames[tally->depth - 1].key_size;

    return size <= key_size && (size == 0 || memcmp(tally->key.data, key, size) == 0);
}

enum sb_code sb_tally_descend(struct sb_tally *tally, const char *key, size_t key_size,
                              sb_tally_visit *each, void *context)
{
    const char *slash;
    size_t end = 0;

    while (tally->depth == 0 || tally->frames[tally->depth - 1].key_size < key_size) {
        if (tally->depth > 0) {
            end = tally->frames[tally->depth - 1].key_size;
            slash = memchr(key + end, '/', key_size - end);
            end = (size_t)(slash - key) + 1;
        }
        if (end > 0 && sb_buf_set(&tally->key, key, end))
            return sb_fail_memory();
        TRY(push(tally, end));
        if (each)
            TRY(each(context, key, end ? end - 1 : 0));
    }
    return SB_OK;
}

/* Makes the directory with this key the innermost one. */
static enum sb_code enter(struct sb_tally *tally, const char *key, size_t key_size)
{
    while (tally->depth > 0 && !sb_tally_is_within(tally, key, key_size)) {
        TRY(save_innermost(tally));
        sb_tally_pop(tally);
    }
    return sb_tally_descend(tally, key, key_size, NULL, NULL);
}

enum sb_code sb_tally_file(struct sb_tally *tally, const char *path, size_t path_size, int files,
                           int64_t bytes)
{
    size_t parent_size = sb_parent_size(path, path_size);
    struct frame *frame;

    TRY(enter(tally, path, parent_size ? parent_size + 1 : 0));
    frame = &tally->frames[tally->depth - 1];
    frame->counts.files += files;
    if (files >= 0)
        frame->flags |= HELD;
    return sb_tally_add(&frame->counts.size_tree, bytes);
}

static enum sb_code enter_directory(struct sb_tally *tally, const char *path, size_t size)
{
    CLEANUP(sb_buf_release) struct sb_buf key = {0};

    if (sb_buf_add(&key, path, size) || (size && sb_buf_add_char(&key, '/')))
        return sb_fail_memory();
    TRY(enter(tally, key.data, key.size));
    return SB_OK;
}

enum sb_code sb_tally_dir(struct sb_tally *tally, const struct sb_entry *entry)
{
    struct frame *frame;

    TRY(enter_directory(tally, entry->path, entry->path_size));
    frame = &tally->frames[tally->depth - 1];
    frame->flags |= HELD;
    if (!entry->has)
        return SB_OK;
    frame->metadata = (struct metadata){
        .has = entry->has,
        .mode = entry->mode,
        .uid = entry->uid,
        .gid = entry->gid,
        .mtime_ns = entry->mtime_ns,
    };
    return SB_OK;
}

enum sb_code sb_tally_drop_dir(struct sb_tally *tally, const char *path, size_t size)
{
    TRY(enter_directory(tally, path, size));
    tally->frames[tally->depth - 1].flags |= GONE;
    return SB_OK;
}

enum sb_code sb_tally_save_all(struct sb_tally *tally)
{
    TRY(enter(tally, "", 0));
    while (tally->depth > 0) {
        TRY(save_innermost(tally));
        sb_tally_pop(tally);
    }
    return SB_OK;
}

enum sb_code sb_tally_each_dir(struct sb_tally *tally,
                               enum sb_code (*each)(void *context, const char *path, size_t size),
                               void *context)
{
    sqlite3_stmt *rows = NULL;
    enum sb_code code = sb_tally_save_all(tally);

    if (code == SB_OK)
        code = sb_database_prepare(
            tally->db, &rows, "SELECT DISTINCT key FROM temp.tally WHERE said & ?1 ORDER BY key");
    if (code == SB_OK)
        sqlite3_bind_int(rows, 1, HELD);
    while (sb_database_row(rows, &code)) {
        const char *key = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        while (tally->depth > 0 && !sb_tally_is_within(tally, key, size))
            sb_tally_pop(tally);
        code = sb_tally_descend(tally, key, size, each, context);
    }
    while (tally->depth > 0)
        sb_tally_pop(tally);
    sqlite3_finalize(rows);
    return code;
}
