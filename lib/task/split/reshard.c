#include "task/split/split.h"

#include "archive/config.h"
#include "archive/mover/renumber.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "task/restore/restore.h"

#include <stdbool.h>
#include <stdlib.h>

void sb_shard_layout_release(struct sb_shard_layout *layout)
{
    free(layout->bytes);
}

static enum sb_code begin_shard(struct sb_shard_layout *layout)
{
    if (layout->count > SB_SHARD_MAX)
        return sb_fail(SB_LIMIT, "more than %d shards; give a larger shard size", SB_SHARD_MAX + 1);
    TRY(sb_grow(&layout->bytes, &layout->capacity, layout->count, sizeof(*layout->bytes)));
    layout->bytes[layout->count++] = 0;
    return SB_OK;
}

enum sb_code sb_shard_layout_add(struct sb_shard_layout *layout, const struct sb_mover_file *file,
                                 struct sb_shard_place *place)
{
    int64_t *bytes;

    *place = sb_shard_layout_end(layout);
    if (file->size == 0)
        return SB_OK;
    if (layout->count == 0 || file->size > layout->limit - place->offset)
        TRY(begin_shard(layout));
    bytes = &layout->bytes[layout->count - 1];
    *place = (struct sb_shard_place){.shard = layout->count - 1, .offset = *bytes};
    sb_count_up(bytes, file->size);
    if (!layout->moved && (file->shard != place->shard || file->offset != place->offset)) {
        layout->moved = true;
        layout->kept = place->shard;
    }
    return SB_OK;
}

uint32_t sb_shard_layout_count(const struct sb_shard_layout *layout)
{
    return layout->count ? layout->count : 1;
}

int64_t sb_shard_layout_bytes(const struct sb_shard_layout *layout, uint32_t shard)
{
    return shard < layout->count ? layout->bytes[shard] : 0;
}

uint32_t sb_shard_layout_kept(const struct sb_shard_layout *layout)
{
    return layout->moved ? layout->kept : sb_shard_layout_count(layout);
}

struct sb_shard_place sb_shard_layout_end(const struct sb_shard_layout *layout)
{
    uint32_t last = sb_shard_layout_count(layout) - 1;

    return (struct sb_shard_place){.shard = last, .offset = sb_shard_layout_bytes(layout, last)};
}

void sb_shard_layout_back(const struct sb_shard_layout *layout, struct sb_shard_place *place,
                          int64_t size)
{
    if (place->offset == 0 && place->shard > 0 && size > 0) {
        place->shard--;
        place->offset = sb_shard_layout_bytes(layout, place->shard);
    }
    place->offset -= size;
}

#define FETCH_MOST 1024

/* A file to be queued, and its new place. */
struct waiting {
    struct sb_mover_file file;
    struct sb_shard_place to;
};

struct reshard {
    const char *archive;
    const struct sb_reshard_options *options;
    struct sb_reshard_counts *counts;
    struct sb_mover *mover;
    struct sb_shard_layout layout;

    struct sb_renumbering numbers;
    bool resumed;     /* the rows that a killed run moved are in their places */
    bool under_way;   /* there is a config row for it, valid or not */
    uint32_t emptied; /* of the old shards, those from this one on are empty */

    struct sb_mover_file *fetched;
    struct waiting *batch; /* from the last file to the first */
    size_t waiting;
    int64_t waiting_bytes;
};

static enum sb_code fetch(struct reshard *work, const struct sb_mover_file *from, bool backwards,
                          size_t *count)
{
    return sb_interrupted()
               ? sb_fail_interrupt()
               : sb_mover_fetch(work->mover, from, backwards, work->fetched, FETCH_MOST, count);
}

/* Is the file in its final place, in a new shard? */
static bool was_moved(const struct sb_renumbering *numbers, const struct sb_mover_file *file,
                      const struct sb_shard_place *place)
{
    return place->shard >= numbers->from &&
           file->shard - numbers->to == place->shard - numbers->from &&
           file->offset == place->offset;
}

/* Lays all files out, and decides whether a killed run can be continued. */
static enum sb_code lay_out(struct reshard *work)
{
    const struct sb_mover_file *after = NULL;
    struct sb_mover_file last;
    struct sb_shard_place place;
    size_t count;

