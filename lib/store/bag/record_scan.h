/*
 * A pass over all records of a bag on threads, neighbours by neighbours, shard by shard.
 */
#ifndef SB_STORE_BAG_RECORD_SCAN_H
#define SB_STORE_BAG_RECORD_SCAN_H

#include "core/buf.h"
#include "store/bag/record_block.h"

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
