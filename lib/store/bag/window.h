/*
 * Records of a bag, mostly one after the other: the stored bytes of many are read at once.
 *
 * {0} is an empty window. A caller that goes from one record to the next gets long reads; a caller
 * that jumps gets just the bytes it wants. Belongs to one thread.
 */
#ifndef SB_STORE_BAG_WINDOW_H
#define SB_STORE_BAG_WINDOW_H

#include "store/bag/bag.h"

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
