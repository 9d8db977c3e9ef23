#include "task/restore/impl.h"

#include "archive/database.h"

#include <sqlite3.h>
#include <stdlib.h>

enum query {
    DAMAGE,
    IS_DAMAGED,
    NEXT_DAMAGED,
    ADD,
    NEXT,
    NEXT_OF,
    FIND,
    FIND_TARGET,
    SET,
    LINK,
    QUERIES,
};

#define COLUMNS "id, path, is_link, shard, offset, size, crc32c, state"

static const char *const sql[QUERIES] = {
    [DAMAGE] = "INSERT OR IGNORE INTO damaged VALUES (?1)",
    [IS_DAMAGED] = "SELECT 1 FROM damaged WHERE path = ?1",
    [NEXT_DAMAGED] = "SELECT path FROM damaged ORDER BY path",
    [ADD] = "INSERT INTO wanted (is_link, shard, offset, size, crc32c, path, state)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
    [NEXT] = "SELECT " COLUMNS " FROM wanted WHERE id > ?1 AND state <= ?2 ORDER BY id LIMIT 1",
    [NEXT_OF] = "SELECT " COLUMNS " FROM wanted WHERE shard = ?3 AND id > ?1 AND state <= ?2"
                " ORDER BY id LIMIT 1",
    [FIND] = "SELECT " COLUMNS " FROM wanted WHERE path = ?3 AND id > ?1 AND state < ?2"
             " ORDER BY id LIMIT 1",
    [FIND_TARGET] = "SELECT " COLUMNS " FROM wanted WHERE target = ?3 AND id > ?1 AND state < ?2"
                    " ORDER BY id LIMIT 1",
    [SET] = "UPDATE wanted SET state = ?2 WHERE id = ?1",
    [LINK] = "UPDATE wanted SET target = ?2 WHERE id = ?1",
};

struct sb_restore_list {
    sqlite3 *db;
    sqlite3_stmt *queries[QUERIES];
    int64_t open;
};

void sb_restore_list_free(struct sb_restore_list *list)
{
    if (!list)
        return;
    sb_database_finish(list->db);
    free(list);
}

static enum sb_code prepare(struct sb_restore_list *list, const char *beside)
{
    TRY(sb_database_open_private(&list->db, beside));
    TRY(sb_database_run(list->db, "CREATE TABLE damaged (path BLOB PRIMARY KEY) WITHOUT ROWID;"
                                  "CREATE TABLE wanted (id INTEGER PRIMARY KEY, path BLOB, is_link,"
                                  " shard, offset, size, crc32c, state, target BLOB);"
                                  "CREATE INDEX by_path ON wanted (path, id);"
                                  "CREATE INDEX by_shard ON wanted (shard, id);"
                                  "CREATE INDEX by_target ON wanted (target, id)"
                                  " WHERE target IS NOT NULL;"
                                  "BEGIN"));
    for (int i = 0; i < QUERIES; i++)
        TRY(sb_database_prepare(list->db, &list->queries[i], sql[i]));
    return SB_OK;
}

enum sb_code sb_restore_list_new(struct sb_restore_list **out, const char *beside)
{
    CLEANUP(sb_restore_list_freep) struct sb_restore_list *list = NULL;

    *out = NULL;
    TRY(SB_NEW(&list));
    TRY(prepare(list, beside));
    *out = TAKE(list);
    return SB_OK;
}

static void bind_name(sqlite3_stmt *query, int column, const char *name, size_t size)
{
    /* NULL would not be a blob, and equal to nothing. */
    sqlite3_bind_blob64(query, column, name ? name : "", size, SQLITE_STATIC);
}

enum sb_code sb_restore_list_damage(struct sb_restore_list *list, const char *path, size_t size)
{
    bind_name(list->queries[DAMAGE], 1, path, size);
    return sb_database_step(list->queries[DAMAGE]);
}

enum sb_code sb_restore_list_is_damaged(struct sb_restore_list *list, const char *path, size_t size,
                                        bool *damaged)
{
    sqlite3_stmt *query = list->queries[IS_DAMAGED];
    enum sb_code code = SB_OK;

    bind_name(query, 1, path, size);
    *damaged = sb_database_row(query, &code);
    sqlite3_reset(query);
    return code;
}

