/*
 * Options by the letters and names that they have in other programs (tar, rsync, cp, GNU ls, du,
 * diff, mv, find), where a command of ours does not have them.
 */
#ifndef SB_CMD_UI_OTHER_OPTIONS_H
#define SB_CMD_UI_OTHER_OPTIONS_H

#include <stddef.h>

/* What to do instead of giving the command this option, the first `size` bytes of "-O" or
 * "--to-stdout"; NULL: it is not known. */
const char *other_options_instead(const char *command, const char *option, size_t size);

#endif
