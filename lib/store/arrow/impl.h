/*
 * What the parts of the Arrow reader share: arrow.c has the file and its batch, arrow/schema.c what
 * columns it has.
 */
#ifndef SB_STORE_ARROW_IMPL_H
#define SB_STORE_ARROW_IMPL_H

#include "core/extent.h"
#include "core/flatbuffer.h"
#include "store/arrow/arrow.h"

/* Where the values of a column are. */
struct sb_arrow_place {
    struct sb_extent validity; /* size 0, as of others: there is none */
    struct sb_extent offsets;
    struct sb_extent values;
    int64_t most; /* bytes or values: what offsets may say */
};

struct sb_arrow {
    const unsigned char *data;
    int64_t size;
    unsigned char *footer; /* a copy, which names point into */
    int64_t rows;
    struct sb_arrow_column *columns;
    struct sb_arrow_place *places;
    size_t column_count;
    struct sb_arrow_pair *pairs;
    size_t pair_count;
};

/* SB_DAMAGED. */
enum sb_code sb_arrow_lead_out(struct sb_error *err, const char *what);

/* Columns and pairs, whose texts are in the schema's buffer; places are for the batch to fill. */
enum sb_code sb_arrow_read_schema(struct sb_arrow *arrow, const struct sb_flat_table *schema,
                                  struct sb_error *err) SB_CHECKED;

#endif
