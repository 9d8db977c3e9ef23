#include "archive/archive.h"
#include "archive/own/own_names.h"
#include "archive/parity/format.h"
#include "core/buf.h"
#include "task/protect/protect.h"
#include "task/restore/impl.h"

#include <stdlib.h>
#include <sys/stat.h>

struct range {
    int64_t begin, end;
};

/* The bytes of a shard for which the index has a checksum: a window of them. */
struct guard {
    const struct sb_restore *restore;
    uint32_t shard;
    struct sb_cursor *cursor;
    struct range next; /* read from the cursor, not yet among the ranges */
    bool ended;
    struct range *ranges; /* in order, not touching */
    size_t count, capacity;
    int64_t base; /* from here on ranges are complete, up to `next` */
};

static enum sb_code read_next(struct guard *guard, struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code;

    do
        code = sb_cursor_next(guard->cursor, &entry, err);
    while (!code && (entry.defect || entry.size == 0 || !(entry.has & SB_HAS_CRC)));
    guard->ended = code == SB_END;
    if (!code)
        guard->next = (struct range){.begin = entry.offset, .end = entry.offset + entry.size};
    return code == SB_END ? SB_OK : code;
}

static enum sb_code begin(struct guard *guard, struct sb_error *err)
{
    const struct sb_query query = {.order = SB_BY_ADDRESS,
                                   .files = true,
                                   .shard_first = guard->shard,
                                   .shard_last = guard->shard,
                                   .extents = true,
                                   .steady = true};

    sb_cursor_free(guard->cursor);
    guard->cursor = NULL;
    guard->count = 0;
    guard->base = 0;
    if (sb_cursor_open(&guard->cursor, guard->restore->archive, &query, err))
        return err->code;
    return read_next(guard, err);
}

static enum sb_code add(struct guard *guard, struct range range, struct sb_error *err)
{
    struct range *last = guard->count ? &guard->ranges[guard->count - 1] : NULL;

    if (last && range.begin <= last->end) {
        last->end = range.end > last->end ? range.end : last->end;
        return SB_OK;
    }
    if (sb_grow(&guard->ranges, &guard->capacity, guard->count + 1, sizeof(range), err))
        return err->code;
    guard->ranges[guard->count++] = range;
    return SB_OK;
}

/* Whoever comes back does so within a piece. */
static void forget(struct guard *guard, int64_t before)
{
    size_t gone = 0;

    while (gone < guard->count && guard->ranges[gone].end <= before)
        gone++;
    guard->count -= gone;
    for (size_t i = 0; gone && i < guard->count; i++)
        guard->ranges[i] = guard->ranges[i + gone];
    if (guard->base < before)
        guard->base = before;
}

static enum sb_code load(struct guard *guard, int64_t from, int64_t to, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (!guard->cursor || from < guard->base)
        code = begin(guard, err);
    if (!code)
        forget(guard, from - SB_PARITY_PIECE_MOST);
    while (!code && !guard->ended && guard->next.begin < to) {
        code = add(guard, guard->next, err);
        if (!code)
            code = read_next(guard, err);
    }
    return code;
}

static enum sb_code next(void *context, int64_t from, int64_t to, int64_t *begins, int64_t *ends,
                         struct sb_error *err)
{
    struct guard *guard = context;
    size_t i = 0;

    if (load(guard, from, to, err))
        return err->code;
    for (; i < guard->count && guard->ranges[i].begin <= from; i++) {
        if (guard->ranges[i].end > from)
            from = guard->ranges[i].end;
    }
    *begins = from < to ? from : to;
    *ends = i < guard->count && guard->ranges[i].begin < to ? guard->ranges[i].begin : to;
    return SB_OK;
}

