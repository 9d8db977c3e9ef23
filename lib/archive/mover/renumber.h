/*
 * New shards that are filled, and then take the numbers of old ones.
 *
 * Where an archive is cut into shards anew, the new ones are made behind all that stand: from
 * number `to` on, to become those from `from` on. As long as that goes on the config row
 * shardbox_renumber says so (value_int: to; value_text: from, as decimal digits), by which the next
 * run finds what is done. In every state before the end the archive is an ordinary one that has
 * more shards than it needs.
 *
 * At the end each new shard gets its lasting number as a second name (a hard link), in place of the
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
    uint32_t from; /* the first number that is to be taken */
    uint32_t to;   /* of the first new shard; not less than from */
};

/* What the row says. A row that makes no sense counts as none: it is a hint, by which work is
 * saved, and nothing is removed because of it alone. */
enum sb_code sb_renumbering_read(struct sqlite3 *db, struct sb_renumbering *renumbering,
                                 bool *there, struct sb_error *err) SB_CHECKED;

/*
 * Records that it begins, and the size that shards have from now on. With nothing queued. SB_SYSTEM
 * where the file system has no hard links.
 */
enum sb_code sb_renumbering_begin(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                  int64_t shard_size, struct sb_error *err) SB_CHECKED;

/*
 * The end, see above, for `count` new shards; what stands behind them is removed, so that the
 * archive has from + count shards. No file may be in a shard between `from` and `to`, or behind the
 * new ones: SB_INVALID. With nothing queued; the last call on this mover. A run that is killed
 * meanwhile is gone on with by one of the same distance between from and to.
 */
enum sb_code sb_renumbering_finish(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                   uint32_t count, struct sb_error *err) SB_CHECKED;

/* What the next writer does about a run that was killed, as said above, in the write transaction of
 * db, which is there afterwards too. */
enum sb_code sb_renumbering_part_names(struct sb_hold *hold, struct sqlite3 *db,
                                       struct sb_error *err) SB_CHECKED;

#endif
