/*
 * A Syrah file that is open, for syrah.c and the part of it that reads the metadata.
 */
#ifndef SB_STORE_SYRAH_IMPL_H
#define SB_STORE_SYRAH_IMPL_H

#include "core/file.h"
#include "store/syrah/syrah.h"

/* Where one array's two columns lie in the document. */
struct sb_syrah_columns {
    const unsigned char *offsets; /* int64 of each item */
    const unsigned char *sizes;
};

struct sb_syrah {
    struct sb_file *file;
    struct sb_mapping *mapping;
    const unsigned char *document; /* metadata, in the mapping */
    size_t document_size;
    int64_t data_end;
    int64_t items;
    struct sb_syrah_array *arrays;
    struct sb_syrah_columns *columns;
    uint32_t *by_name; /* numbers of arrays, by their names */
    uint32_t count;
    size_t capacity;
};

/* From document and document_size: items, arrays, columns, by_name, count. */
enum sb_code sb_syrah_read_metadata(struct sb_syrah *syrah) SB_CHECKED;

#endif
