/*
 * What a user may go on to type: names in a container that begin with what was typed so far.
 *
 * Only as much is read as that takes: of an archive a range of its index, of others the table of
 * contents, up to the limit. What is compressed as a whole, or comes through a pipe, yields no
 * names. A caller who cannot wait cancels the context (core/context.h): SB_INTERRUPT, and what was
 * found before was given to `each`.
 */
#ifndef SB_TASK_COMPLETE_COMPLETE_H
#define SB_TASK_COMPLETE_COMPLETE_H

#include "core/error.h"

#include <stddef.h>

struct sb_store;
struct sb_table;

struct sb_complete_options {
    const char *typed;
    size_t limit; /* of names */

    /* A name that replaces `typed`, not NUL-terminated. It ends in '/' if more of it follows, as
     * that of a directory. */
    enum sb_code (*each)(void *context, const char *name, size_t size);
    void *context;
};

/* Members, as paths: those directly below the directory that was typed. */
enum sb_code sb_complete_members(struct sb_store *store,
                                 const struct sb_complete_options *options) SB_CHECKED;

/* Rows, as ROW or ROW/COLUMN: by name where the table has `names`, or finds rows by names; else by
 * number. */
enum sb_code sb_complete_rows(struct sb_table *table,
                              const struct sb_complete_options *options) SB_CHECKED;

/* Columns; where rows differ, those of the first rows. */
enum sb_code sb_complete_columns(struct sb_table *table,
                                 const struct sb_complete_options *options) SB_CHECKED;

#endif
