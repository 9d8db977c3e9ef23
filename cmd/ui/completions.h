/*
 * Completion scripts for shells, made from the tables of the commands. Each completes commands,
 * options, the values of options, files, paths inside an archive, rows and columns.
 */
#ifndef SB_CMD_UI_COMPLETIONS_H
#define SB_CMD_UI_COMPLETIONS_H

#include "ui/command.h"

#include <stdbool.h>
#include <stddef.h>

/* For "bash", "zsh" or "fish", to stdout; false for another shell. */
bool completions_print(const char *shell);

void completions_bash(void);
void completions_zsh(void);
void completions_fish(void);

/*
 * What the operands are, in words that all three scripts use: archive, path (inside that archive),
 * row (of a table, else a path), array (a column), file, directory, any, none. The value of an
 * option is like the first operand.
 */
struct completion_kinds {
    const char *first;
    const char *others;
};
struct completion_kinds completion_kinds(enum operand_kind kind);

/* What the scripts call for names in a container: `shardbox --complete`, no command for users. */
extern const struct command complete_command;

/* The options of a line that they pass on to it: by number, NULL after the last. */
const char *completions_passed(size_t number);

#endif
