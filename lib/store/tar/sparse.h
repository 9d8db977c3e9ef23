/*
 * A file with holes in a tar, in GNU tar's pax form 1.0: a map, and the bytes of its extents. The
 * form: "Storing Sparse Files" in the manual of GNU tar.
 *
 * {0} is an empty map, and the holder releases it. Its memory is bounded: where there are very many
 * holes the smallest of them become data. Belongs to one thread.
 */
#ifndef SB_STORE_TAR_SPARSE_H
#define SB_STORE_TAR_SPARSE_H

#include "core/buf.h"
#include "core/extent.h"

#include <stdbool.h>

struct sb_tar_map {
    struct sb_extent *extents; /* in order; the last may be empty, where the file ends */
    size_t count;
    size_t capacity;
    int64_t size;   /* of the file, holes and all, so far */
    int64_t stored; /* of these, in extents */
    int64_t least;  /* smaller holes are data */
};

void sb_tar_map_release(struct sb_tar_map *map);

/* Notes a block of the file, or a hole: a sb_each_block, whose context is the map. */
enum sb_code sb_tar_map_add(void *context, const void *data, size_t size) SB_CHECKED;

/* After the last extent: adds the map that comes before the extents, in whole blocks of the tar. */
enum sb_code sb_tar_map_write(struct sb_tar_map *map, struct sb_buf *out) SB_CHECKED;

/*
 * How many of `size` bytes, which are at `at` in the file, are of one extent (*stored) or of no
 * extent. `next` is 0 at first, and goes through the extents as `at` grows.
 */
int64_t sb_tar_map_run(const struct sb_tar_map *map, size_t *next, int64_t at, int64_t size,
                       bool *stored);

#endif
