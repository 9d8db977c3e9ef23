/*
 * verify --repair-from: its options, and what is said of files that were restored.
 */
#ifndef SB_CMD_VERIFY_REPAIR_H
#define SB_CMD_VERIFY_REPAIR_H

#include "core/error.h"
#include "task/restore/restore.h"
#include "ui/shared_options.h"

#include <stdbool.h>

struct verify_run;

struct verify_repair_settings {
    const char *from;
    const char *prefix;
    bool dry_run;
};

/* For a settings struct with a struct verify_repair_settings `field`. */
#define OPTIONS_VERIFY_REPAIR(settings, field)                                                     \
    OPTION_GROUP("Repair"),                                                                        \
        OPTION_TEXT(0, "repair-from", settings, field.from, "COPY",                                \
                    "restore files from an archive, directory, tar or zip", OPERAND_FILE),         \
        OPTION_TEXT(0, "repair-prefix", settings, field.prefix, "DIR",                             \
                    "with it: the directory of COPY that has the files", OPERAND_ANY),             \
        OPTION_DRY_RUN(settings, field.dry_run), OPTION_WAIT

/* SB_INVALID for options that do not go together. */
enum sb_code verify_repair_check(const struct verify_run *run, struct sb_error *err) SB_CHECKED;

/* SB_INVALID if a repair was requested, but the input is not an archive. bag: it is a bag. */
enum sb_code verify_repair_refuse(const struct verify_run *run, bool bag,
                                  struct sb_error *err) SB_CHECKED;

/* sb_verify of the archive, which it frees, and the restoring; `restored` of the run is filled in.
 */
struct sb_archive;
struct sb_verify_options;
enum sb_code verify_repair(struct verify_run *run, struct sb_archive *archive,
                           const struct sb_verify_options *options,
                           struct sb_error *err) SB_CHECKED;

/* The last lines of a run that found defects: what was restored, and what remains. advice: what
 * helps against that. */
void verify_repair_summarize(struct verify_run *run, const char *advice);

#endif
