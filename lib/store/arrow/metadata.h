/*
 * The metadata of a written Arrow file (arrow/format.h).
 *
 * As pyarrow makes them for the tables of a torchcachex cache: columns and the values of lists are
 * nullable (but none is null), and the values are called "item".
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
    int64_t count; /* number of values of a list */
};

/* Where the buffers of a batch are in its body. */
struct sb_arrow_layout {
    int64_t rows;
    struct sb_arrow_layout_column *columns;
    int64_t body_size;
};

/* The footer's entry for a batch. */
struct sb_arrow_block {
    int64_t offset;
    int64_t head; /* size of the prefix and the metadata */
    int64_t body;
};

/* Each puts one flatbuffer into an empty build. */
enum sb_code sb_arrow_make_schema(struct sb_flat_build *build,
                                  const struct sb_arrow_schema *schema) SB_CHECKED;
enum sb_code sb_arrow_make_batch(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                 const struct sb_arrow_layout *layout) SB_CHECKED;
enum sb_code sb_arrow_make_footer(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                  const struct sb_arrow_block *block) SB_CHECKED;

#endif
