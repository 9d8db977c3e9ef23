/*
 * What ls shows of tables: a row for each record of a bag, each array of an item, each key of a
 * cache, each sample; and of a directory that holds caches, a row for each of these.
 */
#ifndef SB_CMD_LS_TABLE_H
#define SB_CMD_LS_TABLE_H

#include "core/error.h"
#include "open/record_keys_given.h"
#include "task/table/fetch.h"
#include "ui/rows.h"

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

/* Shows the rows that the operands and options choose, or how many they are; `rows` are those that
 * `add` adds to. */
typedef enum sb_code ls_add_run(void *context, const struct sb_cell_run *run, struct sb_error *err);
enum sb_code ls_chosen(const struct ls_settings *settings, struct sb_table *table,
                       char *const *operands, size_t count, struct rows *rows, ls_add_run *add,
                       void *context, struct sb_error *err) SB_CHECKED;

/* The parts of ls_table, a file each: of a bag, of Syrah files, of a cache, of samples. */
enum sb_code ls_records(const struct ls_settings *settings, struct sb_table *table,
                        struct given_keys *keys, struct sb_error *err) SB_CHECKED;
enum sb_code ls_items(const struct ls_settings *settings, struct sb_table *table,
                      char *const *operands, size_t count, struct sb_error *err) SB_CHECKED;
enum sb_code ls_keys(const struct ls_settings *settings, struct sb_table *table, char **operands,
                     size_t count, struct sb_error *err) SB_CHECKED;
enum sb_code ls_samples(const struct ls_settings *settings, struct sb_table *table,
                        char *const *operands, size_t count, struct sb_error *err) SB_CHECKED;

#endif
