#include "split/in_place.h"
#include "open/opening.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/number.h"
#include "task/split/reshard.h"

#include <inttypes.h>

static void show_moved(void *context, int64_t bytes)
{
    (void)context;
    message_progress_update(bytes, 0, 0);
}

static void summarize(const struct in_place *wanted, const struct sb_reshard_counts *counts)
{
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->moved_bytes, size);
    if (wanted->json)
        output_format("{\"shards_before\":%" PRIu32 ",\"shards_after\":%" PRIu32
                      ",\"moved_files\":%" PRId64 ",\"moved_bytes\":%" PRId64 "}\n",
                      counts->shards_before, counts->shards_after, counts->moved_files,
                      counts->moved_bytes);
    else if (wanted->dry_run)
        output_format("shards: %" PRIu32 ", would be: %" PRIu32 "; files to move: %" PRId64
                      " (%s)\n",
                      counts->shards_before, counts->shards_after, counts->moved_files, size);
    else
        message_note("%s: shards: %" PRIu32 ", were: %" PRIu32 "; moved files: %" PRId64 " (%s)",
                     wanted->path, counts->shards_after, counts->shards_before, counts->moved_files,
                     size);
}

void split_in_place(const struct in_place *wanted)
{
    struct sb_reshard_options options = {
        .shard_size = wanted->shard_size > 0 ? wanted->shard_size : INT64_MAX,
        .dry_run = wanted->dry_run,
        .mover = {.follow = wanted->follow,
                  .force = wanted->force,
                  .notify = &message_notify,
                  .progress = show_moved},
    };
    struct sb_reshard_counts counts = {0};
    struct sb_error err;
    enum sb_code code = sb_reshard(wanted->path, &options, &counts, &err);

    message_progress_end();
    if (!code) {
        summarize(wanted, &counts);
        return;
    }
    explain_failure(wanted->path, &err);
    message_failure(&err);
    if (code == SB_INTERRUPT || (code == SB_SYSTEM && counts.moved_files > 0))
        message_error("%s: is whole; run the same command again to go on", wanted->path);
}
