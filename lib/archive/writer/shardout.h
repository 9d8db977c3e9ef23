/*
 * The shards that a writer fills: extents are reserved in order, and their bytes come in any order.
 *
 * New shards are made as ARCHIVE.new-shard-NNNNN, and the note (note.h) records each before it
 * holds anything; the writer gives them their final names. A shard that is full and completely
 * written is synced and closed at once, so that few are open whatever their number. place and
 * resize belong to one thread at a time; write and skip may be called from any thread.
 */
#ifndef SB_ARCHIVE_WRITER_SHARDOUT_H
#define SB_ARCHIVE_WRITER_SHARDOUT_H

#include "archive/writer/linker.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_hold;
struct sb_identity;
struct sb_shard_out;

/*
 * limit: bytes in a shard before the next begins. first: number of the first shard to be made. The
 * caller owns the hold, whose note this writes, and keeps it longer.
 */
enum sb_code sb_shard_out_new(struct sb_shard_out **out, struct sb_hold *hold, uint32_t first,
                              int64_t limit) SB_CHECKED;

/* Closes; new shards stay where they are. */
void sb_shard_out_free(struct sb_shard_out *out);

/*
 * Begins with an existing shard, which must be this file: bytes are added after `end`. What is
 * after `end` must be unused; it is cut off. Its number must be first - 1.
 */
enum sb_code sb_shard_out_continue(struct sb_shard_out *out, const char *path,
                                   const struct sb_identity *file, int64_t end) SB_CHECKED;

/*
 * Makes the next shard a link to `target`, which is the text of a symbolic link, or else the path
 * of the file. No extents are placed in it.
 */
enum sb_code sb_shard_out_link(struct sb_shard_out *out, enum sb_link_kind kind, const char *target,
                               uint32_t *shard) SB_CHECKED;

/* See sb_writer_place, sb_writer_place_open and sb_writer_resize_last. */
enum sb_code sb_shard_out_place(struct sb_shard_out *out, int64_t size, uint32_t *shard,
                                int64_t *offset) SB_CHECKED;
enum sb_code sb_shard_out_place_open(struct sb_shard_out *out, uint32_t *shard,
                                     int64_t *offset) SB_CHECKED;
enum sb_code sb_shard_out_resize_last(struct sb_shard_out *out, int64_t old_size,
                                      int64_t new_size) SB_CHECKED;

enum sb_code sb_shard_out_write(struct sb_shard_out *out, uint32_t shard, int64_t offset,
                                const void *data, size_t size) SB_CHECKED;

/* Reports that `size` placed bytes will never be written: a hole, or a gap. */
enum sb_code sb_shard_out_skip(struct sb_shard_out *out, uint32_t shard, int64_t size) SB_CHECKED;

/* Extends a shard, for reading, to the end of its extents: the last may end in a hole. */
enum sb_code sb_shard_out_reach(struct sb_shard_out *out, uint32_t shard) SB_CHECKED;

/* The position of the next extent if it fits, or of the next shard. */
void sb_shard_out_address(const struct sb_shard_out *out, uint32_t *shard, int64_t *offset);

/* One more than the number of the last shard. */
uint32_t sb_shard_out_count(const struct sb_shard_out *out);

/* Number of shards made under the temporary prefix. */
uint32_t sb_shard_out_made(const struct sb_shard_out *out);

/* Cuts unused ends, syncs and closes all of them. At least one shard exists afterwards. */
enum sb_code sb_shard_out_finish(struct sb_shard_out *out) SB_CHECKED;

/*
 * Restores the length of a shard that existed before. sb_settle_undo removes those that were made.
 */
void sb_shard_out_undo(struct sb_shard_out *out);

#endif
