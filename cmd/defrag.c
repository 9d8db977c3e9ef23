/*
 * shardbox defrag: frees the space of files that were removed.
 */
#include "core/buf.h"
#include "core/number.h"
#include "open/opening.h"
#include "task/change/change.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define QUICK_SECONDS 5

struct settings {
    struct sb_defrag_options wanted; /* max_seconds and first are -1 where they are not given */
    bool human;
    bool json;
    const char *archive;
    struct sb_buf table; /* its rows, until the archive is closed again */
};

/* "3", "3-7", "3-" */
static bool take_shards(void *settings, const char *value)
{
    struct sb_defrag_options *wanted = &((struct settings *)settings)->wanted;
    const char *dash = strchr(value, '-');
    char first[16];

    snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - value) : 15, value);
    if (sb_parse_integer(first, 0, SB_SHARD_MAX, &wanted->first)) {
        wanted->last = dash ? -1 : wanted->first;
        if (!dash || !dash[1] ||
            sb_parse_integer(dash + 1, wanted->first, SB_SHARD_MAX, &wanted->last))
            return true;
    }
    message_usage("--shards: '%s' is not like 3, 3-7 or 3-", value);
    return false;
}

static bool take_time(void *settings, const char *value)
{
    return parse_time("max-time", value, true, &((struct settings *)settings)->wanted.max_seconds);
}

