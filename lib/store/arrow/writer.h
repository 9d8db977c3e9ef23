/*
 * Writes an Arrow IPC file of one uncompressed record batch, which arrow.h and pyarrow read.
 *
 * Values are kept in memory, beyond some MB in temporary files, until the file is finished. Belongs
 * to one thread at a time.
 */
#ifndef SB_STORE_ARROW_WRITER_H
#define SB_STORE_ARROW_WRITER_H

#include "core/io.h"
#include "store/arrow/arrow.h"

struct sb_arrow_writer;

/* The columns and metadata of the file; all that it points at must live as long as the writer. */
struct sb_arrow_schema {
    const struct sb_arrow_column *columns;
    size_t column_count;
    const struct sb_arrow_pair *pairs;
    size_t pair_count;
    const char *beside; /* directory for temporary files unless TMPDIR is set */
};

/* SB_INVALID: Arrow has no list of such a type (float128, str). */
enum sb_code sb_arrow_writer_new(struct sb_arrow_writer **out,
                                 const struct sb_arrow_schema *schema) SB_CHECKED;
void sb_arrow_writer_free(struct sb_arrow_writer *writer); /* NULL is allowed */
FREEP(sb_arrow_writer_free, struct sb_arrow_writer)

/*
 * Each row gives each column one value: its bytes are appended in one or more pieces, then the
 * value is ended. The bytes of SB_DTYPE_BOOL are 0 and 1, and are stored as bits. SB_LIMIT: a
 * column has 2^31-1 bytes or values; drop the incomplete row (sb_arrow_writer_cut), finish the
 * file, and continue in another. SB_INVALID: the bytes of a list are not a multiple of a value's
 * size.
 */
enum sb_code sb_arrow_writer_add(struct sb_arrow_writer *writer, size_t column, const void *data,
                                 size_t size) SB_CHECKED;
enum sb_code sb_arrow_writer_end_value(struct sb_arrow_writer *writer, size_t column) SB_CHECKED;

/* Completes the row; each column must have its value. */
void sb_arrow_writer_end_row(struct sb_arrow_writer *writer);

/* Drops what was added after the last complete row. */
void sb_arrow_writer_cut(struct sb_arrow_writer *writer);

int64_t sb_arrow_writer_rows(const struct sb_arrow_writer *writer); /* complete rows */

/* Feeds the whole file to `each`, without an incomplete row, and drops all rows: the next file
 * begins. */
enum sb_code sb_arrow_writer_finish(struct sb_arrow_writer *writer, sb_each_block *each,
                                    void *context) SB_CHECKED;

#endif
