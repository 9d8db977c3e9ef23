/*
 * Splits one container into several: each file goes into one of the parts, which are new
 * containers.
 *
 * Parts are converted one after the other, as by sb_convert: bytes are checked, damaged files are
 * left out and reported, and a part appears complete or not at all. A killed run leaves its
 * finished parts, and sb_split with SB_EXISTING_SKIP continues after them.
 */
#ifndef SB_TASK_SPLIT_SPLIT_H
#define SB_TASK_SPLIT_SPLIT_H

#include "archive/mover/mover.h"
#include "archive/writer/linked.h"
#include "task/convert/convert.h"
#include "task/split/rules.h"

struct sb_split_part {
    const char *name;
    const char *output;
    int64_t files; /* links included */
    int64_t bytes;
    bool skipped;
};

struct sb_split_options {
    struct sb_archive *archive; /* the input; the caller owns it; or an object that acts as one */
    struct sb_split_scheme scheme;

    /*
     * The path of a part: "{}" is replaced by its name, and is required if there may be more than
     * one.
     */
    const char *output;
    enum sb_existing existing; /* of parts; SB_EXISTS is before anything is written; not NEWER */
    bool streamed; /* the archive came as a stream (sb_input_is_stream): if it is empty, it replaces
                      nothing */

    /*
     * How a part is written: to, transfer.threads, transfer.strict, no_check, shard_size, lost,
     * store, level and, for all of them together, transfer.progress and context. sb_split sets the
     * rest.
     */
    struct sb_convert_options convert;

    /*
     * Nothing is copied: parts are archives whose shards are links, of this kind, to those of the
     * archive, which must not be adopted. Of convert, shard_size applies.
     */
    bool link;
    enum sb_link_kind link_kind;

    bool dry_run; /* nothing is written; part_done reports what would be */
    const struct sb_notify *notify;
    void (*part_done)(void *context, const struct sb_split_part *part);
    void *context;
};

struct sb_split_result {
    int64_t parts;      /* finished */
    int64_t files_left; /* in no part */
    int64_t problems;   /* reported as SB_PROBLEM */
};

/*
 * SB_OK: all parts exist; problems of single files were reported, and are counted. Otherwise the
 * parts that part_done has reported exist.
 */
enum sb_code sb_split(const struct sb_split_options *options,
                      struct sb_split_result *result) SB_CHECKED;

#define SB_SPLIT_BAG_PARTS 1000000 /* at most */

/*
 * As sb_split, for a bag, or the spec of several, split into bags: each part has the records of
 * some slices, copied as sb_convert does; `files` of a part is their number. The scheme is
 * SB_SPLIT_PARTS, SB_SPLIT_COUNT or SB_SPLIT_SIZE. The output may also be "NAME@16.bagz" or
 * "NAME@*.bagz": parts are the shards of one bag, which appears complete or not at all. Of convert,
 * to, records, level and, for all parts together, transfer.progress and context apply, and
 * transfer.threads. With records.write.layout interleaved, a part has every N-th record.
 */
enum sb_code sb_split_bag(const char *input, const struct sb_split_options *options,
                          struct sb_split_result *result) SB_CHECKED;

/*
 * Changes the shard size of an existing archive, in place.
 *
 * Files stay in the order of their addresses and are distributed anew over shards of at most that
 * size (a larger file has a shard to itself). Leading shards that are right already are not
 * touched. It needs no more free space than SB_MOVER_BYTES and the largest file; a killed run is
 * continued by the next. What is on disk after each step is in shardbox-archive(5).
 */
struct sb_reshard_options {
    int64_t shard_size; /* bytes */
    bool dry_run;       /* only counts */
    struct sb_mover_options mover;
};

struct sb_reshard_counts {
    uint32_t shards_before, shards_after;
    int64_t moved_files, moved_bytes;
};

/* SB_DAMAGED and SB_INVALID as sb_mover_open and sb_mover_may_write. */
enum sb_code sb_reshard(const char *archive, const struct sb_reshard_options *options,
                        struct sb_reshard_counts *counts) SB_CHECKED;

/*
 * Distributes files, in the order of their addresses, over shards of at most some size: as many
 * consecutive files as fit make a shard, and a larger file is alone in one. Empty files are
 * ignored.
 *
 * Memory: 8 bytes per shard. Belongs to one thread. The caller sets `limit`; the rest is zero.
 */
struct sb_shard_layout {
    int64_t limit;  /* bytes in a shard, more than 0 */
    int64_t *bytes; /* of each shard */
    uint32_t count;
    size_t capacity;
    uint32_t kept; /* valid once `moved` is set: the shards before the first file that moves */
    bool moved;
};

struct sb_shard_place {
    uint32_t shard;
    int64_t offset;
};

void sb_shard_layout_release(struct sb_shard_layout *layout);

/* The next file, and its new position. SB_LIMIT if there would be too many shards. */
enum sb_code sb_shard_layout_add(struct sb_shard_layout *layout, const struct sb_mover_file *file,
                                 struct sb_shard_place *place) SB_CHECKED;

/* After the last file: the number of shards, at least one, and the bytes of one. */
uint32_t sb_shard_layout_count(const struct sb_shard_layout *layout);
int64_t sb_shard_layout_bytes(const struct sb_shard_layout *layout, uint32_t shard);

/* The number of leading shards that contain only files that are already in their new positions. */
uint32_t sb_shard_layout_kept(const struct sb_shard_layout *layout);

/*
 * The same files again, from the last to the first: begin at sb_shard_layout_end, then step back
 * over one file after the other.
 */
struct sb_shard_place sb_shard_layout_end(const struct sb_shard_layout *layout);
void sb_shard_layout_back(const struct sb_shard_layout *layout, struct sb_shard_place *place,
                          int64_t size);

#endif
