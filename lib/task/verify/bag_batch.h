/*
 * Some records of bags that are verified together by one thread.
 */
#ifndef SB_TASK_VERIFY_BAG_BATCH_H
#define SB_TASK_VERIFY_BAG_BATCH_H

#include "core/buf.h"
#include "task/verify/bag_impl.h"

#define BAG_BATCH_ITEMS 4096
#define BAG_READ_BYTES                                                                             \
    (INT64_C(1) << 20) /* stored bytes read at once; what is larger is streamed */

enum bag_item_state {
    BAG_ITEM_SOUND,
    BAG_ITEM_DAMAGED,
    BAG_ITEM_ABSENT, /* of an interleaved set that is not whole: a number without a record */
};

struct bag_item {
    int64_t number; /* in the set */
    int64_t index;  /* in its file */
    int64_t offset; /* -1: not known */
    int64_t size;
    size_t text; /* what is wrong: its place in the batch's text, and 1; 0: nothing to be told */
    uint32_t file;
    uint32_t sequence; /* in the batch */
    enum bag_item_state state;
    bool limits;    /* text is of its limits */
    bool unchecked; /* nothing vouches for its bytes */
};

struct bag_batch {
    struct bag_check *check;
    struct bag_item *items; /* filled in by the caller: number, index, file, sequence, state */
    size_t count;
    struct sb_buf text;
    int64_t bytes_read;   /* of sound records */
    int64_t bytes_passed; /* of all of them */
    int64_t written;
    int64_t emptied;

    struct bag_limits limits; /* those of the file that is read */
    struct sb_file *separate; /* its limits; NULL: they are not apart */
    struct sb_file *records;  /* NULL: none is open */
    struct sb_decoder *decoder;
    unsigned char *stored, *decoded;
    size_t *sizes; /* of records to be written */
};

enum sb_code sb_bag_batch_init(struct bag_batch *batch, struct bag_check *check,
                               struct sb_error *err) SB_CHECKED;
void sb_bag_batch_release(struct bag_batch *batch);

/* What is wrong with each of the items; they are in the order of sequence again afterwards. An
 * error is none of theirs. */
enum sb_code sb_bag_batch_check(struct bag_batch *batch, struct sb_error *err) SB_CHECKED;

/* verify/bag_repair.c: adds the sound ones to the check's writer. */
enum sb_code sb_bag_batch_repair(struct bag_batch *batch, struct sb_error *err) SB_CHECKED;

/* For both of these. The files of one shard, which may be open already. */
enum sb_code sb_bag_batch_open(struct bag_batch *batch, uint32_t number,
                               struct sb_error *err) SB_CHECKED;
void sb_bag_batch_close(struct bag_batch *batch);

/* Up to BAG_READ_BYTES of its records into batch->stored; fewer where the file ends. */
enum sb_code sb_bag_batch_read(struct bag_batch *batch, int64_t offset, size_t size, size_t *got,
                               struct sb_error *err) SB_CHECKED;

/* How many items from `first` on lie one behind the other, and can be read at once. */
size_t sb_bag_batch_adjacent(const struct bag_batch *batch, size_t first, int64_t *bytes);

#endif
