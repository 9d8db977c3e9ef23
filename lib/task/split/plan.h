/*
 * The files of a container, each with its part.
 *
 * One walk over an archive chooses the parts (split/rules.h); rows are kept in a private temporary
 * database, so that memory does not grow with their number. Belongs to one thread.
 *
 * A directory is in every part that has something below it; an empty one goes where a file of its
 * name would, or by size into the first part.
 */
#ifndef SB_TASK_SPLIT_PLAN_H
#define SB_TASK_SPLIT_PLAN_H

#include "task/split/rules.h"

struct sb_split_plan;

struct sb_split_totals {
    int64_t files; /* in a part; links included */
    int64_t bytes;
    int64_t files_left; /* in no part */
};

/*
 * Reads the archive's rows, not its bytes. Rows that cannot be used are reported as SB_PROBLEM
 * ("row", "unsafe"), and are in no part. If two files have the same name, as may happen while
 * another process changes the archive, the later one wins.
 */
enum sb_code sb_split_plan_new(struct sb_split_plan **out, struct sb_archive *archive,
                               struct sb_split_rules *rules, const char *beside,
                               const struct sb_notify *notify) SB_CHECKED;
void sb_split_plan_free(struct sb_split_plan *plan); /* NULL is allowed */

struct sb_split_totals sb_split_plan_totals(const struct sb_split_plan *plan);

/* Of the archive (archive.h), when the rows were read or earlier. */
uint32_t sb_split_plan_generation(const struct sb_split_plan *plan);

enum sb_code sb_split_plan_count(struct sb_split_plan *plan, int64_t part, int64_t *files,
                                 int64_t *bytes) SB_CHECKED;

/* The entry's strings live during the call only; a code other than SB_OK ends the walk. */
typedef enum sb_code sb_split_each(void *context, const struct sb_entry *entry);

/*
 * All of a part: its files in order of address or of path, then directories, including the root, by
 * path; directories without a row of their own are omitted if something is below them.
 */
enum sb_code sb_split_plan_walk(struct sb_split_plan *plan, int64_t part, enum sb_order order,
                                sb_split_each *each, void *context) SB_CHECKED;

#endif
