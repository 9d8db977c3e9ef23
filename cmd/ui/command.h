/*
 * A command of the multicall binary: each cmd/NAME.c ends with one `const struct command`.
 */
#ifndef SB_CMD_UI_COMMAND_H
#define SB_CMD_UI_COMMAND_H

#include "ui/options.h"

#include <stddef.h>

struct command {
    const char *name;
    const char *summary;         /* one line, for --list, -h and completions */
    const char *const *synopsis; /* what follows the name, one per form; NULL-terminated */
    const struct option
        *options;               /* of its own; the common ones are added; ends with an empty row */
    const char *notes;          /* shown below the options by -h; may be NULL */
    enum operand_kind operands; /* what completions offer */

    /* The exit status: 0, 1 or 2; see message.h. */
    int (*run)(const struct command *self, int argc, char **argv);
};

/* All commands, in the order of --list; ends with NULL. */
extern const struct command *const commands[];

#endif
