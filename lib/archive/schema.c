#include "archive/schema.h"

#include "archive/config.h"
#include "archive/database.h"
#include "core/array.h"
#include "core/crc32c.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct token {
    const char *text;
    size_t size;
    bool word; /* a bare word or number: case does not count */
};

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *skip_blank(const char *at)
{
    const char *end;

    for (;;) {
        if (*at && strchr(" \t\n\f\r", *at)) {
            at++;
        } else if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

/* at is the opening quote; a doubled quote is an escaped one. */
static const char *skip_quoted(const char *at)
{
    char quote = *at == '[' ? ']' : *at;

    for (at++; *at; at++) {
        if (*at != quote)
            continue;
        if (quote == ']' || at[1] != quote)
            return at + 1;
        at++;
    }
    return at;
}

/* The token at or after *at, which moves past it; false at the end. */
static bool next_token(const char **at, struct token *out)
{
    const char *start = skip_blank(*at), *end = start;

    out->word = is_word_byte(*start);
    if (out->word) {
        while (is_word_byte(*end))
            end++;
    } else if (*start && strchr("'\"`[", *start)) {
        end = skip_quoted(start);
    } else if (*start) {
        end++;
    }
    out->text = start;
    out->size = (size_t)(end - start);
    *at = end;
    return out->size > 0;
}

static bool token_is(const struct token *token, const char *word)
{
    return token->size == strlen(word) && strncasecmp(token->text, word, token->size) == 0;
}

static bool same_token(const struct token *a, const struct token *b)
{
    if (a->size != b->size || a->word != b->word)
        return false;
    if (a->word)
        return strncasecmp(a->text, b->text, a->size) == 0;
    return memcmp(a->text, b->text, a->size) == 0;
}

bool sb_sql_has_word(const char *sql, const char *word)
{
    struct token token;

    while (next_token(&sql, &token)) {
        if (token.word && token_is(&token, word))
            return true;
    }
    return false;
}

bool sb_sql_begins(const char *sql, const char *words)
{
    struct token token, wanted;

    while (next_token(&words, &wanted)) {
        if (!next_token(&sql, &token) || !same_token(&token, &wanted))
            return false;
    }
    return true;
}

/* Moves past the parenthesis that opens the expression of `parent`. */
static bool find_parent(const char **at)
{
    struct token token;
    bool named = false, computed = false;

    while (next_token(at, &token)) {
        if (computed)
            return token_is(&token, "(");
        computed = named && token_is(&token, "as");
        named = named || token_is(&token, "parent");
    }
    return false;
}

bool sb_sql_same_parent(const char *a, const char *b)
{
    struct token left, right;
    int depth = 1;

    if (!find_parent(&a) || !find_parent(&b))
        return false;
    while (depth > 0) {
        if (!next_token(&a, &left) || !next_token(&b, &right) || !same_token(&left, &right))
            return false;
        if (token_is(&left, "("))
            depth++;
        else if (token_is(&left, ")"))
            depth--;
    }
    return true;
}

uint32_t sb_sql_fingerprint(const char *sql)
{
    struct token token;
    uint32_t crc = 0;
    size_t i;
    char c;

    while (next_token(&sql, &token)) {
        for (i = 0; i < token.size; i++) {
            c = token.word ? (char)tolower((unsigned char)token.text[i]) : token.text[i];
            crc = sb_crc32c(crc, &c, 1);
        }
        crc = sb_crc32c(crc, "", 1);
    }
    return crc;
}

/* The objects found in the schema so far. */
struct vetting {
    sqlite3 *db;
    bool for_writing;
    bool has_files, has_dirs, has_directories, has_config;
    struct sb_layout *layout;
};

static enum sb_code refuse(const struct vetting *vetting, const char *format, ...) SB_PRINTF(2, 3);

/* "FILE: not a trustworthy archive: ..." */
static enum sb_code refuse(const struct vetting *vetting, const char *format, ...)
{
    const char *file = sqlite3_db_filename(vetting->db, "main");
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return sb_fail(SB_FORMAT, "%s: not a trustworthy archive: %s", file ? file : "", text);
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? text : "";
}

/*
 * Triggers that Barecat has written, by their tokens: those of 0.3.1, and those of 0.2.7 that
 * differ. Ours are compared with ddl.c.
 */
static const struct known_trigger {
    const char *name;
    uint32_t fingerprint;
} barecat_triggers[] = {
    {"add_file", 0x5e2a8a7d},
    {"del_file", 0xb25bbb2f},
    {"move_file", 0xddc814ba},
    {"resize_file", 0x40085563},
    {"add_subdir", 0x34a390b6},
    {"del_subdir", 0xea4fcd3f},
    {"del_subdir", 0xea6f7f17},
    {"move_subdir", 0x768116b6},
    {"move_subdir", 0x24f1d6fb},
    {"resize_dir", 0x15185ec9},
    {"prevent_file_as_dir", 0x8a384d26},
    {"prevent_dir_as_file", 0xb897930c},
};

static const struct sb_ddl_object *own_trigger(const char *name)
{
    for (const struct sb_ddl_object *own = sb_ddl_triggers; own->name; own++) {
        if (strcmp(own->name, name) == 0)
            return own;
    }
    return NULL;
}

static bool trigger_is_known(const struct sb_ddl_object *own, const char *sql)
{
    uint32_t fingerprint = sb_sql_fingerprint(sql);

    if (fingerprint == sb_sql_fingerprint(own->sql))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(barecat_triggers); i++) {
        if (strcmp(barecat_triggers[i].name, own->name) == 0 &&
            barecat_triggers[i].fingerprint == fingerprint)
            return true;
    }
    return false;
}

static enum sb_code vet_trigger(const struct vetting *vetting, const char *name, const char *sql)
{
    const struct sb_ddl_object *own = own_trigger(name);

    if (!own)
        return refuse(vetting, "trigger '%s' does not belong there", name);
    if (sb_sql_has_word(sql, "with") || sb_sql_has_word(sql, "recursive"))
        return refuse(vetting, "trigger '%s' could run without end", name);
    if (vetting->for_writing && !trigger_is_known(own, sql))
        return refuse(vetting, "trigger '%s' is not as Barecat or shardbox writes it", name);
    return SB_OK;
}

/* A column's default must be a constant: an expression in parentheses would run at each insert. */
static bool has_computed_default(const char *sql)
{
    struct token token;
    bool after_default = false;

    while (next_token(&sql, &token)) {
        if (after_default && token_is(&token, "("))
            return true;
        after_default = token.word && token_is(&token, "default");
    }
    return false;
}

static bool is_statistics(const char *name)
{
    return strcmp(name, "sqlite_stat1") == 0 || strcmp(name, "sqlite_stat4") == 0 ||
           strcmp(name, "sqlite_sequence") == 0;
}

static enum sb_code vet_table(struct vetting *vetting, const char *name, const char *sql)
{
    if (!sb_sql_begins(sql, "create table"))
        return refuse(vetting, "table '%s' is virtual", name);
    if (sb_sql_has_word(sql, "check"))
        return refuse(vetting, "table '%s' has a CHECK expression", name);
    if (has_computed_default(sql))
        return refuse(vetting, "table '%s' has a DEFAULT expression", name);
    if (strcmp(name, "files") == 0)
        vetting->has_files = true;
    else if (strcmp(name, "dirs") == 0)
        vetting->has_dirs = true;
    else if (strcmp(name, "directories") == 0)
        vetting->has_directories = true;
    else if (strcmp(name, "config") == 0)
        vetting->has_config = true;
    else if (!is_statistics(name))
        return refuse(vetting, "table '%s' does not belong there", name);
    return SB_OK;
}

/* Names come as %w writes them into SQL; vet_indexes_of reports keys that are not plain columns. */
static enum sb_code vet_index(const struct vetting *vetting, const char *name, const char *sql)
{
    if (!*sql)
        return strncmp(name, "sqlite_autoindex_", 17) == 0
                   ? SB_OK
                   : refuse(vetting, "index '%s' has no definition", name);
    if (sb_sql_has_word(sql, "where"))
        return refuse(vetting, "index '%s' is partial", name);
    return SB_OK;
}

static enum sb_code vet_object(struct vetting *vetting, sqlite3_stmt *row)
{
    const char *type = text_of(row, 0), *name = text_of(row, 1), *sql = text_of(row, 2);

    if (strcmp(type, "table") == 0)
        return vet_table(vetting, name, sql);
    if (strcmp(type, "index") == 0)
        return vet_index(vetting, name, sql);
    if (strcmp(type, "trigger") == 0)
        return vet_trigger(vetting, name, sql);
    return refuse(vetting, "%s '%s' does not belong there", type, name);
}

/* Continues after the first foreign object, to learn whether there is a table config. */
static enum sb_code vet_objects(struct vetting *vetting)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code first = SB_OK, found, code = SB_OK;
    struct sb_error cause;

    TRY(sb_database_prepare(vetting->db, &statement, "SELECT type, name, sql FROM sqlite_schema"));
    while (sb_database_row(statement, &code)) {
        found = vet_object(vetting, statement);
        if (found && !first) {
            first = found;
            cause = *sb_error();
        }
    }
    if (first)
        *sb_error() = cause;
    return first ? first : code;
}

