#include "task/verify/impl.h"

#include "archive/database.h"
#include "archive/schema.h"
#include "core/buf.h"
#include "core/hash64.h"
#include "core/name.h"

#include <sqlite3.h>
#include <string.h>

#define INDEXES_MOST 8
#define KEYS_MOST    10

enum rank { RANK_NULL, RANK_INTEGER, RANK_TEXT }; /* as SQLite sorts them */

enum kind { KEY_STORED, KEY_PATH, KEY_PARENT };

/* One column of an index's key, and its value in the last row or entry. */
struct key {
    enum kind kind;
    enum rank rank;
    int64_t number;
    struct sb_buf text;
    uint64_t hash; /* of the text */
};

struct index {
    char *scan; /* SQL: the key and the row number of each entry */
    bool unique;
    struct key keys[KEYS_MOST];
    int key_count;
    uint64_t sum;
};

struct table {
    sqlite3 *db;
    const char *name;
    struct sb_hash_key secret;
    struct index indexes[INDEXES_MOST];
    int index_count;
    bool has_root;     /* whose parent is NULL */
    bool knows_parent; /* it is computed by the expression that we know */
    sqlite3_str *rows; /* SQL: the row number, the path, other stored keys, the last column */
};

static void release(struct table *table)
{
    for (int i = 0; i < table->index_count; i++) {
        sqlite3_free(table->indexes[i].scan);
        for (int k = 0; k < table->indexes[i].key_count; k++)
            sb_buf_release(&table->indexes[i].keys[k].text);
    }
    sqlite3_free(sqlite3_str_finish(table->rows));
}

/* A statement about ?1 and ?2, which may be NULL; the names live as long. NULL on failure. */
static sqlite3_stmt *prepare_about(sqlite3 *db, const char *sql, const char *name,
                                   const char *other)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, other, -1, SQLITE_STATIC);
    }
    return statement;
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

/* Values */

static bool set_text(struct table *table, struct key *key, const char *text, size_t size,
                     int *order)
{
    *order =
        key->rank == RANK_TEXT ? sb_compare_bytes(text, size, key->text.data, key->text.size) : 1;
    if (*order == 0)
        return true;
    key->rank = RANK_TEXT;
    key->hash = sb_hash64(&table->secret, text, size);
    return sb_buf_set(&key->text, text, size) == SB_OK;
}

static void set_other(struct key *key, enum rank rank, int64_t number, int *order)
{
    if (key->rank != rank)
        *order = key->rank < rank ? 1 : -1;
    else
        *order = (number > key->number) - (number < key->number);
    key->rank = rank;
    key->number = number;
}

/* False for all that is no text. */
static bool take_text(sqlite3_value *value, const char **text, size_t *size)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return false;
    *text = sqlite3_value_blob(value);
    *size = (size_t)sqlite3_value_bytes(value);
    if (!*text && *size == 0)
        *text = "";
    return *text != NULL;
}

/* *order: of the value, compared with the one before. False if it is not sure how SQLite does. */
static bool take_value(struct table *table, struct key *key, sqlite3_stmt *row, int column,
                       int *order)
{
    sqlite3_value *value = sqlite3_column_value(row, column);
    const char *text;
    size_t size;

    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        set_other(key, RANK_NULL, 0, order);
        return true;
    case SQLITE_INTEGER:
        set_other(key, RANK_INTEGER, sqlite3_value_int64(value), order);
        return true;
    default:
        return take_text(value, &text, &size) && set_text(table, key, text, size, order);
    }
}

static bool take_parent(struct table *table, struct key *key, const char *path, size_t size)
{
    int order;

    if (size > 0 || !table->has_root)
        return sb_parent_is_computable(path, size) &&
               set_text(table, key, path, sb_parent_size(path, size), &order);
    set_other(key, RANK_NULL, 0, &order);
    return true;
}

