/*
 * Work that is cut among processes, or goes on where it was interrupted.
 */
#ifndef SB_CMD_UI_RESUME_H
#define SB_CMD_UI_RESUME_H

#include "ui/options.h"

#include "core/buf.h"
#include "core/error.h"
#include "core/share.h"

#include <stdbool.h>

/*
 * Work that is cut among several processes: --part=I/N, or --part=auto.
 *
 *     OPTION_PART(struct settings, part, "pack only the part I of N: ..."),
 *     ...
 *     if (!part_parse(settings.part, &settings.share)) ...
 */

/* field is a const char * of the settings. */
#define OPTION_PART(settings, field, help)                                                         \
    OPTION_TEXT(0, "part", settings, field, "I/N", help, OPERAND_NONE)

/* Parses the value; NULL: the work is not cut. False: after a message. */
bool part_parse(const char *text, struct sb_share *out);

/*
 * Sets out to the name of the part's output (store/part_name.h), and *path to its text; changes
 * neither if the work is not cut. False: after a message.
 */
bool part_name_output(const char **path, struct sb_share share, bool bag, struct sb_buf *out);

/* The part as a line of resume.h: I/N also for "auto", which is another part in each process. */
enum sb_code part_add_line(struct sb_buf *out, struct sb_share share) SB_CHECKED;

/*
 * The lines that describe a run with --checkpoint, which task/transfer/checkpoint.h compares, and
 * the message after one that was interrupted.
 */

/*
 * Appends the options of the command line, in their order, without those that do not change what is
 * stored, and those named in `except`.
 */
enum sb_code resume_add_options(struct sb_buf *out, const char *except) SB_CHECKED;

/* Appends one more: "OPTION=value", or just the value if option is NULL. */
enum sb_code resume_add_line(struct sb_buf *out, const char *option, const char *value) SB_CHECKED;

/* The last message of a run that failed, and can be resumed. */
void resume_hint(const char *archive, bool appends);

#endif
