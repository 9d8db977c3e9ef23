#include "task/table/bag_usage.h"

#include "task/table/record_scan.h"

struct measuring {
    struct sb_bag *bag;
    struct sb_shard_usage *shards;
};

static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

void sb_shard_usage_add(struct sb_shard_usage *sum, const struct sb_shard_usage *more)
{
    add(&sum->records, more->records);
    add(&sum->stored, more->stored);
    add(&sum->bytes, more->bytes);
}

static bool is_compressed(void *context, uint32_t shard)
{
    const struct measuring *measuring = context;

    return sb_bag_shard(measuring->bag, shard)->zstd;
}

static enum sb_code measure(void *context, struct sb_scan_slot *slot, struct sb_error *err)
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
            code = sb_scan_damaged(slot, measuring->bag, i, err, err);
    }
    return code;
}

static enum sb_code count(void *context, struct sb_scan_slot *slot, struct sb_error *err)
{
    struct measuring *measuring = context;

    (void)err;
    add(&measuring->shards[slot->first.shard].bytes, *(const int64_t *)slot->own);
    return SB_OK;
}

enum sb_code sb_bag_usage(struct sb_bag *bag, const struct sb_bag_usage_options *options,
                          struct sb_shard_usage *shards, struct sb_error *err)
{
    struct measuring measuring = {.bag = bag, .shards = shards};
    struct sb_scan scan = {
        .threads = options->threads,
        .own_size = sizeof(int64_t),
        .context = &measuring,
        .takes = is_compressed,
        .work = measure,
        .drain = count,
        .progress = options->progress,
        .progress_context = options->context,
        .notify = options->notify,
    };
    bool any = false;

    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(bag, i);

        any |= shard->zstd;
        shards[i] = (struct sb_shard_usage){.records = shard->records,
                                            .stored = shard->bytes,
                                            .bytes = shard->zstd ? 0 : shard->bytes};
    }
    return any ? sb_record_scan(bag, &scan, err) : SB_OK;
}
