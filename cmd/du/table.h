/*
 * du of tables: rows and bytes of each file of a bag or cache, of each array of Syrah files; and of
 * each cache of a directory.
 */
#ifndef SB_CMD_DU_TABLE_H
#define SB_CMD_DU_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct sb_store;

struct du_table {
    bool human, json, summarize;
    int64_t threads; /* 0: the default */
};

/* The command, for a store that has rows, or a directory that holds caches. operands: that come
 * behind it. Returns the exit status. */
int du_table(const struct du_table *wanted, struct sb_store *store, int operands);

#endif
