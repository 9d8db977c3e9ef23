/*
 * verify --repair and --repair-from: their options, and what is said of files that were restored.
 */
#ifndef SB_CMD_VERIFY_REPAIR_H
#define SB_CMD_VERIFY_REPAIR_H

#include "core/error.h"
#include "task/protect/protect.h"
#include "task/restore/restore.h"
#include "ui/shared_options.h"

#include <stdbool.h>

struct verify_run;

struct verify_repair_settings {
    bool repair; /* by parity files; of a cache, its index */
    const char *parity_dir;
    const char *from;
    const char *prefix;
    bool trust;
    bool undo;
    bool dry_run;
};

/* For a settings struct with a struct verify_repair_settings `field`. */
#define OPTIONS_VERIFY_REPAIR(settings, field)                                                     \
    OPTION_GROUP("Repair"),                                                                        \
        OPTION_FLAG(0, "repair", settings, field.repair,                                           \
                    "repair by parity files, or the index of a cache"),                            \
        OPTION_TEXT(0, "repair-from", settings, field.from, "COPY",                                \
                    "restore files from an archive, directory, tar or zip", OPERAND_FILE),         \
        OPTION_FLAG(0, "undo-repair", settings, field.undo,                                        \
                    "put back what repairs have replaced"),                                        \
        OPTION_DRY_RUN(settings, field.dry_run), OPTION_WAIT

/* Those that are seldom needed. */
#define OPTIONS_VERIFY_REPAIR_MORE(settings, field)                                                \
    OPTION_MORE("Repair, in detail"),                                                              \
        OPTION_TEXT(0, "parity-dir", settings, field.parity_dir, "DIR",                            \
                    "where parity files are, if not beside their files", OPERAND_FILE),            \
        OPTION_FLAG(0, "trust-parity", settings, field.trust,                                      \
                    "what nothing else confirms is right as it was protected"),                    \
        OPTION_TEXT(0, "repair-prefix", settings, field.prefix, "DIR",                             \
                    "the directory of COPY that has the files", OPERAND_ANY)

/* SB_INVALID for options that do not go together. */
enum sb_code verify_repair_check(const struct verify_run *run) SB_CHECKED;

/*
 * Before the container is opened: with --repair, repairs what keeps it from being opened, or any
 * file that is not an archive, by parity files.
 */
enum sb_code verify_repair_begin(struct verify_run *run) SB_CHECKED;

/* --undo-repair, instead of a verification. */
enum sb_code verify_repair_undo(const struct verify_run *run) SB_CHECKED;

/* Is damage of an archive to be repaired, in any way? */
bool verify_repair_wanted(const struct verify_run *run);

/* Warns, at the end, that pieces were repaired, or that nothing could be since nothing is
 * protected. */
void verify_repair_warn(struct verify_run *run);

/* SB_INVALID if a repair from a copy was requested, but the input is not an archive. bag: it is a
 * bag. */
enum sb_code verify_repair_refuse(const struct verify_run *run, bool bag) SB_CHECKED;

/* sb_verify of the archive, which it frees, and the restoring; `restored` of the run is filled in.
 */
struct sb_archive;
struct sb_verify_options;
enum sb_code verify_repair(struct verify_run *run, struct sb_archive *archive,
                           const struct sb_verify_options *options) SB_CHECKED;

/* The last lines of a run that found defects: what was restored, and what remains. advice: what
 * helps against that. */
void verify_repair_summarize(struct verify_run *run, const char *advice);

#endif
