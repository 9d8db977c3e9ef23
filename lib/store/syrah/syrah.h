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
#include "store/array/dtype.h"

#include <stddef.h>

#define SB_SYRAH_HEADER      22
#define SB_SYRAH_ARRAYS_MOST 65536 /* of a file that is read */

/* Does a file of at least so many bytes begin as one that was closed? */
bool sb_syrah_is_header(const void *data, size_t size);

struct sb_file;
struct sb_syrah;

/*
 * It becomes a holder of the file. SB_FORMAT: the file is none, or was never closed, or its
 * metadata cannot be trusted as a whole: they lie outside the file, are no BSON, an array lacks an
 * element or occurs twice, is of an unknown type, or of another count than the first; the text says
 * what. SB_CHANGED: it becomes shorter.
 */
enum sb_code sb_syrah_open(struct sb_syrah **out, struct sb_file *file) SB_CHECKED;
void sb_syrah_free(struct sb_syrah *syrah); /* NULL is allowed */
FREEP(sb_syrah_free, struct sb_syrah)

const char *sb_syrah_name(const struct sb_syrah *syrah); /* for messages */
struct sb_file *sb_syrah_file(const struct sb_syrah *syrah);
int64_t sb_syrah_count(const struct sb_syrah *syrah); /* items */

struct sb_syrah_array {
    const char *name; /* any bytes without a NUL */
    enum sb_dtype dtype;
};
uint32_t sb_syrah_array_count(const struct sb_syrah *syrah);
const struct sb_syrah_array *sb_syrah_array(const struct sb_syrah *syrah, uint32_t array);

/* -1: there is no such array. */
int64_t sb_syrah_find(const struct sb_syrah *syrah, const char *name, size_t size);

/* Where the data section ends, and the metadata begin. */
int64_t sb_syrah_data_end(const struct sb_syrah *syrah);

int64_t sb_syrah_metadata_size(const struct sb_syrah *syrah); /* bytes */

/* Does it lie inside the data section, in whole values of the array's type? SB_DAMAGED says what is
 * wrong with it, but does not name its item. */
enum sb_code sb_syrah_check_extent(const struct sb_syrah *syrah, uint32_t array,
                                   const struct sb_extent *extent) SB_CHECKED;

/*
 * One array of `count` items from `first` on, which must be there. All of out is filled in; its
 * first *good are sound. SB_DAMAGED: the next one after these is not ("item 5, array 'x': ...").
 * SB_CHANGED: the file has become shorter.
 */
enum sb_code sb_syrah_extents(const struct sb_syrah *syrah, uint32_t array, int64_t first,
                              size_t count, struct sb_extent *out, size_t *good) SB_CHECKED;

/* Bytes of the data section; exactly size of them, else SB_DAMAGED. */
enum sb_code sb_syrah_read(const struct sb_syrah *syrah, int64_t offset, void *data,
                           size_t size) SB_CHECKED;

#endif
