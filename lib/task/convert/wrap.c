#include "store/bag/bag.h"
#include "store/bag/record_names.h"
#include "store/cache/cache.h"
#include "store/sinks.h"
#include "task/convert/impl.h"

enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_store *store)
{
    if (sb_store_can(store, SB_CAN_PLACES))
        return sb_sink_index_file(sink, sb_store_path(store));
    if (sb_store_is_stream(store))
        return sb_fail(SB_INVALID, "%s: --wrap needs a file that stays; convert it without --wrap",
                       sb_store_name(store));
    if (sb_store_is_compressed(store))
        return sb_fail(SB_INVALID,
                       "%s: is compressed as a whole, so that no index can point at its members; "
                       "convert it without --wrap",
                       sb_store_name(store));
    return sb_fail(
        SB_INVALID,
        "%s: --wrap is for a tar, cpio, zip, bag, Syrah file or cache, not for this kind: %s",
        sb_store_name(store), sb_store_word(store));
}

/* As a bag of its own, with its limits placed like those of the whole bag. */
static enum sb_code wrap_shard(const struct sb_wrap *wrap, const struct sb_bag_shard *shard,
                               const struct sb_bag_options *bag_options)
{
    struct sb_source_options options = *wrap->source;
    const struct sb_store_options how = {.from = sb_container_named("bag"), .notify = wrap->notify};
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;

    if (shard->zstd)
        return sb_fail(SB_INVALID,
                       "%s: its records are compressed, so that no index can point at them; "
                       "convert it without --wrap",
                       shard->path);
    TRY(sb_sink_index_file(wrap->sink, shard->path));
    TRY(sb_store_open(&store, shard->path, &how));
    options.bag = bag_options;
    TRY(sb_store_source(store, &source, &options, wrap->notify));
    return sb_transfer(source, wrap->sink, wrap->transfer, wrap->members);
}

static enum sb_code wrap_bag(const struct sb_wrap *wrap, struct sb_bag *bag, int64_t first)
{
    struct sb_bag_options options = *sb_bag_options_of(bag);
    bool interleaved = options.layout == SB_LAYOUT_INTERLEAVED;
    uint32_t count = sb_bag_shard_count(bag);

    if (wrap->source->records && count > 1)
        return sb_fail(SB_INVALID,
                       "%s: --records with --wrap is for a bag in one file; convert it without "
                       "--wrap",
                       sb_bag_name(bag));
    options.layout = SB_LAYOUT_CONCATENATED;
    for (uint32_t i = 0; i < count; i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(bag, i);

        sb_record_names_place(wrap->source->names, first + (interleaved ? i : 0),
                              interleaved ? count : 1);
        TRY(wrap_shard(wrap, shard, &options));
        first += interleaved ? 0 : shard->records;
    }
    return SB_OK;
}

static enum sb_code wrap_cache(const struct sb_wrap *wrap, struct sb_cache *cache, const char *name)
{
    int64_t rows, live;

    TRY(sb_cache_count(cache, &rows, &live));
    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        CLEANUP(sb_source_freep) struct sb_source *source = NULL;
        struct sb_cache_segment about;

        TRY(sb_cache_segment(cache, i, &about));
        if (about.rows == 0)
            continue;
        TRY(sb_sink_index_file(wrap->sink, about.path));
        TRY(sb_source_over_cache(&source, cache, i, name, wrap->source, wrap->notify));
        TRY(sb_transfer(source, wrap->sink, wrap->transfer, wrap->members));
    }
    return SB_OK;
}

enum sb_code sb_wrap_files(const struct sb_wrap *wrap, struct sb_store *store, int64_t first,
                           int64_t *records)
{
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;

    TRY(sb_store_bag(store, &bag, wrap->source->bag, 0));
    *records = bag ? sb_bag_count(bag) : 0;
    TRY(sb_store_cache(store, &cache));
    if (bag)
        TRY(wrap_bag(wrap, bag, first));
    return cache ? wrap_cache(wrap, cache, sb_store_name(store)) : SB_OK;
}
