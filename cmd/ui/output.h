/*
 * How commands write names to stdout.
 */
#ifndef SB_CMD_UI_OUTPUT_H
#define SB_CMD_UI_OUTPUT_H

#include "core/buf.h"
#include "core/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Buffered (64 KiB) writes to stdout. If one fails, or after SIGINT or SIGTERM, they end the
 * program as message_leave does: with a message and status 2, but for EPIPE with 141 and without
 * one. So a command must not have temporary files while it writes with these. Main thread only.
 */
void output_bytes(const void *data, size_t size);
void output_text(const char *text);
void output_char(char c);
void output_format(const char *format, ...) SB_PRINTF(1, 2);
void output_flush(void);

/* Ends the program in the same way when error_number is not 0. */
void output_check(int error_number);

/* Likewise if there was no memory for the output. */
void output_need(enum sb_code code);

/* Writes to stdout past that buffer, which must be empty, with progress: for large pieces. As
 * sb_fetch_output has it; context is an int64_t of bytes written so far. */
enum sb_code output_directly(void *context, const void *data, size_t size) SB_CHECKED;

/* Limits output_directly to so many bytes of a container, then SB_LIMIT, which names --max-size; 0:
 * no limit. */
void output_allow(int64_t size);

bool output_is_terminal(void);

/* Raw on a pipe, as GNU ls quotes on a terminal; `nul` ends it with NUL and writes raw. */
void output_name(const char *name, size_t size);
void output_line(const char *name, size_t size, bool nul);

#endif
