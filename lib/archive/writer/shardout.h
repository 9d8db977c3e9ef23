/*
 * The shards a writer fills: extents are handed out in order, their bytes come in any order.
 *
 * New shards are made as ARCHIVE.new-shard-NNNNN, and the note (note.h) names each before it holds
 * anything; the writer gives them their lasting names. A shard that is full and completely written
 * is synced and closed at once, so that few are open whatever their number. place and resize belong
 * to one thread at a time; write and skip may be called from any thread.
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
 * hold, whose note it writes, is the caller's and outlives it.
 */
enum sb_code sb_shard_out_new(struct sb_shard_out **out, struct sb_hold *hold, uint32_t first,
                              int64_t limit, struct sb_error *err) SB_CHECKED;

/* Closes; new shards stay where they are. */
void sb_shard_out_free(struct sb_shard_out *out);

/*
 * Begins with a shard that exists, and is this file: bytes go behind `end`. The caller has seen to
 * it that nothing behind `end` is in use; it is cut off. Its number must be first - 1.
 */
enum sb_code sb_shard_out_continue(struct sb_shard_out *out, const char *path,
                                   const struct sb_identity *file, int64_t end,
                                   struct sb_error *err) SB_CHECKED;

/*
 * Makes the next shard a link to `target`, which is the text of a symbolic link, or else the path
 * of the file. Extents are placed in it by nobody.
 */
enum sb_code sb_shard_out_link(struct sb_shard_out *out, enum sb_link_kind kind, const char *target,
                               uint32_t *shard, struct sb_error *err) SB_CHECKED;

/* See sb_writer_place, sb_writer_place_open and sb_writer_resize_last. */
enum sb_code sb_shard_out_place(struct sb_shard_out *out, int64_t size, uint32_t *shard,
                                int64_t *offset, struct sb_error *err) SB_CHECKED;
enum sb_code sb_shard_out_place_open(struct sb_shard_out *out, uint32_t *shard, int64_t *offset,
                                     struct sb_error *err) SB_CHECKED;
enum sb_code sb_shard_out_resize_last(struct sb_shard_out *out, int64_t old_size, int64_t new_size,
                                      struct sb_error *err) SB_CHECKED;

enum sb_code sb_shard_out_write(struct sb_shard_out *out, uint32_t shard, int64_t offset,
                                const void *data, size_t size, struct sb_error *err) SB_CHECKED;

/* Says that so many placed bytes will never be written: a hole, or a gap. */
enum sb_code sb_shard_out_skip(struct sb_shard_out *out, uint32_t shard, int64_t size,
                               struct sb_error *err) SB_CHECKED;

/* Makes a shard, for reading, as long as its extents reach: the last may end in a hole. */
enum sb_code sb_shard_out_reach(struct sb_shard_out *out, uint32_t shard,
                                struct sb_error *err) SB_CHECKED;

/* Where the next extent begins if it fits, or the next shard. */
void sb_shard_out_address(const struct sb_shard_out *out, uint32_t *shard, int64_t *offset);

/* One more than the number of the last shard. */
uint32_t sb_shard_out_count(const struct sb_shard_out *out);

/* Number of shards made under the temporary prefix. */
uint32_t sb_shard_out_made(const struct sb_shard_out *out);

/* Cuts unused ends, syncs and closes all of them. At least one shard exists afterwards. */
enum sb_code sb_shard_out_finish(struct sb_shard_out *out, struct sb_error *err) SB_CHECKED;

/* Gives a shard that existed its former length back. Those that it made are for sb_settle_undo. */
void sb_shard_out_undo(struct sb_shard_out *out);

#endif
