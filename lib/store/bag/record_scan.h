/*
 * A pass over all records of a bag on threads, in blocks of neighbours, shard by shard: their sizes
 * and their bytes, from one read of a block.
 *
 * That read is made when it is first needed. Where records are so large that it does not pay, or
 * when it fails, each is read by itself. A block belongs to one thread at a time.
 */
#ifndef SB_STORE_BAG_RECORD_SCAN_H
#define SB_STORE_BAG_RECORD_SCAN_H

#include "core/buf.h"
#include "store/bag/bag.h"

#define SB_RECORD_BLOCK_MAX 4096 /* records */

struct sb_record_block {
    struct sb_bag_reader *reader;
    bool zstd; /* is the shard compressed? */
    size_t count;
    struct sb_extent extents[SB_RECORD_BLOCK_MAX];

    /* of record_scan.c */
    int64_t stored_size;
    bool tried, read;
    struct sb_buf stored, record;
};

/* The size of the record as it was written, where no more than its frame's header need be read; -1
 * where that does not say it. */
enum sb_code sb_record_block_declared(struct sb_record_block *block, size_t i,
                                      int64_t *size) SB_CHECKED;

/* The same, by decoding it where that is needed. SB_DAMAGED as sb_bag_record_size says it. */
enum sb_code sb_record_block_size(struct sb_record_block *block, size_t i,
                                  int64_t *size) SB_CHECKED;

/*
 * The record as it was written; data lives until the next call on this block. SB_LIMIT, without
 * text: it has more than `capacity` bytes. SB_DAMAGED as sb_bag_load says it.
 */
enum sb_code sb_record_block_bytes(struct sb_record_block *block, size_t i, size_t capacity,
                                   const void **data, size_t *size) SB_CHECKED;

struct sb_scan_slot {
    struct sb_record_block block;
    struct sb_place first; /* of the block's records */
    void *own;             /* of the caller: own_size bytes, zero at first */

    /* of record_scan.c */
    struct sb_buf damage;
};

struct sb_scan {
    unsigned threads;
    size_t own_size;
    void *context;

    /* Calling thread: is there anything to be seen in this shard? Optional: all are looked at. */
    bool (*takes)(void *context, uint32_t shard);

    /* Calling thread, before each block. False: enough was seen. Optional. */
    bool (*goes_on)(void *context);

    /* A worker. */
    enum sb_code (*work)(void *context, struct sb_scan_slot *slot);

    /* Calling thread, in order. Optional. */
    enum sb_code (*drain)(void *context, struct sb_scan_slot *slot);

    /* Releases what `own` holds. Optional. */
    void (*release)(void *own);

    /* Stored bytes and records, so far; may be NULL. */
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t records);
    void *progress_context;

    const struct sb_notify *notify;
};

/* Records whose limits are wrong are reported as SB_PROBLEM ("damaged"), and are in no block. */
enum sb_code sb_record_scan(struct sb_bag *bag, const struct sb_scan *scan) SB_CHECKED;

/* For a worker: record i of the slot's block cannot be read, as the last failure says. It is
 * reported, in order. */
enum sb_code sb_scan_damaged(struct sb_scan_slot *slot, const struct sb_bag *bag,
                             size_t i) SB_CHECKED;

#endif
