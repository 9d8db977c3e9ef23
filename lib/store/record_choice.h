/*
 * Chooses records of a sequence, and their order.
 *
 * Slices are Python's START:STOP:STEP: each may be omitted, negative numbers count from the end,
 * and a negative step goes backwards. A single number is that record, which must exist. A seed and
 * a number of records always give the same samples and shuffles; these take no memory, because the
 * order is a computed permutation (core/permutation.h). Belongs to one thread.
 */
#ifndef SB_STORE_RECORD_CHOICE_H
#define SB_STORE_RECORD_CHOICE_H

#include "core/error.h"
#include "core/share.h"
#include "store/bag/limit_spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_slice {
    bool single; /* a single number, `start` */
    bool has_start, has_stop;
    int64_t start, stop, step;
};

/* SB_INVALID: it is not a slice, or its step is 0. Numbers may be above 2^63, as in Python. */
enum sb_code sb_slice_parse(struct sb_slice *out, const char *text) SB_CHECKED;

/* A run of record numbers: first, first + step, ...; `count` of them. If count is 1, step is 1. */
struct sb_record_run {
    int64_t first;
    int64_t step;
    int64_t count;
};

/* Applies a slice to `count` records. False: it is a single number that does not exist: run->first;
 * run->count is 0. */
bool sb_slice_run(const struct sb_slice *slice, int64_t count, struct sb_record_run *run);

/* Record numbers that were chosen earlier: `count` numbers of the spool, at positions `first`,
 * first + step, ... */
struct sb_record_numbers {
    const struct sb_limit_spool *spool; /* NULL: none */
    int64_t first;
    int64_t step; /* at least 1 */
    int64_t count;
};

/* A range of the chosen records, in their order: skips `first`, then takes `count`. */
struct sb_record_cut {
    bool given; /* false: no cut */
    int64_t first;
    int64_t count;
};

struct sb_record_choice_options {
    const struct sb_slice *slices; /* in this order; without slices and list: all records */
    size_t slice_count;

    /* Optional: more slices or numbers, one on each line, read as they come by sb_list_next. */
    struct sb_list *list;

    /* Instead of slices and list; excludes the random options, and `forever`. */
    struct sb_record_numbers numbers;

    int64_t sample; /* draw this many of the chosen records at random; -1: take all */
    bool replace;   /* the sample may draw a record more than once */
    bool shuffle;   /* random order */
    bool forever;   /* repeat; each pass is shuffled anew */
    uint64_t seed;

    /* Applied last, in each pass of `forever`; not with a list. A missing number is reported by the
     * cut in which it would have come; if the order is random, by the first cut. */
    struct sb_record_cut cut;
};

/* Sets the cut to a share of what the other options choose of `count` records. SB_INVALID: there is
 * a list. */
enum sb_code sb_record_choice_share(struct sb_record_choice_options *options, struct sb_share share,
                                    int64_t count) SB_CHECKED;

struct sb_record_choice;

/* count: number of records. SB_INVALID: sample, shuffle or forever together with a list. What the
 * options point at is kept. */
enum sb_code sb_record_choice_new(struct sb_record_choice **out,
                                  const struct sb_record_choice_options *options,
                                  int64_t count) SB_CHECKED;
void sb_record_choice_free(struct sb_record_choice *choice); /* NULL is allowed */
FREEP(sb_record_choice_free, struct sb_record_choice)

/*
 * The next run, as long as possible; SB_END after the last. SB_INVALID, after which the next call
 * goes on: a single number that does not exist ("record 99: there are 43"): run->first is the
 * number, run->count 0; or a line that is not a slice: run->count is -1.
 */
enum sb_code sb_record_choice_next(struct sb_record_choice *choice,
                                   struct sb_record_run *run) SB_CHECKED;

/* Would sb_record_choice_next return without waiting for the list? */
bool sb_record_choice_ready(struct sb_record_choice *choice);

/* Adds all remaining numbers to `out`, because a list can be read only once. Reports missing ones
 * as SB_PROBLEM ("missing") of `subject`. */
enum sb_code sb_record_choice_spool(struct sb_record_choice *choice, struct sb_limit_spool *out,
                                    const char *subject, const struct sb_notify *notify) SB_CHECKED;

/* With `forever`: how many in a row contain every record that can come (for a sample with
 * replacement: almost certainly). 0: the choice ends. */
int64_t sb_record_choice_round(const struct sb_record_choice *choice);

/* How many numbers come in all; -1: not known, because of a list or `forever`. */
int64_t sb_record_choice_total(const struct sb_record_choice *choice);

#endif
