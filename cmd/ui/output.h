/*
 * How commands write names, JSON lines and times to stdout.
 */
#ifndef SB_CMD_UI_OUTPUT_H
#define SB_CMD_UI_OUTPUT_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_content;

/*
 * Buffered (64 KiB) writes to stdout. When one fails, or SIGINT or SIGTERM came, they end the
 * program as message_leave does: with the message, status 2; without one, 141, for EPIPE. So a
 * command has no temporary files while it writes with these. Main thread only.
 */
void output_bytes(const void *data, size_t size);
void output_text(const char *text);
void output_char(char c);
void output_format(const char *format, ...) SB_PRINTF(1, 2);
void output_flush(void);

/* Ends the program in the same way when error_number is not 0. */
void output_check(int error_number);

/* And where there was no memory for what is to be printed. */
void output_need(enum sb_code code);

/* Writes to stdout past that buffer, which must be empty, with progress: for large pieces. As
 * sb_fetch_output has it; context is an int64_t of bytes written so far. */
enum sb_code output_directly(void *context, const void *data, size_t size,
                             struct sb_error *err) SB_CHECKED;

bool output_is_terminal(void);

/* Raw on a pipe, as GNU ls quotes on a terminal; `nul` ends it with NUL and writes raw. */
void output_name(const char *name, size_t size);
void output_line(const char *name, size_t size, bool nul);

/*
 * Appends a JSON string (with quotes) for text that is UTF-8. Characters that a terminal might act
 * on are escaped.
 */
enum sb_code json_string(struct sb_buf *out, const char *text, size_t size) SB_CHECKED;

/*
 * Appends `"key":"..."`, or `"key_base64":"..."` for bytes that are not UTF-8.
 */
enum sb_code json_name(struct sb_buf *out, const char *key, const char *name,
                       size_t size) SB_CHECKED;

/*
 * The object of `ls --json` and `find --json`, without the newline: path, type, size (of a
 * directory: of all files below it), mode (permission bits), uid, gid, mtime_ns (null where
 * unknown), for files shard, offset (null where the bytes lie in no file as they are), crc32c, for
 * links target where the shard is there. A row that cannot be used has path, type and defect.
 * content may be NULL.
 */
enum sb_code json_entry(struct sb_buf *out, const struct sb_entry *entry,
                        struct sb_content *content) SB_CHECKED;

#endif
