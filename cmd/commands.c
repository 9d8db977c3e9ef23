#include "command.h"

extern const struct command cat_command;

const struct command *const commands[] = {
    &cat_command,
    NULL,
};
