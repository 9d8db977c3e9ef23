/*
 * Shards of other archives as shards of one that is being written: nothing is copied.
 *
 * Each shard is linked at its first use, to the file it is in the end, so that links of the other
 * archive are not followed through it. A file that has a number already, by whatever name, gets no
 * second link. Its length and time of change are recorded in the index (config), by which verify
 * tells a source that was changed (linked.h). Belongs to the writer's thread.
 */
#ifndef SB_ARCHIVE_WRITER_LINKER_H
#define SB_ARCHIVE_WRITER_LINKER_H

#include "core/error.h"

#include <stdint.h>

struct sb_linker;
struct sb_shards;
struct sb_writer;

enum sb_link_kind {
    SB_LINK_RELATIVE, /* symbolic, relative to the archive's directory */
    SB_LINK_ABSOLUTE, /* symbolic */
    SB_LINK_HARD,     /* SB_SYSTEM where it lies on another file system */
    SB_LINK_REFLINK,  /* a file of its own that shares its blocks; SB_SYSTEM where the file system
                         cannot */
};

/* The writer is a new archive's, or one of SB_APPEND. The linker is freed before it. */
enum sb_code sb_linker_new(struct sb_linker **out, struct sb_writer *writer, enum sb_link_kind kind,
                           struct sb_error *err) SB_CHECKED;
void sb_linker_free(struct sb_linker *linker); /* NULL is allowed */

/*
 * The number in the writer's archive of this shard. Cheap from the second time on, if `shards`
 * lives as long as the linker. SB_NOENT, SB_FORMAT as sb_shards_stat; SB_LOCKED while the shard
 * does not have its lasting name; SB_INVALID as sb_writer_link_shard.
 */
enum sb_code sb_linker_map(struct sb_linker *linker, struct sb_shards *shards, uint32_t shard,
                           uint32_t *number, struct sb_error *err) SB_CHECKED;

/* The length of a shard that sb_linker_map has named: rows may point behind it. */
int64_t sb_linker_size(const struct sb_linker *linker, uint32_t number);

#endif
