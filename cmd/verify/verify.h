/*
 * The parts of verify: their options, one run, what it found, and where that is reported.
 */
#ifndef SB_CMD_VERIFY_VERIFY_H
#define SB_CMD_VERIFY_VERIFY_H

#include "open/given.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/options.h"
#include "ui/report.h"
#include "ui/shared_options.h"

#include "core/buf.h"
#include "core/error.h"
#include "store/store.h"
#include "task/protect/protect.h"
#include "task/restore/restore.h"
#include "task/verify/bag.h"
#include "task/verify/verify.h"

#include <stdbool.h>

/* What the options of verify say: a struct for each part of it. */

/* As they were given; NULL: not. */
struct verify_choice_settings {
    const char *subset;
    const char *part;
    const char *shards;
    const char *max_time;
    const char *state;
    const char *max_age;
};

struct verify_records_settings {
    struct sb_bag_words bag;
    const char *files_from;
    const char *repair_to;
    bool keep_numbers;
    bool force;
};

struct verify_repair_settings {
    bool repair; /* by parity files; of a cache, its index */
    const char *parity_dir;
    const char *from;
    const char *prefix;
    bool trust;
    bool undo;
    bool dry_run;
};

struct verify_settings {
    struct opening opening;
    struct sb_verify_options wanted;
    bool json;
    const char *report;  /* NULL, or where the report goes */
    const char *metrics; /* NULL, or where metrics go */
    struct verify_choice_settings choice;
    struct verify_records_settings records; /* of bags alone */
    struct verify_repair_settings repair;   /* of archives, but for dry_run */
    const char *min_age;                    /* of caches alone */
};

/*
 * All kinds of defects, of any container, as shardbox-reports(7) lists them; the last one, "other",
 * stands for any that is not among them.
 */
#define VERIFY_KINDS 34
extern const char *const verify_kinds[VERIFY_KINDS];

/*
 * One run of verify, of any container: what was requested, what it found, and where that is
 * reported. With a report defects, warnings and problems go only there.
 *
 * Main thread only.
 */

enum verify_input {
    VERIFY_ARCHIVE = 1 << 0,
    VERIFY_MEMBERS = 1 << 1, /* of a tar, cpio or zip */
    VERIFY_BAG = 1 << 2,
    VERIFY_SYRAH = 1 << 3,
    VERIFY_CACHE = 1 << 4,
};

struct verify_run {
    const struct verify_settings *settings;
    const char *path; /* as given */
    const char *name; /* for messages: "standard input", or the path */
    char **names;     /* in it, to which the run is limited */
    size_t name_count;
    struct sb_verify_choice choice; /* what settings->choice says */

    struct sb_verify_events events; /* for the task: their context is the run */
    struct sb_notify notify;        /* likewise */

    const char *word;                  /* what it is; NULL until it is known */
    enum verify_input input;           /* likewise; an archive until it is known */
    struct sb_verify_result result;    /* of all its files */
    struct sb_restore_result restored; /* with --repair-from; result is of before */
    struct sb_protect_result protect;  /* with --repair */
    int64_t errors[VERIFY_KINDS];      /* defects of each kind */
    int64_t problems;                  /* without defects */
    int64_t began, ended;              /* seconds since the epoch */
    double seconds;                    /* that it took, by the clock that is never set */
    int status;                        /* once it has ended: of a signal, 128 and its number */
    const struct sb_error *failure;    /* what ended it; NULL: it came to its end */
    struct report_file report;
    const char
        *named[2]; /* after a number of defects: ", named in ", FILE; empty without a report */
};

/*
 * operands: the path, then names in it. The run must not move in memory. Errors of --report and
 * --prom are found here, before the work.
 */
enum sb_code verify_run_begin(struct verify_run *run, const struct verify_settings *settings,
                              char **operands, size_t count) SB_CHECKED;

/* Says that a defect was found; this is events.found. */
void verify_run_found(void *context, const struct sb_defect *defect);

/*
 * A warning of verify itself, of the container as a whole; kind is a word for the report. Where
 * that is written, it is printed only if nobody may miss it although the status is 0. What --quick
 * has not looked at is a note, because a run without defects is silent.
 */
enum verify_loudness { LOUD_IN_REPORT, LOUD_ONCE, LOUD_ALWAYS };
void verify_run_warn(struct verify_run *run, enum verify_loudness loudness, const char *kind,
                     const char *format, ...) SB_PRINTF(4, 5);

/* Says what ended the run, if something did, finishes report and metrics; returns the status. */
int verify_run_end(struct verify_run *run, enum sb_code code);

/* Is damage of an archive to be repaired, in any way? */
bool verify_repairs(const struct verify_run *run);

/* Prints the object after the defects: what was checked, and what that does not prove. */
void verify_print_summary(const struct verify_run *run);

/*
 * verify --report: all that a run reports, as JSON Lines, for a program that reads it later.
 *
 * First {"kind":"start"}, then a line for each defect, as --json has it, and for each note, warning
 * and problem, at last {"kind":"summary"}. The file appears whole when the run has ended, however
 * it did. Main thread only.
 */

/* Opens settings->report; verify_report_finish replaces an existing file. */
enum sb_code verify_report_open(struct report_file *report,
                                const struct verify_run *run) SB_CHECKED;

void verify_report_event(struct report_file *report, enum sb_level level, const char *kind,
                         const char *subject, const char *text);

/* Adds the summary of the run that has ended; at SB_OK the complete report is in its place. */
enum sb_code verify_report_finish(struct report_file *report,
                                  const struct verify_run *run) SB_CHECKED;

/*
 * verify --prom: the results of a run, for the textfile collector of Prometheus' node_exporter.
 *
 * The exposition format is that of prometheus.io/docs/instrumenting/exposition_formats (text,
 * 0.0.4): a label's value has \\, \" and \n for these three, and is UTF-8. Every metric has the
 * label archive, the path as it was given. The collector reads every *.prom in its directory at any
 * time, and as a user of its own: the file is renamed into its place, and readable for all.
 */

/*
 * May the metrics of this archive be written there, at the end of the run? SB_EXISTS if the file is
 * something else, such as another archive's metrics: that one's alarms would end.
 */
enum sb_code verify_metrics_check(const char *file, const char *archive) SB_CHECKED;

/* Writes those of a run that has ended. If it was no success, the time of the last one is kept. */
enum sb_code verify_metrics_write(const char *file, const struct verify_run *run) SB_CHECKED;

/* The last lines of verify: how it went, and what to do next. */
void verify_summarize(struct verify_run *run);

/* Of them, what warns that pieces were repaired, or could not be since nothing is protected. */
void verify_warn_repaired(struct verify_run *run);

#endif
