/*
 * The next writer finishes or undoes what a killed run left beside an archive.
 *
 * The run's note (note.h) records what it was doing, and the index shows whether the run reached
 * its commit: by which index exists, and which shards it counts. If the note and the index do not
 * belong together, because one of them was moved, replaced or copied meanwhile, nothing is renamed
 * or removed: SB_EXISTS names the file that is there, and what to do. With a shard that is removed
 * or replaced goes its parity file (archive/parity/note.h). A row of config about shards under
 * other names (state.h) is followed unless a file is in the way.
 */
#ifndef SB_ARCHIVE_OWN_SETTLE_H
#define SB_ARCHIVE_OWN_SETTLE_H

#include "archive/own/hold.h"

/*
 * For the existing index, in the write transaction of db, which is open afterwards too. The note is
 * then empty.
 */
enum sb_code sb_settle(struct sb_hold *hold, struct sqlite3 *db) SB_CHECKED;

/*
 * By the note alone, which stays: for an index that has no table config, or, with counted 0,
 * without an index, where a run that was making one is undone. counted: more than the existing
 * index's shards.
 */
enum sb_code sb_settle_note(struct sb_hold *hold, uint32_t counted) SB_CHECKED;

/*
 * Without an index: finishes a run that had only its renames left, so that the index exists then.
 * *done: there was such a run.
 */
enum sb_code sb_settle_forward(struct sb_hold *hold, bool *done) SB_CHECKED;

/*
 * An index was lost, and made again as it was before, under these locks: what a killed run had not
 * given a name by then is removed, as it was not committed, unless that run was replacing shards;
 * then, as everything that has a name, it stays. Drops the note.
 */
enum sb_code sb_settle_remade(struct sb_hold *hold) SB_CHECKED;

/*
 * Undoes a run of this process that did not reach its commit. counted: shards of the existing
 * index; 0 if none of those that the run made can be among them. False: something could not be
 * removed, and is left to the next writer.
 */
bool sb_settle_undo(struct sb_hold *hold, uint32_t counted);

/*
 * For the run of this note: makes sure that the shard of this number can get its final name. An
 * empty file of that name is recorded in the note, and later replaced; SB_EXISTS for any other
 * file.
 */
enum sb_code sb_settle_claim_name(struct sb_hold *hold, uint32_t number) SB_CHECKED;

/*
 * For the run of this note: records in it the file that has the shard's name, if any, as one to be
 * removed. Not synced.
 */
enum sb_code sb_settle_claim_gone(struct sb_hold *hold, uint32_t number) SB_CHECKED;

/*
 * For the run of this note: gives the shards that it made their final names, before the commit by
 * which the index counts them. Replaces only files that the note lists for removal. Synced.
 */
enum sb_code sb_settle_name_shards(struct sb_hold *hold) SB_CHECKED;

/*
 * For the run of this note, after its commit: removes the parity file of an index that was replaced
 * with all its shards. An index of the same shards leaves it. Not synced.
 */
enum sb_code sb_settle_forget(const struct sb_hold *hold) SB_CHECKED;

/*
 * For the run of this note, after its commit: removes the shards that it lists for removal. Not
 * synced.
 */
enum sb_code sb_settle_remove_gone(struct sb_hold *hold, uint32_t count) SB_CHECKED;

#endif
