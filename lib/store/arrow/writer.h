/*
 * An Arrow IPC file of one uncompressed record batch, that is written: as arrow.h reads it, and
 * pyarrow.
 *
 * Values wait in memory, beyond some MB in temporary files, until the file is finished. Belongs to
 * one thread at a time.
 */
#ifndef SB_STORE_ARROW_WRITER_H
#define SB_STORE_ARROW_WRITER_H

#include "core/io.h"
#include "store/arrow/arrow.h"

struct sb_arrow_writer;

/* What describes the file. */
struct sb_arrow_schema {
    const struct sb_arrow_column *columns;
    size_t column_count;
    const struct sb_arrow_pair *pairs;
    size_t pair_count;
    const char *beside; /* where temporary files are made, unless TMPDIR says */
};

/* The schema is copied. SB_INVALID: a list of a type that Arrow does not have (float128, str). */
enum sb_code sb_arrow_writer_new(struct sb_arrow_writer **out, const struct sb_arrow_schema *schema,
                                 struct sb_error *err) SB_CHECKED;
void sb_arrow_writer_free(struct sb_arrow_writer *writer); /* NULL is allowed */

/*
 * Each row gives each column one value: bytes are appended in one or more pieces, then the value is
 * ended. Of SB_DTYPE_BOOL bytes of 0 and 1 come, and become bits. SB_LIMIT: a column has 2^31-1
 * bytes or values; take back the row's (sb_arrow_writer_cut), finish the file, and go on in
 * another. SB_INVALID: a list's bytes are no whole values.
 */
enum sb_code sb_arrow_writer_add(struct sb_arrow_writer *writer, size_t column, const void *data,
                                 size_t size, struct sb_error *err) SB_CHECKED;
enum sb_code sb_arrow_writer_end_value(struct sb_arrow_writer *writer, size_t column,
                                       struct sb_error *err) SB_CHECKED;

/* The row is complete: each column has its value. */
void sb_arrow_writer_end_row(struct sb_arrow_writer *writer);

/* Forgets what came since the last complete row. */
void sb_arrow_writer_cut(struct sb_arrow_writer *writer);

int64_t sb_arrow_writer_rows(const struct sb_arrow_writer *writer); /* that are complete */

/* Feeds the whole file to `each`, without a row that is not complete, and forgets all rows: the
 * next file begins. */
enum sb_code sb_arrow_writer_finish(struct sb_arrow_writer *writer, sb_each_block *each,
                                    void *context, struct sb_error *err) SB_CHECKED;

#endif
