/*
 * Making a small flatbuffer from its beginning to its end, as flatbuffer.h reads it.
 *
 * A table comes before what it refers to, since offsets lead forward: each thing is added with the
 * place that refers to it, which then gets its offset. What is missing memory is remembered and
 * told at the end, so that the steps between need no look at it. {0} is an empty one; its holder
 * releases `out`. Belongs to one thread.
 */
#ifndef SB_CORE_FLATBUFFER_BUILD_H
#define SB_CORE_FLATBUFFER_BUILD_H

#include "core/buf.h"

#include <stdint.h>

struct sb_flat_build {
    struct sb_buf out;
    bool failed; /* there was no memory */
};

/* A field of a table, by its slot. */
struct sb_flat_field {
    size_t size;   /* 1, 2, 4 or 8; 0: it is absent */
    int64_t value; /* of a reference (4) 0, until what it refers to is added */
    size_t at;     /* where it was put: set by sb_flat_add_table */
};

/* Where the reference to the root stands; first of all. */
size_t sb_flat_begin(struct sb_flat_build *build);

/* `refers` is the place of the reference that gets its offset. */
void sb_flat_add_table(struct sb_flat_build *build, size_t refers, struct sb_flat_field *fields,
                       size_t count);
void sb_flat_add_text(struct sb_flat_build *build, size_t refers, const void *data, size_t size);

/* A vector of zeros, aligned to 8; returns the place of its first item, to be filled by
 * sb_flat_set: of references as 4 bytes, of a struct number by number. */
size_t sb_flat_add_vector(struct sb_flat_build *build, size_t refers, size_t count,
                          size_t item_size);
void sb_flat_set(struct sb_flat_build *build, size_t at, size_t size, int64_t value);

/* Fills it up to a multiple of 8. SB_NOMEM; SB_LIMIT where it is beyond 2^31-1 bytes. */
enum sb_code sb_flat_end(struct sb_flat_build *build, struct sb_error *err) SB_CHECKED;

#endif
