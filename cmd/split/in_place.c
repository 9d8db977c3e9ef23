#include "split/in_place.h"
#include "open/opening.h"
#include "ui/json.h"
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

static void print_json(const struct sb_reshard_counts *counts)
{
    struct json line = {0};

    json_begin(&line);
    json_number(&line, "shards_before", counts->shards_before);
    json_number(&line, "shards_after", counts->shards_after);
    json_number(&line, "moved_files", counts->moved_files);
    json_number(&line, "moved_bytes", counts->moved_bytes);
    json_print(&line);
    json_release(&line);
}

static void summarize(const struct in_place *wanted, const struct sb_reshard_counts *counts)
{
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->moved_bytes, size);
    if (wanted->json)
        print_json(counts);
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
