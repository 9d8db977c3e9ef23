#include "split/bags.h"
#include "ui/message.h"

const char *misused_bag_split(const struct record_settings *settings, bool from_bag, bool to_bag,
                              bool by_size)
{
    if (settings->count && !(from_bag && to_bag))
        return "--count is for a bag whose parts are bags";
    if (settings->bag.layout == SB_LAYOUT_INTERLEAVED && to_bag && by_size)
        return "--size takes records in their order: it excludes --layout=interleaved";
    return misused_bag_words(settings, from_bag, to_bag);
}

enum sb_code split_bags(const struct bag_split *wanted, struct sb_split_result *result,
                        struct sb_error *err)
{
    struct sb_split_bag_options options = {
        .input = wanted->input,
        .rule = wanted->parts   ? SB_SPLIT_BAG_PARTS_OF
                : wanted->count ? SB_SPLIT_BAG_COUNT
                                : SB_SPLIT_BAG_SIZE,
        .amount = wanted->parts + wanted->count + wanted->size,
        .output = wanted->output,
        .existing = wanted->existing,
        .convert = {.to = {.kind = SB_BAG},
                    .level = (int)wanted->level,
                    .records = *wanted->records,
                    .transfer = {.threads = wanted->threads, .progress = message_progress_call}},
        .dry_run = wanted->dry_run,
        .notify = &message_notify,
        .part_done = wanted->part_done,
        .context = wanted->context,
    };

    return sb_split_bag(&options, result, err);
}
