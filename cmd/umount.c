/*
 * shardbox umount: ends a mount of shardbox mount.
 */
#include "task/mount/mount.h"
#include "ui/message.h"
#include "ui/options.h"

struct settings {
    bool lazy;
};

static const struct option options[] = {
    OPTION_GROUP("What is unmounted"),
    OPTION_FLAG(0, "lazy", struct settings, lazy, "also what is in use, or has lost its server"),
    OPTION_END,
};

static int run(void *context, char **operands, int count)
{
    const struct settings *settings = context;

    if (count == 0)
        return message_usage("no DIR given");
    for (int i = 0; i < count; i++) {
        if (sb_unmount(operands[i], settings->lazy))
            message_failure();
    }
    return message_status();
}

const struct command umount_command = {
    .name = "umount",
    .summary = "end a mount",
    .synopsis = {"[--lazy] DIR..."},
    .examples = {"shardbox umount /mnt/train", "shardbox umount --lazy /mnt/train"},
    .options = options,
    .exit_status = "0 unmounted, 2 error",
    .operands = OPERAND_DIRECTORY,
    .settings_size = sizeof(struct settings),
    .run = run,
};
