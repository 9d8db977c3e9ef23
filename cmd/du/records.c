#include "du/records.h"
#include "ui/cells.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/io.h"
#include "task/table/bag_usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const du_options_of_bags[] = {
    "compression", "dictionary", "limits", "layout", "threads", NULL,
};

static const char *const options_of_archives[] = {
    "all", "max-depth", "count", "sort", "export", "gaps", NULL,
};

/* Bytes for each one that is stored; "-" where nothing is. */
static void format_ratio(const struct sb_shard_usage *usage, char *out, size_t size)
{
    if (usage->stored == 0)
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%.2f", (double)usage->bytes / (double)usage->stored);
}

static void write_json(const struct sb_shard_usage *usage, const char *path, struct sb_buf *line)
{
    output_need(sb_buf_add_char(line, '{'));
    output_need(path ? json_name(line, "path", path, strlen(path))
                     : sb_buf_add_text(line, "\"total\":true"));
    output_need(sb_buf_add_format(
        line, ",\"records\":%" PRId64 ",\"stored\":%" PRId64 ",\"bytes\":%" PRId64 "}\n",
        usage->records, usage->stored, usage->bytes));
    output_bytes(line->data, line->size);
}

/* path NULL: the total. */
static void write_usage(const struct du_records *wanted, const struct sb_shard_usage *usage,
                        const char *path, struct sb_buf *line)
{
    int width = wanted->human ? 6 : 15;
    char text[NUMBER_SIZE];

    sb_buf_clear(line);
    if (wanted->json) {
        write_json(usage, path, line);
        return;
    }
    add_cell(line, format_number(usage->records, text), 12, true);
    add_cell(line, format_amount(usage->stored, wanted->human, text), (size_t)width, true);
    add_cell(line, format_amount(usage->bytes, wanted->human, text), (size_t)width, true);
    format_ratio(usage, text, sizeof(text));
    add_cell(line, text, 6, true);
    output_bytes(line->data, line->size);
    if (path)
        output_line(path, strlen(path), false);
    else
        output_text("total\n");
}

static void write_table(const struct du_records *wanted, const struct sb_bag *bag,
                        const struct sb_shard_usage *shards)
{
    int width = wanted->human ? 6 : 15;
    uint32_t count = sb_bag_shard_count(bag);
    struct sb_shard_usage sum = {0};
    struct sb_buf line = {0};

    if (!wanted->json)
        output_format("%12s %*s %*s %6s path\n", "records", width, "stored", width, "bytes",
                      "ratio");
    for (uint32_t i = 0; i < count; i++) {
        if (!wanted->summarize || count == 1)
            write_usage(wanted, &shards[i], sb_bag_shard(bag, i)->path, &line);
        sb_shard_usage_add(&sum, &shards[i]);
    }
    if (count != 1)
        write_usage(wanted, &sum, NULL, &line);
    sb_buf_release(&line);
}

static enum sb_code measure(const struct du_records *wanted, struct sb_bag *bag,
                            struct sb_error *err)
{
    struct sb_bag_usage_options options = {
        .threads = wanted->threads ? (unsigned)wanted->threads : sb_default_threads(),
        .progress = message_progress_call,
        .notify = &message_notify,
    };
    uint32_t count = sb_bag_shard_count(bag);
    struct sb_shard_usage *shards = calloc(count ? count : 1, sizeof(*shards));
    enum sb_code code;

    message_progress_counts("records");
    code = shards ? sb_bag_usage(bag, &options, shards, err) : sb_fail_memory(err);
    message_progress_end();
    if (!code)
        write_table(wanted, bag, shards);
    free(shards);
    return code;
}

static enum sb_code measure_bag(const struct du_records *wanted, struct sb_store *store,
                                struct sb_error *err)
{
    struct sb_bag *bag = NULL;
    enum sb_code code = sb_store_bag(store, &bag, NULL, 0, err);

    if (!code)
        code = measure(wanted, bag, err);
    sb_bag_free(bag);
    return code;
}

int du_records(const struct du_records *wanted, struct sb_store *store, int operands)
{
    const char *path = sb_store_path(store);
    const char *other = options_given_of(options_of_archives);
    struct sb_error err;

    if (other)
        return message_usage("%s: is a bag, which --%s does not go with", path, other);
    if (operands > 1)
        return message_usage(
            "%s: is a bag, and has no PATHs; several bags are one argument, with commas between",
            path);
    if (measure_bag(wanted, store, &err))
        message_failure(&err);
    return message_status();
}
