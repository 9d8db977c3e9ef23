/*
 * Offsets and sizes of arrays that wait until the metadata of a Syrah file are written: they come
 * item by item, and go array by array.
 *
 * Some MB of them are held, those of neighbouring items of one array side by side; when that is
 * full it goes to a temporary file without a name as one block: so there may be very many arrays,
 * while column_spool.h is for few columns of any length. Belongs to one thread.
 * {.blocks.fd = -1} is empty.
 */
#ifndef SB_STORE_SYRAH_WAITING_H
#define SB_STORE_SYRAH_WAITING_H

#include "core/spool.h"
#include "store/syrah/syrah.h"

struct sb_syrah_waiting {
    struct sb_spool blocks; /* that are full */
    size_t arrays;
    size_t block_items; /* of a block */
    size_t held_items;
    int64_t *held; /* of each array offsets, then sizes, little-endian */
};

void sb_syrah_waiting_release(struct sb_syrah_waiting *waiting);

/* How many arrays an item has: before the first one is added. */
enum sb_code sb_syrah_waiting_begin(struct sb_syrah_waiting *waiting, size_t arrays) SB_CHECKED;

/* An item: the extents of its arrays, in order, `stride` bytes from one to the next. */
enum sb_code sb_syrah_waiting_add(struct sb_syrah_waiting *waiting, const struct sb_extent *extents,
                                  size_t stride) SB_CHECKED;

/* Feeds an array's offsets, or sizes, to `each`, as a Syrah file has them. */
enum sb_code sb_syrah_waiting_feed(struct sb_syrah_waiting *waiting, size_t array, bool sizes,
                                   sb_each_block *each, void *context) SB_CHECKED;

#endif
