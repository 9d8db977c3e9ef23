/*
 * Which records of a sequence, in which order.
 *
 * Slices are Python's: START:STOP:STEP, each may be left out, negative numbers count from the end,
 * a negative step goes backwards; a single number is that record, and must be there. Samples and
 * shuffles are the same for ever for one seed and count, and take no memory: the order is a
 * permutation that is computed (core/permutation.h). Belongs to one thread.
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
    bool single; /* only start counts */
    bool has_start, has_stop;
    int64_t start, stop, step;
};

/* SB_INVALID: it is none, or its step is 0. Numbers beyond 2^63 are taken, as Python does. */
enum sb_code sb_slice_parse(struct sb_slice *out, const char *text,
                            struct sb_error *err) SB_CHECKED;

/* A run of record numbers: first, first + step, ...; count of them, at least one. Where it is one,
 * step is 1. */
struct sb_record_run {
    int64_t first;
    int64_t step;
    int64_t count;
};

/* What a slice of `count` records is. False: a single number that is not there, which is
 * run->first; run->count is 0 then. */
bool sb_slice_run(const struct sb_slice *slice, int64_t count, struct sb_record_run *run);

/* Record numbers that were chosen before: those at `first`, first + step, ... of the spool, `count`
 * of them. */
struct sb_record_numbers {
    const struct sb_limit_spool *spool; /* NULL: none */
    int64_t first;
    int64_t step; /* above 0 */
    int64_t count;
};

/* Of what is chosen, in its order: `count` records behind the first `first` ones. */
struct sb_record_cut {
    bool given; /* false: all */
    int64_t first;
    int64_t count;
};

struct sb_record_choice_options {
    const struct sb_slice *slices; /* one after the other; none, and no list: all */
    size_t slice_count;

    /* Optional: more slices or numbers, a line each, as they come; as sb_list_next. */
    struct sb_list *list;

    /* Instead of both; excludes what is random, and `forever`. */
    struct sb_record_numbers numbers;

    int64_t sample; /* so many of what is chosen, at random; -1: all of it */
    bool replace;   /* a record may be drawn more than once */
    bool shuffle;   /* all of it at random */
    bool forever;   /* again and again; shuffled anew each time */
    uint64_t seed;

    /* Of all of that, of `forever` each time; not with a list. A number that is not there is told
     * where it would have come, of a random order by the first cut. */
    struct sb_record_cut cut;
};

/* Sets the cut to a share of what the other options come to, of `count` records there are.
 * SB_INVALID with a list. */
enum sb_code sb_record_choice_share(struct sb_record_choice_options *options, struct sb_share share,
                                    int64_t count, struct sb_error *err) SB_CHECKED;

struct sb_record_choice;

/* count: of the records there are. sample, shuffle and forever exclude the list: SB_INVALID. What
 * options point at is kept. */
enum sb_code sb_record_choice_new(struct sb_record_choice **out,
                                  const struct sb_record_choice_options *options, int64_t count,
                                  struct sb_error *err) SB_CHECKED;
void sb_record_choice_free(struct sb_record_choice *choice); /* NULL is allowed */

/*
 * The next run, as long as it can be; SB_END after the last. SB_INVALID, and the next call goes on
 * behind it: a single number that is not there ("record 99: there are 43"), which is run->first,
 * with run->count 0; or a line that is no slice, with run->count -1.
 */
enum sb_code sb_record_choice_next(struct sb_record_choice *choice, struct sb_record_run *run,
                                   struct sb_error *err) SB_CHECKED;

/* Would next return without waiting for a list? */
bool sb_record_choice_ready(struct sb_record_choice *choice);

/* All that are left, to `out`, number by number: a list is read but once. What is not there is told
 * as SB_PROBLEM ("missing") of `subject`. */
enum sb_code sb_record_choice_spool(struct sb_record_choice *choice, struct sb_limit_spool *out,
                                    const char *subject, const struct sb_notify *notify,
                                    struct sb_error *err) SB_CHECKED;

/* Of `forever`: among so many in a row is every record that may come at all; of a sample, but for a
 * chance that is none. 0: they end. */
int64_t sb_record_choice_round(const struct sb_record_choice *choice);

/* How many in all; -1 where a list or `forever` keeps that from being known. */
int64_t sb_record_choice_total(const struct sb_record_choice *choice);

#endif
