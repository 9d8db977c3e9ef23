#include "task/convert/wrap.h"

#include "store/bag/bag.h"
#include "store/bag/record_names.h"
#include "store/cache/source.h"
#include "store/sinks.h"

static enum sb_code refuse_pipe(const struct sb_input *input, struct sb_error *err)
{
    return sb_fail(err, SB_INVALID, "%s: --wrap needs a file that stays; convert it without --wrap",
                   input->name);
}

enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_input *input, struct sb_error *err)
{
    enum sb_container_kind kind = input->type.kind;

    if (kind != SB_TAR && kind != SB_CPIO && kind != SB_ZIP && kind != SB_SYRAH)
        return sb_fail(
            err, SB_INVALID,
            "%s: --wrap is for a tar, cpio, zip, bag, Syrah file or cache, not for this kind: %s",
            input->name, sb_container_word(kind));
    if (!input->seekable)
        return refuse_pipe(input, err);
    if (kind != SB_ZIP && kind != SB_SYRAH && input->type.filter != SB_FILTER_NONE)
        return sb_fail(err, SB_INVALID,
                       "%s: is compressed as a whole, so that no index can point at its members; "
                       "convert it without --wrap",
                       input->name);
    return sb_sink_index_file(sink, input->path, err);
}

/* As a bag of its own, whose limits stand where those of the whole bag do. */
static enum sb_code wrap_shard(const struct sb_wrap *wrap, const struct sb_bag_shard *shard,
                               const struct sb_bag_options *bag_options, struct sb_error *err)
{
    struct sb_source_options options = *wrap->source;
    struct sb_source *source = NULL;
    struct sb_input input;
    enum sb_code code;

    if (shard->zstd)
        return sb_fail(err, SB_INVALID,
                       "%s: its records are compressed, so that no index can point at them; "
                       "convert it without --wrap",
                       shard->path);
    code = sb_sink_index_file(wrap->sink, shard->path, err);
    if (!code)
        code = sb_input_open(&input, shard->path, SB_BAG, err);
    if (code)
        return code;
    options.bag = bag_options;
    code = sb_source_open(&source, &input, &options, wrap->notify, err);
    if (!code)
        code = sb_transfer(source, wrap->sink, wrap->transfer, wrap->members, err);
    sb_source_free(source);
    sb_input_close(&input);
    return code;
}

enum sb_code sb_wrap_bag(const struct sb_wrap *wrap, const struct sb_input *input, int64_t first,
                         int64_t *records, struct sb_error *err)
{
    struct sb_bag_options options = {0};
    struct sb_bag *bag;
    bool interleaved;
    uint32_t count;
    enum sb_code code;

    *records = 0;
    if (input->fd >= 0 && !input->seekable)
        return refuse_pipe(input, err);
    code = sb_bag_open(&bag, input->path, wrap->source->bag, wrap->notify, err);
    if (code)
        return code;
    *records = sb_bag_count(bag);
    count = sb_bag_shard_count(bag);
    if (wrap->source->records && count > 1)
        code = sb_fail(err, SB_INVALID,
                       "%s: --records with --wrap is for a bag in one file; convert it without "
                       "--wrap",
                       input->name);
    options = *sb_bag_options_of(bag);
    interleaved = options.layout == SB_LAYOUT_INTERLEAVED;
    options.layout = SB_LAYOUT_CONCATENATED;
    for (uint32_t i = 0; !code && i < count; i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(bag, i);

        sb_record_names_place(wrap->source->names, first + (interleaved ? i : 0),
                              interleaved ? count : 1);
        code = wrap_shard(wrap, shard, &options, err);
        first += interleaved ? 0 : shard->records;
    }
    sb_bag_free(bag);
    return code;
}

static enum sb_code wrap_segment(const struct sb_wrap *wrap, struct sb_cache *cache,
                                 uint32_t segment, const char *name, struct sb_error *err)
{
    struct sb_cache_segment about;
    struct sb_source *source = NULL;
    enum sb_code code = sb_cache_segment(cache, segment, &about, err);

    if (code || about.rows == 0)
        return code;
    code = sb_sink_index_file(wrap->sink, about.path, err);
    if (!code)
        code = sb_source_over_cache(&source, cache, segment, name, wrap->source, wrap->notify, err);
    if (!code)
        code = sb_transfer(source, wrap->sink, wrap->transfer, wrap->members, err);
    sb_source_free(source);
    return code;
}

enum sb_code sb_wrap_cache(const struct sb_wrap *wrap, const struct sb_input *input,
                           struct sb_error *err)
{
    struct sb_cache *cache;
    int64_t rows, live;
    enum sb_code code = sb_cache_open(&cache, &input->path, 1, wrap->notify, err);

    if (code)
        return code;
    code = sb_cache_count(cache, &rows, &live, err);
    for (uint32_t i = 0; !code && i < sb_cache_segment_count(cache); i++)
        code = wrap_segment(wrap, cache, i, input->name, err);
    sb_cache_free(cache);
    return code;
}