/* Of the last values, and a row number. */
static uint64_t hash_entry(const struct table *table, const struct index *index, int64_t row)
{
    uint64_t words[KEYS_MOST + 2], ranks = 0;
    size_t count = 0;

    for (int k = 0; k < index->key_count; k++) {
        const struct key *key = &index->keys[k];
        ranks = ranks * 4 + key->rank;
        words[count++] = key->rank == RANK_TEXT ? key->hash : (uint64_t)key->number;
    }
    words[count++] = ranks;
    words[count++] = (uint64_t)row;
    return sb_hash64(&table->secret, words, count * sizeof(*words));
}

/* The two passes */

static bool add_row(struct table *table, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, 0);
    int column = 2, order;
    const char *path;
    size_t size;
    bool right = take_text(sqlite3_column_value(row, 1), &path, &size);
    uint64_t hash = right ? sb_hash64(&table->secret, path, size) : 0;

    for (int i = 0; right && i < table->index_count; i++) {
        struct index *index = &table->indexes[i];
        for (int k = 0; right && k < index->key_count; k++) {
            struct key *key = &index->keys[k];
            if (key->kind == KEY_STORED) {
                right = take_value(table, key, row, column++, &order);
            } else if (key->kind == KEY_PARENT) {
                right = take_parent(table, key, path, size);
            } else {
                key->rank = RANK_TEXT;
                key->hash = hash;
            }
        }
        index->sum += hash_entry(table, index, number);
    }
    return right;
}

static bool scan_rows(struct table *table)
{
    char *sql = sqlite3_str_value(table->rows);
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    bool right = sql && sqlite3_prepare_v2(table->db, sql, -1, &statement, NULL) == SQLITE_OK;
    int rc = SQLITE_DONE;

    while (right && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        right = add_row(table, statement);
    return right && rc == SQLITE_DONE;
}

/* *last: the row number of the entry before, NULL for the first. */
static bool take_entry(struct table *table, struct index *index, sqlite3_stmt *entry, bool first,
                       int64_t *last)
{
    int64_t row = sqlite3_column_int64(entry, index->key_count);
    int order = 0, next;
    bool null = false;

    for (int k = 0; k < index->key_count; k++) {
        if (!take_value(table, &index->keys[k], entry, k, &next))
            return false;
        order = order ? order : next;
        null = null || index->keys[k].rank == RANK_NULL;
    }
    index->sum -= hash_entry(table, index, row);
    if (!first && (order < 0 || (order == 0 && ((index->unique && !null) || row <= *last))))
        return false;
    *last = row;
    return true;
}

static bool scan_index(struct table *table, struct index *index)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    bool first = true, right;
    int64_t last = 0;
    int rc = SQLITE_DONE;

    for (int k = 0; k < index->key_count; k++)
        index->keys[k].rank = RANK_NULL;
    right = sqlite3_prepare_v2(table->db, index->scan, -1, &statement, NULL) == SQLITE_OK;
    while (right && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        right = take_entry(table, index, statement, first, &last);
        first = false;
    }
    return right && rc == SQLITE_DONE && index->sum == 0;
}

/* What to read */

/* Opcodes of a scan that computes nothing; those with a cursor are looked at. */
static const char plain_opcodes[] =
    " Init Noop Explain ColumnsUsed OpenRead Rewind DeferredSeek IfNullRow Column Affinity IdxRowid"
    " ResultRow Next Halt Transaction Goto ";
static const char cursor_opcodes[] = " Rewind Column IdxRowid Next ";

static bool is_among(const char *opcodes, const char *opcode)
{
    char word[32];

    sqlite3_snprintf(sizeof(word), word, " %s ", opcode);
    return strstr(opcodes, word) != NULL;
}

