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
    const char *const *synopsis; /* what follows the name, one per form, the common ones first;
                                    NULL-terminated */
    const char *examples[2];     /* whole lines to type */
    const struct option
        *options;               /* of its own; the common ones are added; ends with an empty row */
    const char *exit_status;    /* what each of them means here */
    const char *notes;          /* shown below the options by --help-all; may be NULL */
    const char *words_help;     /* about those of take_words, shown above the options; or NULL */
    enum operand_kind operands; /* what completions offer */

    bool needs_archive; /* as its first operand */
    bool takes_one;     /* and no other */
    size_t settings_size;

    const void *defaults;        /* what the settings are before the options; NULL: zeros */
    void (*end)(void *settings); /* frees what run leaves in them; NULL: nothing */

    /* Takes each operand at its place among the options, because `-C` is for those after it; false,
     * after a message, ends the parse. NULL: operands go to run. */
    bool (*operand)(void *settings, const char *value);

    /*
     * Takes words that are no options of the table, such as find's `-name GLOB`. It is called
     * before each word that is neither a long option nor one or more letters of the table; words
     * ends with NULL. Returns how many it took, 0 for a word that is not its own, -1 after a
     * message. After "--" it is not called. NULL: there are no such words.
     */
    int (*take_words)(void *settings, char *const *words);
    const char *(*word)(size_t i); /* those it knows, one by one, then NULL; for completions */

    /* The exit status: 0, 1 or 2; see message.h. */
    int (*run)(void *settings, char **operands, int count);
};

/* Parses what follows argv[0], and runs the command; returns the exit status. */
int command_run(const struct command *command, int argc, char **argv);

/* All commands, in the order of --list; ends with NULL. */
extern const struct command *const commands[];

/* NULL: none is called so. */
const struct command *command_named(const char *name, size_t size);

#endif
