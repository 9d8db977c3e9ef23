#include "store/arrow/column_spool.h"
#include "core/spool.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)1 << 18)

/* A part of a column that is in the file. */
struct part {
    int64_t offset;
    int64_t size;
};

struct column {
    struct sb_buf parts; /* of struct part, in the order of the column */
    int64_t in_file;
    struct sb_buf memory; /* the bytes after those parts */
};

struct sb_column_spool {
    struct sb_spool file;
    size_t memory;
    size_t used; /* size of the file */
    struct column *columns;
    size_t count;
};

void sb_column_spool_free(struct sb_column_spool *spool)
{
    if (!spool)
        return;
    for (size_t i = 0; spool->columns && i < spool->count; i++) {
        sb_buf_release(&spool->columns[i].parts);
        sb_buf_release(&spool->columns[i].memory);
    }
    sb_spool_release(&spool->file);
    free(spool->columns);
    free(spool);
}

enum sb_code sb_column_spool_new(struct sb_column_spool **out, size_t columns, size_t memory,
                                 const char *beside)
{
    CLEANUP(sb_column_spool_freep) struct sb_column_spool *spool = NULL;

    *out = NULL;
    TRY(SB_NEW(&spool));
    spool->file = (struct sb_spool){.beside = beside, .memory_most = BLOCK, .fd = -1};
    spool->memory = memory;
    spool->count = columns;
    TRY(SB_NEW_ARRAY(&spool->columns, columns + 1));
    *out = TAKE(spool);
    return SB_OK;
}

/* Appends the bytes of a column that are in memory to the file. */
static enum sb_code spill(struct sb_column_spool *spool, struct column *column)
{
    struct part part = {sb_spool_size(&spool->file), (int64_t)column->memory.size};

    TRY(sb_spool_add(&spool->file, column->memory.data, column->memory.size));
    TRY(sb_buf_add(&column->parts, &part, sizeof(part)));
    column->in_file += part.size;
    spool->used -= column->memory.size;
    sb_buf_release(&column->memory);
    return SB_OK;
}

static enum sb_code spill_largest(struct sb_column_spool *spool)
{
    struct column *largest = &spool->columns[0];

    for (size_t i = 1; i < spool->count; i++) {
        if (spool->columns[i].memory.size > largest->memory.size)
            largest = &spool->columns[i];
    }
    return spill(spool, largest);
}

enum sb_code sb_column_spool_add(struct sb_column_spool *spool, size_t column, const void *data,
                                 size_t size)
{
    struct column *to = &spool->columns[column];
    const char *bytes = data;

    while (size) {
        size_t run = size < BLOCK ? size : BLOCK;

        TRY(sb_buf_add(&to->memory, bytes, run));
        spool->used += run;
        bytes += run;
        size -= run;
        if (spool->used > spool->memory)
            TRY(spill_largest(spool));
    }
    return SB_OK;
}

int64_t sb_column_spool_size(const struct sb_column_spool *spool, size_t column)
{
    return spool->columns[column].in_file + (int64_t)spool->columns[column].memory.size;
}

static struct part *last_part(const struct column *column)
{
    return (struct part *)(void *)column->parts.data + column->parts.size / sizeof(struct part) - 1;
}

void sb_column_spool_cut(struct sb_column_spool *spool, size_t column, int64_t size)
{
    struct column *of = &spool->columns[column];
    size_t held = size > of->in_file ? (size_t)(size - of->in_file) : 0;

    spool->used -= of->memory.size - held;
    sb_buf_cut(&of->memory, held);
    while (of->in_file > size) {
        struct part *part = last_part(of);
        int64_t more = of->in_file - size;

        if (more < part->size) {
            part->size -= more;
            of->in_file = size;
            return;
        }
        of->in_file -= part->size;
        sb_buf_cut(&of->parts, of->parts.size - sizeof(*part));
    }
}

enum sb_code sb_column_spool_feed(struct sb_column_spool *spool, size_t column, sb_each_block *each,
                                  void *context)
{
    const struct column *of = &spool->columns[column];
    const struct part *parts = (const void *)of->parts.data;

    for (size_t i = 0; i < of->parts.size / sizeof(*parts); i++)
        TRY(sb_spool_feed(&spool->file, parts[i].offset, parts[i].size, each, context));
    if (of->memory.size)
        TRY(each(context, of->memory.data, of->memory.size));
    return SB_OK;
}

void sb_column_spool_clear(struct sb_column_spool *spool)
{
    for (size_t i = 0; i < spool->count; i++)
        sb_column_spool_cut(spool, i, 0);
    sb_spool_cut(&spool->file, 0);
}
