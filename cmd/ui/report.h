/*
 * The file of --report, and what a conversion could not keep.
 */
#ifndef SB_CMD_UI_REPORT_H
#define SB_CMD_UI_REPORT_H

#include "ui/json.h"

#include "core/error.h"
#include "task/convert/convert.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The file of --report: JSON Lines, which appear whole once the run has ended.
 *
 * A run whose report cannot be written goes on, and says so at its end. Main thread only.
 */

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

/*
 * What a conversion could not keep: counted for its summary, and in full for --report.
 *
 * Main thread only.
 */

#define REPORT_PROPERTIES 32

struct report {
    int64_t lost[REPORT_PROPERTIES]; /* members, by the number of the SB_KEEPS_ bit */
    bool samples; /* the output was made by --samples, which loses what it might hold */
    struct sb_notify notify;
    struct report_file out;
};

/* path NULL: only counts. report_finish replaces an existing file at path; SB_INVALID: it is an
 * input, or the output. */
enum sb_code report_begin(struct report *report, const char *path, char *const *inputs,
                          size_t count, const char *output) SB_CHECKED;

/* The same for a conversion: sets the callbacks in its options. */
enum sb_code report_open(struct report *report, const char *path,
                         struct sb_convert_options *wanted) SB_CHECKED;
void report_release(struct report *report);

/* The next two are callbacks of the library; context is the struct report. */

/* A member has properties that the output does not hold. */
void report_lost(void *context, const char *name, unsigned properties);

/* As sb_notify calls: prints it, and reports a problem. */
void report_event(void *context, enum sb_level level, const char *kind, const char *subject,
                  const char *text);

/*
 * "OUTPUT: hard links of 3 members are not held by a KIND; --report=FILE lists them", as a warning,
 * if anything was lost; for owners and nanoseconds, which nearly all have, under --verbose only.
 */
void report_summary(const struct report *report, const char *output, const char *kind);

/* Puts the complete report in its place; prints an error if it cannot. failure: what ended the run,
 * or NULL. */
void report_finish(struct report *report, const struct sb_error *failure);

#endif
