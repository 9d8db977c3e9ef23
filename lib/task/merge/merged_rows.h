/*
 * The rows of several archives as one sequence in order of name.
 *
 * Any number of archives: a few of them are open at once; the others are reopened at their last
 * position when their next rows are needed. Memory is bounded. No lock is held between calls. Calls
 * must not overlap.
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
    const char *prefix; /* a stored name that is put above all of its names; "" for none */
};

/*
 * Copies nothing of inputs, which must live as long. Errors as sb_archive_open; SB_FORMAT also for
 * an older schema, SB_LOCKED for an archive whose shards do not have their final names yet (with
 * `finish` the renames of a killed run are finished first, if possible). Rows that cannot be used
 * are reported to notify as SB_PROBLEM ("row", "unsafe") and left out.
 */
enum sb_code sb_merged_rows_open(struct sb_merged_rows **out, const struct sb_merged_input *inputs,
                                 size_t count, bool finish,
                                 const struct sb_notify *notify) SB_CHECKED;
void sb_merged_rows_free(struct sb_merged_rows *rows); /* NULL is allowed */
FREEP(sb_merged_rows_free, struct sb_merged_rows)

typedef enum sb_code sb_each_merged_row(void *context, const struct sb_entry *entry, size_t input);

/*
 * Passes all rows to `each` in order of name; it and notify are called on the calling thread. Among
 * rows of the same name directories come first; otherwise they come in order of the inputs, whose
 * number is passed on. The root of an input is the directory `prefix`. The entry's strings live
 * during the call.
 * With threads > 1 the next rows are read meanwhile. A code other than SB_OK from `each` ends it.
 */
enum sb_code sb_merged_rows_each(struct sb_merged_rows *rows, unsigned threads,
                                 const struct sb_notify *notify, sb_each_merged_row *each,
                                 void *context) SB_CHECKED;

/* The shards of an input; they live as long as `rows`. Also while rows are read. */
struct sb_shards *sb_merged_rows_shards(struct sb_merged_rows *rows, size_t input);

/* The owner names of the inputs. */
const struct sb_owner_names *sb_merged_rows_owners(const struct sb_merged_rows *rows);

/* After the last row: SB_CHANGED names an input that was written to since it was opened. */
enum sb_code sb_merged_rows_unchanged(struct sb_merged_rows *rows) SB_CHECKED;

#endif