#define COLUMNS_MAX 10

static const char *const files_columns[COLUMNS_MAX + 1] = {
    "path", "parent", "shard", "offset", "size", "crc32c", "mode", "uid", "gid", "mtime_ns",
};
static const char *const dirs_columns[COLUMNS_MAX + 1] = {
    "path",      "parent", "num_subdirs", "num_files", "num_files_tree",
    "size_tree", "mode",   "uid",         "gid",       "mtime_ns",
};
static const char *const config_columns[COLUMNS_MAX + 1] = {"key", "value_text", "value_int"};
static const char *const old_files_columns[COLUMNS_MAX + 1] = {
    "path", "parent", "shard", "offset", "size",
};
static const char *const old_dirs_columns[COLUMNS_MAX + 1] = {
    "path",
    "parent",
    "total_size",
    "total_file_count",
};

static int find_column(const char *const *columns, const char *name)
{
    for (int i = 0; columns[i]; i++) {
        if (sqlite3_stricmp(columns[i], name) == 0)
            return i;
    }
    return -1;
}

/* hidden: 0 stored, 1 hidden by a virtual table, 2 generated virtual, 3 generated stored. */
static enum sb_code vet_column(const struct vetting *vetting, const char *table,
                               const char *const *expected, const char *name, int hidden,
                               unsigned *seen)
{
    int place = find_column(expected, name);
    bool is_parent, computed_is_right;

    if (place < 0 && (vetting->layout->schema != SB_SCHEMA_NEWER || hidden ||
                      sqlite3_stricmp(name, "rowid") == 0))
        return refuse(vetting, "column '%s' of table '%s' does not belong there", name, table);
    if (place < 0)
        return SB_OK;
    *seen |= 1u << place;
    is_parent = strcmp(expected[place], "parent") == 0;
    computed_is_right = hidden == (is_parent ? 2 : 0) ||
                        (is_parent && hidden == 0 && vetting->layout->schema == SB_SCHEMA_OLD);
    if (!computed_is_right)
        return refuse(vetting, "column '%s' of table '%s' is %s", name, table,
                      is_parent ? "not a virtual generated one" : "generated");
    return SB_OK;
}

