/*
 * New shards that are filled, and then take the numbers of old ones.
 *
 * When an archive is resharded, the new shards are made after all existing ones: from number `to`
 * on, to become those from `from` on. Meanwhile the config row shardbox_renumber records that
 * (value_int: to; value_text: from, as decimal digits), so that the next run finds what is done. In
 * every state before the end the archive is an ordinary one that has more shards than it needs.
 *
 * At the end each new shard gets its final number as a second name (a hard link), in place of the
 * old shard, which is empty by then; all rows get their new numbers, the first ones first; and the
 * first names are removed. Thus rows and names agree at any instant, for every reader, and files
 * keep their order. A run that was killed meanwhile leaves files under two names: writing into one
 * would change the other, so the next writer puts an empty shard in place of the name that no row
 * uses.
 */
#ifndef SB_ARCHIVE_MOVER_RENUMBER_H
#define SB_ARCHIVE_MOVER_RENUMBER_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_hold;
struct sb_mover;
struct sqlite3;

struct sb_renumbering {
    uint32_t from; /* the first number to be taken */
    uint32_t to;   /* of the first new shard; not less than from */
};

/*
 * Reads the row. A row that makes no sense counts as none: it is only a hint that saves work, and
 * nothing is removed because of it alone.
 */
enum sb_code sb_renumbering_read(struct sqlite3 *db, struct sb_renumbering *renumbering,
                                 bool *there) SB_CHECKED;

/*
 * Records the beginning, and the new shard size. The queue must be empty. SB_SYSTEM if the file
 * system has no hard links.
 */
enum sb_code sb_renumbering_begin(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                  int64_t shard_size) SB_CHECKED;

/*
 * The end, see above, for `count` new shards; shards after them are removed, so that the archive
 * has from + count shards. No file may be in a shard between `from` and `to`, or after the new
 * ones: SB_INVALID. The queue must be empty; the last call on this mover. If it is killed, a run
 * with the same distance between from and to continues it.
 */
enum sb_code sb_renumbering_finish(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                   uint32_t count) SB_CHECKED;

/*
 * What the next writer does after a killed run, as described above, in the write transaction of db,
 * which is open afterwards too.
 */
enum sb_code sb_renumbering_part_names(struct sb_hold *hold, struct sqlite3 *db) SB_CHECKED;

#endif
