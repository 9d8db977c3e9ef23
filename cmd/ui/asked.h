/*
 * What a run with --checkpoint was asked for, in the lines that task/checkpoint.h compares, and
 * what is said of one that was interrupted.
 */
#ifndef SB_CMD_UI_ASKED_H
#define SB_CMD_UI_ASKED_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>

/*
 * The options that the command line had, in their order; not those that change nothing of what is
 * stored, nor those named in `except`, which ends with NULL.
 */
enum sb_code asked_options(struct sb_buf *out, const char *const *except) SB_CHECKED;

/* One more: "OPTION=value", or just the value where option is NULL. */
enum sb_code asked_line(struct sb_buf *out, const char *option, const char *value) SB_CHECKED;

/* The last line of a run that failed, and can be gone on with. */
void asked_to_resume(const char *archive, bool appends);

#endif
