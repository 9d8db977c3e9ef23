#include "ls/settings.h"
#include "ls/table.h"
#include "open/cache_opening.h"
#include "ui/cells.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "store/table.h"

#include <string.h>

/* A cache of several. */
struct summary {
    int64_t keys, bytes;
    uint32_t segments;
    const char *structure;
};

static enum sb_code sum_up(struct sb_cache *cache, struct summary *sum, struct sb_error *err)
{
    int64_t rows;

    *sum = (struct summary){.segments = sb_cache_segment_count(cache), .structure = "-"};
    for (uint32_t i = 0; i < sum->segments; i++) {
        struct sb_cache_segment segment;
        const char *structure;

        if (sb_cache_segment(cache, i, &segment, err))
            return err->code;
        sum->bytes += segment.bytes;
        if (segment.damaged)
            continue;
        structure = sb_cache_structure_words[segment.structure];
        if (*sum->structure == '-')
            sum->structure = structure;
        else if (strcmp(sum->structure, structure) != 0)
            sum->structure = "mixed";
    }
    return sb_cache_count(cache, &rows, &sum->keys, err);
}

static void write_json(const struct summary *sum, const char *name)
{
    struct json line = {0};

    json_begin(&line);
    json_bytes(&line, "cache", name, strlen(name));
    json_number(&line, "keys", sum->keys);
    json_number(&line, "segments", sum->segments);
    json_number(&line, "bytes", sum->bytes);
    json_text(&line, "structure", *sum->structure == '-' ? NULL : sum->structure);
    json_print(&line);
    json_release(&line);
}

static void show_summary(const struct ls_settings *wanted, const struct summary *sum,
                         const char *name)
{
    struct sb_buf line = {0};
    char number[NUMBER_SIZE];

    if (wanted->json) {
        write_json(sum, name);
        return;
    }
    add_cell(&line, format_number(sum->keys, number), 12, true);
    add_cell(&line, format_number(sum->segments, number), 8, true);
    add_cell(&line, format_amount(sum->bytes, wanted->human, number), wanted->human ? 6 : 15, true);
    add_cell(&line, sum->structure, 6, false);
    output_bytes(line.data, line.size);
    output_line(name, strlen(name), false);
    sb_buf_release(&line);
}

static enum sb_code list_one(void *context, struct sb_table *table, const char *path,
                             const char *name, struct sb_error *err)
{
    struct summary sum;

    (void)path;
    if (sum_up(table->cache, &sum, err))
        return err->code;
    show_summary(context, &sum, name);
    return SB_OK;
}

int ls_caches(const struct ls_settings *settings, const struct sb_store *store, size_t operands)
{
    static const char *const of_one[] = {"long", "all",   "count", "files-from",
                                         "null", "array", NULL};
    const char *path = sb_store_path(store), *other = ls_clash(store);
    struct ls_settings wanted = *settings;
    struct sb_error err;

    if (!other)
        other = options_given_of(of_one);
    if (other)
        return message_usage("%s: holds caches, which are listed without --%s", path, other);
    if (operands > 0)
        return message_usage("%s: holds caches: list one of them, such as those that 'shardbox ls "
                             "%s' shows",
                             path, path);
    if (each_cache(path, list_one, &wanted, &err))
        return message_failure(&err);
    return message_status();
}
