#include "task/table/cache_usage.h"

#include "core/interrupt.h"
#include "store/array/name.h"

void sb_cache_usage_add(struct sb_cache_usage *sum, const struct sb_cache_usage *usage)
{
    sum->rows += usage->rows;
    sum->keys += usage->keys;
    sum->bytes += usage->bytes;
    sum->superseded += usage->superseded;
    sum->stored += usage->stored;
}

struct measure {
    const struct sb_cache_usage_options *options;
    struct sb_cache_reader *reader;
    struct sb_cache_segment segment; /* that of the last row */
};

/* The row's own key is gone by then. */
static void tell_damage(struct measure *measure, struct sb_cache_place place, const char *what)
{
    struct sb_cache_key key;
    struct sb_error ignored;

    if (sb_cache_key_at(measure->reader, place, &key, &ignored))
        key = (struct sb_cache_key){.text = "?", .size = 1};
    sb_tell(measure->options->notify, SB_PROBLEM, "damaged", NULL, "key '%.*s': %s", (int)key.size,
            key.text, what);
}

static enum sb_code measure_row(struct measure *measure, const struct sb_cache_row *row,
                                struct sb_cache_usage *usage, struct sb_error *err)
{
    const struct sb_cache_usage_options *options = measure->options;

    usage->rows++;
    usage->keys += !row->superseded;
    for (size_t i = 0; i < measure->segment.field_count; i++) {
        const struct sb_cache_field *field = &measure->segment.fields[i];
        struct sb_cache_value value;
        enum sb_code code;

        if (!sb_array_is_among(field->name, options->arrays, options->array_count))
            continue;
        code = sb_cache_describe(measure->reader, row->place, i, &value, err);
        if (code == SB_DAMAGED) {
            tell_damage(measure, row->place, err->text);
            continue;
        }
        if (code)
            return code;
        if (row->superseded)
            usage->superseded += value.array.data_size;
        else
            usage->bytes += value.array.data_size;
    }
    return SB_OK;
}

static enum sb_code measure_rows(struct measure *measure, struct sb_cache *cache,
                                 struct sb_cache_usage *segments, struct sb_error *err)
{
    uint32_t last = SB_CACHE_NOWHERE;
    struct sb_cache_row row;
    enum sb_code code;

    while (!(code = sb_cache_next(cache, &row, err))) {
        if (row.place.segment != last) {
            if (sb_interrupted())
                return sb_fail(err, SB_INTERRUPT, "interrupted");
            code = sb_cache_segment(cache, row.place.segment, &measure->segment, err);
            last = row.place.segment;
        }
        if (!code)
            code = measure_row(measure, &row, &segments[last], err);
        if (code)
            return code;
    }
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_cache_usage(struct sb_cache *cache, const struct sb_cache_usage_options *options,
                            struct sb_cache_usage *segments, struct sb_error *err)
{
    struct measure measure = {.options = options};
    uint32_t count = sb_cache_segment_count(cache);
    enum sb_code code = SB_OK;

    for (uint32_t i = 0; i < count && !code; i++) {
        struct sb_cache_segment segment;

        segments[i] = (struct sb_cache_usage){0};
        code = sb_cache_segment(cache, i, &segment, err);
        if (!code)
            segments[i].stored = segment.bytes;
    }
    if (!code)
        code = sb_cache_reader_new(&measure.reader, cache, err);
    sb_cache_rewind(cache);
    if (!code)
        code = measure_rows(&measure, cache, segments, err);
    sb_cache_reader_free(measure.reader);
    return code;
}
