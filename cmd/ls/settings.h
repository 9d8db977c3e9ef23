/*
 * What the options of ls say.
 */
#ifndef SB_CMD_LS_SETTINGS_H
#define SB_CMD_LS_SETTINGS_H

#include "open/opening.h"
#include "ui/shard_table.h"

#include <stdbool.h>

enum { LS_BY_NAME, LS_BY_SIZE, LS_BY_TIME, LS_BY_ADDRESS };

struct ls_settings {
    struct opening opening;
    bool details;
    bool one;
    bool recursive;
    bool all, almost_all; /* read by nobody: hidden names are always listed */
    bool directory;
    bool classify, slash;
    bool full_time;
    bool numeric;
    int64_t max_depth; /* of --tree and -R; 0: any */
    bool human;
    int sort;
    bool by_size, by_time;
    bool unsorted; /* read by nobody: the order by name costs nothing */
    bool reverse;
    int colour;
    bool tree;
    bool shards;
    bool rsync_list;
    bool nul;
    bool at;
    struct place place;
    int json; /* enum json_form */

    /* Of tables. */
    const char *files_from; /* numbers and slices, or keys; NULL: none */
    bool count;
    bool samples;
    int64_t threads;
};

#endif
