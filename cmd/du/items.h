/*
 * du of Syrah files: items, bytes of each array and in all, and what the metadata take.
 */
#ifndef SB_CMD_DU_ITEMS_H
#define SB_CMD_DU_ITEMS_H

#include <stdbool.h>

struct sb_store;

struct du_items {
    bool human, json, summarize;
};

/* The command, from its operands on: the first of them is a Syrah file. Returns the exit status. */
int du_items(const struct du_items *wanted, struct sb_store *store, int operands);

#endif
