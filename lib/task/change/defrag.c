/*
 * The full way: shards are compacted one by one, from the front. The bytes before the first gap are
 * `closed`. The files after the gap move into it, as many whole files at once as it holds; with
 * each commit the gap moves on and merges with those that it meets. A small gap would need a commit
 * every few files: then a batch moves past the end of the shard first, and from there to its place,
 * which is two copies but only two commits.
 */
#include "task/change/change.h"

#include "core/interrupt.h"
#include "core/number.h"
#include "task/change/impl.h"
#include "task/restore/restore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* From this size on, one copy and more commits are faster than two copies. */
#define GAP_BYTES ((int64_t)8 << 20)

/* Extents in memory at once; at least SB_MOVER_FILES of them can be moved. */
#define WINDOW_FILES ((size_t)2 * SB_MOVER_FILES)

/* This many are fetched first, and then more: a small shard must not cost the rows of others. */
#define FETCH_FIRST 64

struct closing {
    struct sb_mover *mover;
    struct sb_defrag_counts *counts;
    uint32_t shard;
    int64_t end;    /* of the last file found: what is after it is free */
    int64_t closed; /* bytes without a gap at the front */

    /* The next extents, by address. */
    struct sb_mover_file *window; /* of WINDOW_FILES */
    size_t at, count;
    size_t fetch; /* how many to fetch next */
    bool all;     /* no more after them */
};

/* Adjacent extents of the window that are moved together. */
struct batch {
    size_t files;
    int64_t bytes;
};

static enum sb_code fetch_some(struct closing *closing, struct sb_mover_file *last)
{
    struct sb_mover_file *to = closing->window + closing->count;
    size_t capacity = WINDOW_FILES - closing->count, count = 0;

    if (capacity > closing->fetch)
        capacity = closing->fetch;
    if (closing->fetch < WINDOW_FILES)
        closing->fetch *= 2;
    TRY(sb_mover_fetch(closing->mover, last, false, to, capacity, &count));
    closing->all = count < capacity;
    while (count > 0 && to[count - 1].shard != closing->shard) {
        count--;
        closing->all = true;
    }
    if (count > 0)
        *last = to[count - 1];
    closing->count += count;
    return SB_OK;
}

static enum sb_code fill_window(struct closing *closing)
{
    struct sb_mover_file last = {.shard = closing->shard, .offset = -1};

    if (closing->all || closing->count - closing->at >= SB_MOVER_FILES)
        return SB_OK;
    if (sb_interrupted())
        return sb_fail_interrupt();
    if (closing->count > 0)
        last = closing->window[closing->count - 1];
    closing->count -= closing->at;
    memmove(closing->window, closing->window + closing->at,
            closing->count * sizeof(*closing->window));
    closing->at = 0;
    while (!closing->all && closing->count < SB_MOVER_FILES)
        TRY(fetch_some(closing, &last));
    return SB_OK;
}

/* Skips extents that are in their place; an empty one only must not be past it. */
static void pass_over(struct closing *closing)
{
    const struct sb_mover_file *extent;

    for (; closing->at < closing->count; closing->at++) {
        extent = &closing->window[closing->at];
        if (extent->offset > closing->closed)
            return;
        closing->closed += extent->size;
    }
}

/* As many extents as fit into `capacity`, and may be moved in one commit. */
static struct batch gather(const struct closing *closing, int64_t capacity)
{
    struct batch batch = {0};

    for (size_t i = closing->at; i < closing->count && batch.files < SB_MOVER_FILES; i++) {
        if (closing->window[i].size > capacity - batch.bytes)
            break;
        batch.bytes += closing->window[i].size;
        batch.files++;
    }
    return batch;
}

/* The free bytes before the next nonempty file. */
static int64_t gap_ahead(const struct closing *closing)
{
    for (size_t i = closing->at; i < closing->count; i++) {
        if (closing->window[i].size > 0)
            return closing->window[i].offset - closing->closed;
    }
    return INT64_MAX;
}

/* Queues and commits a batch; the window then has the new addresses. */
static enum sb_code move_batch(struct closing *closing, struct batch batch, int64_t to)
{
    struct sb_mover_file *extent = closing->window + closing->at;

    for (size_t i = 0; i < batch.files; i++, extent++) {
        TRY(sb_mover_move(closing->mover, extent, closing->shard, to));
        extent->offset = to;
        to += extent->size;
    }
    return sb_mover_commit(closing->mover);
}

/* Is it better to move what fits into the gap than, in two steps, a larger batch? */
static bool goes_directly(struct batch direct, struct batch larger)
{
    return direct.files == larger.files || direct.bytes >= GAP_BYTES ||
           (direct.bytes > 0 && direct.bytes >= larger.bytes / 2);
}

/* One step: moves some files to the end of the closed part. */
static enum sb_code close_some(struct closing *closing)
{
    int64_t gap = gap_ahead(closing);
    struct batch direct = gather(closing, gap < SB_MOVER_BYTES ? gap : SB_MOVER_BYTES);
    struct batch batch = gather(closing, SB_MOVER_BYTES);

    if (batch.files == 0)
        batch = (struct batch){.files = 1, .bytes = closing->window[closing->at].size};
    if (goes_directly(direct, batch))
        batch = direct;
    else
        TRY(move_batch(closing, batch, closing->end));
    TRY(move_batch(closing, batch, closing->closed));
    closing->closed += batch.bytes;
    closing->at += batch.files;
    closing->counts->moved_files += (int64_t)batch.files;
    sb_count_up(&closing->counts->moved_bytes, batch.bytes);
    return SB_OK;
}

