/*
 * Parts of a split: what goes where, and the names of the parts.
 */
#ifndef SB_TASK_SPLIT_IMPL_H
#define SB_TASK_SPLIT_IMPL_H

#include "store/record_choice.h"
#include "task/split/bag.h"
#include "task/split/rules.h"

/*
 * The names of the parts (output.c).
 *
 * "{}" in an output is the place for the name of a part. Python's and the shell's forms are such
 * places too, for parts that have numbers: "{:06d}" has so many digits, and "{0000..0127}" these
 * numbers.
 */

/* Length of the output before its first place; all of it where there is none. */
size_t sb_split_output_fixed(const char *output);

/* Replaces out by the output path of the part of that name. SB_INVALID for standard output. */
enum sb_code sb_split_output(const char *output, const char *name, struct sb_buf *out) SB_CHECKED;

/* SB_INVALID if several parts would have the same name. */
enum sb_code sb_split_output_check(const char *output, int64_t parts) SB_CHECKED;

/* Appends the number of a part, with as many digits as the last one has. */
enum sb_code sb_split_number(int64_t part, int64_t parts, struct sb_buf *out) SB_CHECKED;

/*
 * The files of a container, each with its part (plan.c).
 *
 * One walk over an archive chooses the parts (split/rules.h); rows are kept in a private temporary
 * database, so that memory does not grow with their number. Belongs to one thread.
 *
 * A directory is in every part that has something below it; an empty one goes where a file of its
 * name would, or by size into the first part.
 */
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
FREEP(sb_split_plan_free, struct sb_split_plan)

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

/*
 * Which records of a bag go into which part (bag_plan.c): slices, few if adjacent records stay
 * together; or, for a list, positions in a spool of its numbers.
 */
struct sb_split_bag_part {
    struct sb_slice *slices;
    size_t count, capacity;
    struct sb_record_run last; /* the run of the last slice */
    int64_t first, step;       /* for a list: positions in plan->numbers, `records` of them */
    int64_t records;
    int64_t bytes; /* as stored */
};

struct sb_split_bag_plan {
    struct sb_split_bag_part *parts;
    int64_t count;
    size_t capacity;
    int64_t records;
    int64_t bytes;
    bool listed;
    struct sb_limit_spool numbers; /* those numbers of the list that exist */
};

/* The choice for a part; it points into the plan. */
struct sb_record_choice_options sb_split_bag_plan_choice(const struct sb_split_bag_plan *plan,
                                                         int64_t number);

/* Reads the limits of the bag. Missing numbers are reported as SB_PROBLEM ("missing"). The plan may
 * be released whatever is returned. */
enum sb_code sb_split_bag_plan_make(struct sb_split_bag_plan *plan,
                                    const struct sb_split_bag_options *options,
                                    const struct sb_notify *notify) SB_CHECKED;
void sb_split_bag_plan_release(struct sb_split_bag_plan *plan);

#endif
