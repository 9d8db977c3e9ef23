#include "open/opening.h"
#include "ui/output.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

/*
 * Length of the character at text (UTF-8) when it is one that a terminal might act on: DEL, C1
 * controls and those that change the direction of text. 0 for all others.
 */
static size_t control_size(const unsigned char *text, size_t size)
{
    if (text[0] == 0x7f)
        return 1;
    if (size >= 2 && text[0] == 0xc2 && text[1] < 0xa0)
        return 2;
    if (size >= 2 && text[0] == 0xd8 && text[1] == 0x9c)
        return 2;
    if (size < 3 || text[0] != 0xe2)
        return 0;
    if (text[1] == 0x80 && (text[2] == 0x8e || text[2] == 0x8f))
        return 3;
    if (text[1] == 0x80 && text[2] >= 0xaa && text[2] <= 0xae)
        return 3;
    if (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9)
        return 3;
    return 0;
}

static unsigned code_point(const unsigned char *text, size_t size)
{
    if (size == 1)
        return text[0];
    if (size == 2)
        return (text[0] & 0x1fU) << 6 | (text[1] & 0x3fU);
    return (text[0] & 0x0fU) << 12 | (text[1] & 0x3fU) << 6 | (text[2] & 0x3fU);
}

/* Of text that is JSON already. */
static enum sb_code add_masked(struct sb_buf *out, const unsigned char *text, size_t size)
{
    enum sb_code code = SB_OK;
    size_t done = 0;

    for (size_t i = 0; i < size && !code;) {
        size_t control = control_size(text + i, size - i);

        if (control == 0) {
            i++;
            continue;
        }
        code = sb_buf_add(out, text + done, i - done);
        if (!code)
            code = sb_buf_add_format(out, "\\u%04x", code_point(text + i, control));
        i += control;
        done = i;
    }
    return code ? code : sb_buf_add(out, text + done, size - done);
}

/* json_quote(?1), on a connection that lives as long as the program. */
static sqlite3_stmt *quoting_statement(void)
{
    static sqlite3_stmt *statement;
    sqlite3 *db;

    if (statement)
        return statement;
    if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
        sqlite3_prepare_v2(db, "SELECT json_quote(?1)", -1, &statement, NULL)) {
        sqlite3_close(db);
        return NULL;
    }
    return statement;
}

static enum sb_code quote(struct sb_buf *out, const char *text, size_t size)
{
    sqlite3_stmt *statement = quoting_statement();
    enum sb_code code = SB_NOMEM;
    const unsigned char *quoted;

    if (!statement)
        return SB_NOMEM;
    if (sqlite3_bind_text64(statement, 1, text, size, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        quoted = sqlite3_column_text(statement, 0);
        if (quoted)
            code = add_masked(out, quoted, (size_t)sqlite3_column_bytes(statement, 0));
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

static bool is_plain(const unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] == '"' || text[i] == '\\')
            return false;
        if (text[i] >= 0x7f && control_size(text + i, size - i) > 0)
            return false;
    }
    return true;
}

enum sb_code json_string(struct sb_buf *out, const char *text, size_t size)
{
    enum sb_code code;

    if (!is_plain((const unsigned char *)text, size))
        return quote(out, text, size);
    code = sb_buf_add_char(out, '"');
    if (!code)
        code = sb_buf_add(out, text, size);
    return code ? code : sb_buf_add_char(out, '"');
}

static enum sb_code add_base64(struct sb_buf *out, const char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < size && !code; i += 3) {
        unsigned bits = (unsigned)(unsigned char)data[i] << 16;
        char four[4] = {'=', '=', '=', '='};

        if (i + 1 < size)
            bits |= (unsigned)(unsigned char)data[i + 1] << 8;
        if (i + 2 < size)
            bits |= (unsigned char)data[i + 2];
        four[0] = digits[bits >> 18];
        four[1] = digits[bits >> 12 & 63];
        if (i + 1 < size)
            four[2] = digits[bits >> 6 & 63];
        if (i + 2 < size)
            four[3] = digits[bits & 63];
        code = sb_buf_add(out, four, sizeof(four));
    }
    return code;
}

enum sb_code json_name(struct sb_buf *out, const char *key, const char *name, size_t size)
{
    bool utf8 = sb_is_utf8(name, size);
    enum sb_code code = sb_buf_add_format(out, "\"%s%s\":", key, utf8 ? "" : "_base64");

    if (code)
        return code;
    if (utf8)
        return json_string(out, name, size);
    code = sb_buf_add_char(out, '"');
    if (!code)
        code = add_base64(out, name, size);
    return code ? code : sb_buf_add_char(out, '"');
}

/* `,"key":value`, or null where it is not known. */
static enum sb_code add_number(struct sb_buf *out, const char *key, bool known, int64_t value)
{
    if (known)
        return sb_buf_add_format(out, ",\"%s\":%" PRId64, key, value);
    return sb_buf_add_format(out, ",\"%s\":null", key);
}

/* Nothing is added for a target that cannot be read: listing works without the shards. */
static enum sb_code add_target(struct sb_buf *out, const struct sb_entry *entry,
                               struct sb_content *content)
{
    struct sb_buf target = {0};
    enum sb_code code = SB_OK;

    if (read_target(content, entry, &target)) {
        code = sb_buf_add_char(out, ',');
        if (!code)
            code = json_name(out, "target", target.data, target.size);
    }
    sb_buf_release(&target);
    return code;
}

enum sb_code json_entry(struct sb_buf *out, const struct sb_entry *entry,
                        struct sb_content *content)
{
    static const char *const types[] = {[SB_FILE] = "file", [SB_DIR] = "dir", [SB_LINK] = "link"};
    bool is_dir = entry->type == SB_DIR;
    bool located = !content || sb_shards_hold(sb_content_shards(content), entry->shard);
    enum sb_code code = sb_buf_add_char(out, '{');

    if (!code)
        code = json_name(out, "path", entry->path, entry->path_size);
    if (!code)
        code = sb_buf_add_format(out, ",\"type\":\"%s\"", types[entry->type]);
    if (entry->defect) {
        if (!code)
            code = sb_buf_add_text(out, ",\"defect\":");
        if (!code)
            code = json_string(out, entry->defect, strlen(entry->defect));
        return code ? code : sb_buf_add_char(out, '}');
    }
    if (!code)
        code = add_number(out, "size", true, is_dir ? entry->size_tree : entry->size);
    if (!code)
        code = add_number(out, "mode", entry->has & SB_HAS_MODE, entry->mode & 07777);
    if (!code)
        code = add_number(out, "uid", entry->has & SB_HAS_UID, entry->uid);
    if (!code)
        code = add_number(out, "gid", entry->has & SB_HAS_GID, entry->gid);
    if (!code)
        code = add_number(out, "mtime_ns", entry->has & SB_HAS_MTIME, entry->mtime_ns);
    if (!code && !is_dir)
        code = add_number(out, "shard", located, entry->shard);
    if (!code && !is_dir)
        code = add_number(out, "offset", located, entry->offset);
    if (!code && !is_dir)
        code = add_number(out, "crc32c", entry->has & SB_HAS_CRC, entry->crc32c);
    if (!code && entry->type == SB_LINK)
        code = add_target(out, entry, content);
    return code ? code : sb_buf_add_char(out, '}');
}
