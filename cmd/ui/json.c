#include "ui/json.h"
#include "open/opening.h"
#include "ui/message.h"
#include "ui/output.h"

#include <inttypes.h>
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

/* As JSON quotes it; what a terminal might act on is escaped, too. */
static enum sb_code add_string(struct sb_buf *out, const char *string, size_t size)
{
    static const char letters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    const unsigned char *text = (const unsigned char *)string;
    size_t done = 0, escaped;

    TRY(sb_buf_add_char(out, '"'));
    for (size_t i = 0; i < size; i += escaped ? escaped : 1) {
        const char *letter = text[i] ? strchr(letters, string[i]) : NULL;

        escaped = text[i] < ' ' || letter ? 1
                  : text[i] < 0x7f        ? 0
                                          : control_size(text + i, size - i);
        if (!escaped)
            continue;
        TRY(sb_buf_add(out, string + done, i - done));
        done = i + escaped;
        TRY(letter ? sb_buf_add_format(out, "\\%c", escapes[letter - letters])
                   : sb_buf_add_format(out, "\\u%04x", code_point(text + i, escaped)));
    }
    TRY(sb_buf_add(out, string + done, size - done));
    return sb_buf_add_char(out, '"');
}

static enum sb_code add_base64(struct sb_buf *out, const char *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        unsigned char three[3] = {0};
        size_t taken = size - i < 3 ? size - i : 3;

        memcpy(three, data + i, taken);
        const char four[4] = {
            digits[three[0] >> 2],
            digits[(three[0] & 3) << 4 | three[1] >> 4],
            taken > 1 ? digits[(three[1] & 15) << 2 | three[2] >> 6] : '=',
            taken > 2 ? digits[three[2] & 63] : '=',
        };

        TRY(sb_buf_add(out, four, sizeof(four)));
    }
    return SB_OK;
}

/* Notes whether it went well. */
static void note(struct json *line, enum sb_code code)
{
    line->failed = line->failed || code != SB_OK;
}

/* Is what comes next a cell of CSV, or else JSON? */
static bool in_cell(const struct json *line)
{
    return line->columns && line->depth == 0;
}

/* As it is; but on a terminal a name must not act. */
static void add_raw(struct json *line, const char *data, size_t size)
{
    note(line, output_is_terminal() ? sb_quote(&line->text, data, size, SB_ESCAPE)
                                    : sb_buf_add(&line->text, data, size));
}

static void quote_cell(struct json *line)
{
    struct sb_buf *text = &line->text, *raw = &line->raw;

    note(line, sb_buf_set(raw, text->data + line->cell, text->size - line->cell));
    text->size = line->cell;
    note(line, sb_buf_add_char(text, '"'));
    for (size_t i = 0; i < raw->size && !line->failed; i++) {
        if (raw->data[i] == '"')
            note(line, sb_buf_add_char(text, '"'));
        note(line, sb_buf_add_char(text, raw->data[i]));
    }
    note(line, sb_buf_add_char(text, '"'));
}

static void end_cell(struct json *line)
{
    for (size_t i = line->cell; i < line->text.size && !line->failed; i++) {
        char c = line->text.data[i];

        if (c == ',' || c == '"' || c == '\r' || c == '\n') {
            quote_cell(line);
            return;
        }
    }
}

/* The columns from the last cell on up to that of the key; NULL: up to the end. */
static void begin_cell(struct json *line, const char *key)
{
    const char *name;

    end_cell(line);
    do {
        name = line->columns[line->column];
        if (!name && key)
            message_error("--csv: there is no column for '%s'", key);
        if (!name)
            return;
        if (line->column++ > 0)
            note(line, sb_buf_add_char(&line->text, ','));
        line->cell = line->text.size;
    } while (!key || strcmp(name, key) != 0);
}

/* What comes before a value: a comma, unless it is the first, and the key. */
static void add_key(struct json *line, const char *key, const char *suffix)
{
    char last = line->text.size > 0 ? line->text.data[line->text.size - 1] : '{';

    if (line->failed)
        return;
    if (in_cell(line)) {
        begin_cell(line, key);
        return;
    }
    if (last != '{' && last != '[')
        note(line, sb_buf_add_char(&line->text, ','));
    if (key)
        note(line, sb_buf_add_format(&line->text, "\"%s%s\":", key, suffix));
}

void json_release(struct json *line)
{
    sb_buf_release(&line->text);
    sb_buf_release(&line->raw);
}

const char *json_option(int form)
{
    return form == JSON_CSV ? "--csv" : "--json";
}

