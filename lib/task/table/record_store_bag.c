#include "task/table/record_store.h"

#include <inttypes.h>

struct bag_store {
    struct sb_record_store base;
    struct sb_bag *bag;
    struct sb_record_names *names; /* where base is named */
};

static enum sb_code reader_new(const struct sb_record_store *base, void **out, struct sb_error *err)
{
    const struct bag_store *store = (const struct bag_store *)base;
    struct sb_bag_reader *reader;
    enum sb_code code = sb_bag_reader_new(&reader, store->bag, err);

    *out = reader;
    return code;
}

static void reader_free(void *reader)
{
    sb_bag_reader_free(reader);
}

static struct sb_place place_of(const struct sb_record_store *base, int64_t record)
{
    const struct bag_store *store = (const struct bag_store *)base;

    return sb_bag_place_of(store->bag, record);
}

static enum sb_code extents(void *reader, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good, struct sb_error *err)
{
    return sb_bag_extents(reader, first, count, out, good, err);
}

static enum sb_code read_stored(void *reader, uint32_t shard, int64_t offset, void *data,
                                size_t size, struct sb_error *err)
{
    return sb_bag_read(reader, shard, offset, data, size, err);
}

static bool is_encoded(const struct sb_record_store *base, struct sb_place place)
{
    const struct bag_store *store = (const struct bag_store *)base;

    return sb_bag_shard(store->bag, place.shard)->zstd;
}

static enum sb_code decode(void *reader, const struct sb_stored_record *record, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err)
{
    const struct sb_extent *extent = &record->extent;
    enum sb_code code =
        sb_bag_decode(reader, extent->shard, stored, (size_t)extent->size, data, room, size, err);

    /* Once more by itself, which tells the place of what is wrong. */
    return code == SB_DAMAGED ? sb_bag_load(reader, extent, data, room, size, err) : code;
}

static enum sb_code size_of(void *reader, const struct sb_stored_record *record, int64_t *size,
                            struct sb_error *err)
{
    return sb_bag_record_size(reader, &record->extent, size, err);
}

static enum sb_code stream(void *reader, const struct sb_stored_record *record, sb_each_block *each,
                           void *context, struct sb_error *err)
{
    return sb_bag_stream(reader, &record->extent, each, context, err);
}

static enum sb_code subject(const struct sb_record_store *base, int64_t record, struct sb_buf *out)
{
    (void)base;
    return sb_buf_add_format(out, "record %" PRId64, record);
}

static enum sb_code name_of(const struct sb_record_store *base, int64_t record, struct sb_buf *out,
                            struct sb_error *err)
{
    const struct bag_store *store = (const struct bag_store *)base;

    return sb_record_name(store->names, record, out, err);
}

static const struct sb_record_store_ops bag_ops = {
    .reader_new = reader_new,
    .reader_free = reader_free,
    .place_of = place_of,
    .extents = extents,
    .read = read_stored,
    .is_encoded = is_encoded,
    .decode = decode,
    .size = size_of,
    .stream = stream,
    .subject = subject,
    .name = name_of,
};

static int64_t average_size(const struct sb_bag *bag)
{
    int64_t bytes = 0, records = sb_bag_count(bag);

    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        if (__builtin_add_overflow(bytes, sb_bag_shard(bag, i)->bytes, &bytes))
            return INT64_MAX;
    }
    return records > 0 ? bytes / records + 1 : 1;
}

static enum sb_code next_run(void *choice, struct sb_record_run *run, struct sb_error *err)
{
    return sb_record_choice_next(choice, run, err);
}

static bool is_ready(void *choice)
{
    return sb_record_choice_ready(choice);
}

static int64_t round_of(void *choice)
{
    return sb_record_choice_round(choice);
}

static int64_t total_of(void *choice)
{
    return sb_record_choice_total(choice);
}

enum sb_code sb_record_fetch(struct sb_bag *bag, struct sb_record_choice *choice,
                             const struct sb_record_fetch_options *options,
                             const struct sb_fetch_output *output, const struct sb_notify *notify,
                             struct sb_record_fetch_counts *counts, struct sb_error *err)
{
    const struct bag_store store = {
        .base = {.ops = &bag_ops,
                 .name = sb_bag_name(bag),
                 .named = options->names != NULL,
                 .average_size = average_size(bag)},
        .bag = bag,
        .names = options->names,
    };
    const struct sb_record_feed feed = {.next = next_run,
                                        .ready = is_ready,
                                        .round = round_of,
                                        .total = total_of,
                                        .context = choice};

    return sb_record_fetch_from(&store.base, &feed, options, output, notify, counts, err);
}