    for (;;) {
        TRY(fetch(work, after, false, &count));
        if (count == 0)
            return SB_OK;
        for (size_t i = 0; i < count; i++) {
            const struct sb_mover_file *file = &work->fetched[i];

            TRY(sb_shard_layout_add(&work->layout, file, &place));
            if (file->size > 0 && file->shard >= work->numbers.to)
                work->resumed = work->resumed && was_moved(&work->numbers, file, &place);
        }
        last = work->fetched[count - 1];
        after = &last;
    }
}

/* Decides where new shards begin: as the killed run did, or after all existing ones. */
static enum sb_code choose_numbers(struct reshard *work)
{
    uint32_t existing = sb_mover_shard_count(work->mover);
    uint32_t count = sb_shard_layout_count(&work->layout);
    uint32_t kept = sb_shard_layout_kept(&work->layout);
    uint32_t most = existing > count ? existing : count;

    /* Shards that a killed run had renumbered are among those that are kept now. */
    if (kept < work->numbers.from || work->numbers.to > most ||
        work->numbers.to + (kept - work->numbers.from) < count)
        work->resumed = false;
    if (work->resumed)
        work->numbers.to += kept - work->numbers.from;
    else
        work->numbers.to = most;
    work->numbers.from = kept;
    if (work->numbers.to + (count - kept) > SB_SHARD_MAX + 1)
        return sb_fail(SB_LIMIT,
                       "%s: %u shards are there and %u are to be made, more than there are numbers "
                       "for; give a larger shard size",
                       work->archive, work->numbers.to, count - kept);
    work->emptied = work->numbers.to < existing ? work->numbers.to : existing;
    return SB_OK;
}

static enum sb_code plan(struct reshard *work)
{
    TRY(sb_renumbering_read(sb_mover_database(work->mover), &work->numbers, &work->under_way));
    work->resumed = work->under_way;
    if (!work->under_way)
        work->numbers = (struct sb_renumbering){.to = UINT32_MAX};
    TRY(lay_out(work));
    return choose_numbers(work);
}

/* Are files moved out of this shard, or is it cut? */
static bool is_changed(const struct reshard *work, uint32_t shard)
{
    return shard >= work->numbers.from ||
           sb_mover_shard_size(work->mover, shard) > sb_shard_layout_bytes(&work->layout, shard);
}

/*
 * Moves the files of the batch, in the order of their addresses, so that adjacent ones are copied
 * as one.
 */
static enum sb_code move_batch(struct reshard *work)
{
    const struct sb_mover_file *first = NULL;

    if (work->waiting == 0)
        return SB_OK;
    for (size_t i = work->waiting; i-- > 0;) {
        const struct waiting *waiting = &work->batch[i];

        if (waiting->file.size > 0 && !first)
            first = &waiting->file;
        TRY(sb_mover_move(work->mover, &waiting->file, waiting->to.shard, waiting->to.offset));
    }
    TRY(sb_mover_commit(work->mover));
    /* Shards that files were moved out of are cut. */
    while (first && work->emptied > first->shard + 1)
        TRY(sb_mover_shorten(work->mover, --work->emptied, 0));
    if (first)
        TRY(sb_mover_shorten(work->mover, first->shard, first->offset));
    work->waiting = 0;
    work->waiting_bytes = 0;
    return SB_OK;
}

static enum sb_code add_to_batch(struct reshard *work, const struct sb_mover_file *file,
                                 const struct sb_shard_place *to)
{
    bool full = work->waiting == SB_MOVER_FILES ||
                (work->waiting_bytes > 0 && file->size > SB_MOVER_BYTES - work->waiting_bytes);

    work->counts->moved_files++;
    sb_count_up(&work->counts->moved_bytes, file->size);
    if (work->options->dry_run)
        return SB_OK;
    if (full)
        TRY(move_batch(work));
    work->batch[work->waiting++] = (struct waiting){.file = *file, .to = *to};
    sb_count_up(&work->waiting_bytes, file->size);
    return SB_OK;
}

/* An empty file may be anywhere in the final shards. */
static bool is_well_placed(const struct reshard *work, const struct sb_mover_file *file,
                           const struct sb_shard_place *to)
{
    if (file->size > 0)
        return file->shard == to->shard && file->offset == to->offset;
    if (file->shard < work->numbers.from)
        return file->offset <= sb_shard_layout_bytes(&work->layout, file->shard);
    return file->shard == to->shard && file->offset == 0;
}

/* The place of a file until shards are renumbered. */
static struct sb_shard_place place_now(const struct reshard *work, const struct sb_mover_file *file,
                                       struct sb_shard_place place)
{
    if (place.shard >= work->numbers.from)
        place.shard += work->numbers.to - work->numbers.from;
    if (file->size == 0)
        place.offset = 0;
    return place;
}

