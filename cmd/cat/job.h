/*
 * One run of cat on a bag: what its parts share, internal to cat/records.c and cat/keys.c.
 */
#ifndef SB_CMD_CAT_JOB_H
#define SB_CMD_CAT_JOB_H

#include "cat/records.h"
#include "store/bag/record_names.h"
#include "store/record_choice.h"

struct cat_job {
    const struct cat_records_settings *settings;
    const struct cat_request *request;
    struct sb_bag *bag;
    struct sb_record_names *names; /* NULL: those that the framing takes by itself */
    int64_t written;               /* bytes */
    int64_t missing;               /* records */
};

/* Writes these records; is_last: there is no further call. */
enum sb_code cat_fetch(struct cat_job *job, const struct sb_record_choice_options *options,
                       bool is_last, struct sb_error *err) SB_CHECKED;

/* Those of --find, --keys and the names. */
enum sb_code cat_by_key(struct cat_job *job, struct sb_error *err) SB_CHECKED;

#endif
