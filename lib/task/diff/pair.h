/*
 * Names with their entries on both sides, in batches that one thread compares. Only for diff.
 */
#ifndef SB_TASK_DIFF_PAIR_H
#define SB_TASK_DIFF_PAIR_H

#include "core/buf.h"
#include "core/events.h"
#include "task/diff/diff.h"

#define SB_PAIRS_MAX       512
#define SB_PAIRS_BYTES_MAX (INT64_C(8) << 20)

/* Strings are offsets into the batch's text. */
struct sb_pair {
    struct sb_child ours;
    struct sb_child theirs;
    bool is_ours; /* the name exists on this side */
    bool is_theirs;
    unsigned differs; /* bit 1 << enum sb_difference_kind */
    size_t path_at;
    size_t our_target_at;
    size_t their_target_at;
    size_t damage_at;
};

struct sb_pairs {
    struct sb_pair pairs[SB_PAIRS_MAX];
    size_t count;
    int64_t bytes;                         /* to be read on one side */
    int64_t files;                         /* whose bytes are compared */
    const struct sb_diff_options *options; /* set by the owner, as is the next */
    size_t prefix_size;                    /* bytes before each name of the archive */
    struct sb_buf text;
    struct sb_events events;
    bool damaged; /* some bytes of the archive */
};

void sb_pairs_release(struct sb_pairs *pairs);
void sb_pairs_clear(struct sb_pairs *pairs);

/*
 * Adds a name and compares all but bytes. One of the sides may be NULL; our name is the stored one
 * without the prefix. A row of the other container that cannot be used is an event instead.
 */
enum sb_code sb_pairs_add(struct sb_pairs *pairs, const struct sb_child *ours,
                          const struct sb_child *theirs) SB_CHECKED;

/* Are there enough of them for a batch? */
bool sb_pairs_full(const struct sb_pairs *pairs);

/* Compares bytes, and targets of links. Only errors that end the run are returned. */
enum sb_code sb_pairs_compare(struct sb_pairs *pairs, struct sb_hierarchy *ours,
                              struct sb_hierarchy *theirs) SB_CHECKED;

/* Reports the differences, in order. */
void sb_pairs_report(const struct sb_pairs *pairs, const struct sb_diff_options *options);

#endif
