/*
 * The metadata of a Syrah file, written as they are made: one BSON document, array name -> {
 * offset, size: binaries of an int64 for each item; dtype: text }.
 *
 * BSON: bsonspec.org, 1.1; elements in the order that the original writes them. libbson reads it,
 * but would make it in memory.
 */
#ifndef SB_STORE_SYRAH_DOCUMENT_H
#define SB_STORE_SYRAH_DOCUMENT_H

#include "store/array/dtype.h"
#include "store/syrah/waiting.h"

/* An array that is written, and where it lies in the present item. */
struct sb_syrah_written {
    char *name; /* of its own */
    enum sb_dtype dtype;
    bool there; /* in the present item */
    struct sb_extent extent;
};

#define SB_SYRAH_DOCUMENT_MOST INT32_MAX /* bytes: its length is an int32 */

/* How many items of these arrays a document of at most `limit` bytes can hold. */
int64_t sb_syrah_document_capacity(const struct sb_syrah_written *arrays, size_t count,
                                   int64_t limit);

/* Bytes of the document; it can hold so many items. */
int64_t sb_syrah_document_size(const struct sb_syrah_written *arrays, size_t count, int64_t items);

/* Feeds it to `each`. Of so many items, whose extents have waited. */
enum sb_code sb_syrah_document_write(const struct sb_syrah_written *arrays, size_t count,
                                     int64_t items, struct sb_syrah_waiting *waiting,
                                     sb_each_block *each, void *context) SB_CHECKED;

#endif
