/*
 * Makes shards of other archives shards of the archive that is written: nothing is copied.
 *
 * Each shard is linked at its first use, to the final target, so that links of the other archive
 * are not followed through it. A file that has a number already, by whatever name, gets no second
 * link. Its length and modification time are recorded in the index (config), by which verify
 * detects a source that was changed (linked.h). Belongs to the writer's thread.
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
    SB_LINK_HARD,     /* SB_SYSTEM if it is on another file system */
    SB_LINK_REFLINK,  /* a file of its own that shares its blocks; SB_SYSTEM if the file system
                         cannot do that */
};

/* The writer is a new archive's, or one of SB_APPEND. Free the linker before it. */
enum sb_code sb_linker_new(struct sb_linker **out, struct sb_writer *writer,
                           enum sb_link_kind kind) SB_CHECKED;
void sb_linker_free(struct sb_linker *linker); /* NULL is allowed */
FREEP(sb_linker_free, struct sb_linker)

/*
 * The number of this shard in the writer's archive. Cheap from the second time on, if `shards`
 * lives as long as the linker. SB_NOENT, SB_FORMAT as sb_shards_stat; SB_LOCKED while the shard
 * does not have its final name; SB_INVALID as sb_writer_link_shard.
 */
enum sb_code sb_linker_map(struct sb_linker *linker, struct sb_shards *shards, uint32_t shard,
                           uint32_t *number) SB_CHECKED;

/* The length of a shard from sb_linker_map: rows may point past it. */
int64_t sb_linker_size(const struct sb_linker *linker, uint32_t number);

#endif