static enum sb_code vet_columns(const struct vetting *vetting, const char *table,
                                const char *const *expected)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;
    unsigned seen = 0;

    TRY(sb_database_prepare_format(vetting->db, &statement, "PRAGMA main.table_xinfo(\"%w\")",
                                   table));
    while (sb_database_row(statement, &code))
        code = vet_column(vetting, table, expected, text_of(statement, 1),
                          sqlite3_column_int(statement, 6), &seen);
    for (int i = 0; !code && expected[i]; i++) {
        if (!(seen & (1u << i)))
            code = refuse(vetting, "table '%s' has no column '%s'", table, expected[i]);
    }
    return code;
}

/* All code compares paths bytewise, so they must be sorted bytewise. */
static enum sb_code vet_path_column(const struct vetting *vetting, const char *table)
{
    const char *type, *collation;

    if (sqlite3_table_column_metadata(vetting->db, "main", table, "path", &type, &collation, NULL,
                                      NULL, NULL))
        return sb_database_fail(vetting->db);
    if (sqlite3_stricmp(collation, "BINARY") != 0 || !type || sqlite3_stricmp(type, "TEXT") != 0)
        return refuse(vetting, "column 'path' of table '%s' is not plain TEXT", table);
    return SB_OK;
}

/* The key of an index, in the detail that we need. */
struct index_key {
    char columns[2][8]; /* names of the first two */
    int count;
    bool plain; /* sorted bytewise, ascending */
};

