#include "task/table/usage.h"

#include "core/interrupt.h"
#include "store/cache/cache.h"
#include "store/samples/samples.h"
#include "store/syrah/set.h"
#include "task/table/record_scan.h"

#include <stdlib.h>

#define ITEMS_BETWEEN 65536 /* looks whether a signal came */

struct measuring {
    struct sb_table *table;
    const struct sb_usage_options *options;
    struct sb_usage *usage;
};

static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

void sb_usage_add(struct sb_usage_line *sum, const struct sb_usage_line *more)
{
    for (size_t i = 0; i < SB_MEASURES_MOST; i++) {
        if (more->amounts[i] >= 0)
            add(&sum->amounts[i], more->amounts[i]);
    }
}

static enum sb_code begin(struct sb_usage *usage, const struct sb_measure *measures,
                          size_t measure_count, size_t lines, struct sb_error *err)
{
    *usage = (struct sb_usage){.measures = measures,
                               .measure_count = measure_count,
                               .line_word = "path",
                               .lines = calloc(lines + 1, sizeof(*usage->lines)),
                               .line_count = lines,
                               .total = {.name = "total", .rest = true}};
    return usage->lines ? SB_OK : sb_fail_memory(err);
}

static void sum_up(struct sb_usage *usage)
{
    for (size_t i = 0; i < usage->line_count; i++)
        sb_usage_add(&usage->total, &usage->lines[i]);
}

/* A bag: by shards. */
enum { RECORDS, RECORDS_STORED, RECORDS_BYTES };
static const struct sb_measure of_records[] = {
    {"records", false}, {"stored", true}, {"bytes", true}};

static bool is_compressed(void *context, uint32_t shard)
{
    const struct measuring *measuring = context;

    return sb_bag_shard(measuring->table->bag, shard)->zstd;
}

static enum sb_code measure_records(void *context, struct sb_scan_slot *slot, struct sb_error *err)
{
    const struct measuring *measuring = context;
    int64_t *sum = slot->own, size;
    enum sb_code code = SB_OK;

    *sum = 0;
    for (size_t i = 0; !code && i < slot->block.count; i++) {
        code = sb_record_block_size(&slot->block, i, &size, err);
        if (!code)
            add(sum, size);
        else if (code == SB_DAMAGED)
            code = sb_scan_damaged(slot, measuring->table->bag, i, err, err);
    }
    return code;
}

static enum sb_code count_records(void *context, struct sb_scan_slot *slot, struct sb_error *err)
{
    struct measuring *measuring = context;

    (void)err;
    add(&measuring->usage->lines[slot->first.shard].amounts[RECORDS_BYTES],
        *(const int64_t *)slot->own);
    return SB_OK;
}

static enum sb_code measure_bag(struct measuring *measuring, struct sb_bag *bag,
                                struct sb_error *err)
{
    const struct sb_scan scan = {
        .threads = measuring->options->threads,
        .own_size = sizeof(int64_t),
        .context = measuring,
        .takes = is_compressed,
        .work = measure_records,
        .drain = count_records,
        .progress = measuring->options->progress,
        .notify = measuring->options->notify,
    };
    bool any = false;

    if (begin(measuring->usage, of_records, 3, sb_bag_shard_count(bag), err))
        return err->code;
    measuring->usage->packed = true;
    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(bag, i);

        any |= shard->zstd;
        measuring->usage->lines[i] = (struct sb_usage_line){
            .name = shard->path,
            .amounts = {shard->records, shard->bytes, shard->zstd ? 0 : shard->bytes}};
    }
    if (any && sb_record_scan(bag, &scan, err))
        return err->code;
    sum_up(measuring->usage);
    return SB_OK;
}

/* Syrah files: by arrays, from the metadata alone; and what is no array. */
enum { ITEMS, ITEMS_BYTES };
static const struct sb_measure of_items[] = {{"items", false}, {"bytes", true}};

static enum sb_code measure_item(const struct measuring *measuring, const struct sb_syrah_set *set,
                                 struct sb_place place, struct sb_error *err)
{
    for (uint32_t i = 0; i < sb_syrah_set_array_count(set); i++) {
        struct sb_usage_line *line = &measuring->usage->lines[i];
        struct sb_extent extent;
        enum sb_code code;

        if (!line->name)
            continue;
        code = sb_syrah_set_extent(set, place, i, &extent, err);
        if (code == SB_DAMAGED) {
            sb_tell(measuring->options->notify, SB_PROBLEM, "damaged", measuring->table->name, "%s",
                    err->text);
            continue;
        }
        if (code)
            return code;
        line->amounts[ITEMS]++;
        add(&line->amounts[ITEMS_BYTES], extent.size);
    }
    return SB_OK;
}

