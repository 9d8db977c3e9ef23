/*
 * The metadata of an Arrow file that is written: arrow/format.h says which.
 *
 * As pyarrow makes them for the tables of a torchcachex cache: columns and the values of lists may
 * be null (none is), and the values are called "item".
 */
#ifndef SB_STORE_ARROW_METADATA_H
#define SB_STORE_ARROW_METADATA_H

#include "core/flatbuffer_build.h"
#include "store/arrow/writer.h"

/* A buffer of the body. */
struct sb_arrow_buffer {
    int64_t offset;
    int64_t size;
};

struct sb_arrow_layout_column {
    struct sb_arrow_buffer offsets;
    struct sb_arrow_buffer values;
    int64_t count; /* of the values of a list */
};

/* Where everything of a batch is in its body. */
struct sb_arrow_layout {
    int64_t rows;
    struct sb_arrow_layout_column *columns;
    int64_t body_size;
};

/* What the footer says of a batch. */
struct sb_arrow_block {
    int64_t offset;
    int64_t head; /* size of prefix and metadata */
    int64_t body;
};

/* Each fills an empty build with one flatbuffer. */
enum sb_code sb_arrow_make_schema(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                  struct sb_error *err) SB_CHECKED;
enum sb_code sb_arrow_make_batch(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                 const struct sb_arrow_layout *layout,
                                 struct sb_error *err) SB_CHECKED;
enum sb_code sb_arrow_make_footer(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                  const struct sb_arrow_block *block,
                                  struct sb_error *err) SB_CHECKED;

#endif
