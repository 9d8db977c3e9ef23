#include "du/cache.h"
#include "open/arrays_given.h"
#include "open/cache_opening.h"
#include "ui/cells.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "task/table/cache_usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_json(const struct sb_cache_usage *usage, const char *path, struct sb_buf *line)
{
    output_need(sb_buf_add_char(line, '{'));
    output_need(path ? json_name(line, "path", path, strlen(path))
                     : sb_buf_add_text(line, "\"total\":true"));
    output_need(sb_buf_add_format(line,
                                  ",\"keys\":%" PRId64 ",\"rows\":%" PRId64 ",\"bytes\":%" PRId64
                                  ",\"superseded\":%" PRId64 ",\"stored\":%" PRId64 "}\n",
                                  usage->keys, usage->rows, usage->bytes, usage->superseded,
                                  usage->stored));
    output_bytes(line->data, line->size);
}

static size_t amount_width(const struct du_cache *wanted)
{
    return wanted->human ? 10 : 15;
}

/* path NULL: the total. */
static void write_usage(const struct du_cache *wanted, const struct sb_cache_usage *usage,
                        const char *path)
{
    size_t width = amount_width(wanted);
    struct sb_buf line = {0};
    char text[NUMBER_SIZE];

    if (wanted->json) {
        write_json(usage, path, &line);
        sb_buf_release(&line);
        return;
    }
    add_cell(&line, format_number(usage->keys, text), 12, true);
    add_cell(&line, format_number(usage->rows, text), 12, true);
    add_cell(&line, format_amount(usage->bytes, wanted->human, text), width, true);
    add_cell(&line, format_amount(usage->superseded, wanted->human, text), width, true);
    add_cell(&line, format_amount(usage->stored, wanted->human, text), width, true);
    output_bytes(line.data, line.size);
    if (path)
        output_line(path, strlen(path), false);
    else
        output_text("total\n");
    sb_buf_release(&line);
}

static void write_heading(const struct du_cache *wanted)
{
    int width = (int)amount_width(wanted);

    if (!wanted->json)
        output_format("%12s %12s %*s %*s %*s path\n", "keys", "rows", width, "bytes", width,
                      "superseded", width, "stored");
}

static enum sb_code measure(struct sb_cache *cache, struct sb_cache_usage **segments,
                            struct sb_cache_usage *sum, struct sb_error *err)
{
    struct sb_cache_usage_options options = {.notify = &message_notify};
    uint32_t count = sb_cache_segment_count(cache);
    const char **arrays;
    enum sb_code code;

    *segments = calloc(count ? count : 1, sizeof(**segments));
    *sum = (struct sb_cache_usage){0};
    if (!*segments)
        return sb_fail_memory(err);
    options.array_count = arrays_given(&arrays);
    options.arrays = arrays;
    code = sb_cache_usage(cache, &options, *segments, err);
    for (uint32_t i = 0; i < count && !code; i++)
        sb_cache_usage_add(sum, &(*segments)[i]);
    free(arrays);
    return code;
}

static enum sb_code write_table(const struct du_cache *wanted, struct sb_cache *cache,
                                const struct sb_cache_usage *segments,
                                const struct sb_cache_usage *sum, struct sb_error *err)
{
    uint32_t count = sb_cache_segment_count(cache);

    write_heading(wanted);
    for (uint32_t i = 0; i < count && !wanted->summarize; i++) {
        struct sb_cache_segment segment;

        if (sb_cache_segment(cache, i, &segment, err))
            return err->code;
        write_usage(wanted, &segments[i], segment.path);
    }
    write_usage(wanted, sum, NULL);
    return SB_OK;
}

int du_cache(const struct du_cache *wanted, struct sb_store *store, int operands)
{
    const char *path = sb_store_path(store);
    struct sb_cache_usage *segments = NULL, sum;
    struct sb_cache *cache = NULL;
    struct sb_error err;
    enum sb_code code;

    if (operands > 1)
        return message_usage("%s: is a cache, and has no PATHs", path);
    code = open_cache(&cache, store, &err);
    if (!code)
        code = need_given_arrays(cache, path, &err);
    if (!code)
        code = measure(cache, &segments, &sum, &err);
    if (!code)
        code = write_table(wanted, cache, segments, &sum, &err);
    free(segments);
    sb_cache_free(cache);
    return code ? message_failure(&err) : message_status();
}

struct caches {
    const struct du_cache *wanted;
    struct sb_cache_usage sum;
};

static enum sb_code measure_one(void *context, const char *path, const char *name,
                                struct sb_error *err)
{
    struct caches *caches = context;
    struct sb_cache_usage *segments = NULL, sum;
    struct sb_cache *cache;
    struct sb_store *store;
    enum sb_code code = open_cache_at(&store, &cache, path, err);

    (void)name;
    if (!code)
        code = measure(cache, &segments, &sum, err);
    if (!code) {
        sb_cache_usage_add(&caches->sum, &sum);
        if (!caches->wanted->summarize)
            write_usage(caches->wanted, &sum, path);
    }
    free(segments);
    sb_cache_free(cache);
    sb_store_free(store);
    if (code == SB_FORMAT || (code && !sb_ends_work(err))) {
        message_problem("%s", err->text);
        code = SB_OK;
    }
    return code;
}

int du_caches(const struct du_cache *wanted, const char *path, int operands)
{
    struct caches caches = {.wanted = wanted};
    struct sb_error err;

    if (operands > 1)
        return message_usage("%s: holds caches, and has no PATHs", path);
    write_heading(wanted);
    if (sb_cache_list(path, measure_one, &caches, &err))
        return message_failure(&err);
    write_usage(wanted, &caches.sum, NULL);
    return message_status();
}