static enum sb_code read_key(const struct vetting *vetting, const char *name, struct index_key *key)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    *key = (struct index_key){.plain = true};
    TRY(sb_database_prepare_format(vetting->db, &statement, "PRAGMA main.index_xinfo(\"%w\")",
                                   name));
    while (sb_database_row(statement, &code)) {
        if (sqlite3_column_int(statement, 1) == -2)
            return refuse(vetting, "index '%s' is on an expression", name);
        if (!sqlite3_column_int(statement, 5))
            continue;
        if (key->count < 2)
            strncpy(key->columns[key->count], text_of(statement, 2), 7);
        if (sqlite3_column_int(statement, 3) ||
            sqlite3_stricmp(text_of(statement, 4), "BINARY") != 0)
            key->plain = false;
        key->count++;
    }
    return code;
}

static enum sb_code remember(struct sb_buf *place, const char *name)
{
    return place->size == 0 ? sb_buf_add_text(place, name) : SB_OK;
}

static enum sb_code take_index(const struct vetting *vetting, const char *name, bool unique,
                               struct sb_buf *by_path, struct sb_buf *by_address)
{
    struct index_key key;

    TRY(read_key(vetting, name, &key));
    if (!key.plain)
        return SB_OK;
    if (unique && key.count == 1 && strcmp(key.columns[0], "path") == 0)
        return remember(by_path, name);
    if (by_address && key.count == 2 && strcmp(key.columns[0], "shard") == 0 &&
        strcmp(key.columns[1], "offset") == 0)
        return remember(by_address, name);
    return SB_OK;
}

/* All indexes of a table; by_address may be NULL. */
static enum sb_code vet_indexes_of(const struct vetting *vetting, const char *table,
                                   struct sb_buf *by_path, struct sb_buf *by_address)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare_format(vetting->db, &statement, "PRAGMA main.index_list(\"%w\")",
                                   table));
    while (sb_database_row(statement, &code))
        code = take_index(vetting, text_of(statement, 1), sqlite3_column_int(statement, 2) != 0,
                          by_path, by_address);
    if (code || by_path->size > 0)
        return code;
    return refuse(
        vetting, "table '%s' has no unique index on 'path', as after an interrupted import", table);
}

/* A table WITHOUT ROWID cannot be read by row number. */
static enum sb_code vet_rowid(const struct vetting *vetting, const char *table)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare_format(vetting->db, &statement, "PRAGMA main.table_list(\"%w\")",
                                   table));
    while (sb_database_row(statement, &code)) {
        if (strcmp(text_of(statement, 2), "table") != 0 || sqlite3_column_int(statement, 4))
            return refuse(vetting, "table '%s' is not an ordinary table with row numbers", table);
    }
    return code;
}

static enum sb_code vet_expressions(const struct vetting *vetting, const char *table)
{
    const char *own = strstr(sb_ddl_tables, strcmp(table, "files") == 0 ? "CREATE TABLE files"
                                                                        : "CREATE TABLE dirs");
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(vetting->db, &statement,
                            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1"));
    sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    if (sb_database_row(statement, &code) && !sb_sql_same_parent(text_of(statement, 0), own))
        return refuse(vetting, "column 'parent' of table '%s' is computed in a way not known",
                      table);
    return code;
}

static enum sb_code vet_entries_table(const struct vetting *vetting, const char *table,
                                      const char *const *columns, struct sb_buf *by_path,
                                      struct sb_buf *by_address)
{
    TRY(vet_columns(vetting, table, columns));
    TRY(vet_path_column(vetting, table));
    TRY(vet_rowid(vetting, table));
    TRY(vet_indexes_of(vetting, table, by_path, by_address));
    if (vetting->for_writing && vetting->layout->schema != SB_SCHEMA_OLD)
        TRY(vet_expressions(vetting, table));
    return SB_OK;
}

static enum sb_code read_version(const struct vetting *vetting)
{
    struct sb_layout *layout = vetting->layout;
    int64_t major, minor;

