#include "ui/command.h"

#include <string.h>

/* clang-format off */
#define COMMANDS(X) \
    X(pack) X(unpack) X(convert) X(sync) X(diff) X(cat) X(ls) X(find) X(du) X(mount) X(umount) \
    X(verify) X(rm) X(mv) X(defrag) X(split) X(merge) X(merge_symlink) X(upgrade) X(protect)
/* clang-format on */

#define DECLARE(name) extern const struct command name##_command;
#define ADDRESS(name) &name##_command,

COMMANDS(DECLARE)

const struct command *const commands[] = {COMMANDS(ADDRESS) NULL};

const struct command *command_named(const char *name, size_t size)
{
    for (size_t i = 0; commands[i]; i++) {
        if (strlen(commands[i]->name) == size && memcmp(commands[i]->name, name, size) == 0)
            return commands[i];
    }
    return NULL;
}
