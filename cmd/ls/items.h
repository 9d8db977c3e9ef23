/*
 * ls of Syrah files: a row for each array of each item.
 */
#ifndef SB_CMD_LS_ITEMS_H
#define SB_CMD_LS_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

struct sb_store;

struct ls_items {
    const char *files_from; /* NULL: none */
    bool count, details, human, json, rsync_list, nul;
};

/* The command, from its operands on: the first of them is a Syrah file, path, the others choose
 * items. Returns the exit status. */
int ls_items(const struct ls_items *wanted, struct sb_store *store, char *const *operands,
             size_t count);

#endif
