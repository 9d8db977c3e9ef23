#include "task/convert/extents_line.h"

#include "archive/database.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/name.h"
#include "core/number.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sb_line_parser {
    sqlite3 *db;
    sqlite3_stmt *parse;
    struct sb_buf text; /* the table's line, or a decoded path */
};

/* In the order of the statement's columns. */
enum {
    COLUMN_PATH,
    COLUMN_PATH_BASE64,
    COLUMN_TYPE,
    COLUMN_DEFECT,
    COLUMN_SHARD,
    COLUMN_OFFSET,
    COLUMN_SIZE,
    COLUMN_CRC32C,
    COLUMN_MODE,
    COLUMN_UID,
    COLUMN_GID,
    COLUMN_MTIME,
};

static const char parse_json[] =
    "SELECT json_extract(?1, '$.path'), json_extract(?1, '$.path_base64'),"
    " json_extract(?1, '$.type'), json_extract(?1, '$.defect'), json_extract(?1, '$.shard'),"
    " json_extract(?1, '$.offset'), json_extract(?1, '$.size'), json_extract(?1, '$.crc32c'),"
    " json_extract(?1, '$.mode'), json_extract(?1, '$.uid'), json_extract(?1, '$.gid'),"
    " json_extract(?1, '$.mtime_ns')";

enum sb_code sb_line_parser_new(struct sb_line_parser **out)
{
    struct sb_line_parser *parser = calloc(1, sizeof(*parser));
    enum sb_code code;

    *out = NULL;
    if (!parser)
        return sb_fail_memory();
    code = sb_database_open_private(&parser->db, ".");
    if (!code)
        code = sb_database_prepare(parser->db, &parser->parse, parse_json);
    if (code) {
        sb_line_parser_free(parser);
        return code;
    }
    *out = parser;
    return SB_OK;
}

void sb_line_parser_free(struct sb_line_parser *parser)
{
    if (!parser)
        return;
    sqlite3_finalize(parser->parse);
    sqlite3_close(parser->db);
    sb_buf_release(&parser->text);
    free(parser);
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;

    return found ? (int)(found - digits) : -1;
}

static enum sb_code decode_base64(struct sb_buf *out, const char *text, size_t size)
{
    unsigned bits = 0, count = 0;

    while (size > 0 && text[size - 1] == '=')
        size--;
    sb_buf_clear(out);
    if (sb_buf_reserve(out, size))
        return sb_fail_memory();
    for (size_t i = 0; i < size; i++) {
        int digit = base64_digit(text[i]);

        if (digit < 0)
            return sb_fail(SB_INVALID, "path_base64 is no base64");
        bits = bits << 6 | (unsigned)digit;
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        if (sb_buf_add_char(out, (char)(bits >> count & 0xff)))
            return sb_fail_memory();
    }
    return SB_OK;
}

static enum sb_code take_path(struct sb_line_parser *parser, struct sb_entry *entry)
{
    sqlite3_stmt *row = parser->parse;
    int column =
        sqlite3_column_type(row, COLUMN_PATH) != SQLITE_NULL ? COLUMN_PATH : COLUMN_PATH_BASE64;
    enum sb_code code;

    if (sqlite3_column_type(row, column) != SQLITE_TEXT)
        return sb_fail(SB_INVALID, "has no path");
    entry->path = (const char *)sqlite3_column_text(row, column);
    entry->path_size = (size_t)sqlite3_column_bytes(row, column);
    if (!entry->path)
        return sb_fail_memory();
    if (column == COLUMN_PATH)
        return SB_OK;
    code = decode_base64(&parser->text, entry->path, entry->path_size);
    entry->path = parser->text.data;
    entry->path_size = parser->text.size;
    return code;
}

static enum sb_code take_type(struct sb_line_parser *parser, struct sb_entry *entry)
{
    const char *type = (const char *)sqlite3_column_text(parser->parse, COLUMN_TYPE);

    if (!type)
        return SB_OK;
    for (entry->type = SB_FILE; entry->type <= SB_LINK; entry->type++) {
        if (strcmp(type, sb_type_word(entry->type)) == 0)
            return SB_OK;
    }
    return sb_fail(SB_INVALID, "type is none of file, dir and link");
}

/* A whole number within low to high; or, if it may be missing (bit > 0), null or nothing. */
static enum sb_code take_number(struct sb_line_parser *parser, int column, const char *key,
                                int64_t low, int64_t high, unsigned bit, struct sb_entry *entry,
                                int64_t *value)
{
    int type = sqlite3_column_type(parser->parse, column);

    *value = 0;
    if (type == SQLITE_NULL && bit)
        return SB_OK;
    if (type == SQLITE_NULL)
        return sb_fail(SB_INVALID, "has no %s", key);
    *value = sqlite3_column_int64(parser->parse, column);
    if (type != SQLITE_INTEGER || *value < low || *value > high)
        return sb_fail(SB_INVALID, "its %s is no number that can be", key);
    entry->has |= bit;
    return SB_OK;
}

static enum sb_code take_extent(struct sb_line_parser *parser, struct sb_entry *entry)
{
    int64_t shard, crc = 0;
    enum sb_code code =
        take_number(parser, COLUMN_SHARD, "shard", 0, SB_SHARD_MAX, 0, entry, &shard);