/* Do the values come from the index with this root page, and from nowhere else? */
static bool reads_only(sqlite3 *db, const char *scan, int64_t root)
{
    char *sql = sqlite3_mprintf("EXPLAIN %s", scan);
    sqlite3_stmt *statement = NULL;
    bool right = sql && sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK;
    int64_t cursor = -1;
    int rc = SQLITE_DONE;

    while (right && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *opcode = text_of(statement, 1);
        if (strcmp(opcode, "OpenRead") == 0 && sqlite3_column_int64(statement, 3) == root)
            cursor = sqlite3_column_int64(statement, 2);
        right = is_among(plain_opcodes, opcode) &&
                (!is_among(cursor_opcodes, opcode) ||
                 (cursor >= 0 && sqlite3_column_int64(statement, 2) == cursor));
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return right && rc == SQLITE_DONE && cursor >= 0;
}

static int64_t root_of(sqlite3 *db, const char *index)
{
    CLEANUP(sqlite3_finalizep)
    sqlite3_stmt *statement = prepare_about(
        db, "SELECT rootpage FROM main.sqlite_schema WHERE type = 'index' AND name = ?1", index,
        NULL);

    return statement && sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0)
                                                              : -1;
}

static bool is_computed(const struct table *table, const char *column)
{
    CLEANUP(sqlite3_finalizep)
    sqlite3_stmt *statement = prepare_about(
        table->db, "SELECT hidden FROM pragma_table_xinfo(?1, 'main') WHERE name = ?2", table->name,
        column);

    return !statement || sqlite3_step(statement) != SQLITE_ROW ||
           sqlite3_column_int(statement, 0) != 0;
}

/* It cannot be read from a row in which columns before it have wrong lengths. */
static bool add_last_column(struct table *table)
{
    CLEANUP(sqlite3_finalizep)
    sqlite3_stmt *statement = prepare_about(table->db,
                                            "SELECT name FROM pragma_table_xinfo(?1, 'main')"
                                            " WHERE hidden = 0 ORDER BY cid DESC LIMIT 1",
                                            table->name, NULL);

    if (!statement || sqlite3_step(statement) != SQLITE_ROW)
        return false;
    sqlite3_str_appendf(table->rows, ", \"%w\" FROM main.\"%w\" NOT INDEXED", text_of(statement, 0),
                        table->name);
    return true;
}

static bool add_key(struct table *table, struct index *index, sqlite3_str *scan,
                    sqlite3_stmt *column)
{
    const char *name = text_of(column, 2);
    struct key *key = &index->keys[index->key_count];

    if (index->key_count == KEYS_MOST || sqlite3_column_int(column, 1) < 0 ||
        sqlite3_column_int(column, 3) || sqlite3_stricmp(text_of(column, 4), "BINARY") != 0)
        return false;
    index->key_count++;
    if (strcmp(name, "path") == 0)
        key->kind = KEY_PATH;
    else if (is_computed(table, name))
        key->kind = KEY_PARENT;
    if (key->kind == KEY_PARENT && (strcmp(name, "parent") != 0 || !table->knows_parent))
        return false;
    if (key->kind == KEY_STORED)
        sqlite3_str_appendf(table->rows, ", \"%w\"", name);
    sqlite3_str_appendf(scan, "\"%w\", ", name);
    return true;
}

static bool add_keys(struct table *table, struct index *index, sqlite3_str *scan, const char *name)
{
    CLEANUP(sqlite3_finalizep)
    sqlite3_stmt *statement = prepare_about(
        table->db, "SELECT * FROM pragma_index_xinfo(?1, 'main') WHERE key", name, NULL);
    bool right = statement != NULL;

    while (right && sqlite3_step(statement) == SQLITE_ROW)
        right = add_key(table, index, scan, statement);
    return right && index->key_count > 0;
}

