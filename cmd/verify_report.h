/*
 * verify --report: all that a run has to say, as JSON Lines, for a program that reads it later.
 *
 * First {"kind":"start"}, then a line for each defect, as --json has it, and for each note, warning
 * and problem, at last {"kind":"summary"}. The file appears whole when the run has ended, however
 * it did. Main thread only.
 */
#ifndef CMD_VERIFY_REPORT_H
#define CMD_VERIFY_REPORT_H

#include "core/buf.h"
#include "core/error.h"
#include "task/verify.h"

struct sb_outfile;
struct verify_run;

struct verify_report {
    struct sb_outfile *file; /* NULL: there is no report */
    struct sb_buf line;
    bool failed;
    struct sb_error failure; /* of the first write that failed */
};

/* To settings->report; what stands there is replaced by verify_report_finish. */
enum sb_code verify_report_open(struct verify_report *report, const struct verify_run *run,
                                struct sb_error *err) SB_CHECKED;

void verify_report_defect(struct verify_report *report, const struct sb_defect *defect);
void verify_report_event(struct verify_report *report, enum sb_level level, const char *kind,
                         const char *subject, const char *text);

/* The summary of the run that has ended; at SB_OK the whole is in its place. */
enum sb_code verify_report_finish(struct verify_report *report, const struct verify_run *run,
                                  struct sb_error *err) SB_CHECKED;
void verify_report_release(struct verify_report *report);

#endif