/* The path, with the NUL that SQLite appends to text. */
static enum sb_code take_path(sqlite3_stmt *row, int column, const char **path, size_t *size)
{
    *path = (const char *)sqlite3_column_text(row, column);
    *size = (size_t)sqlite3_column_bytes(row, column);
    return *path ? SB_OK : sb_fail_memory();
}

enum sb_code sb_restore_list_next_damaged(struct sb_restore_list *list, const char **path,
                                          size_t *size)
{
    sqlite3_stmt *query = list->queries[NEXT_DAMAGED];
    enum sb_code code = SB_OK;

    if (sb_database_row(query, &code))
        return take_path(query, 0, path, size);
    sqlite3_reset(query);
    return code ? code : SB_END;
}

enum sb_code sb_restore_list_add(struct sb_restore_list *list, const struct sb_entry *entry)
{
    sqlite3_stmt *query = list->queries[ADD];

    SB_BIND(query, entry->type == SB_LINK, entry->shard, entry->offset, entry->size, entry->crc32c);
    bind_name(query, 6, entry->path, entry->path_size);
    list->open++;
    return sb_database_step(query);
}

/* The row of a query, if there is one; it is valid until the query is reset. */
static enum sb_code take_item(struct sb_restore_list *list, sqlite3_stmt *query,
                              struct sb_restore_item *item)
{
    int rc = sqlite3_step(query);

    if (rc != SQLITE_ROW) {
        sqlite3_reset(query);
        return rc == SQLITE_DONE ? SB_END : sb_database_fail(list->db);
    }
    *item = (struct sb_restore_item){
        .id = sqlite3_column_int64(query, 0),
        .is_link = sqlite3_column_int(query, 2) != 0,
        .shard = (uint32_t)sqlite3_column_int64(query, 3),
        .offset = sqlite3_column_int64(query, 4),
        .size = sqlite3_column_int64(query, 5),
        .crc32c = (uint32_t)sqlite3_column_int64(query, 6),
        .state = (enum sb_restore_state)sqlite3_column_int(query, 7),
    };
    return take_path(query, 1, &item->path, &item->path_size);
}

enum sb_code sb_restore_list_next(struct sb_restore_list *list, int64_t after,
                                  enum sb_restore_state most, struct sb_restore_item *item)
{
    sqlite3_stmt *query = list->queries[NEXT];

    sqlite3_reset(query);
    SB_BIND(query, after, (int)most);
    return take_item(list, query, item);
}

enum sb_code sb_restore_list_next_of(struct sb_restore_list *list, uint32_t shard, int64_t after,
                                     struct sb_restore_item *item)
{
    sqlite3_stmt *query = list->queries[NEXT_OF];

    sqlite3_reset(query);
    SB_BIND(query, after, (int)SB_RESTORE_WANTED, shard);
    return take_item(list, query, item);
}

enum sb_code sb_restore_list_find(struct sb_restore_list *list, const char *name, size_t size,
                                  bool by_target, int64_t after, struct sb_restore_item *item)
{
    sqlite3_stmt *query = list->queries[by_target ? FIND_TARGET : FIND];

    sqlite3_reset(query);
    SB_BIND(query, after, SB_RESTORE_WRITTEN);
    bind_name(query, 3, name, size);
    return take_item(list, query, item);
}

enum sb_code sb_restore_list_set(struct sb_restore_list *list, int64_t id,
                                 enum sb_restore_state state)
{
    list->open -= state == SB_RESTORE_WRITTEN;
    return SB_RUN(list->queries[SET], id, (int)state);
}

enum sb_code sb_restore_list_link(struct sb_restore_list *list, int64_t id, const char *target,
                                  size_t size)
{
    sqlite3_stmt *query = list->queries[LINK];

    sqlite3_bind_int64(query, 1, id);
    bind_name(query, 2, target, size);
    return sb_database_step(query);
}

int64_t sb_restore_list_open(const struct sb_restore_list *list)
{
    return list->open;
}