static const struct option options[] = {
    OPTION_GROUP("What is done"),
    OPTION_FLAG(0, "quick", struct settings, wanted.quick, "fill gaps from the end, for a while"),
    OPTION_CALL(0, "max-time", "TIME", take_time,
                "with --quick: end after TIME, like 5m (default: 5)", OPERAND_NONE),
    OPTION_INTEGER(0, "keep-through", struct settings, wanted.keep_through, "N", 0, SB_SHARD_MAX,
                   "with --quick: leave shards up to number N alone"),
    OPTION_CALL(0, "shards", "A-B", take_shards, "only these shards: 3, 3-7 or 3-", OPERAND_NONE),
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_MORE("What is done"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_FORCE(struct settings, wanted.mover.force,
                 "shards after the last file are the archive's; damage archives with links"),
    OPTION_FOLLOW(struct settings, wanted.mover.follow),
    OPTION_BWLIMIT,
    OPTION_GROUP("Output"),
    OPTION_HUMAN(struct settings, human),
    OPTION_FLAG(0, "json", struct settings, json, "print a line of JSON for each shard, and all"),
    OPTION_END,
};

static void check(enum sb_code code)
{
    if (code)
        message_error("out of memory");
}

static void add_size(struct settings *settings, int64_t size)
{
    char text[SB_HUMAN_SIZE];

    sb_format_human(size, text);
    if (settings->human)
        check(sb_buf_add_format(&settings->table, " %7s", text));
    else
        check(sb_buf_add_format(&settings->table, " %15" PRId64, size));
}

static void add_row(struct settings *settings, const char *label, int64_t before, int64_t after)
{
    int width = settings->human ? 7 : 15;

    if (settings->table.size == 0)
        check(sb_buf_add_format(&settings->table, "shard %*s %*s %*s\n", width, "before", width,
                                "after", width, "back"));
    check(sb_buf_add_text(&settings->table, label));
    add_size(settings, before);
    add_size(settings, after);
    add_size(settings, before - after);
    check(sb_buf_add_char(&settings->table, '\n'));
}

static void add_json(struct settings *settings, struct json *line)
{
    json_end(line);
    check(line->failed ? SB_NOMEM : sb_buf_add(&settings->table, line->text.data, line->text.size));
    json_release(line);
}

static void add_json_shard(struct settings *settings, uint32_t shard, int64_t before, int64_t after)
{
    struct json line = {0};

    json_begin(&line);
    json_number(&line, "shard", shard);
    json_number(&line, "before", before);
    json_number(&line, "after", after);
    add_json(settings, &line);
}

static void add_json_sum(struct settings *settings, const struct sb_defrag_counts *counts)
{
    struct json line = {0};

    json_begin(&line);
    json_number(&line, "before", counts->bytes_before);
    json_number(&line, "after", counts->bytes_after);
    json_number(&line, "moved_files", counts->moved_files);
    json_number(&line, "moved_bytes", counts->moved_bytes);
    json_number(&line, "shards_removed", counts->shards_removed);
    json_flag(&line, "out_of_time", counts->out_of_time);
    add_json(settings, &line);
}

/* Nothing is printed here: writing to stdout may end the program, and the archive is locked. */
static void note_shard(void *context, uint32_t shard, int64_t before, int64_t after)
{
    struct settings *settings = context;
    char label[16];

    snprintf(label, sizeof(label), "%05" PRIu32, shard);
    if (settings->json)
        add_json_shard(settings, shard, before, after);
    else if (settings->wanted.dry_run ? before != after : message_is_verbose())
        add_row(settings, label, before, after);
}

static void add_sum(struct settings *settings, const struct sb_defrag_counts *counts)
{
    if (settings->json)
        add_json_sum(settings, counts);
    else if (settings->wanted.dry_run ? settings->table.size > 0 : message_is_verbose())
        add_row(settings, "all  ", counts->bytes_before, counts->bytes_after);
}

static void summarize(const struct settings *settings, const struct sb_defrag_counts *counts)
{
    if (!settings->wanted.dry_run)
        message_note("%s: moved %" PRId64 " %s (%s), removed %" PRIu32 " %s", settings->archive,
                     counts->moved_files, counts->moved_files == 1 ? "file" : "files",
                     human_size(counts->moved_bytes), counts->shards_removed,
                     counts->shards_removed == 1 ? "shard" : "shards");
    if (counts->out_of_time)
        message_note("%s: the time was up; run it again for the rest, or without --quick",
                     settings->archive);
}

static void show_progress(void *context, int64_t bytes)
{
    (void)context;
    message_progress_update(bytes, 0, 0);
}

static int defrag(struct settings *settings)
{
    struct sb_defrag_options wanted = settings->wanted;
    struct sb_defrag_counts counts;
    enum sb_code code;

    if (wanted.max_seconds < 0)
        wanted.max_seconds = QUICK_SECONDS;
    if (wanted.first < 0)
        wanted.first = 0;
    wanted.mover.notify = &message_notify;
    wanted.mover.progress = show_progress;
    wanted.mover.context = settings;
    wanted.shard_done = note_shard;
    code = sb_defrag(settings->archive, &wanted, &counts);
    message_progress_end();
    if (code == SB_OK) {
        add_sum(settings, &counts);
        if (settings->table.size > 0)
            output_bytes(settings->table.data, settings->table.size);
        output_flush();
        summarize(settings, &counts);
        if (!settings->wanted.dry_run)
            protect_later(settings->archive);
        return message_status();
    }
    explain_failure(settings->archive);
    message_failure();
    if (code == SB_INTERRUPT || (code == SB_SYSTEM && counts.moved_files > 0))
        message_error("%s: is whole; run the same command again to go on", settings->archive);
    return message_status();
}

static const struct option_rule rules[] = {
    {RULE_WITHOUT, "max-time keep-through", "quick", "--max-time and --keep-through need --quick"},
    {RULE_WITH, "shards", "quick", "--shards cannot be given with --quick; see --keep-through"},
    {0},
};

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    int status;

    (void)count;
    settings->archive = operands[0];
    status = defrag(settings);
    sb_buf_release(&settings->table);
    return status;
}

const struct command defrag_command = {
    .name = "defrag",
    .summary = "give back the space of files that were removed",
    .synopsis = {"ARCHIVE"},
    .examples = {"shardbox defrag -n train.barecat", "shardbox defrag --quick train.barecat"},
    .options = options,
    .rules = rules,
    .exit_status = "0 done, 1 done, but there are damaged files, 2 error",
    .operands = OPERAND_ARCHIVE,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .takes_one = true,
    .defaults =
        &(const struct settings){
            .wanted = {.max_seconds = -1, .keep_through = -1, .first = -1, .last = -1}},
    .run = run,
};