static enum sb_code measure_items(const struct measuring *measuring, const struct sb_syrah_set *set,
                                  struct sb_error *err)
{
    int64_t between = 0;

    for (uint32_t file = 0; file < sb_syrah_set_file_count(set); file++) {
        int64_t count = sb_syrah_count(sb_syrah_set_file(set, file));

        for (int64_t item = 0; item < count; item++) {
            struct sb_place place = {.shard = file, .index = item};

            if (between++ % ITEMS_BETWEEN == 0 && sb_interrupted())
                return sb_fail(err, SB_INTERRUPT, "interrupted");
            if (measure_item(measuring, set, place, err))
                return err->code;
        }
    }
    return SB_OK;
}

/* Lines whose arrays are not wanted have no name meanwhile. */
static void drop_nameless(struct sb_usage *usage)
{
    size_t kept = 0;

    for (size_t i = 0; i < usage->line_count; i++) {
        if (usage->lines[i].name)
            usage->lines[kept++] = usage->lines[i];
    }
    usage->line_count = kept;
}

static void add_rest(struct sb_usage *usage, const char *name, int64_t bytes)
{
    if (bytes > 0)
        usage->lines[usage->line_count++] =
            (struct sb_usage_line){.name = name, .rest = true, .amounts = {-1, bytes}};
}

static void measure_rest(struct sb_usage *usage, const struct sb_syrah_set *set)
{
    int64_t metadata = 0, unused = 0;

    for (size_t i = 0; i < usage->line_count; i++)
        add(&unused, usage->lines[i].amounts[ITEMS_BYTES]);
    unused = -unused;
    for (uint32_t i = 0; i < sb_syrah_set_file_count(set); i++) {
        const struct sb_syrah *file = sb_syrah_set_file(set, i);

        metadata += SB_SYRAH_HEADER + sb_syrah_metadata_size(file);
        unused += sb_syrah_data_end(file) - SB_SYRAH_HEADER;
    }
    add_rest(usage, "unused", unused);
    add_rest(usage, "metadata", metadata);
}

static enum sb_code measure_syrah(struct measuring *measuring, const struct sb_syrah_set *set,
                                  struct sb_error *err)
{
    const struct sb_usage_options *options = measuring->options;
    struct sb_usage *usage = measuring->usage;
    uint32_t arrays = sb_syrah_set_array_count(set);

    if (begin(usage, of_items, 2, (size_t)arrays + 2, err))
        return err->code;
    usage->line_word = "array";
    usage->typed = true;
    usage->line_count = arrays;
    for (uint32_t i = 0; i < arrays; i++) {
        const struct sb_syrah_array *array = sb_syrah_set_array(set, i);

        usage->lines[i].dtype = sb_dtype_word(array->dtype);
        if (sb_array_is_among(array->name, options->columns, options->column_count))
            usage->lines[i].name = array->name;
    }
    if (measure_items(measuring, set, err))
        return err->code;
    drop_nameless(usage);
    if (options->column_count == 0)
        measure_rest(usage, set);
    sum_up(usage);
    usage->total.amounts[ITEMS] = sb_syrah_set_count(set);
    return SB_OK;
}

/* A cache: by segments. */
enum { KEYS, ROWS, VALUES_BYTES, SUPERSEDED, SEGMENT_BYTES };
static const struct sb_measure of_keys[] = {
    {"keys", false}, {"rows", false}, {"bytes", true}, {"superseded", true}, {"stored", true}};

/* The row's own key is gone by then. */
static void tell_damage(const struct measuring *measuring, struct sb_cache_reader *reader,
                        struct sb_cache_place place, const char *what)
{
    struct sb_cache_key key;
    struct sb_error ignored;

    if (sb_cache_key_at(reader, place, &key, &ignored))
        key = (struct sb_cache_key){.text = "?", .size = 1};
    sb_tell(measuring->options->notify, SB_PROBLEM, "damaged", NULL, "key '%.*s': %s",
            (int)key.size, key.text, what);
}

