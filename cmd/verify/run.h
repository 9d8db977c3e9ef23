/*
 * One run of verify, of any container: what was requested, what it found, and where that is
 * reported. With a report (verify/report.h) defects, warnings and problems go only there.
 *
 * Main thread only.
 */
#ifndef SB_CMD_VERIFY_RUN_H
#define SB_CMD_VERIFY_RUN_H

#include "store/store.h"
#include "task/restore/restore.h"
#include "task/verify/bag.h"
#include "task/verify/cache.h"
#include "task/verify/verify.h"
#include "verify/defect.h"
#include "verify/report.h"
#include "verify/settings.h"

struct verify_run {
    const struct verify_settings *settings;
    const char *path; /* as given */
    const char *name; /* for messages: "standard input", or the path */
    char **names;     /* in it, to which the run is limited */
    size_t name_count;
    struct sb_verify_choice choice; /* what settings->choice says */

    struct sb_verify_events events; /* for the task: their context is the run */
    struct sb_notify notify;        /* likewise */

    const char *word;                    /* what it is; NULL until it is known */
    enum sb_store_ability rows;          /* what it has, SB_CAN_BAGS for one; 0: files */
    struct sb_verify_result result;      /* of a bag, too, whose records are its files */
    struct sb_verify_bag_result bag;     /* of a bag */
    struct sb_verify_cache_result cache; /* of a cache, or the sum of several */
    struct sb_restore_result restored;   /* with --repair-from; result is of before */
    struct sb_protect_result protect;    /* with --repair */
    const char *unproved;                /* what soundness does not prove here; NULL: nothing */
    int64_t errors[VERIFY_KINDS];        /* defects of each kind */
    int64_t problems;                    /* without defects */
    int64_t began, ended;                /* seconds since the epoch */
    double seconds;                      /* that it took, by the clock that is never set */
    int status;                          /* once it has ended: of a signal, 128 and its number */
    const struct sb_error *failure;      /* what ended it; NULL: it came to its end */
    struct report_file report;
};

/*
 * operands: the path, then names in it. The run must not move in memory. Errors of --report and
 * --prom are found here, before the work.
 */
enum sb_code verify_run_begin(struct verify_run *run, const struct verify_settings *settings,
                              char **operands, size_t count) SB_CHECKED;

/* Says that a defect was found; this is events.found. */
void verify_run_found(void *context, const struct sb_defect *defect);

/* A warning of verify itself, of the container as a whole. kind is a word for the report. */
void verify_run_warn(struct verify_run *run, const char *kind, const char *format, ...)
    SB_PRINTF(3, 4);

/* What --quick has not looked at: a note, and a warning of the report, because a run without
 * defects is silent. */
void verify_run_quick(struct verify_run *run, const char *format, ...) SB_PRINTF(2, 3);

/* As verify_run_warn, but printed even if there is a report: nobody may miss it although the status
 * is 0. */
void verify_run_alert(struct verify_run *run, const char *kind, const char *format, ...)
    SB_PRINTF(3, 4);

/* To print after a number of defects: the two halves of ", named in FILE", both empty without a
 * report. */
const char *verify_run_named(const struct verify_run *run);
const char *verify_run_report(const struct verify_run *run);

/* Flushes the output so far, but not after a signal, which would end the program during that. */
void verify_run_flush(void);

/* Says what ended the run, if something did, finishes report and metrics; returns the status. */
int verify_run_end(struct verify_run *run, enum sb_code code);

#endif
