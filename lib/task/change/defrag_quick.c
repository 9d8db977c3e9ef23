#include "task/change/impl.h"

#include "core/buf.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "core/time.h"

#include <stdlib.h>
#include <time.h>

/* Does a's address come before b's? */
static bool is_before(const struct sb_gap *a, const struct sb_gap *b)
{
    return a->shard != b->shard ? a->shard < b->shard : a->offset < b->offset;
}

void sb_gap_table_release(struct sb_gap_table *table)
{
    free(table->largest);
    free(table->gaps);
    *table = (struct sb_gap_table){0};
}

enum sb_code sb_gap_table_add(struct sb_gap_table *table, const struct sb_gap *gap)
{
    if (gap->size <= 0 || table->count == SB_GAPS_MOST)
        return SB_OK;
    TRY(sb_grow(&table->gaps, &table->capacity, table->count, sizeof(*gap)));
    table->gaps[table->count++] = *gap;
    return SB_OK;
}

static int64_t larger_child(const struct sb_gap_table *table, size_t node)
{
    int64_t left = table->largest[2 * node], right = table->largest[2 * node + 1];

    return left > right ? left : right;
}

enum sb_code sb_gap_table_finish(struct sb_gap_table *table)
{
    table->leaves = 1;
    while (table->leaves < table->count)
        table->leaves *= 2;
    free(table->largest);
    TRY(SB_NEW_ARRAY(&table->largest, table->leaves * 2));
    for (size_t i = 0; i < table->count; i++)
        table->largest[table->leaves + i] = table->gaps[i].size;
    for (size_t node = table->leaves - 1; node > 0; node--)
        table->largest[node] = larger_child(table, node);
    return SB_OK;
}

/* The first gap of at least so many bytes; one must exist. */
static size_t find(const struct sb_gap_table *table, int64_t size)
{
    size_t node = 1;

    while (node < table->leaves)
        node = 2 * node + (table->largest[2 * node] < size);
    return node - table->leaves;
}

static void resize(struct sb_gap_table *table, size_t at)
{
    size_t node = table->leaves + at;

    table->largest[node] = table->gaps[at].size;
    while ((node /= 2) > 0)
        table->largest[node] = larger_child(table, node);
}

bool sb_gap_table_take(struct sb_gap_table *table, int64_t size, const struct sb_gap *before,
                       struct sb_gap *taken)
{
    struct sb_gap *gap;
    size_t at;

    if (table->largest[1] < size)
        return false;
    at = find(table, size);
    gap = &table->gaps[at];
    if (!is_before(gap, before))
        return false;
    *taken = (struct sb_gap){.shard = gap->shard, .offset = gap->offset, .size = size};
    gap->offset += size;
    gap->size -= size;
    resize(table, at);
    return true;
}

bool sb_gap_table_first(const struct sb_gap_table *table, struct sb_gap *first)
{
    if (table->largest[1] == 0)
        return false;
    *first = table->gaps[find(table, 1)];
    return true;
}

#define FETCH_MOST 1024

struct shard {
    int64_t before; /* its length at the beginning */
    int64_t end;    /* of its last nonempty file, as found by the pass */
    int64_t stays;  /* the end of the last file that the pass left there ... */
    int64_t comes;  /* ... and of the last that it moved there */
    bool cut;       /* files were moved out of it, in any pass: it is shortened at the end */
};

struct quick {
    struct sb_mover *mover;
    const struct sb_defrag_options *options;
    struct sb_defrag_counts *counts;
    struct sb_gap_table gaps;
    struct shard *shards;
    uint32_t count;  /* number of shards */
    uint32_t first;  /* the first that may be changed */
    int64_t give_up; /* at this time */

    struct sb_mover_file *fetched;
    int64_t queued_files, queued_bytes;
    int64_t moved;  /* files, in this pass */
    bool time_went; /* since the last look at the clock */
};

static int64_t now(void)
{
    return sb_clock_ns() / SB_SECOND;
}

static bool is_late(struct quick *quick)
{
    if (quick->time_went && quick->options->max_seconds > 0 && !quick->options->dry_run)
        quick->counts->out_of_time = now() >= quick->give_up;
    quick->time_went = false;
    return quick->counts->out_of_time;
}

static enum sb_code flush(struct quick *quick)
{
    quick->queued_files = 0;
    quick->queued_bytes = 0;
    quick->time_went = true;
    return quick->options->dry_run ? SB_OK : sb_mover_commit(quick->mover);
}

