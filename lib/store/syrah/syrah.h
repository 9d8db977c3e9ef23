/*
 * A Syrah file, for reading: items by number, each with every array.
 *
 * The format (gsicard/syrah, README and _hl/): a header of 22 bytes ("GS", four bytes of version,
 * offset and length of the metadata as little-endian int64), the bytes of arrays, and a BSON
 * document that maps each array's name to { offset, size: binaries of an int64 for each item;
 * dtype: text }. Offsets count from the start of the file. A file that was not closed has no
 * header: its first bytes are zero, or missing.
 *
 * Opening reads the header and maps the document, and walks its few elements: its cost does not
 * depend on the number of items. BSON is read by libbson; what it points at is checked against the
 * document and the data section whenever it is used. May be used by any number of threads.
 */
#ifndef SB_STORE_SYRAH_SYRAH_H
#define SB_STORE_SYRAH_SYRAH_H

#include "core/error.h"
#include "core/extent.h"
#include "core/file.h"
#include "store/array/array.h"

#include <stddef.h>

#define SB_SYRAH_HEADER      22
#define SB_SYRAH_ARRAYS_MOST 65536 /* of a file that is read */

/* Does a file of at least so many bytes begin as one that was closed? */
bool sb_syrah_is_header(const void *data, size_t size);

struct sb_syrah_array {
    const char *name; /* any bytes without a NUL */
    enum sb_dtype dtype;
    const unsigned char *offsets, *sizes; /* int64 of each item, in the document */
};

/* Fields are read-only for users. */
struct sb_syrah {
    struct sb_file *file; /* whose name is for messages */
    int64_t items;
    struct sb_syrah_array *arrays;
    uint32_t array_count;
    int64_t data_end;     /* of the data section; the metadata begin there */
    size_t document_size; /* bytes of metadata */

    /* Of syrah.c alone: */
    struct sb_mapping *mapping;
    const unsigned char *document; /* in the mapping */
    uint32_t *by_name;             /* numbers of arrays, by their names */
    size_t capacity;
};

/*
 * It becomes a holder of the file. SB_FORMAT: the file is none, or was never closed, or its
 * metadata cannot be trusted as a whole: they lie outside the file, are no BSON, an array lacks an
 * element or occurs twice, is of an unknown type, or of another count than the first; the text says
 * what. SB_CHANGED: it becomes shorter.
 */
enum sb_code sb_syrah_open(struct sb_syrah **out, struct sb_file *file) SB_CHECKED;
void sb_syrah_free(struct sb_syrah *syrah); /* NULL is allowed */
FREEP(sb_syrah_free, struct sb_syrah)

/* -1: there is no such array. */
int64_t sb_syrah_find(const struct sb_syrah *syrah, const char *name, size_t size);

/* Does it lie inside the data section, in whole values of the array's type? SB_DAMAGED says what is
 * wrong with it, but does not name its item. */
enum sb_code sb_syrah_check_extent(const struct sb_syrah *syrah, uint32_t array,
                                   const struct sb_extent *extent) SB_CHECKED;

/* One array of an item, which must be there. SB_DAMAGED: it is not sound ("item 5, array 'x':
 * ..."); out is filled in all the same. SB_CHANGED: the file has become shorter. */
enum sb_code sb_syrah_extent(const struct sb_syrah *syrah, uint32_t array, int64_t item,
                             struct sb_extent *out) SB_CHECKED;

/* Bytes of the data section; exactly size of them, else SB_DAMAGED. */
enum sb_code sb_syrah_read(const struct sb_syrah *syrah, int64_t offset, void *data,
                           size_t size) SB_CHECKED;

#endif
