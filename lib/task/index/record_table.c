#include "task/index/record_table.h"

#include "core/array.h"
#include "core/pipeline.h"
#include "store/bag/record_scan.h"
#include "task/index/record_keys.h"

#include <stdlib.h>
#include <string.h>

/* Entries are sorted by the first bits of their hashes, and then within each of these groups. */
#define GROUP_BITS  12
#define GROUP_COUNT ((size_t)1 << GROUP_BITS)

struct entry {
    uint64_t hash;
    int64_t number;
};

struct sb_record_table {
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_hash_key seed;
    struct entry *entries;
    size_t count, capacity;
    size_t starts[GROUP_COUNT + 1]; /* of the groups */
    struct sb_buf record;
};

struct hashed {
    size_t count;
    struct entry entries[SB_RECORD_BLOCK_MAX];
};

static enum sb_code hash_record(const struct sb_record_table *table, struct sb_scan_slot *slot,
                                size_t i)
{
    struct hashed *hashed = slot->own;
    struct sb_place place = slot->first;
    const void *data;
    int64_t declared;
    size_t size;
    enum sb_code code;

    TRY(sb_record_block_declared(&slot->block, i, &declared));
    if (declared > (int64_t)SB_RECORD_KEY_MAX)
        return SB_OK;
    code = sb_record_block_bytes(&slot->block, i, SB_RECORD_KEY_MAX, &data, &size);
    if (code == SB_LIMIT)
        return SB_OK;
    if (code == SB_DAMAGED)
        return sb_scan_damaged(slot, table->bag, i);
    if (code)
        return code;
    place.index += (int64_t)i;
    hashed->entries[hashed->count++] = (struct entry){
        .hash = sb_hash64(&table->seed, data, size),
        .number = sb_bag_record_at(table->bag, place),
    };
    return SB_OK;
}

static enum sb_code hash_records(void *context, struct sb_scan_slot *slot)
{
    struct hashed *hashed = slot->own;

    hashed->count = 0;
    for (size_t i = 0; i < slot->block.count; i++)
        TRY(hash_record(context, slot, i));
    return SB_OK;
}

static enum sb_code keep_hashes(void *context, struct sb_scan_slot *slot)
{
    struct sb_record_table *table = context;
    const struct hashed *hashed = slot->own;

    memcpy(table->entries + table->count, hashed->entries, hashed->count * sizeof(struct entry));
    table->count += hashed->count;
    return SB_OK;
}

static size_t group_of(uint64_t hash)
{
    return hash >> (64 - GROUP_BITS);
}

/* Moves each entry to its group, in place: the entry that it displaces is moved next. */
static void group_entries(struct sb_record_table *table)
{
    size_t next[GROUP_COUNT];

    for (size_t i = 0; i < table->count; i++)
        table->starts[group_of(table->entries[i].hash) + 1]++;
    for (size_t g = 0; g < GROUP_COUNT; g++)
        table->starts[g + 1] += table->starts[g];
    memcpy(next, table->starts, sizeof(next));
    for (size_t g = 0; g < GROUP_COUNT; g++) {
        while (next[g] < table->starts[g + 1]) {
            struct entry moved = table->entries[next[g]], displaced;
            size_t target;

            while ((target = group_of(moved.hash)) != g) {
                displaced = table->entries[next[target]];
                table->entries[next[target]++] = moved;
                moved = displaced;
            }
            table->entries[next[g]++] = moved;
        }
    }
}

struct sorting {
    struct sb_record_table *table;
    size_t group;
};

static enum sb_code next_group(void *context, void *slot)
{
    struct sorting *sorting = context;
    size_t *group = slot;

    if (sorting->group == GROUP_COUNT)
        return SB_END;
    *group = sorting->group++;
    return SB_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int hashes = COMPARE(x->hash, y->hash);

    return hashes ? hashes : COMPARE(x->number, y->number);
}

static enum sb_code sort_group(void *context, void *slot, struct sb_pipeline *turns)
{
    const struct sorting *sorting = context;
    const size_t *starts = &sorting->table->starts[*(const size_t *)slot];

    (void)turns;
    qsort(sorting->table->entries + starts[0], starts[1] - starts[0], sizeof(struct entry),
          compare_entries);
    return SB_OK;
}

enum sb_code sb_record_table_new(struct sb_record_table **out, struct sb_bag *bag,
                                 const struct sb_record_index_options *options,
                                 const struct sb_notify *notify)
{
    static const struct sb_pipeline_ops ops = {.fill = next_group, .work = sort_group};
    CLEANUP(sb_record_table_freep) struct sb_record_table *table = calloc(1, sizeof(*table));
    struct sorting sorting = {.table = table};
    size_t slots[64];
    struct sb_scan scan = {
        .threads = options->threads,
        .own_size = sizeof(struct hashed),
        .context = table,
        .work = hash_records,
        .drain = keep_hashes,
        .progress = options->progress,
        .progress_context = options->context,
        .notify = notify,
    };
    size_t capacity;

    *out = NULL;
    if (!table)
        return sb_fail_memory();
    table->bag = bag;
    /*
     * Memory that is never touched costs nothing, so an exaggerated count in a file does no harm.
     */
    if (!__builtin_mul_overflow((size_t)sb_bag_count(bag), sizeof(struct entry), &capacity))
        table->entries = malloc(capacity ? capacity : 1);
    TRY(table->entries ? sb_hash_key_draw(&table->seed) : sb_fail_memory());
    TRY(sb_bag_reader_new(&table->reader, bag));
    TRY(sb_record_scan(bag, &scan));
    group_entries(table);
    TRY(sb_pipeline_run(&ops, &sorting, slots, sizeof(slots[0]), ARRAY_SIZE(slots),
                        options->threads));
    *out = TAKE(table);
    return SB_OK;
}

void sb_record_table_free(struct sb_record_table *table)
{
    if (!table)
        return;
    sb_bag_reader_free(table->reader);
    sb_buf_release(&table->record);
    free(table->entries);
    free(table);
}

static enum sb_code holds_key(struct sb_record_table *table, int64_t number, const void *key,
                              size_t key_size, bool *holds)
{
    struct sb_extent extent;
    size_t good, size;
    enum sb_code code;

    *holds = false;
    TRY(sb_bag_extents(table->reader, sb_bag_place_of(table->bag, number), 1, &extent, &good));
    code = sb_bag_load(table->reader, &extent, table->record.data, key_size, &size);
    if (code)
        return code == SB_LIMIT ? SB_OK : code;
    *holds = size == key_size && memcmp(table->record.data, key, size) == 0;
    return SB_OK;
}

enum sb_code sb_record_table_find(struct sb_record_table *table, const void *key, size_t size,
                                  bool all, struct sb_buf *numbers)
{
    uint64_t hash = sb_hash64(&table->seed, key, size);
    const size_t *group = &table->starts[group_of(hash)];
    size_t first =
        group[0] + FIRST_WHERE(i, group[1] - group[0], table->entries[group[0] + i].hash >= hash);
    bool holds = false;

    sb_buf_clear(numbers);
    sb_buf_clear(&table->record);
    TRY(sb_buf_reserve(&table->record, size));
    for (size_t i = first; i < table->count && table->entries[i].hash == hash && (all || !holds);
         i++) {
        int64_t number = table->entries[i].number;

        TRY(holds_key(table, number, key, size, &holds));
        if (holds && sb_buf_add(numbers, &number, sizeof(number)))
            return sb_fail_memory();
    }
    return SB_OK;
}