static enum sb_code move(struct quick *quick, const struct sb_mover_file *file, uint32_t shard,
                         int64_t offset)
{
    if (quick->queued_files == SB_MOVER_FILES ||
        (quick->queued_bytes > 0 && file->size > SB_MOVER_BYTES - quick->queued_bytes))
        TRY(flush(quick));
    quick->queued_files++;
    sb_count_up(&quick->queued_bytes, file->size);
    return quick->options->dry_run ? SB_OK : sb_mover_move(quick->mover, file, shard, offset);
}

/* Ends the scan of a shard: what is after its last file is a gap too. */
static enum sb_code finish_shard(struct quick *quick, uint32_t number)
{
    const struct shard *shard = &quick->shards[number];
    struct sb_gap gap = {.shard = number, .offset = shard->end};

    gap.size = sb_mover_shard_size(quick->mover, number) - shard->end;
    return sb_gap_table_add(&quick->gaps, &gap);
}

static enum sb_code scan_file(struct quick *quick, uint32_t *at, const struct sb_mover_file *file)
{
    struct sb_gap gap = {.shard = file->shard};

    while (*at < file->shard)
        TRY(finish_shard(quick, (*at)++));
    if (file->size == 0)
        return SB_OK;
    gap.offset = quick->shards[*at].end;
    gap.size = file->offset - gap.offset;
    quick->shards[*at].end = file->offset + file->size;
    return sb_gap_table_add(&quick->gaps, &gap);
}

/* Finds the gaps, and the ends of shards. */
static enum sb_code scan(struct quick *quick)
{
    struct sb_mover_file last = {.shard = quick->first, .offset = -1};
    uint32_t at = quick->first;
    size_t count;

    sb_gap_table_release(&quick->gaps);
    for (uint32_t i = quick->first; i < quick->count; i++)
        quick->shards[i].end = quick->shards[i].stays = quick->shards[i].comes = 0;
    for (;;) {
        TRY(sb_mover_fetch(quick->mover, &last, false, quick->fetched, FETCH_MOST, &count));
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++)
            TRY(scan_file(quick, &at, &quick->fetched[i]));
        last = quick->fetched[count - 1];
    }
    while (at < quick->count)
        TRY(finish_shard(quick, at++));
    return sb_gap_table_finish(&quick->gaps);
}

/* Can no file from this one on move, because no gap is left before it? */
static bool is_packed(const struct quick *quick, const struct sb_mover_file *file)
{
    struct sb_gap here = {.shard = file->shard, .offset = file->offset}, gap;

    return !sb_gap_table_first(&quick->gaps, &gap) || !is_before(&gap, &here);
}

/* Moves the file to the first gap that fits, if that is before it. */
static enum sb_code fill_gap(struct quick *quick, const struct sb_mover_file *file)
{
    struct sb_gap here = {.shard = file->shard, .offset = file->offset}, gap;
    struct shard *shard = &quick->shards[file->shard], *target;

    if (!sb_gap_table_take(&quick->gaps, file->size, &here, &gap)) {
        if (shard->stays == 0)
            shard->stays = file->offset + file->size;
        return SB_OK;
    }
    target = &quick->shards[gap.shard];
    if (gap.offset + gap.size > target->comes)
        target->comes = gap.offset + gap.size;
    shard->cut = true;
    quick->moved++;
    quick->counts->moved_files++;
    sb_count_up(&quick->counts->moved_bytes, file->size);
    return move(quick, file, gap.shard, gap.offset);
}

/*
 * Sets the ends of shards after a pass, which reached the file `stop`, or all files (NULL): shards
 * before that are unchanged, but for files that were moved there.
 */
static void settle_ends(struct quick *quick, const struct sb_mover_file *stop)
{
    uint32_t seen = stop ? stop->shard : quick->first;

    if (stop && quick->shards[seen].stays == 0)
        quick->shards[seen].stays = stop->offset + stop->size;
    for (uint32_t i = quick->first; i < quick->count; i++) {
        struct shard *shard = &quick->shards[i];

        if (i >= seen)
            shard->end = shard->stays;
        if (shard->comes > shard->end)
            shard->end = shard->comes;
    }
}

/* Moves some files; *stop is where the pass ends; NULL: not yet. */
static enum sb_code fill_from(struct quick *quick, const struct sb_mover_file *files, size_t count,
                              const struct sb_mover_file **stop)
{
    for (size_t i = 0; i < count; i++) {
        if (files[i].size == 0)
            continue;
        if (files[i].shard < quick->first || is_packed(quick, &files[i]) || is_late(quick)) {
            *stop = &files[i];
            break;
        }
        TRY(fill_gap(quick, &files[i]));
    }
    return SB_OK;
}

/* Moves files from the end, one after the other, each into a gap. */
static enum sb_code fill_gaps(struct quick *quick)
{
    const struct sb_mover_file *before = NULL, *stop = NULL;
    struct sb_mover_file last;
    size_t count;

