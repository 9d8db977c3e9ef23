/*
 * The file of --report: JSON Lines, which appear whole once the run has ended.
 *
 * A run whose report cannot be written goes on, and says so at its end. Main thread only.
 */
#ifndef SB_CMD_UI_REPORT_FILE_H
#define SB_CMD_UI_REPORT_FILE_H

#include "core/error.h"
#include "ui/json.h"

#include <stdbool.h>

struct sb_outfile;

/* {0}: there is none. */
struct report_file {
    struct sb_outfile *file; /* NULL: likewise */
    struct json line;        /* the current one; the caller begins it */
    bool failed;
    struct sb_error failure; /* of the first line that could not be written */
};

/* report_file_finish replaces an existing file at path. */
enum sb_code report_file_open(struct report_file *report, const char *path) SB_CHECKED;
void report_file_release(struct report_file *report);

/* Ends the line and writes it. */
void report_file_line(struct report_file *report);

/* SB_OK: the complete report is in its place, or there is none. */
enum sb_code report_file_finish(struct report_file *report) SB_CHECKED;

#endif
