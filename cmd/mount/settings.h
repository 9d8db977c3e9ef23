/* The options and operands of `shardbox mount`. */
#ifndef SB_CMD_MOUNT_SETTINGS_H
#define SB_CMD_MOUNT_SETTINGS_H

#include "open/opening.h"
#include "task/mount/mount.h"

struct mount_settings {
    struct opening opening;
    const char *keys;
    const char *at;
    const char *log;
    int check; /* enum sb_mount_check */
    bool no_check;
    bool foreground;
    bool united;
    bool immutable;
    bool allow_other;
    int64_t uid, gid; /* as options of mount.h */
    int64_t idle;
    int64_t readahead;
    int64_t threads;

    char **words; /* the operands before "--" */
    size_t word_count, word_capacity;
};

#endif
