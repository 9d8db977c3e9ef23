/*
 * A bag, or a sharded set of them, for reading: records by number.
 *
 * The format (google-deepmind/bagz, README): records back to back, then a little-endian uint64 for
 * each, its end offset in the records section ("limits"); with separate placement the limits are in
 * limits.NAME beside NAME. The last 8 bytes of a file with limits at its tail are both the last
 * limit and the place where limits begin. A file of no bytes has no records.
 *
 * Opening looks once at each file's end (and for limits.NAME), and reads nothing else: memory is
 * some bytes for each shard. Of many files only some are open at once (core/open_files.h). A limit
 * is held against its neighbours and the file whenever it is used.
 *
 * A bag may be used by any number of threads; a reader belongs to one, and is freed before its bag.
 */
#ifndef SB_STORE_BAG_BAG_H
#define SB_STORE_BAG_BAG_H

#include "core/extent.h"
#include "store/codec/record_codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_limits_placement {
    SB_LIMITS_AUTO, /* separate where a limits.NAME is there, else at the tail: also right beside
                       one that a writer which died left, or an append that was killed */
    SB_LIMITS_TAIL,
    SB_LIMITS_SEPARATE,
};

enum sb_bag_layout {
    SB_LAYOUT_CONCATENATED, /* shards one after the other */
    SB_LAYOUT_INTERLEAVED,  /* record g is in shard g mod n, at g div n there */
};

struct sb_bag_options {
    enum sb_compression compression;
    enum sb_compression otherwise;    /* what AUTO means for a file that is called neither *.bag nor
                                       *.bagz; AUTO: none */
    struct sb_dictionary *dictionary; /* NULL: none; the bag becomes a holder of it */
    enum sb_limits_placement limits;
    enum sb_bag_layout layout;
};

struct sb_bag;
struct sb_file;

/*
 * options NULL: the defaults. SB_NOENT names a shard that is missing; SB_FORMAT when a file cannot
 * be a bag, or shards of an interleaved set have sizes that cannot be. The last limits in a
 * limits.NAME may be past the end of NAME, as a writer that was killed leaves it: then the records
 * before them are the bag, and this is reported as SB_PROBLEM ("unfinished"). A set that has its
 * "-00000-of-" shard but lacks others is named as incomplete.
 */
enum sb_code sb_bag_open(struct sb_bag **out, const char *spec,
                         const struct sb_bag_options *options,
                         const struct sb_notify *notify) SB_CHECKED;

/* The same of one file that is open, and `named`: its name is its path, beside which limits may be.
 * Else they are at its tail. Its compression by its name where AUTO. */
enum sb_code sb_bag_open_file(struct sb_bag **out, struct sb_file *file, bool named,
                              const struct sb_bag_options *options,
                              const struct sb_notify *notify) SB_CHECKED;
void sb_bag_free(struct sb_bag *bag); /* NULL is allowed */
FREEP(sb_bag_free, struct sb_bag)

/* For messages: the spec as given. */
const char *sb_bag_name(const struct sb_bag *bag);
int64_t sb_bag_count(const struct sb_bag *bag);
const struct sb_bag_options *sb_bag_options_of(const struct sb_bag *bag);

struct sb_bag_shard {
    const char *path;
    int64_t records;
    int64_t bytes; /* of the records section */
    bool zstd;
    bool separate; /* limits are in limits.NAME */
};
uint32_t sb_bag_shard_count(const struct sb_bag *bag);
const struct sb_bag_shard *sb_bag_shard(const struct sb_bag *bag, uint32_t shard);

/* Where record number `record`, which must be there, is: its shard, and its number in that. And
 * back. */
struct sb_place sb_bag_place_of(const struct sb_bag *bag, int64_t record);
int64_t sb_bag_record_at(const struct sb_bag *bag, struct sb_place place);

struct sb_bag_reader;
enum sb_code sb_bag_reader_new(struct sb_bag_reader **out, struct sb_bag *bag) SB_CHECKED;
void sb_bag_reader_free(struct sb_bag_reader *reader); /* NULL is allowed */
FREEP(sb_bag_reader_free, struct sb_bag_reader)

/* It reads many more limits at once where it goes on. To be called before it is used. */
void sb_bag_reader_goes_far(struct sb_bag_reader *reader);

/*
 * Reads limits of records here and there, which must be there, on threads, so that sb_bag_extents
 * of any reader has them for the next time; at most about a thousand are kept for sure. What cannot
 * be read is left to that call. SB_INTERRUPT.
 */
enum sb_code sb_bag_limits_ahead(struct sb_bag *bag, const int64_t *records, size_t count,
                                 unsigned threads) SB_CHECKED;

/*
 * `count` records of one shard, from `first` on, by one read of limits where they are few (a reader
 * keeps windows of limits, so that going on from where it was, forwards or backwards, costs no read
 * at all). They must be there. Limits that decrease or lie outside the file: SB_DAMAGED, "record N:
 * ..." with the number in the bag; *good records before it are filled in. SB_CHANGED: another file
 * has taken the place of the shard's, or something is appended to it.
 */
enum sb_code sb_bag_extents(struct sb_bag_reader *reader, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good) SB_CHECKED;

/* Bytes of a shard's records section as they are stored; exactly size of them, else SB_DAMAGED. */
enum sb_code sb_bag_read(struct sb_bag_reader *reader, uint32_t shard, int64_t offset, void *data,
                         size_t size) SB_CHECKED;

/*
 * A stored record (extent) as it was written, decoded where the shard is compressed. SB_LIMIT,
 * without text: it has more than `capacity` bytes, so stream it. SB_DAMAGED says where it is ("...
 * (offset 123)", of several shards also which); not the record, whose number the caller knows.
 */
enum sb_code sb_bag_load(struct sb_bag_reader *reader, const struct sb_extent *extent, void *data,
                         size_t capacity, size_t *size) SB_CHECKED;
enum sb_code sb_bag_stream(struct sb_bag_reader *reader, const struct sb_extent *extent,
                           sb_each_block *each, void *context) SB_CHECKED;

/* As sb_bag_load, where the stored bytes have been read already. */
enum sb_code sb_bag_decode(struct sb_bag_reader *reader, uint32_t shard, const void *stored,
                           size_t stored_size, void *data, size_t capacity,
                           size_t *size) SB_CHECKED;

/* The size of a record, from its frame's header, or by decoding it where that does not say. */
enum sb_code sb_bag_record_size(struct sb_bag_reader *reader, const struct sb_extent *extent,
                                int64_t *size) SB_CHECKED;

/*
 * Records of a bag, mostly one after the other: the stored bytes of many are read at once.
 *
 * {0} is an empty window. A caller that goes from one record to the next gets long reads; a caller
 * that jumps gets just the bytes it wants. Belongs to one thread.
 */
#define SB_BAG_WINDOW ((size_t)256 << 10) /* bytes */

struct sb_bag_window {
    char *data; /* NULL: never used */
    uint32_t shard;
    int64_t at;
    size_t held;
};

void sb_bag_window_release(struct sb_bag_window *window);

/* As sb_bag_load and sb_bag_record_size. */
enum sb_code sb_bag_window_load(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                const struct sb_extent *extent, void *data, size_t capacity,
                                size_t *size) SB_CHECKED;
enum sb_code sb_bag_window_size(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                const struct sb_extent *extent, int64_t *size) SB_CHECKED;

#endif
