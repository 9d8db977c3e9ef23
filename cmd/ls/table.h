/*
 * What ls shows of tables: a row for each record of a bag, each array of an item, each key of a
 * cache, each sample; and of a directory that holds caches, a row for each of these.
 */
#ifndef SB_CMD_LS_TABLE_H
#define SB_CMD_LS_TABLE_H

#include "core/error.h"
#include "open/record_keys_given.h"

struct ls_settings;
struct sb_store;
struct sb_table;

/* The command, from its operands on, for a store that has rows, or samples of files. Returns the
 * exit status. */
int ls_table(const struct ls_settings *settings, struct sb_store *store, char **operands,
             size_t count);

/* And for a directory that holds caches. */
int ls_caches(const struct ls_settings *settings, const struct sb_store *store, size_t operands);

/* Of the options parsed last, one that says nothing of what the store is, without "--"; or NULL. */
const char *ls_clash(const struct sb_store *store);

/* The parts of ls_table: its rows, or those of the operands; the files that it is made of. */
enum sb_code ls_rows(const struct ls_settings *settings, struct sb_table *table,
                     struct given_keys *keys, char *const *operands, size_t count) SB_CHECKED;
enum sb_code ls_parts(const struct ls_settings *settings, struct sb_table *table) SB_CHECKED;

#endif