    if (!code)
        code = take_number(parser, COLUMN_OFFSET, "offset", 0, INT64_MAX, 0, entry, &entry->offset);
    if (!code)
        code = take_number(parser, COLUMN_SIZE, "size", 0, INT64_MAX, 0, entry, &entry->size);
    if (!code)
        code = take_number(parser, COLUMN_CRC32C, "crc32c", 0, UINT32_MAX, SB_HAS_CRC, entry, &crc);
    entry->shard = (uint32_t)shard;
    entry->crc32c = (uint32_t)crc;
    return code;
}

static enum sb_code take_metadata(struct sb_line_parser *parser, struct sb_entry *entry)
{
    int64_t mode = 0;
    enum sb_code code =
        take_number(parser, COLUMN_MODE, "mode", 0, 0177777, SB_HAS_MODE, entry, &mode);

    if (!code)
        code =
            take_number(parser, COLUMN_UID, "uid", 0, SB_ID_MOST, SB_HAS_UID, entry, &entry->uid);
    if (!code)
        code =
            take_number(parser, COLUMN_GID, "gid", 0, SB_ID_MOST, SB_HAS_GID, entry, &entry->gid);
    if (!code)
        code = take_number(parser, COLUMN_MTIME, "mtime_ns", INT64_MIN, INT64_MAX, SB_HAS_MTIME,
                           entry, &entry->mtime_ns);
    entry->mode = (uint32_t)mode;
    return code;
}

/* SQLite would end the string at a NUL, and make it another name. */
static bool escapes_nul(const char *line)
{
    for (const char *at = strchr(line, '\\'); at && at[1]; at = strchr(at + 2, '\\')) {
        if (strncmp(at + 1, "u0000", 5) == 0)
            return true;
    }
    return false;
}

static enum sb_code take_json(struct sb_line_parser *parser, const char *line, size_t size,
                              struct sb_entry *entry)
{
    int rc;

    sqlite3_reset(parser->parse);
    if (sqlite3_bind_text64(parser->parse, 1, line, size, SQLITE_STATIC, SQLITE_UTF8))
        return sb_fail_memory();
    rc = sqlite3_step(parser->parse);
    if (rc == SQLITE_NOMEM)
        return sb_fail_memory();
    if (rc != SQLITE_ROW)
        return sb_fail(SB_INVALID, "is no JSON object");
    if (sqlite3_column_type(parser->parse, COLUMN_DEFECT) != SQLITE_NULL)
        return sb_fail(SB_INVALID, "is of an entry that had a defect");
    TRY(take_path(parser, entry));
    TRY(take_type(parser, entry));
    TRY(take_metadata(parser, entry));
    if (entry->type != SB_DIR)
        TRY(take_extent(parser, entry));
    return SB_OK;
}

/* Cuts the last column off the line; NULL if there is none. */
static const char *cut_column(char *line)
{
    char *tab = strrchr(line, '\t');

    if (!tab)
        return NULL;
    *tab = '\0';
    return tab + 1;
}

static enum sb_code take_table(struct sb_line_parser *parser, const char *line, size_t size,
                               struct sb_entry *entry)
{
    const char *shard_text, *offset_text, *size_text;
    int64_t shard;

    if (sb_buf_set(&parser->text, line, size))
        return sb_fail_memory();
    size_text = cut_column(parser->text.data);
    offset_text = size_text ? cut_column(parser->text.data) : NULL;
    shard_text = offset_text ? cut_column(parser->text.data) : NULL;
    if (!shard_text || !sb_parse_integer(shard_text, 0, SB_SHARD_MAX, &shard) ||
        !sb_parse_integer(offset_text, 0, INT64_MAX, &entry->offset) ||
        !sb_parse_integer(size_text, 0, INT64_MAX, &entry->size))
        return sb_fail(SB_INVALID,
                       "is neither JSON nor path, shard, offset and size with tabs between them");
    entry->shard = (uint32_t)shard;
    entry->path = parser->text.data;
    entry->path_size = strlen(parser->text.data);
    return SB_OK;
}

static enum sb_code complete(struct sb_entry *entry)
{
    static const mode_t formats[] = {[SB_FILE] = S_IFREG, [SB_DIR] = S_IFDIR, [SB_LINK] = S_IFLNK};
    bool is_root = entry->type == SB_DIR && entry->path_size == 0;
    const char *problem = is_root ? NULL : sb_name_problem(entry->path, entry->path_size);

    if (problem)
        return sb_fail(SB_INVALID, "its path %s", problem);
    if (entry->size > INT64_MAX - entry->offset)
        return sb_fail(SB_INVALID, "its extent ends beyond 2^63 bytes");
    if (entry->type == SB_LINK && !(entry->has & SB_HAS_MODE)) {
        entry->mode = 0777;
        entry->has |= SB_HAS_MODE;
    }
    if (entry->has & SB_HAS_MODE)
        entry->mode = (entry->mode & 07777) | formats[entry->type];
    return SB_OK;
}

enum sb_code sb_line_parse(struct sb_line_parser *parser, const char *line, size_t size,
                           struct sb_entry *entry)
{
    bool is_json = size >= 2 && line[0] == '{' && line[size - 1] == '}';

    *entry = (struct sb_entry){.type = SB_FILE};
    if (memchr(line, '\0', size) || (is_json && escapes_nul(line)))
        return sb_fail(SB_INVALID, "has a NUL");
    TRY(is_json ? take_json(parser, line, size, entry) : take_table(parser, line, size, entry));
    return complete(entry);
}
