/*
 * Reading a flatbuffer that is not trusted: tables, unions, vectors, structs and texts, each held
 * against the buffer's bounds whenever it is looked at. Debian has no C library that reads them.
 *
 * The format: flatbuffers.dev/internals ("FlatBuffer Binary Format"). Fields are named by their
 * slot: the place in the schema's table, counted from 0, where a union takes two, its type first.
 *
 * What is absent reads as its default, and so does what leads out of the buffer, which also sets
 * `bad`: look at it once, when all has been read. Offsets lead forward alone, so that nothing holds
 * itself, and a vector has no more items than the buffer has room for. Nothing is allocated, and no
 * alignment is needed. A buffer belongs to one thread at a time.
 */
#ifndef SB_CORE_FLATBUFFER_H
#define SB_CORE_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_flat {
    const void *data; /* must stay as it is while it is read */
    size_t size;
    bool bad; /* something led out of it */
};

struct sb_flat_table {
    struct sb_flat *flat;
    size_t at;      /* 0: there is none, all is absent */
    size_t size;    /* of the table */
    size_t vtable;  /* where it is */
    size_t vfields; /* how many slots it has */
};

struct sb_flat_vector {
    struct sb_flat *flat;
    size_t at; /* of the first item */
    size_t item_size;
    size_t count; /* 0 where there is none */
};

struct sb_flat_text {
    const char *data; /* followed by a NUL, as the format has it; "" where there is none */
    size_t size;
};

struct sb_flat_table sb_flat_root(struct sb_flat *flat);

/* A little-endian number of 1, 2, 4 or 8 bytes, with its sign. */
int64_t sb_flat_number(const struct sb_flat_table *table, unsigned slot, size_t size,
                       int64_t otherwise);

struct sb_flat_table sb_flat_table_in(const struct sb_flat_table *table, unsigned slot);
struct sb_flat_text sb_flat_text_in(const struct sb_flat_table *table, unsigned slot);

/* item_size: of a vector of tables 4. */
struct sb_flat_vector sb_flat_vector_in(const struct sb_flat_table *table, unsigned slot,
                                        size_t item_size);

/* Of the items that the vector has. */
struct sb_flat_table sb_flat_item_table(const struct sb_flat_vector *vector, size_t item);

/* A number at `offset` of an item that is a struct. */
int64_t sb_flat_item_number(const struct sb_flat_vector *vector, size_t item, size_t offset,
                            size_t size);

#endif
