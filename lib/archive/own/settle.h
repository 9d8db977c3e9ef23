/*
 * What a killed run left beside an archive is finished or undone by the next writer.
 *
 * The note that the run left (note.h) says what it was about, and the index tells whether it came
 * to its commit: which index stands, and which shards it counts. Where the one does not speak of
 * the other, since either was moved, replaced or copied meanwhile, nothing is renamed or removed:
 * SB_EXISTS names what stands there, and what to do. A row of config that leads to shards under
 * other names (pending.h) is followed as far as no file is in the way.
 */
#ifndef SB_ARCHIVE_OWN_SETTLE_H
#define SB_ARCHIVE_OWN_SETTLE_H

#include "archive/own/hold.h"

/* For the index that stands, in the write transaction of db, which is there afterwards too. Then
 * the note has nothing to say any more. */
enum sb_code sb_settle(struct sb_hold *hold, struct sqlite3 *db, struct sb_error *err) SB_CHECKED;

/* The same for one of the oldest schema, which has no table config. */
enum sb_code sb_settle_oldest(struct sb_hold *hold, struct sb_error *err) SB_CHECKED;

/* Where no index stands: a run that made one is undone. */
enum sb_code sb_settle_missing(struct sb_hold *hold, struct sb_error *err) SB_CHECKED;

/* Where no index stands: a run that had only its renames left is finished, and then the index
 * stands. *done: there was one. */
enum sb_code sb_settle_forward(struct sb_hold *hold, bool *done, struct sb_error *err) SB_CHECKED;

/* The same for a run of this process that did not come to its commit. counted: shards of the index
 * that stands; 0 where none of those that the run made can be among them. What cannot be removed
 * stays for the next writer; then false. */
bool sb_settle_undo(struct sb_hold *hold, uint32_t counted);

/* Of the run whose note it is: sees to it that the shard of this number can get its lasting name.
 * The note says so of an empty file that has it, which goes; SB_EXISTS for any other. */
enum sb_code sb_settle_claim_name(struct sb_hold *hold, uint32_t number,
                                  struct sb_error *err) SB_CHECKED;

/* Of the run whose note it is: gives the shards that it made their lasting names, before the commit
 * by which the index counts them. Nothing is replaced but what the note says goes. Synced. */
enum sb_code sb_settle_name_shards(struct sb_hold *hold, struct sb_error *err) SB_CHECKED;

/* Of the run whose note it is, after its commit: the shards that go are removed. Not synced. */
enum sb_code sb_settle_remove_gone(struct sb_hold *hold, uint32_t count,
                                   struct sb_error *err) SB_CHECKED;

#endif
