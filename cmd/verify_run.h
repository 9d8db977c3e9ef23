/*
 * One run of verify, of whatever container: what it was asked for, what it found, and where that is
 * said. Main thread only.
 */
#ifndef CMD_VERIFY_RUN_H
#define CMD_VERIFY_RUN_H

#include "task/restore.h"
#include "task/verify.h"
#include "verify_settings.h"

struct verify_run {
    const struct verify_settings *settings;
    const char *path; /* as given */
    char **names;     /* in it, to which the run is limited */
    size_t name_count;
    struct sb_verify_events events; /* for the task: their context is the run */
    struct sb_verify_result
        result; /* of a bag, whose records are its files, as far as it has them */
    struct sb_restore_result restored; /* with --repair-from; result is of before */
};

/* operands: the path, then names in it. The run must stay where it is. */
void verify_run_begin(struct verify_run *run, const struct verify_settings *settings,
                      char **operands, size_t count);

/* Says that a defect was found; this is events.found. */
void verify_run_found(void *context, const struct sb_defect *defect);

#endif
