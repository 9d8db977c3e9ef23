/*
 * Reads an untrusted flatbuffer: tables, unions, vectors, structs and texts, with every access
 * checked against the bounds of the buffer. Debian has no C library that reads them.
 *
 * The format: flatbuffers.dev/internals ("FlatBuffer Binary Format"). Fields are named by their
 * slot: the position in the schema's table, counted from 0. A union takes two, its type first.
 *
 * An absent field reads as its default. So does one that leads out of the buffer, which also sets
 * `bad`: check it once, after all has been read. Offsets lead forward only, so that nothing
 * contains itself, and a vector has no more items than fit into the buffer. Nothing is allocated,
 * and no alignment is needed. A buffer belongs to one thread at a time.
 */
#ifndef SB_CORE_FLATBUFFER_H
#define SB_CORE_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_flat {
    const void *data; /* must not change while it is read */
    size_t size;
    bool bad; /* an access led out of the buffer */
};

struct sb_flat_table {
    struct sb_flat *flat;
    size_t at;      /* 0: absent, as are all its fields */
    size_t size;    /* of the table */
    size_t vtable;  /* its position */
    size_t vfields; /* number of slots */
};

struct sb_flat_vector {
    struct sb_flat *flat;
    size_t at; /* of the first item */
    size_t item_size;
    size_t count; /* 0 where it is absent */
};

struct sb_flat_text {
    const char *data; /* followed by a NUL, as the format requires; "" where it is absent */
    size_t size;
};

struct sb_flat_table sb_flat_root(struct sb_flat *flat);

/* A little-endian number of 1, 2, 4 or 8 bytes, with its sign. */
int64_t sb_flat_number(const struct sb_flat_table *table, unsigned slot, size_t size,
                       int64_t otherwise);

struct sb_flat_table sb_flat_table_in(const struct sb_flat_table *table, unsigned slot);
struct sb_flat_text sb_flat_text_in(const struct sb_flat_table *table, unsigned slot);

/* item_size: 4 for a vector of tables. */
struct sb_flat_vector sb_flat_vector_in(const struct sb_flat_table *table, unsigned slot,
                                        size_t item_size);

/* item must be less than the count of the vector. */
struct sb_flat_table sb_flat_item_table(const struct sb_flat_vector *vector, size_t item);

/* A number at `offset` of an item that is a struct. */
int64_t sb_flat_item_number(const struct sb_flat_vector *vector, size_t item, size_t offset,
                            size_t size);

#endif
