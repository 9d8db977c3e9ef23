/*
 * Which units of an archive a run of verify reads, in which order, and what became of them.
 *
 * The table of units is made by one pass over the index and lies in a temporary file; what is known
 * of them comes from the state, if there is one (verify/choice.h says what both mean). Memory is
 * bounded. Belongs to one thread.
 */
#ifndef SB_TASK_VERIFY_PLAN_H
#define SB_TASK_VERIFY_PLAN_H

#include "archive/entry.h"
#include "task/verify/verify.h"

struct sb_shards;
struct sb_verify_plan;

struct sb_verify_unit {
    uint32_t shard;
    int64_t number; /* its addresses begin at number * SB_VERIFY_UNIT */
    bool was_bad;   /* when it was read last */
};

/* Milliseconds of a clock that only goes on. */
int64_t sb_verify_plan_clock(void);

/* Does the choice leave something out, or remember something? */
bool sb_verify_chooses(const struct sb_verify_choice *choice);

/* Is there something of this file to be read: has it bytes, and a checksum? Others are no part of
 * any unit. */
bool sb_verify_counts(const struct sb_entry *entry);

/* What a file adds to the digest of its unit; order means nothing. */
uint64_t sb_verify_row_digest(const struct sb_entry *entry);

/*
 * Opens the state, before anything else is done that takes time; the time of max_seconds runs from
 * here. The choice is the caller's, as long as the plan.
 */
enum sb_code sb_verify_plan_open(struct sb_verify_plan **out, const struct sb_verify_choice *choice,
                                 struct sb_archive *archive, struct sb_error *err) SB_CHECKED;
void sb_verify_plan_free(struct sb_verify_plan *plan); /* NULL is allowed */

/*
 * The pass over the index. SB_DAMAGED where that ends it: then the plan is of what comes before.
 * SB_INVALID where the index has no order of addresses.
 */
enum sb_code sb_verify_plan_make(struct sb_verify_plan *plan, struct sb_archive *archive,
                                 struct sb_shards *shards, struct sb_error *err) SB_CHECKED;

/* Bytes of the files in the units that are to be read, and of those in the share: how many. */
int64_t sb_verify_plan_bytes(const struct sb_verify_plan *plan);
int64_t sb_verify_plan_files(const struct sb_verify_plan *plan);

/* The next unit; SB_END after the last, and when the time is over. */
enum sb_code sb_verify_plan_next(struct sb_verify_plan *plan, struct sb_verify_unit *unit,
                                 struct sb_error *err) SB_CHECKED;

/* A unit was read: with which digest, now, and whether it is bad. */
enum sb_code sb_verify_plan_read(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                 uint64_t digest, bool bad, struct sb_error *err) SB_CHECKED;

/* A defect in a unit that is being read. It is remembered, whether the unit is read to its end or
 * not. */
enum sb_code sb_verify_plan_found(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                  const struct sb_defect *defect, struct sb_error *err) SB_CHECKED;

/* Commits what is left, and says how far it came. */
enum sb_code sb_verify_plan_end(struct sb_verify_plan *plan, struct sb_verify_progress *progress,
                                struct sb_error *err) SB_CHECKED;

#endif
