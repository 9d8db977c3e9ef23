/*
 * What the files of a bag share: its shards, and their bytes.
 */
#ifndef SB_STORE_BAG_IMPL_H
#define SB_STORE_BAG_IMPL_H

#include "core/open_files.h"
#include "store/bag/bag.h"
#include "store/shard_spec.h"

#include <sys/types.h>
#include <time.h>

#define SB_LIMIT_SIZE 8 /* bytes of a limit */

/* A shard's two files. */
enum sb_bag_part {
    SB_BAG_RECORDS, /* NAME: records, and limits at its tail */
    SB_BAG_LIMITS,  /* limits.NAME */
    SB_BAG_PARTS,
};

/* A file as it was when the bag was opened: another one is not taken for it. */
struct sb_bag_file {
    dev_t device;
    ino_t inode;
    int64_t size;
    struct timespec written;
    uint32_t generation; /* how often it was opened by sb_bag_file_open */
};

struct sb_limit_cache;

struct sb_bag {
    char *name;
    struct sb_bag_options options;
    struct sb_spec spec;
    struct sb_bag_shard *shards; /* paths are those of spec */
    struct sb_bag_file (*files)[SB_BAG_PARTS];
    int64_t *starts; /* the number of each shard's first record; concatenated */
    uint32_t shard_count;
    int64_t count;
    struct sb_file *file; /* the one file, open already; or NULL */
    bool unnamed;         /* file has no path, beside which limits might be */
    struct sb_open_files open_files;
    struct sb_limit_cache *limit_cache;
};

/* bag/bag.c */

/* Looks at a file, opens and keeps it, and fills in its place in bag->files; or bag->file. */
enum sb_code sb_bag_file_open(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part) SB_CHECKED;

/* Exactly size bytes. SB_DAMAGED: it ends before them; SB_CHANGED: another file is there now. */
enum sb_code sb_bag_file_read(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              int64_t offset, void *data, size_t size) SB_CHECKED;

/*
 * To be called after limits were read at the tail of NAME: an append writes over them, while they
 * are in limits.NAME. SB_CHANGED: one has begun since the bag was opened, or is done.
 */
enum sb_code sb_bag_file_settled(struct sb_bag *bag, uint32_t shard) SB_CHECKED;

/* bag/limits.c: opens a shard's files and finds its records section and limits. */
enum sb_code sb_bag_find_limits(struct sb_bag *bag, uint32_t shard,
                                const struct sb_notify *notify) SB_CHECKED;

/* Limits of a shard from number `first` on; they are within its count. As they are in the file. */
enum sb_code sb_bag_read_limits(struct sb_bag *bag, uint32_t shard, int64_t first, uint64_t *out,
                                size_t count) SB_CHECKED;

/* The same for a few of them here and there, which are kept for the next time. */
enum sb_code sb_bag_pick_limits(struct sb_bag *bag, uint32_t shard, int64_t first, uint64_t *out,
                                size_t count) SB_CHECKED;

/*
 * Limits that were read at random, kept for the next time.
 *
 * A reader of single records at random needs two system calls for each, for its limits and for its
 * bytes; with up to 8 MB of limits kept in blocks, it soon needs one. Used by any number of
 * threads.
 */
#define SB_LIMIT_BLOCK ((size_t)512)

enum sb_code sb_limit_cache_new(struct sb_limit_cache **out) SB_CHECKED;
void sb_limit_cache_free(struct sb_limit_cache *cache); /* NULL is allowed */

/* Copies `count` of the limits of a block, from its place `at` on; false: they are not kept. */
bool sb_limit_cache_get(struct sb_limit_cache *cache, uint32_t shard, int64_t block, size_t at,
                        uint64_t *out, size_t count);

/* Keeps a copy of the first `count` limits of a block; without memory for it, it does not. */
void sb_limit_cache_keep(struct sb_limit_cache *cache, uint32_t shard, int64_t block,
                         const uint64_t *limits, size_t count);

#endif