    quick->moved = 0;
    do {
        quick->time_went = true;
        if (sb_interrupted())
            return sb_fail_interrupt();
        TRY(sb_mover_fetch(quick->mover, before, true, quick->fetched, FETCH_MOST, &count));
        if (count == 0)
            break;
        TRY(fill_from(quick, quick->fetched, count, &stop));
        last = quick->fetched[count - 1];
        before = &last;
    } while (!stop);
    settle_ends(quick, stop && stop->shard >= quick->first ? stop : NULL);
    return flush(quick);
}

/* How many shards remain: at least one, and all that may not be changed. */
static uint32_t count_kept(const struct quick *quick)
{
    uint32_t kept = quick->count, least = quick->first ? quick->first : 1;

    while (kept > least && quick->shards[kept - 1].end == 0)
        kept--;
    return kept;
}

/* Empty files after the end of a shard would keep it: they move to the front of `to`. */
static enum sb_code move_empty(struct quick *quick, uint32_t shard, uint32_t to)
{
    struct sb_mover_file last = {
        .shard = shard, .offset = quick->shards[shard].end, .row = INT64_MAX};
    size_t count = 1;

    if (shard != to)
        last = (struct sb_mover_file){.shard = shard, .offset = -1};
    while (count > 0) {
        TRY(sb_mover_fetch(quick->mover, &last, false, quick->fetched, FETCH_MOST, &count));
        for (size_t i = 0; i < count; i++) {
            if (quick->fetched[i].shard != shard)
                return SB_OK;
            TRY(move(quick, &quick->fetched[i], to, 0));
        }
        if (count > 0)
            last = quick->fetched[count - 1];
    }
    return SB_OK;
}

static enum sb_code shorten(struct quick *quick)
{
    uint32_t kept = count_kept(quick);

    for (uint32_t i = quick->first; i < quick->count; i++) {
        if (quick->shards[i].cut)
            TRY(move_empty(quick, i, i < kept ? i : kept - 1));
    }
    TRY(flush(quick));
    for (uint32_t i = quick->first; i < quick->count; i++) {
        if (quick->shards[i].cut)
            TRY(sb_mover_shorten(quick->mover, i, quick->shards[i].end));
    }
    return sb_mover_drop_empty_shards(quick->mover, kept);
}

static void report(struct quick *quick)
{
    const struct sb_defrag_options *options = quick->options;

    quick->counts->shards_removed = quick->count - count_kept(quick);
    for (uint32_t i = 0; i < quick->count; i++) {
        const struct shard *shard = &quick->shards[i];
        int64_t after = shard->cut ? shard->end : shard->before;

        sb_count_up(&quick->counts->bytes_after, after);
        if (options->shard_done && after != shard->before)
            options->shard_done(options->mover.context, i, shard->before, after);
    }
}

static enum sb_code prepare(struct quick *quick)
{
    quick->count = sb_mover_shard_count(quick->mover);
    quick->first = quick->options->keep_through < quick->count
                       ? (uint32_t)(quick->options->keep_through + 1)
                       : quick->count;
    quick->give_up = now() + quick->options->max_seconds;
    TRY(SB_NEW_ARRAY(&quick->fetched, FETCH_MOST));
    TRY(SB_NEW_ARRAY(&quick->shards, quick->count));
    for (uint32_t i = 0; i < quick->count; i++) {
        quick->shards[i].before = sb_mover_shard_size(quick->mover, i);
        if (i >= quick->first && !quick->options->dry_run)
            TRY(sb_mover_may_write(quick->mover, i));
    }
    return SB_OK;
}

static void release(struct quick *quick)
{
    sb_gap_table_release(&quick->gaps);
    free(quick->shards);
    free(quick->fetched);
}

enum sb_code sb_defrag_quick(struct sb_mover *mover, const struct sb_defrag_options *options,
                             struct sb_defrag_counts *counts)
{
    CLEANUP(release) struct quick quick = {.mover = mover, .options = options, .counts = counts};
    uint32_t kept;

    TRY(prepare(&quick));
    /* A pass makes gaps, also before files that found none: so passes are repeated until one moves
     * nothing. */
    do {
        TRY(scan(&quick));
        TRY(fill_gaps(&quick));
    } while (quick.moved > 0 && !options->dry_run && !counts->out_of_time);
    /* Those that files were moved out of are cut, and the last remaining one with everything after
     * it. */
    kept = count_kept(&quick);
    for (uint32_t i = quick.first; i < quick.count; i++)
        quick.shards[i].cut = quick.shards[i].cut || i + 1 >= kept;
    if (!options->dry_run)
        TRY(shorten(&quick));
    report(&quick);
    return SB_OK;
}