void json_rows(struct json *line, int form, const char *const *columns)
{
    if (form != JSON_CSV)
        return;
    line->columns = columns;
    for (size_t i = 0; columns[i]; i++) {
        if (i > 0)
            output_char(',');
        output_text(columns[i]);
    }
    output_char('\n');
}

void json_begin(struct json *line)
{
    sb_buf_clear(&line->text);
    line->column = line->cell = line->depth = 0;
    line->failed = !line->columns && sb_buf_add_char(&line->text, '{') != SB_OK;
}

void json_end(struct json *line)
{
    if (line->columns)
        begin_cell(line, NULL);
    note(line, sb_buf_add_text(&line->text, line->columns ? "\n" : "}\n"));
}

void json_print(struct json *line)
{
    json_end(line);
    output_need(line->failed ? SB_NOMEM : SB_OK);
    output_bytes(line->text.data, line->text.size);
}

void json_open(struct json *line, const char *key, char bracket)
{
    add_key(line, key, "");
    note(line, sb_buf_add_char(&line->text, bracket));
    line->depth++;
}

void json_close(struct json *line, char bracket)
{
    note(line, sb_buf_add_char(&line->text, bracket));
    line->depth--;
}

void json_number(struct json *line, const char *key, int64_t value)
{
    add_key(line, key, "");
    note(line, sb_buf_add_format(&line->text, "%" PRId64, value));
}

void json_known(struct json *line, const char *key, bool known, int64_t value)
{
    if (known)
        json_number(line, key, value);
    else
        json_text(line, key, NULL);
}

void json_seconds(struct json *line, const char *key, double value)
{
    add_key(line, key, "");
    note(line, sb_buf_add_format(&line->text, "%.3f", value));
}

void json_flag(struct json *line, const char *key, bool value)
{
    add_key(line, key, "");
    note(line, sb_buf_add_text(&line->text, value ? "true" : "false"));
}

void json_text(struct json *line, const char *key, const char *text)
{
    add_key(line, key, "");
    if (in_cell(line))
        add_raw(line, text ? text : "", text ? strlen(text) : 0);
    else if (text)
        note(line, add_string(&line->text, text, strlen(text)));
    else
        note(line, sb_buf_add_text(&line->text, "null"));
}

void json_escaped(struct json *line, const char *key, const char *text)
{
    struct sb_buf escaped = {0};

    note(line, sb_quote(&escaped, text, strlen(text), SB_ESCAPE));
    json_text(line, key, escaped.data ? escaped.data : "");
    sb_buf_release(&escaped);
}

void json_bytes(struct json *line, const char *key, const char *data, size_t size)
{
    bool utf8 = sb_is_utf8(data, size);

    add_key(line, key, utf8 ? "" : "_base64");
    if (in_cell(line)) {
        add_raw(line, data, size);
        return;
    }
    if (utf8) {
        note(line, add_string(&line->text, data, size));
        return;
    }
    note(line, sb_buf_add_char(&line->text, '"'));
    note(line, add_base64(&line->text, data, size));
    note(line, sb_buf_add_char(&line->text, '"'));
}

/* Nothing is added for a target that cannot be read: listing works without the shards. */
static void add_target(struct json *line, const struct sb_entry *entry, struct sb_content *content)
{
    struct sb_buf target = {0};

    if (read_target(content, entry, &target))
        json_bytes(line, "target", target.data, target.size);
    sb_buf_release(&target);
}

const char *const json_entry_columns[] = {
    "path",     "type",  "size",   "mode",   "uid",    "gid",
    "mtime_ns", "shard", "offset", "crc32c", "target", NULL,
};

void json_entry(struct json *line, const struct sb_entry *entry, struct sb_content *content)
{
    bool is_dir = entry->type == SB_DIR;
    bool located = !content || sb_shards_hold(sb_content_shards(content), entry->shard);

    json_bytes(line, "path", entry->path, entry->path_size);
    json_text(line, "type", sb_type_word(entry->type));
    json_number(line, "size", is_dir ? entry->size_tree : entry->size);
    json_known(line, "mode", entry->has & SB_HAS_MODE, entry->mode & 07777);
    json_known(line, "uid", entry->has & SB_HAS_UID, entry->uid);
    json_known(line, "gid", entry->has & SB_HAS_GID, entry->gid);
    json_known(line, "mtime_ns", entry->has & SB_HAS_MTIME, entry->mtime_ns);
    if (is_dir)
        return;
    json_known(line, "shard", located, entry->shard);
    json_known(line, "offset", located, entry->offset);
    json_known(line, "crc32c", entry->has & SB_HAS_CRC, entry->crc32c);
    if (entry->type == SB_LINK)
        add_target(line, entry, content);
}
