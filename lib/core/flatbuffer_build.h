/*
 * Writes a small flatbuffer from beginning to end, as flatbuffer.h reads it.
 *
 * A table comes before what it refers to, since offsets lead forward: each object is added with the
 * position of the reference to it, which then gets its offset. Lack of memory is remembered and
 * reported by sb_flat_end, so that the steps between need no check. {0} is empty; its holder
 * releases `out`. Belongs to one thread.
 */
#ifndef SB_CORE_FLATBUFFER_BUILD_H
#define SB_CORE_FLATBUFFER_BUILD_H

#include "core/buf.h"

#include <stdint.h>

struct sb_flat_build {
    struct sb_buf out;
    bool failed; /* memory ran out */
};

/* A field of a table, by its slot. */
struct sb_flat_field {
    size_t size;   /* 1, 2, 4 or 8; 0: absent */
    int64_t value; /* 0 for a reference (size 4), until its object is added */
    size_t at;     /* its position: set by sb_flat_add_table */
};

/* To be called first. Returns the position of the reference to the root. */
size_t sb_flat_begin(struct sb_flat_build *build);

/* `refers` is the position of the reference that gets its offset. */
void sb_flat_add_table(struct sb_flat_build *build, size_t refers, struct sb_flat_field *fields,
                       size_t count);
void sb_flat_add_text(struct sb_flat_build *build, size_t refers, const void *data, size_t size);

/*
 * A vector of zeros, aligned to 8. Returns the position of its first item, to be filled by
 * sb_flat_set: a reference as 4 bytes, a struct number by number.
 */
size_t sb_flat_add_vector(struct sb_flat_build *build, size_t refers, size_t count,
                          size_t item_size);
void sb_flat_set(struct sb_flat_build *build, size_t at, size_t size, int64_t value);

/* Pads to a multiple of 8. SB_NOMEM; SB_LIMIT beyond 2^31-1 bytes. */
enum sb_code sb_flat_end(struct sb_flat_build *build) SB_CHECKED;

#endif
