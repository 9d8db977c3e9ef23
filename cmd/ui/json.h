/*
 * JSON Lines: an object a line, made member by member. Commas come by themselves.
 *
 *     json_begin(&line);
 *     json_bytes(&line, "path", path, size);
 *     json_number(&line, "size", 17);
 *     json_print(&line);
 *
 * After json_rows the same calls make rows of CSV (RFC 4180, but lines end in LF), a column for
 * each key: names are raw bytes there, null and what is left out are empty, objects and lists
 * inside are JSON.
 *
 * Where memory is lacking `failed` is set, and nothing more is added. Main thread only.
 */
#ifndef SB_CMD_UI_JSON_H
#define SB_CMD_UI_JSON_H

#include "archive/entry.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_content;

/* What --json and --csv set; 0: neither. */
enum json_form { JSON_NONE, JSON_LINES, JSON_CSV };

/* The option that stands for it, "--json" or "--csv". */
const char *json_option(int form);

/* {0} is empty; memory is kept until the release. */
struct json {
    struct sb_buf text;
    bool failed;

    /* of json.c; of CSV: */
    const char *const *columns; /* NULL: objects */
    size_t column;              /* of the next cell */
    size_t cell;                /* place of the last one in the text */
    size_t depth;               /* of objects and lists in the cell */
    struct sb_buf raw;
};

void json_release(struct json *line);

/*
 * For JSON_CSV: prints the line of names, and makes rows from now on; else does nothing. The
 * columns end with NULL, and live on. Objects may leave keys out, but have them in the order of the
 * columns. Only json_print ends a row.
 */
void json_rows(struct json *line, int form, const char *const *columns);

/* An object, in place of what there was; and its end, with a newline. */
void json_begin(struct json *line);
void json_end(struct json *line);

/* Ends it and writes it to stdout; where memory was lacking, the program ends. */
void json_print(struct json *line);

/* An object or a list in it: '{' or '['; key NULL: in a list. And its end. */
void json_open(struct json *line, const char *key, char bracket);
void json_close(struct json *line, char bracket);

void json_number(struct json *line, const char *key, int64_t value);
void json_known(struct json *line, const char *key, bool known, int64_t value); /* else null */
void json_seconds(struct json *line, const char *key, double value);
void json_flag(struct json *line, const char *key, bool value);

/* Text is UTF-8; characters that a terminal might act on are escaped. text NULL: null. key NULL: in
 * a list. */
void json_text(struct json *line, const char *key, const char *text);

/* Any bytes: what is not UTF-8 is escaped as messages have it; or the key is called KEY_base64. */
void json_escaped(struct json *line, const char *key, const char *text);
void json_bytes(struct json *line, const char *key, const char *data, size_t size);

/*
 * The members of `ls --json` and `find --json`: path, type, size (of a directory: of all files
 * below it), mode (permission bits), uid, gid, mtime_ns (null where unknown), for files shard,
 * offset (null where the bytes lie in no file as they are), crc32c, for links target where the
 * shard is there. The entry has no defect. content may be NULL.
 */
extern const char *const json_entry_columns[];
void json_entry(struct json *line, const struct sb_entry *entry, struct sb_content *content);

#endif