/* The end of the last nonempty file of the shard. Any number of empty ones may be after it. */
static enum sb_code find_end(struct closing *closing)
{
    struct sb_mover_file last = {.shard = closing->shard + 1, .offset = -1};
    size_t count;

    closing->end = 0;
    do {
        TRY(sb_mover_fetch(closing->mover, &last, true, closing->window, FETCH_FIRST, &count));
        for (size_t i = 0; i < count; i++) {
            last = closing->window[i];
            if (last.shard == closing->shard && last.size > 0)
                closing->end = last.offset + last.size;
            if (last.shard != closing->shard || last.size > 0)
                return SB_OK;
        }
    } while (count > 0);
    return SB_OK;
}

static void begin_shard(struct closing *closing, uint32_t shard)
{
    closing->shard = shard;
    closing->closed = 0;
    closing->at = closing->count = 0;
    closing->fetch = FETCH_FIRST;
    closing->all = false;
}

static enum sb_code close_shard(struct closing *closing, uint32_t shard)
{
    begin_shard(closing, shard);
    TRY(find_end(closing));
    /* What is after the last file is cut off first: its space may be needed. */
    TRY(sb_mover_shorten(closing->mover, shard, closing->end));
    for (;;) {
        TRY(fill_window(closing));
        pass_over(closing);
        if (closing->at < closing->count)
            TRY(close_some(closing));
        else if (closing->all)
            return sb_mover_shorten(closing->mover, shard, closing->closed);
    }
}

/* What close_shard would move: everything after the first gap. */
static enum sb_code count_shard(struct closing *closing, uint32_t shard)
{
    begin_shard(closing, shard);
    do {
        TRY(fill_window(closing));
        pass_over(closing);
        closing->counts->moved_files += (int64_t)(closing->count - closing->at);
        for (; closing->at < closing->count; closing->at++)
            sb_count_up(&closing->counts->moved_bytes, closing->window[closing->at].size);
    } while (!closing->all);
    return SB_OK;
}

static bool is_wanted(const struct sb_defrag_options *options, uint32_t shard)
{
    return shard >= options->first && (options->last < 0 || shard <= options->last);
}

static bool has_gaps(const struct sb_mover *mover, uint32_t shard)
{
    return sb_mover_shard_used(mover, shard) < sb_mover_shard_size(mover, shard);
}

static enum sb_code close_all(struct sb_mover *mover, const struct sb_defrag_options *options,
                              struct sb_defrag_counts *counts)
{
    CLEANUP(sb_freep) struct sb_mover_file *window = NULL;
    struct closing closing = {.mover = mover, .counts = counts};
    int64_t before;

    TRY(SB_NEW_ARRAY(&window, WINDOW_FILES));
    closing.window = window;
    for (uint32_t i = 0; i < sb_mover_shard_count(mover); i++) {
        if (!is_wanted(options, i) || !has_gaps(mover, i))
            continue;
        before = sb_mover_shard_size(mover, i);
        TRY(options->dry_run ? count_shard(&closing, i) : close_shard(&closing, i));
        if (options->shard_done)
            options->shard_done(options->mover.context, i, before, sb_mover_shard_used(mover, i));
    }
    return SB_OK;
}

static enum sb_code defrag_full(struct sb_mover *mover, const struct sb_defrag_options *options,
                                struct sb_defrag_counts *counts)
{
    uint32_t before = sb_mover_shard_count(mover), keep = before, filled;

    /* Shards after the last file are removed, unless they are not selected. */
    TRY(sb_mover_shards_filled(mover, &filled));
    while (keep > filled && is_wanted(options, keep - 1))
        keep--;
    /* All permissions are checked first, so that nothing is begun that cannot be finished. */
    for (uint32_t i = 0; i < before; i++) {
        if (is_wanted(options, i) && has_gaps(mover, i))
            TRY(sb_mover_shard_used(mover, i) > 0 ? sb_mover_may_write(mover, i)
                                                  : sb_mover_may_free(mover));
    }
    TRY(close_all(mover, options, counts));
    for (uint32_t i = 0; i < before; i++)
        sb_count_up(&counts->bytes_after, is_wanted(options, i) ? sb_mover_shard_used(mover, i)
                                                                : sb_mover_shard_size(mover, i));
    counts->shards_removed = before - keep;
    return options->dry_run ? SB_OK : sb_mover_drop_empty_shards(mover, keep);
}

enum sb_code sb_defrag(const char *archive, const struct sb_defrag_options *options,
                       struct sb_defrag_counts *counts)
{
    struct sb_mover_options opening = options->mover;
    CLEANUP(sb_mover_freep) struct sb_mover *mover = NULL;
    uint32_t count;

    *counts = (struct sb_defrag_counts){0};
    opening.dry_run = options->dry_run;
    if (!options->dry_run && !options->quick)
        TRY(sb_restore_first(archive, options->mover.notify));
    TRY(sb_mover_open(&mover, archive, &opening));
    count = sb_mover_shard_count(mover);
    for (uint32_t i = 0; i < count; i++)
        sb_count_up(&counts->bytes_before, sb_mover_shard_size(mover, i));
    if (options->quick)
        return sb_defrag_quick(mover, options, counts);
    if (options->first != 0 && options->first >= count)
        return sb_fail(SB_INVALID,
                       "%s: there is no shard %05" PRId64 "; shards, counted from 0: %" PRIu32,
                       archive, options->first, count);
    return defrag_full(mover, options, counts);
}
