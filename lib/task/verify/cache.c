#include "task/verify/verify.h"

#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "task/verify/cache_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNPROVED "a cache has no checksums: a byte of a value that has changed cannot be seen"

const char *sb_cache_path_within(const struct sb_cache_check *check, const char *path)
{
    size_t size = strlen(check->dir);

    if (strncmp(path, check->dir, size) != 0 || path[size] != '/')
        return path;
    return path + size + strspn(path + size, "/");
}

/* Problems that the cache reports of its segments are defects; the rest is only passed on. */
static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct sb_cache_check *check = context;
    const char *path = subject ? sb_cache_path_within(check, subject) : NULL;

    if (level == SB_PROBLEM)
        sb_verify_defect(check->events, SB_REMEDY_REPAIR, kind,
                         sb_defect_of(path, path ? strlen(path) : 0), "%s", text);
    else
        sb_report(check->notify, level, kind, subject, "%s", text);
}

/* How many rows each segment has; reports segments that cannot be read. */
static enum sb_code look_at_segments(struct sb_cache_check *check)
{
    struct sb_cache_segment segment;
    int64_t rows = 0;

    check->segments = sb_cache_segment_count(check->cache);
    check->result->shards += check->segments;
    check->numbers = calloc((size_t)check->segments + 1, sizeof(*check->numbers));
    check->first_rows = calloc((size_t)check->segments + 1, sizeof(*check->first_rows));
    if (!check->numbers || !check->first_rows)
        return sb_fail_memory();
    for (uint32_t i = 0; i < check->segments; i++) {
        TRY(sb_heed_interrupt());
        TRY(sb_cache_segment(check->cache, i, &segment));
        check->numbers[i] = segment.number;
        check->first_rows[i] = rows;
        sb_count_up(&check->all_bytes, segment.bytes);
        rows += segment.rows;
    }
    check->first_rows[check->segments] = rows;
    sb_count_up(&check->result->bytes, check->all_bytes);
    check->live_row = calloc((size_t)rows / 8 + 1, 1);
    return check->live_row ? SB_OK : sb_fail_memory();
}

static enum sb_code look_at_keys(struct sb_cache_check *check)
{
    int64_t at, all = check->first_rows[check->segments];
    struct sb_cache_row row;
    enum sb_code code;

    while (!(code = sb_cache_next(check->cache, &row))) {
        /* An empty key is allowed. */
        if (!sb_is_utf8(row.key.text, row.key.size))
            sb_verify_defect(check->events, SB_REMEDY_REPAIR, "key",
                             sb_defect_of(row.key.text, row.key.size),
                             "is not UTF-8, as texts of an Arrow file are");
        check->result->rows++;
        at = check->first_rows[row.place.segment] + row.place.row;
        if (row.superseded || at >= all)
            continue;
        check->keys++;
        check->live_row[at / 8] |= (unsigned char)(1 << at % 8);
    }
    check->result->files += check->keys;
    check->result->unchecked += check->keys;
    return code == SB_END ? SB_OK : code;
}

static enum sb_code run(struct sb_cache_check *check)
{
    TRY(sb_cache_find_leftovers(check));
    TRY(sb_cache_open(&check->cache, &check->dir, 1, &check->defects));
    TRY(sb_cache_reader_new(&check->reader, check->cache));
    TRY(look_at_segments(check));
    TRY(sb_cache_check_schemas(check));
    TRY(look_at_keys(check));
    TRY(sb_cache_check_index(check));
    if (!check->options->quick)
        TRY(sb_cache_check_values(check));
    if (check->options->strict && check->keys > 0)
        sb_verify_defect(check->events, SB_REMEDY_SUMS, "unchecked", SB_NOWHERE, UNPROVED);
    return SB_OK;
}

enum sb_code sb_verify_cache(const char *dir, const struct sb_verify_cache_options *options,
                             const struct sb_verify_events *events)
{
    struct sb_cache_check check = {
        .dir = dir,
        .options = options,
        .events = events,
        .notify = events->notify,
        .result = events->result,
        .defects = {.call = hear, .context = &check},
    };
    enum sb_code code;

    events->result->unproved = UNPROVED;
    code = run(&check);
    if (!code && options->repair)
        code = sb_cache_repair(&check);
    sb_cache_free_leftovers(&check);
    sb_cache_reader_free(check.reader);
    sb_cache_free(check.cache);
    sb_buf_release(&check.text);
    free(check.numbers);
    free(check.first_rows);
    free(check.live_row);
    return code;
}