/*
 * From the last file to the first that stays: so the free space that is needed is that of one
 * batch, and the files always keep their order.
 */
static enum sb_code move_files(struct reshard *work)
{
    struct sb_shard_place place = sb_shard_layout_end(&work->layout), to;
    const struct sb_mover_file *before = NULL;
    struct sb_mover_file last;
    size_t count;

    for (;;) {
        TRY(fetch(work, before, true, &count));
        for (size_t i = 0; i < count; i++) {
            const struct sb_mover_file *file = &work->fetched[i];

            sb_shard_layout_back(&work->layout, &place, file->size);
            if (file->size > 0 && place.shard < work->numbers.from)
                return move_batch(work);
            to = place_now(work, file, place);
            if (!is_well_placed(work, file, &to))
                TRY(add_to_batch(work, file, &to));
        }
        if (count == 0)
            return move_batch(work);
        last = work->fetched[count - 1];
        before = &last;
    }
}

/*
 * Cuts off what is after the files, in shards that stay and in new ones: files may have been
 * removed there since a run was killed.
 */
static enum sb_code cut_ends(struct reshard *work)
{
    uint32_t count = sb_shard_layout_count(&work->layout), shard;

    for (uint32_t i = 0; i < count; i++) {
        shard = i < work->numbers.from ? i : work->numbers.to + (i - work->numbers.from);
        TRY(sb_mover_shorten(work->mover, shard, sb_shard_layout_bytes(&work->layout, i)));
    }
    return SB_OK;
}

static enum sb_code rearrange(struct reshard *work)
{
    uint32_t made = sb_shard_layout_count(&work->layout) - work->numbers.from;
    uint32_t wanted = work->numbers.to + made, existing = sb_mover_shard_count(work->mover);

    for (uint32_t i = 0; i < existing; i++) {
        if (is_changed(work, i))
            TRY(sb_mover_may_write(work->mover, i));
    }
    TRY(sb_renumbering_begin(work->mover, &work->numbers, work->options->shard_size));
    /* Also if they exist: a killed run may have made them without recording it. */
    TRY(sb_mover_add_shards(work->mover, wanted > existing ? wanted - existing : 0));
    TRY(move_files(work));
    TRY(cut_ends(work));
    return sb_renumbering_finish(work->mover, &work->numbers, made);
}

/* Does every shard conform, and is there none too many? */
static bool conforms(const struct reshard *work)
{
    uint32_t existing = sb_mover_shard_count(work->mover);

    if (work->under_way || work->numbers.from != existing)
        return false;
    for (uint32_t i = 0; i < existing; i++) {
        if (is_changed(work, i))
            return false;
    }
    return true;
}

static enum sb_code reshard(struct reshard *work)
{
    int64_t limit;

    TRY(plan(work));
    work->counts->shards_before = sb_mover_shard_count(work->mover);
    work->counts->shards_after = sb_shard_layout_count(&work->layout);
    if (work->options->dry_run)
        return move_files(work);
    TRY(sb_config_number(sb_mover_database(work->mover), SB_CONFIG_SHARD_SIZE, INT64_MAX, &limit));
    if (conforms(work) && limit == work->options->shard_size)
        return SB_OK;
    return rearrange(work);
}

static void release(struct reshard *work)
{
    sb_mover_free(work->mover);
    sb_shard_layout_release(&work->layout);
    free(work->batch);
    free(work->fetched);
}

enum sb_code sb_reshard(const char *archive, const struct sb_reshard_options *options,
                        struct sb_reshard_counts *counts)
{
    struct sb_mover_options mover_options = options->mover;
    CLEANUP(release)
    struct reshard work = {.archive = archive,
                           .options = options,
                           .counts = counts,
                           .layout.limit = options->shard_size};

    *counts = (struct sb_reshard_counts){0};
    if (options->shard_size <= 0)
        return sb_fail(SB_INVALID, "%s: a shard of no bytes holds nothing; give another size",
                       archive);
    mover_options.dry_run = options->dry_run;
    if (!options->dry_run)
        TRY(sb_restore_first(archive, options->mover.notify));
    TRY(SB_NEW_ARRAY(&work.fetched, FETCH_MOST));
    TRY(SB_NEW_ARRAY(&work.batch, SB_MOVER_FILES));
    TRY(sb_mover_open(&work.mover, archive, &mover_options));
    return reshard(&work);
}
