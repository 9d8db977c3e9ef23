/* The options and operands of `shardbox mount`. */
#ifndef SB_CMD_MOUNT_SETTINGS_H
#define SB_CMD_MOUNT_SETTINGS_H

#include "open/opening.h"
#include "task/mount/mount.h"

struct mount_settings {
    struct opening opening;
    struct sb_mount_options wanted;
    const char *keys;
    const char *at;
    const char *log;
    bool no_check;
    bool foreground;

    char **words; /* the operands before "--" */
    size_t word_count, word_capacity;
};

#endif
