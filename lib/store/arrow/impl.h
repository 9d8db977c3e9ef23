/*
 * Shared by the parts of the Arrow reader: arrow.c reads the file and its batch, arrow/schema.c the
 * columns.
 */
#ifndef SB_STORE_ARROW_IMPL_H
#define SB_STORE_ARROW_IMPL_H

#include "core/extent.h"
#include "core/flatbuffer.h"
#include "store/arrow/arrow.h"

/* The extents of a column. */
struct sb_arrow_place {
    struct sb_extent validity; /* of the validity bits; size 0: none (as for the other extents) */
    struct sb_extent offsets;
    struct sb_extent values;
    int64_t most; /* limit for offsets: bytes or values in the column */
};

struct sb_arrow {
    const unsigned char *data;
    int64_t size;
    unsigned char *footer; /* a copy; names point into it */
    int64_t rows;
    struct sb_arrow_column *columns;
    struct sb_arrow_place *places;
    size_t column_count;
    struct sb_arrow_pair *pairs;
    size_t pair_count;
};

/* SB_DAMAGED: `what` points outside of the file. */
enum sb_code sb_arrow_lead_out(const char *what);

/* Sets columns and pairs, whose texts point into the schema's buffer; the batch sets the places. */
enum sb_code sb_arrow_read_schema(struct sb_arrow *arrow,
                                  const struct sb_flat_table *schema) SB_CHECKED;

#endif
