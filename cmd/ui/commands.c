#include "ui/command.h"

#include <string.h>

extern const struct command pack_command;
extern const struct command unpack_command;
extern const struct command convert_command;
extern const struct command sync_command;
extern const struct command diff_command;
extern const struct command cat_command;
extern const struct command ls_command;
extern const struct command find_command;
extern const struct command du_command;
extern const struct command mount_command;
extern const struct command umount_command;
extern const struct command verify_command;
extern const struct command rm_command;
extern const struct command mv_command;
extern const struct command defrag_command;
extern const struct command split_command;
extern const struct command merge_command;
extern const struct command merge_symlink_command;
extern const struct command upgrade_command;
extern const struct command protect_command;

/* clang-format off */
const struct command *const commands[] = {
    &pack_command,
    &unpack_command,
    &convert_command,
    &sync_command,
    &diff_command,
    &cat_command,
    &ls_command,
    &find_command,
    &du_command,
    &mount_command,
    &umount_command,
    &verify_command,
    &rm_command,
    &mv_command,
    &defrag_command,
    &split_command,
    &merge_command,
    &merge_symlink_command,
    &upgrade_command,
    &protect_command,
    NULL,
};
/* clang-format on */

const struct command *command_named(const char *name, size_t size)
{
    for (size_t i = 0; commands[i]; i++) {
        if (strlen(commands[i]->name) == size && memcmp(commands[i]->name, name, size) == 0)
            return commands[i];
    }
    return NULL;
}
