#include "task/change/gap_table.h"

#include "core/buf.h"

#include <stdlib.h>

/*
 * largest is a binary tree in an array: node n has the children 2n and 2n+1, the leaves are the
 * gaps from node `leaves` on, and each node holds the largest size below it.
 */
struct sb_gap_table {
    struct sb_gap *gaps;
    size_t count, capacity;
    int64_t *largest;
    size_t leaves;
};

bool sb_gap_is_before(const struct sb_gap *a, const struct sb_gap *b)
{
    return a->shard != b->shard ? a->shard < b->shard : a->offset < b->offset;
}

enum sb_code sb_gap_table_new(struct sb_gap_table **out)
{
    return SB_NEW(out);
}

void sb_gap_table_free(struct sb_gap_table *table)
{
    if (!table)
        return;
    free(table->largest);
    free(table->gaps);
    free(table);
}

enum sb_code sb_gap_table_add(struct sb_gap_table *table, const struct sb_gap *gap)
{
    if (gap->size <= 0 || table->count == SB_GAPS_MOST)
        return SB_OK;
    TRY(sb_grow(&table->gaps, &table->capacity, table->count, sizeof(*gap)));
    table->gaps[table->count++] = *gap;
    return SB_OK;
}

static int64_t larger_child(const struct sb_gap_table *table, size_t node)
{
    int64_t left = table->largest[2 * node], right = table->largest[2 * node + 1];

    return left > right ? left : right;
}

enum sb_code sb_gap_table_finish(struct sb_gap_table *table)
{
    table->leaves = 1;
    while (table->leaves < table->count)
        table->leaves *= 2;
    free(table->largest);
    TRY(SB_NEW_ARRAY(&table->largest, table->leaves * 2));
    for (size_t i = 0; i < table->count; i++)
        table->largest[table->leaves + i] = table->gaps[i].size;
    for (size_t node = table->leaves - 1; node > 0; node--)
        table->largest[node] = larger_child(table, node);
    return SB_OK;
}

/* The first gap of at least so many bytes; one must exist. */
static size_t find(const struct sb_gap_table *table, int64_t size)
{
    size_t node = 1;

    while (node < table->leaves)
        node = 2 * node + (table->largest[2 * node] < size);
    return node - table->leaves;
}

static void resize(struct sb_gap_table *table, size_t at)
{
    size_t node = table->leaves + at;

    table->largest[node] = table->gaps[at].size;
    while ((node /= 2) > 0)
        table->largest[node] = larger_child(table, node);
}

bool sb_gap_table_take(struct sb_gap_table *table, int64_t size, const struct sb_gap *before,
                       struct sb_gap *taken)
{
    struct sb_gap *gap;
    size_t at;

    if (table->largest[1] < size)
        return false;
    at = find(table, size);
    gap = &table->gaps[at];
    if (!sb_gap_is_before(gap, before))
        return false;
    *taken = (struct sb_gap){.shard = gap->shard, .offset = gap->offset, .size = size};
    gap->offset += size;
    gap->size -= size;
    resize(table, at);
    return true;
}

bool sb_gap_table_first(const struct sb_gap_table *table, struct sb_gap *first)
{
    if (table->largest[1] == 0)
        return false;
    *first = table->gaps[find(table, 1)];
    return true;
}
