/*
 * The options of split, and whether they exclude each other.
 */
#ifndef SB_CMD_SPLIT_SETTINGS_H
#define SB_CMD_SPLIT_SETTINGS_H

#include "convert/records.h"
#include "split/shares.h"
#include "ui/shared_options.h"

struct split_settings {
    struct opening opening; /* first: OPTION_FROM */
    const char *output;
    int to;
    int64_t parts;
    int64_t size;
    int64_t seed;
    int64_t shard_size;
    int64_t threads;
    const char *rest;
    bool by_ratio;
    bool by_list;
    bool by_dir;
    bool samples;
    bool null;
    bool symlink;
    bool absolute;
    bool force;
    int existing;
    bool follow;
    bool dry_run;
    bool json;
    int64_t level;
    struct record_settings records;
    struct shares shares;
    const char *path; /* operand */
    struct sb_container_type output_type;
};

/* Does the archive itself get other shards? */
bool splits_in_place(const struct split_settings *settings);

/* What is wrong with them, or NULL. */
const char *misuse_of_split(const struct split_settings *settings);

#endif
