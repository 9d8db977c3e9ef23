/*
 * Which part of an archive, or of a bag, verify reads: its options.
 */
#ifndef SB_CMD_VERIFY_CHOICE_H
#define SB_CMD_VERIFY_CHOICE_H

#include "task/verify/choice.h"
#include "ui/options.h"

/* As they were given; NULL: not. */
struct verify_choice_settings {
    const char *subset;
    const char *part;
    const char *shards;
    const char *max_time;
    const char *state;
    const char *max_age;
};

/* For a settings struct with a struct verify_choice_settings `field`. */
#define OPTIONS_VERIFY_CHOICE(settings, field)                                                     \
    OPTION_TEXT(0, "subset", settings, field.subset, "I/N|P%|SIZE",                                \
                "share I of N, P percent or SIZE (the same each run)", OPERAND_NONE),              \
        OPTION_TEXT(0, "part", settings, field.part, "I/N",                                        \
                    "as --subset=I/N; 'auto': by the job array, or MPI", OPERAND_NONE),            \
        OPTION_TEXT(0, "shards", settings, field.shards, "A-B", "read only files in these shards", \
                    OPERAND_NONE),                                                                 \
        OPTION_TEXT(0, "max-time", settings, field.max_time, "TIME",                               \
                    "end after so long (2h, 90m, 1d)", OPERAND_NONE),                              \
        OPTION_TEXT(0, "state", settings, field.state, "FILE",                                     \
                    "remember what was read; each run reads what is due", OPERAND_FILE),           \
        OPTION_TEXT(0, "max-age", settings, field.max_age, "TIME",                                 \
                    "leave out what --state has sound since (30d)", OPERAND_NONE)

/* What they say; it lives as long as the settings. SB_INVALID for impossible values, and for
 * options that exclude each other. */
enum sb_code verify_choice_of(const struct verify_choice_settings *settings,
                              struct sb_verify_choice *out) SB_CHECKED;

/* An option that was given, without "--"; NULL: none was. The other: an option that a bag does not
 * have. */
const char *verify_choice_given(const struct verify_choice_settings *settings);
const char *verify_choice_not_of_bags(const struct verify_choice_settings *settings,
                                      const struct sb_verify_choice *choice);

#endif