    TRY(sb_database_integer(vetting->db,
                            "SELECT value_int FROM config WHERE key = '" SB_CONFIG_SCHEMA_MAJOR "'",
                            0, &major));
    TRY(sb_database_integer(vetting->db,
                            "SELECT value_int FROM config WHERE key = '" SB_CONFIG_SCHEMA_MINOR "'",
                            1, &minor));
    if (major < 0 || minor < 0 || major > INT32_MAX || minor > INT32_MAX)
        return refuse(vetting, "schema version out of range");
    layout->major = (int)major;
    layout->minor = (int)minor;
    if (major > SB_SCHEMA_MAJOR)
        return sb_fail(SB_FORMAT,
                       "%s: schema %d.%d is newer than %d.%d, the newest that this shardbox reads; "
                       "upgrade shardbox",
                       sqlite3_db_filename(vetting->db, "main"), layout->major, layout->minor,
                       SB_SCHEMA_MAJOR, SB_SCHEMA_MINOR);
    if (minor > SB_SCHEMA_MINOR)
        layout->schema = SB_SCHEMA_NEWER;
    else
        layout->schema = minor == SB_SCHEMA_MINOR ? SB_SCHEMA_03 : SB_SCHEMA_02;
    return SB_OK;
}

/*
 * config is read first, so that an archive of a later version is reported as such, and not as
 * foreign.
 */
static enum sb_code vet_version(const struct vetting *vetting, enum sb_code objects)
{
    struct sb_error foreign = {0};
    enum sb_code code = SB_OK;

    if (objects)
        foreign = *sb_error();
    if (vetting->has_config) {
        code = vet_columns(vetting, "config", config_columns);
        if (!code)
            code = read_version(vetting);
    } else {
        vetting->layout->schema = SB_SCHEMA_OLD;
    }
    if (objects && vetting->layout->major <= SB_SCHEMA_MAJOR) {
        *sb_error() = foreign;
        return objects;
    }
    return code;
}

/* In any other encoding the index would not be sorted by the bytes of names. */
static enum sb_code vet_encoding(const struct vetting *vetting)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(vetting->db, &statement, "PRAGMA encoding"));
    if (sb_database_row(statement, &code) && strcmp(text_of(statement, 0), "UTF-8") != 0)
        return refuse(vetting, "its text is stored as %s, not UTF-8", text_of(statement, 0));
    return code;
}

static enum sb_code vet_tables(const struct vetting *vetting)
{
    struct sb_layout *layout = vetting->layout;
    bool old = layout->schema == SB_SCHEMA_OLD;
    const char *dirs = old ? "directories" : "dirs";

    if (!vetting->has_files || (old ? !vetting->has_directories : !vetting->has_dirs))
        return sb_fail(
            SB_FORMAT, "%s: an SQLite database, but not a Barecat archive: there is no table '%s'",
            sqlite3_db_filename(vetting->db, "main"), vetting->has_files ? dirs : "files");
    if (old ? vetting->has_dirs : vetting->has_directories)
        return refuse(vetting, "it has both a table 'dirs' and a table 'directories'");
    TRY(vet_entries_table(vetting, "files", old ? old_files_columns : files_columns,
                          &layout->files_by_path, &layout->files_by_address));
    return vet_entries_table(vetting, dirs, old ? old_dirs_columns : dirs_columns,
                             &layout->dirs_by_path, NULL);
}

enum sb_code sb_schema_inspect(struct sqlite3 *db, struct sb_layout *out, bool for_writing)
{
    struct vetting vetting = {.db = db, .for_writing = for_writing, .layout = out};
    enum sb_code code;

    *out = (struct sb_layout){0};
    code = vet_objects(&vetting);
    if (code && code != SB_FORMAT)
        return code;
    TRY(vet_version(&vetting, code));
    TRY(vet_encoding(&vetting));
    return vet_tables(&vetting);
}

void sb_layout_release(struct sb_layout *layout)
{
    sb_buf_release(&layout->files_by_path);
    sb_buf_release(&layout->dirs_by_path);
    sb_buf_release(&layout->files_by_address);
}

enum sb_code sb_schema_vet(struct sqlite3 *db, enum sb_schema *schema, int *major, int *minor,
                           bool for_writing)
{
    struct sb_layout layout;
    enum sb_code code = sb_schema_inspect(db, &layout, for_writing);

    *schema = layout.schema;
    *major = layout.major;
    *minor = layout.minor;
    sb_layout_release(&layout);
    return code;
}
