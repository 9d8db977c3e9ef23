/*
 * Which arrays of which items of Syrah files, in which order.
 *
 * An array of an item has a number, item * arrays + array, in the order of the file; what is chosen
 * comes as runs of such numbers, as record_choice.h has them of records. Belongs to one thread.
 */
#ifndef SB_TASK_TABLE_ITEM_CHOICE_H
#define SB_TASK_TABLE_ITEM_CHOICE_H

#include "core/share.h"
#include "store/record_choice.h"
#include "store/syrah/set.h"

/* Slices, one behind the other, that name the same array, or none. */
struct sb_item_group {
    const char *words; /* by which they were asked for */
    size_t slice_count;
    const char *array; /* as it is, or as a file is called; NULL: those that are chosen for all */
};

struct sb_item_choice_options {
    /* Of items: its slices are those of all groups; no group and no list: all. Lines of its list
     * are slices, each with an array behind a '/' where it names one. What is random, or comes for
     * ever, wants groups of one array, and no list. */
    struct sb_record_choice_options records;
    const struct sb_item_group *groups;
    size_t group_count;

    const char *const *arrays; /* those of items that name none, in the order of the file */
    size_t array_count;        /* 0: all */

    struct sb_share share; /* items of a list, and of different arrays, are counted first */
};

struct sb_item_choice;

/* Options and what they point at are kept. SB_INVALID: one of options->arrays is not there, or that
 * of what is random; what is random with a list, or of different arrays. What is missing when a
 * share is counted is told to notify. */
enum sb_code sb_item_choice_new(struct sb_item_choice **out, const struct sb_syrah_set *set,
                                const struct sb_item_choice_options *options,
                                const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;
void sb_item_choice_free(struct sb_item_choice *choice); /* NULL is allowed */

/*
 * The next run of numbers; SB_END after the last. SB_INVALID, and the next call goes on behind it:
 * an item or array that is not there, with run->count 0, which sb_item_choice_missing has the words
 * for; a line that is no slice, with run->count -1.
 */
enum sb_code sb_item_choice_next(struct sb_item_choice *choice, struct sb_record_run *run,
                                 struct sb_error *err) SB_CHECKED;

/* "99", "99/image"; until the next call of sb_item_choice_next. */
const char *sb_item_choice_missing(const struct sb_item_choice *choice);

/* Are those of the last run named as files are, with the suffix of an array? */
bool sb_item_choice_as_file(const struct sb_item_choice *choice);

/* As those of record_choice.h, of numbers; a total may be too large. */
bool sb_item_choice_ready(const struct sb_item_choice *choice);
int64_t sb_item_choice_round(const struct sb_item_choice *choice);
int64_t sb_item_choice_total(const struct sb_item_choice *choice);

/* How many items slices come to, before anything is drawn or cut; -1: with a list. */
int64_t sb_item_choice_items(const struct sb_item_choice *choice);

#endif
