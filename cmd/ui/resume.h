/*
 * The lines that describe a run with --checkpoint, which task/transfer/checkpoint.h compares, and
 * the message after one that was interrupted.
 */
#ifndef SB_CMD_UI_RESUME_H
#define SB_CMD_UI_RESUME_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>

/*
 * Appends the options of the command line, in their order, without those that do not change what is
 * stored, and those named in `except`, which ends with NULL.
 */
enum sb_code resume_add_options(struct sb_buf *out, const char *const *except) SB_CHECKED;

/* Appends one more: "OPTION=value", or just the value if option is NULL. */
enum sb_code resume_add_line(struct sb_buf *out, const char *option, const char *value) SB_CHECKED;

/* The last message of a run that failed, and can be resumed. */
void resume_hint(const char *archive, bool appends);

#endif
