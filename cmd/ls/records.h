/*
 * ls of bags: a row for each record, or for each shard.
 */
#ifndef SB_CMD_LS_RECORDS_H
#define SB_CMD_LS_RECORDS_H

#include "open/bag_opening.h"
#include "open/chosen_records.h"
#include "open/record_keys_given.h"

struct ls_records {
    const char *files_from; /* numbers and slices; with --find, keys */
    bool count;
    int64_t threads;

    /* As ls has them for archives too. */
    bool details, human, json;
    bool shards, rsync_list, nul;
};

/* For a settings struct with a struct ls_records `field`, and a struct opening. */
#define OPTIONS_LS_RECORDS(settings, field)                                                        \
    OPTION_FLAG(0, "count", settings, field.count,                                                 \
                "just how many records, items or keys there are"),                                 \
        OPTION_RECORDS, OPTIONS_FIND,                                                              \
        OPTION_TEXT('T', "files-from", settings, field.files_from, "FILE",                         \
                    "also the numbers in FILE, a line each; with --find, or of a cache, keys; - "  \
                    "is standard input",                                                           \
                    OPERAND_FILE),                                                                 \
        OPTIONS_BAG("", settings, opening.bag),                                                    \
        OPTION_INTEGER('j', "threads", settings, field.threads, "N", 1, 256,                       \
                       "of a bag: threads that read (default: the cores, at most 4)")

/* Options that say nothing where there is no bag: long names, the last followed by NULL. */
extern const char *const ls_options_of_bags[];

/* The command, from its operands on: the first of them is a bag. Returns the exit status. */
int ls_records(const struct ls_records *wanted, struct sb_store *store, int operands);

#endif
