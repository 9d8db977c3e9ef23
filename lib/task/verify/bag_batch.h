/*
 * Records of bags that one thread verifies together.
 */
#ifndef SB_TASK_VERIFY_BAG_BATCH_H
#define SB_TASK_VERIFY_BAG_BATCH_H

#include "core/buf.h"
#include "task/verify/bag_impl.h"

#define BAG_BATCH_ITEMS 4096
#define BAG_READ_BYTES                                                                             \
    (INT64_C(1) << 20) /* stored bytes read at once; larger records are streamed */

enum bag_item_state {
    BAG_ITEM_SOUND,
    BAG_ITEM_DAMAGED,
    BAG_ITEM_ABSENT, /* in an incomplete interleaved set: a number without a record */
};

struct bag_item {
    int64_t number; /* in the set */
    int64_t index;  /* in its file */
    int64_t offset; /* -1: unknown */
    int64_t size;
    size_t text; /* message about a defect: its offset in the batch's text plus 1; 0: none */
    uint32_t file;
    uint32_t sequence; /* in the batch */
    enum bag_item_state state;
    bool limits;    /* text is about its limits */
    bool unchecked; /* its bytes have no checksum */
};

struct bag_batch {
    struct bag_check *check;
    struct bag_item *items; /* set by the caller: number, index, file, sequence, state */
    size_t count;
    struct sb_buf text;
    int64_t bytes_read;   /* of undamaged records */
    int64_t bytes_passed; /* of all of them */
    int64_t written;
    int64_t emptied;
    int64_t took; /* nanoseconds for the check */

    struct bag_limits limits; /* those of the file that is read */
    struct sb_file *separate; /* the file of its limits; NULL: they are not separate */
    struct sb_file *records;  /* NULL: none is open */
    struct sb_decoder *decoder;
    unsigned char *stored, *decoded;
    size_t *sizes; /* of records to be written */
};

enum sb_code sb_bag_batch_init(struct bag_batch *batch, struct bag_check *check) SB_CHECKED;
void sb_bag_batch_release(struct bag_batch *batch);

/*
 * Checks each of the items, which are in the order of sequence again afterwards. An error is not
 * about any of them.
 */
enum sb_code sb_bag_batch_check(struct bag_batch *batch) SB_CHECKED;

/* verify/bag_repair.c: adds the undamaged ones to the check's writer. */
enum sb_code sb_bag_batch_repair(struct bag_batch *batch) SB_CHECKED;

/* For both of these: opens the files of one shard, which may be open already. */
enum sb_code sb_bag_batch_open(struct bag_batch *batch, uint32_t number) SB_CHECKED;
void sb_bag_batch_close(struct bag_batch *batch);

/* Up to BAG_READ_BYTES of its records into batch->stored; fewer where the file ends. */
enum sb_code sb_bag_batch_read(struct bag_batch *batch, int64_t offset, size_t size,
                               size_t *got) SB_CHECKED;

/* How many items from `first` on are adjacent, and can be read at once. */
size_t sb_bag_batch_adjacent(const struct bag_batch *batch, size_t first, int64_t *bytes);

#endif
