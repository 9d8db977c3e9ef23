#include "ls/cache.h"
#include "open/cache_opening.h"
#include "ui/cells.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include <inttypes.h>
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

static void show_summary(const struct ls_cache *wanted, const struct summary *sum, const char *name)
{
    struct sb_buf line = {0};
    char number[NUMBER_SIZE];

    if (wanted->json) {
        output_need(sb_buf_add_char(&line, '{'));
        output_need(json_name(&line, "cache", name, strlen(name)));
        output_need(sb_buf_add_format(&line,
                                      ",\"keys\":%" PRId64 ",\"segments\":%" PRIu32
                                      ",\"bytes\":%" PRId64 ",\"structure\":",
                                      sum->keys, sum->segments, sum->bytes));
        output_need(*sum->structure == '-'
                        ? sb_buf_add_text(&line, "null")
                        : json_string(&line, sum->structure, strlen(sum->structure)));
        output_need(sb_buf_add_text(&line, "}\n"));
        output_bytes(line.data, line.size);
    } else {
        add_cell(&line, format_number(sum->keys, number), 12, true);
        add_cell(&line, format_number(sum->segments, number), 8, true);
        add_cell(&line, format_amount(sum->bytes, wanted->human, number), wanted->human ? 6 : 15,
                 true);
        add_cell(&line, sum->structure, 6, false);
        output_bytes(line.data, line.size);
        output_line(name, strlen(name), false);
    }
    sb_buf_release(&line);
}

static enum sb_code list_cache_of_several(void *context, const char *path, const char *name,
                                          struct sb_error *err)
{
    struct sb_cache *cache;
    struct sb_store *store;
    struct summary sum;
    enum sb_code code = open_cache_at(&store, &cache, path, err);

    if (!code)
        code = sum_up(cache, &sum, err);
    if (!code)
        show_summary(context, &sum, name);
    sb_cache_free(cache);
    sb_store_free(store);
    if (code == SB_FORMAT || (code && !sb_ends_work(err))) {
        message_problem("%s", err->text);
        code = SB_OK;
    }
    return code;
}

int ls_caches(const struct ls_cache *wanted, const char *path, size_t key_count)
{
    static const char *const of_one[] = {"long", "all",   "count", "files-from",
                                         "null", "array", NULL};
    struct ls_cache settings = *wanted;
    const char *other = ls_cache_clash();
    struct sb_error err;

    if (!other)
        other = options_given_of(of_one);
    if (other)
        return message_usage("%s: holds caches, which are listed without --%s", path, other);
    if (key_count > 0)
        return message_usage("%s: holds caches: list one of them, such as those that 'shardbox ls "
                             "%s' shows",
                             path, path);
    if (sb_cache_list(path, list_cache_of_several, &settings, &err))
        return message_failure(&err);
    return message_status();
}