static int compare(const void *a, const void *b)
{
    const struct sb_restore_unit *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Of the units, which are sorted, one with bytes of a shard from `from` up to `to`? */
static bool was_read(const struct sb_restore *restore, uint32_t shard, int64_t from, int64_t to)
{
    const struct sb_restore_unit first = {.shard = shard, .number = from / SB_VERIFY_UNIT};
    size_t low = 0, high = restore->unit_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&restore->units[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < restore->unit_count && restore->units[low].shard == shard &&
           restore->units[low].number <= (to - 1) / SB_VERIFY_UNIT;
}

static bool looks_at(void *context, int64_t from, int64_t to)
{
    const struct guard *guard = context;

    return was_read(guard->restore, guard->shard, from, to);
}

static enum sb_code tend_shard(const struct sb_restore *restore, const char *path, uint32_t shard,
                               bool by_units, const struct sb_protect_options *options,
                               struct sb_error *err)
{
    const struct sb_protect_index index = sb_restore_index(restore);
    struct guard guard = {.restore = restore, .shard = shard};
    const struct sb_protect_guard calls = {
        .next = next,
        .looks_at = by_units ? looks_at : NULL,
        .context = &guard,
        .index = &index,
        .rewritten = sb_restore_target_is(restore->target, shard, SB_SHARD_DIRTY) &&
                     sb_restore_target_is(restore->target, shard, SB_SHARD_PROTECTED),
    };
    enum sb_code code = sb_protect_guarded(path, options, &calls, err);

    sb_cursor_free(guard.cursor);
    free(guard.ranges);
    return code;
}

static bool is_file(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* That one has none, or none that can be used, is no reason to leave the others. */
static enum sb_code leave(const struct sb_restore *restore, struct sb_error *err)
{
    bool changed = err->code == SB_CHANGED;

    if (sb_protect_ends_work(err))
        return err->code;
    restore->options->protect->without += !changed;
    if (err->code != SB_NOENT)
        sb_report(restore->notify, changed ? SB_WARNING : SB_PROBLEM, "parity", NULL, "%s",
                  err->text);
    return SB_OK;
}

/* Others are kept away only if there is something to do. */
static enum sb_code tend(struct sb_restore *restore, const char *path, uint32_t shard,
                         bool by_units, struct sb_error *err)
{
    struct sb_protect_result found = {0}, *result = restore->options->protect;
    const char *parity_dir = restore->options->parity_dir;
    struct sb_protect_options options = {
        .act = SB_PROTECT_CHECK, .parity_dir = parity_dir, .result = &found};
    enum sb_code code = tend_shard(restore, path, shard, by_units, &options, err);

    if (code)
        return leave(restore, err);
    if (found.contradicted > 0)
        sb_report(restore->notify, SB_WARNING, "changed", path,
                  "has files that match their checksums, but not its parity file, which is older "
                  "than it; 'shardbox protect --remove' and 'protect' make another");
    if (!sb_protect_has_found(&found)) {
        result->files += found.files;
        result->changed += found.changed;
        return SB_OK;
    }
    options = (struct sb_protect_options){.act = SB_PROTECT_REPAIR,
                                          .parity_dir = parity_dir,
                                          .dry_run = restore->options->dry_run,
                                          .result = result,
                                          .notify = restore->notify};
    code = options.dry_run ? SB_OK : sb_restore_lock(restore, err);
    if (!code && (code = tend_shard(restore, path, shard, by_units, &options, err)))
        code = leave(restore, err);
    return code;
}

enum sb_code sb_restore_tend(struct sb_restore *restore, bool by_units, struct sb_error *err)
{
    uint32_t count;
    enum sb_code code = sb_archive_shard_count(restore->archive, &count, err);

    if (restore->unit_count > 1)
        qsort(restore->units, restore->unit_count, sizeof(*restore->units), compare);
    for (uint32_t i = 0; !code && i < count; i++) {
        char *path;

        if (by_units && !was_read(restore, i, 0, INT64_MAX))
            continue;
        path = sb_shard_name(sb_restore_target_base(restore->target), i, err);
        if (!path)
            return err->code;
        /* A link is tended with the archive that the file belongs to. */
        if (is_file(path))
            code = tend(restore, path, i, by_units, err);
        free(path);
    }
    return code;
}
