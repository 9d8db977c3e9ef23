/*
 * du of bags: records, stored bytes and bytes of each shard.
 */
#ifndef SB_CMD_DU_RECORDS_H
#define SB_CMD_DU_RECORDS_H

#include "open/bag_opening.h"

struct du_records {
    int64_t threads;

    /* As du has them for archives too. */
    bool human, json, summarize;
};

/* For a settings struct with a struct du_records `field`, and a struct opening. */
#define OPTIONS_DU_RECORDS(settings, field)                                                        \
    OPTIONS_BAG("", settings, opening.bag),                                                        \
        OPTION_INTEGER('j', "threads", settings, field.threads, "N", 1, 256,                       \
                       "of a bag: threads that read (default: the cores, at most 4)")

/* Options that say nothing where there is no bag: long names, the last followed by NULL. */
extern const char *const du_options_of_bags[];

/* The command, from its operands on: the first of them is a bag. Returns the exit status. */
int du_records(const struct du_records *wanted, struct sb_store *store, int operands);

#endif