static bool add_index(struct table *table, sqlite3_stmt *row)
{
    const char *name = text_of(row, 1);
    struct index *index = &table->indexes[table->index_count];
    sqlite3_str *scan;
    bool right;

    if (table->index_count == INDEXES_MOST || sqlite3_column_int(row, 4))
        return false;
    table->index_count++;
    index->unique = sqlite3_column_int(row, 2) != 0;
    scan = sqlite3_str_new(table->db);
    sqlite3_str_appendall(scan, "SELECT ");
    right = add_keys(table, index, scan, name);
    sqlite3_str_appendf(scan, "rowid FROM main.\"%w\" INDEXED BY \"%w\"", table->name, name);
    index->scan = sqlite3_str_finish(scan);
    return right && index->scan && reads_only(table->db, index->scan, root_of(table->db, name));
}

static bool add_indexes(struct table *table)
{
    CLEANUP(sqlite3_finalizep)
    sqlite3_stmt *statement =
        prepare_about(table->db, "SELECT * FROM pragma_index_list(?1, 'main')", table->name, NULL);
    bool right = statement != NULL;
    int rc = SQLITE_DONE;

    while (right && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        right = add_index(table, statement);
    return right && rc == SQLITE_DONE;
}

static bool table_agrees(sqlite3 *db, const struct sb_hash_key *secret, const char *name,
                         const char *sql)
{
    const char *own = strstr(sb_ddl_tables, strcmp(name, "files") == 0 ? "CREATE TABLE files"
                                                                       : "CREATE TABLE dirs");
    struct table table = {
        .db = db,
        .name = name,
        .secret = *secret,
        .has_root = strcmp(name, "dirs") == 0,
        .knows_parent = sb_sql_same_parent(sql, own),
        .rows = sqlite3_str_new(db),
    };
    bool right;

    sqlite3_str_appendall(table.rows, "SELECT rowid, path");
    right = add_indexes(&table) && add_last_column(&table) && scan_rows(&table);
    for (int i = 0; right && i < table.index_count; i++)
        right = scan_index(&table, &table.indexes[i]);
    release(&table);
    return right;
}

/* Tables of a few rows. */
static bool is_sound(sqlite3 *db, const char *name)
{
    CLEANUP(sqlite3_finalizep)
    sqlite3_stmt *statement =
        prepare_about(db, "SELECT * FROM pragma_integrity_check(?1, 'main')", name, NULL);

    return statement && sqlite3_step(statement) == SQLITE_ROW &&
           strcmp(text_of(statement, 0), "ok") == 0 && sqlite3_step(statement) == SQLITE_DONE;
}

static bool has_rows_of_entries(const char *name)
{
    return strcmp(name, "files") == 0 || strcmp(name, "dirs") == 0;
}

bool sb_verify_indexes_agree(struct sqlite3 *db)
{
    struct sb_hash_key secret;
    sqlite3_stmt *statement = NULL;
    bool right = IGNORED(sb_hash_key_draw(&secret)) == SB_OK &&
                 sqlite3_prepare_v2(db,
                                    "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table'"
                                    " AND (SELECT encoding = 'UTF-8' FROM pragma_encoding)",
                                    -1, &statement, NULL) == SQLITE_OK;
    bool any = false;
    int rc = SQLITE_DONE;

    while (right && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = text_of(statement, 0);
        any = any || has_rows_of_entries(name);
        right = has_rows_of_entries(name) ? table_agrees(db, &secret, name, text_of(statement, 1))
                                          : is_sound(db, name);
    }
    sqlite3_finalize(statement);
    return right && any && rc == SQLITE_DONE;
}

static void blank(sqlite3_context *context, int count, sqlite3_value **values)
{
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_type(values[i]) == SQLITE_NULL)
            return;
    }
    sqlite3_result_text(context, "", 0, SQLITE_STATIC);
}

bool sb_verify_blank_parents(struct sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

    return sqlite3_create_function_v2(db, "rtrim", 2, flags, NULL, blank, NULL, NULL, NULL) ==
               SQLITE_OK &&
           sqlite3_create_function_v2(db, "replace", 3, flags, NULL, blank, NULL, NULL, NULL) ==
               SQLITE_OK;
}
