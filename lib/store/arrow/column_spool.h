/*
 * Columns of bytes that grow side by side and are then read one after the other. They are kept in
 * memory; beyond a limit, the largest go to one unnamed temporary file.
 *
 * Belongs to one thread.
 */
#ifndef SB_STORE_ARROW_COLUMN_SPOOL_H
#define SB_STORE_ARROW_COLUMN_SPOOL_H

#include "core/io.h"

struct sb_column_spool;

/* memory: limit for all columns together; each part in the file takes a few bytes more. beside:
 * where the file is made unless TMPDIR is set; kept. */
enum sb_code sb_column_spool_new(struct sb_column_spool **out, size_t columns, size_t memory,
                                 const char *beside) SB_CHECKED;
void sb_column_spool_free(struct sb_column_spool *spool); /* NULL is allowed */
FREEP(sb_column_spool_free, struct sb_column_spool)

enum sb_code sb_column_spool_add(struct sb_column_spool *spool, size_t column, const void *data,
                                 size_t size) SB_CHECKED;
int64_t sb_column_spool_size(const struct sb_column_spool *spool, size_t column);

/* Shortens a column to `size`, which is at most its current size. */
void sb_column_spool_cut(struct sb_column_spool *spool, size_t column, int64_t size);

enum sb_code sb_column_spool_feed(struct sb_column_spool *spool, size_t column, sb_each_block *each,
                                  void *context) SB_CHECKED;

/* Empties all columns; keeps the memory and the file for reuse. */
void sb_column_spool_clear(struct sb_column_spool *spool);

#endif
