/*
 * verify of bags: the options that are about records, and what is said of them.
 */
#ifndef SB_CMD_VERIFY_RECORDS_H
#define SB_CMD_VERIFY_RECORDS_H

#include "open/bag_opening.h"
#include "open/chosen_records.h"
#include "task/verify/verify.h"

struct verify_records_settings {
    struct sb_bag_words bag;
    const char *files_from;
    const char *repair_to;
    bool keep_numbers;
    bool force;
};

/* For a settings struct with a struct verify_records_settings `field`. */
#define OPTIONS_VERIFY_RECORDS(settings, field)                                                    \
    OPTIONS_BAG(settings, field.bag), OPTIONS_RECORDS(settings, field.files_from),                 \
        OPTION_TEXT(0, "repair-to", settings, field.repair_to, "BAG",                              \
                    "write the sound records to BAG", OPERAND_FILE),                               \
        OPTION_FLAG(0, "keep-numbers", settings, field.keep_numbers,                               \
                    "with it: damaged records are written as empty ones"),                         \
        OPTION_FLAG('f', "force", settings, field.force,                                           \
                    "replace BAG; --repair: however young the cache is")

/* The first option given that is for bags alone; NULL: none. */
const char *option_of_verify_records(void);

struct sb_store;
struct verify_run;

/* Verifies the bags of the run's spec, and says how it went. */
enum sb_code verify_records(struct verify_run *run, struct sb_store *store,
                            unsigned threads) SB_CHECKED;

#endif
