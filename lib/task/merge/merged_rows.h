/*
 * The rows of several archives as one sequence in order of name.
 *
 * Any number of archives: a few of them are open at once, the others are opened again where they
 * were left when their next rows are wanted. Memory is bounded. No lock is held between calls.
 * Calls must not overlap.
 */
#ifndef SB_TASK_MERGE_MERGED_ROWS_H
#define SB_TASK_MERGE_MERGED_ROWS_H

#include "archive/entry.h"
#include "core/error.h"

#include <stddef.h>

struct sb_shards;
struct sb_merged_rows;

struct sb_merged_input {
    const char *path;
    const char *prefix; /* a stored name that all of it comes below; "" for none */
};

/*
 * Copies nothing of inputs, which must live as long. Errors as sb_archive_open; SB_FORMAT also for
 * an older schema, SB_LOCKED for an archive whose shards do not have their lasting names yet
 * (finish: the renames of a run that was killed are finished first, where that can be done). Rows
 * that cannot be used are told to notify as SB_PROBLEM ("row", "unsafe") and left out.
 */
enum sb_code sb_merged_rows_open(struct sb_merged_rows **out, const struct sb_merged_input *inputs,
                                 size_t count, bool finish, const struct sb_notify *notify,
                                 struct sb_error *err) SB_CHECKED;
void sb_merged_rows_free(struct sb_merged_rows *rows); /* NULL is allowed */

/*
 * The next row, and the number of its input. Of those with one name directories come first, else
 * they come in order of the inputs. The root of an input is the directory `prefix`. SB_END after
 * the last. The entry's strings live until the next call.
 */
enum sb_code sb_merged_rows_next(struct sb_merged_rows *rows, struct sb_entry *entry, size_t *input,
                                 struct sb_error *err) SB_CHECKED;

/* From now on problems are told to this one. */
void sb_merged_rows_notify(struct sb_merged_rows *rows, const struct sb_notify *notify);

typedef enum sb_code sb_each_merged_row(void *context, const struct sb_entry *entry, size_t input,
                                        struct sb_error *err);

/*
 * All that are left, in order, to `each`, on the calling thread, to which notify is called too;
 * with threads > 1 the next ones are read meanwhile. A code other than SB_OK from `each` ends it.
 */
enum sb_code sb_merged_rows_each(struct sb_merged_rows *rows, unsigned threads,
                                 const struct sb_notify *notify, sb_each_merged_row *each,
                                 void *context, struct sb_error *err) SB_CHECKED;

/* The shards of an input; they live as long as `rows`. Also while rows are read. */
struct sb_shards *sb_merged_rows_shards(struct sb_merged_rows *rows, size_t input);

/* What the inputs call their owners. */
const struct sb_owner_names *sb_merged_rows_owners(const struct sb_merged_rows *rows);

/* After the last row: SB_CHANGED names an input that was written to since it was opened. */
enum sb_code sb_merged_rows_unchanged(struct sb_merged_rows *rows, struct sb_error *err) SB_CHECKED;

#endif
