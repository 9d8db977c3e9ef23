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

static enum sb_code list_cache_of_several(void *context, const char *path, const char *name,
                                          struct sb_error *err)
{
    static const struct opening plain;
    struct sb_table *table = NULL;
    struct sb_store *store;
    struct summary sum;
    enum sb_code code = open_store(&store, path, &plain, err);

    if (!code)
        code = sb_store_table(store, &table, err);
    if (!code)
        code = sum_up(table->cache, &sum, err);
    if (!code)
        show_summary(context, &sum, name);
    sb_table_free(table);
    sb_store_free(store);
    if (code == SB_FORMAT || (code && !sb_ends_work(err))) {
        message_problem("%s", err->text);
        code = SB_OK;
    }
    return code;
}

int ls_caches(const struct ls_settings *settings, const char *path, size_t operands)
{
    static const char *const of_others[] = {
        "recursive", "directory",   "sort",       "by-size", "by-time",    "reverse",
        "tree",      "shards",      "at",         "records", "rsync-list", "find",
        "find-all",  "compression", "dictionary", "limits",  "layout",     "threads",
        "long",      "all",         "count",      "null",    "array",      NULL,
    };
    const char *other = options_given_of(of_others);
    struct ls_settings wanted = *settings;
    struct sb_error err;

    if (!other && settings->files_from)
        other = "files-from";
    if (other)
        return message_usage("%s: holds caches, which are listed without --%s", path, other);
    if (operands > 0)
        return message_usage("%s: holds caches: list one of them, such as those that 'shardbox ls "
                             "%s' shows",
                             path, path);
    if (sb_cache_list(path, list_cache_of_several, &wanted, &err))
        return message_failure(&err);
    return message_status();
}
