/*
 * verify --report: all that a run reports, as JSON Lines, for a program that reads it later.
 *
 * First {"kind":"start"}, then a line for each defect, as --json has it, and for each note, warning
 * and problem, at last {"kind":"summary"}. The file appears whole when the run has ended, however
 * it did. Main thread only.
 */
#ifndef SB_CMD_VERIFY_REPORT_H
#define SB_CMD_VERIFY_REPORT_H

#include "core/error.h"
#include "task/verify/verify.h"
#include "ui/report_file.h"

struct verify_run;

/* Opens settings->report; verify_report_finish replaces an existing file. */
enum sb_code verify_report_open(struct report_file *report,
                                const struct verify_run *run) SB_CHECKED;

void verify_report_defect(struct report_file *report, const struct sb_defect *defect);
void verify_report_event(struct report_file *report, enum sb_level level, const char *kind,
                         const char *subject, const char *text);

/* Adds the summary of the run that has ended; at SB_OK the complete report is in its place. */
enum sb_code verify_report_finish(struct report_file *report,
                                  const struct verify_run *run) SB_CHECKED;

#endif