static enum sb_code measure_row(const struct measuring *measuring, struct sb_cache_reader *reader,
                                const struct sb_cache_segment *segment,
                                const struct sb_cache_row *row, struct sb_error *err)
{
    const struct sb_usage_options *options = measuring->options;
    int64_t *amounts = measuring->usage->lines[row->place.segment].amounts;

    amounts[ROWS]++;
    amounts[KEYS] += !row->superseded;
    for (size_t i = 0; i < segment->field_count; i++) {
        struct sb_cache_value value;
        enum sb_code code;

        if (!sb_array_is_among(segment->fields[i].name, options->columns, options->column_count))
            continue;
        code = sb_cache_describe(reader, row->place, i, &value, err);
        if (code == SB_DAMAGED) {
            tell_damage(measuring, reader, row->place, err->text);
            continue;
        }
        if (code)
            return code;
        add(&amounts[row->superseded ? SUPERSEDED : VALUES_BYTES], value.array.data_size);
    }
    return SB_OK;
}

static enum sb_code measure_rows(const struct measuring *measuring, struct sb_cache *cache,
                                 struct sb_cache_reader *reader, struct sb_error *err)
{
    struct sb_cache_segment segment = {0};
    uint32_t last = SB_CACHE_NOWHERE;
    struct sb_cache_row row;
    enum sb_code code;

    sb_cache_rewind(cache);
    while (!(code = sb_cache_next(cache, &row, err))) {
        if (row.place.segment != last) {
            if (sb_interrupted())
                return sb_fail(err, SB_INTERRUPT, "interrupted");
            code = sb_cache_segment(cache, row.place.segment, &segment, err);
            last = row.place.segment;
        }
        if (!code)
            code = measure_row(measuring, reader, &segment, &row, err);
        if (code)
            return code;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code measure_cache(struct measuring *measuring, struct sb_cache *cache,
                                  struct sb_error *err)
{
    uint32_t count = sb_cache_segment_count(cache);
    struct sb_cache_reader *reader;
    enum sb_code code = begin(measuring->usage, of_keys, 5, count, err);

    for (uint32_t i = 0; i < count && !code; i++) {
        struct sb_cache_segment segment;

        code = sb_cache_segment(cache, i, &segment, err);
        if (!code)
            measuring->usage->lines[i] = (struct sb_usage_line){
                .name = segment.path, .amounts = {[SEGMENT_BYTES] = segment.bytes}};
    }
    if (!code)
        code = sb_cache_reader_new(&reader, cache, err);
    if (code)
        return code;
    code = measure_rows(measuring, cache, reader, err);
    sb_cache_reader_free(reader);
    sum_up(measuring->usage);
    return code;
}

/* Samples: by what their files are called behind the stem. */
enum { SAMPLES, FILES_BYTES };
static const struct sb_measure of_samples[] = {{"samples", false}, {"bytes", true}};

static enum sb_code measure_samples(struct measuring *measuring, struct sb_error *err)
{
    const struct sb_usage_options *options = measuring->options;
    struct sb_usage *usage = measuring->usage;
    size_t count;
    const struct sb_sample_column *columns = sb_sample_columns(measuring->table, &count);

    if (begin(usage, of_samples, 2, count, err))
        return err->code;
    usage->line_word = "extension";
    for (size_t i = 0; i < count; i++) {
        const char *name = columns[i].name;

        if (name && !sb_array_is_among(name, options->columns, options->column_count))
            continue;
        usage->lines[i] = (struct sb_usage_line){.name = name ? name : "others",
                                                 .rest = !name,
                                                 .amounts = {columns[i].files, columns[i].bytes}};
    }
    drop_nameless(usage);
    sum_up(usage);
    return measuring->table->ops->count(measuring->table, &usage->total.amounts[SAMPLES], err);
}

enum sb_code sb_table_usage(struct sb_table *table, const struct sb_usage_options *options,
                            struct sb_usage *usage, struct sb_error *err)
{
    struct measuring measuring = {.table = table, .options = options, .usage = usage};

    *usage = (struct sb_usage){0};
    if (sb_table_need(table, options->columns, options->column_count, err))
        return err->code;
    if (table->of_samples)
        return measure_samples(&measuring, err);
    if (table->syrah)
        return measure_syrah(&measuring, table->syrah, err);
    if (table->cache)
        return measure_cache(&measuring, table->cache, err);
    return measure_bag(&measuring, table->bag, err);
}
