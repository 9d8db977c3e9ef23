#include "task/convert/cache.h"

#include "task/convert/input.h"
#include "task/convert/recache.h"

#include <inttypes.h>
#include <string.h>

struct caches {
    const struct sb_convert_options *options;
    const struct sb_notify *notify;
    struct sb_convert_result *result;
    struct sb_cache_writer *writer; /* NULL in a dry run */
    struct sb_recache_counts counts;
};

bool sb_convert_is_of_caches(const struct sb_convert_options *options)
{
    const struct sb_transfer_options *transfer = &options->transfer;

    if (!(sb_convert_takes(options) & SB_TO_KEYS) || options->archive ||
        options->records.framed_input || options->records.choice || options->max_size ||
        options->duplicates_given || transfer->filter || transfer->choice || transfer->prefix ||
        transfer->strip || sb_recode_works(&transfer->recode))
        return false;
    return sb_convert_all_can(options, SB_CAN_KEYS);
}

static struct sb_cache_writer_options writer_of(const struct sb_convert_options *options,
                                                const struct sb_notify *notify)
{
    return (struct sb_cache_writer_options){
        .path = options->output,
        .append = options->append,
        .force = options->force,
        .segment_size = options->cache.segment_size,
        .notify = notify,
    };
}

enum sb_code sb_convert_open_cache(struct sb_sink **out, const struct sb_convert_options *options,
                                   const struct sb_notify *notify)
{
    struct sb_cache_sink_options wanted = {
        .writer = writer_of(options, notify),
        .key_prefix = options->cache.key_prefix,
        .list = options->cache.list,
        .single = options->cache.single,
        .notify = notify,
    };

    return sb_sink_open_cache(out, &wanted);
}

static void report_progress(void *context, int64_t bytes, int64_t total, int64_t rows)
{
    const struct caches *caches = context;
    const struct sb_transfer_options *wanted = &caches->options->transfer;

    if (wanted->progress)
        wanted->progress(wanted->context, bytes, total, rows);
}

/* Adds one input, or all that are compacted together. */
static enum sb_code add_inputs(struct caches *caches, size_t first, size_t count)
{
    const char *const *dirs = (const char *const *)&caches->options->inputs[first];
    struct sb_recache_options wanted = {
        .key_prefix = caches->options->cache.key_prefix,
        .arrays = caches->options->arrays,
        .array_count = caches->options->array_count,
        .sequence_given = caches->options->cache.sequence_given,
        .list = caches->options->cache.list,
        .notify = caches->notify,
        .progress = report_progress,
        .context = caches,
    };
    struct sb_cache *cache;
    int64_t rows, live = 0;
    enum sb_code code = sb_cache_open(&cache, dirs, count, caches->notify);

    if (code)
        return code;
    if (caches->writer)
        code = sb_recache(cache, caches->writer, &wanted, &caches->counts);
    else
        code = sb_cache_count(cache, &rows, &live);
    caches->counts.rows += live;
    sb_cache_free(cache);
    return code;
}

static enum sb_code add_part(struct caches *caches, const struct sb_convert_part *part)
{
    size_t count = part->end_input - part->first_input;

    if (caches->options->cache.compact && count > 0)
        return add_inputs(caches, part->first_input, count);
    for (size_t i = part->first_input; i < part->end_input; i++)
        TRY(add_inputs(caches, i, 1));
    return SB_OK;
}

static enum sb_code check_result(const struct caches *caches)
{
    const struct sb_convert_options *options = caches->options;

    if (caches->result->problems == 0)
        return SB_OK;
    if (options->transfer.strict)
        return sb_fail(SB_INVALID, "%s: not everything can be read; given up because of --strict",
                       options->output);
    if (caches->counts.rows == 0)
        return sb_fail(SB_DAMAGED, "%s: nothing of it could be read; %s is not written",
                       options->inputs[0], options->output);
    return SB_OK;
}

static enum sb_code write_cache(struct caches *caches, const struct sb_convert_part *part)
{
    struct sb_cache_writer_options writer = writer_of(caches->options, caches->notify);
    enum sb_code code = sb_cache_writer_open(&caches->writer, &writer);

    if (!code)
        code = add_part(caches, part);
    if (!code)
        code = check_result(caches);
    if (!code)
        code = sb_cache_writer_commit(caches->writer);
    sb_cache_writer_free(caches->writer);
    return code;
}

enum sb_code sb_convert_caches(const struct sb_convert_options *options,
                               const struct sb_convert_part *part, const struct sb_notify *notify,
                               struct sb_convert_result *result)
{
    struct caches caches = {.options = options, .notify = notify, .result = result};
    enum sb_code code;

    if (options->transfer.dry_run) {
        code = add_part(&caches, part);
        if (!code)
            sb_report(notify, SB_NOTE, "would-store", options->output,
                      "would be given %" PRId64 " keys", caches.counts.rows);
    } else {
        code = write_cache(&caches, part);
    }
    result->counts.files = result->members = caches.counts.rows;
    result->counts.bytes = caches.counts.bytes;
    return code;
}
