#include "task/verify/impl.h"

#include "archive/checksum.h"
#include "archive/content.h"
#include "core/number.h"

#include <stdlib.h>

/* A unit that has some of its files so far. */
struct reading {
    struct sb_verify_unit unit;
    uint64_t digest; /* of the rows as they came */
    bool bad;
    bool skipped; /* a part of it has not arrived */
};

/*
 * Files come in the order of their units, and their results in the same order, many files later.
 * Units whose results are pending are in a ring, which grows: as many as have files in the
 * pipeline.
 */
struct sb_verify_units {
    struct verify *verify;
    struct sb_verify_plan *plan;
    struct sb_verify_planned planned;
    struct sb_cursor *cursor; /* over the last unit */
    struct reading *ring;
    size_t capacity;     /* a power of two */
    int64_t first, end;  /* units in it, counted from 0 */
    int64_t watched;     /* defects that are reported belong to a file in this one; -1: to none */
    enum sb_code failed; /* to write the state: nothing is written afterwards */
    struct sb_error failure;
};

enum sb_code sb_verify_units_open(struct verify *verify)
{
    TRY(SB_NEW(&verify->units));
    verify->units->verify = verify;
    verify->units->watched = -1;
    return sb_verify_plan_open(&verify->units->plan, &verify->options->choice, verify->archive);
}

void sb_verify_units_free(struct sb_verify_units *units)
{
    if (!units)
        return;
    sb_cursor_free(units->cursor);
    sb_verify_plan_free(units->plan);
    free(units->ring);
    free(units);
}

static struct reading *at(struct sb_verify_units *units, int64_t unit)
{
    return &units->ring[(size_t)unit & (units->capacity - 1)];
}

static enum sb_code grow(struct sb_verify_units *units)
{
    size_t capacity = units->capacity ? 2 * units->capacity : 64;
    struct reading *ring;

    TRY(SB_NEW_ARRAY(&ring, capacity));
    for (int64_t i = units->first; i < units->end; i++)
        ring[(size_t)i & (capacity - 1)] = *at(units, i);
    free(units->ring);
    units->ring = ring;
    units->capacity = capacity;
    return SB_OK;
}

static enum sb_code begin_unit(struct sb_verify_units *units)
{
    struct sb_verify_unit unit;
    int64_t end;

    TRY(sb_verify_plan_next(units->plan, &unit));
    if (units->end - units->first == (int64_t)units->capacity)
        TRY(grow(units));
    /* After the last possible unit, an address that no file begins at. */
    if (__builtin_mul_overflow(unit.number + 1, SB_VERIFY_UNIT, &end))
        end = INT64_MAX;
    struct sb_query query = {
        .order = SB_BY_ADDRESS,
        .files = true,
        .shard_first = unit.shard,
        .shard_last = unit.shard,
        .offset_first = unit.number * SB_VERIFY_UNIT,
        .offset_end = end,
    };
    *at(units, units->end++) = (struct reading){.unit = unit};
    return sb_cursor_open(&units->cursor, units->verify->archive, &query);
}

/* The next file, SB_END after the last; its strings live until the next call. */
static enum sb_code next_file(struct sb_verify_units *units, struct sb_entry *entry)
{
    enum sb_code code;

    for (;;) {
        if (!units->cursor)
            TRY(begin_unit(units));
        while (!(code = sb_cursor_next(units->cursor, entry))) {
            if (sb_verify_counts(entry)) {
                at(units, units->end - 1)->digest += sb_verify_row_digest(entry);
                return SB_OK;
            }
        }
        if (code != SB_END)
            return code;
        sb_cursor_free(TAKE(units->cursor));
    }
}

/* The unit of the last file. */
static int64_t current_unit(const struct sb_verify_units *units)
{
    return units->end - 1;
}

/* All files of the units before this one were read. */
static void settle(struct sb_verify_units *units, int64_t unit)
{
    const struct sb_verify_events *events = units->verify->events;

    while (units->first < unit) {
        const struct reading *reading = at(units, units->first++);

        if (reading->skipped)
            continue;
        if (events->unit_read)
            events->unit_read(events->context, reading->unit.shard, reading->unit.number);
        if (units->failed == SB_OK)
            units->failed =
                INTO(&units->failure, sb_verify_plan_read(units->plan, &reading->unit,
                                                          reading->digest, reading->bad));
    }
}

static void mark_bad(struct sb_verify_units *units, int64_t unit, const struct sb_defect *defect)
{
    struct reading *reading = at(units, unit);

    reading->bad = true;
    if (units->failed == SB_OK)
        units->failed =
            INTO(&units->failure, sb_verify_plan_found(units->plan, &reading->unit, defect));
}

void sb_verify_units_found(struct sb_verify_units *units, const struct sb_defect *defect)
{
    if (units->watched >= 0)
        mark_bad(units, units->watched, defect);
}

/* The last file cannot be read, which was reported. */
static void mark_unreadable(struct sb_verify_units *units, const struct sb_entry *entry)
{
    struct sb_defect defect = sb_verify_place(entry);

    defect.kind = "bounds";
    defect.text = "its bytes are not within a shard that can be read";
    mark_bad(units, current_unit(units), &defect);
}

/* whole: all files so far were read. Sets the progress. */
static void end_units(struct sb_verify_units *units, bool whole)
{
    const struct verify *verify = units->verify;

    if (whole)
        settle(units, units->end);
    if (units->failed == SB_OK)
        units->failed =
            INTO(&units->failure, sb_verify_plan_end(units->plan, &verify->result->progress));
    if (units->failed != SB_OK)
        sb_report(verify->notify, SB_PROBLEM, "state", NULL,
                  "%s: not all of what was read is remembered", units->failure.text);
}

struct data {
    struct verify *verify;
    struct sb_select *select; /* without units: files of this are read; NULL: all, by `cursor` */
    struct sb_cursor *cursor;
    bool ended;
    int64_t passed; /* bytes, sound or not */
};

/* Skips a file whose shard is missing, or ends before its bytes do. */
static enum sb_code pass_over(struct verify *verify, const struct sb_entry *entry)
{
    struct sb_verify_units *units = verify->units;
    enum sb_code code;

    verify->result->absent++;
    if (units && verify->options->present) {
        at(units, current_unit(units))->skipped = true;
    } else if (units && verify->options->choice.share.index == 0) {
        mark_unreadable(units, entry);
    } else if (units) {
        /* This share has not checked the rows, and the first share may see other shards. */
        units->watched = current_unit(units);
        code = sb_verify_bounds(verify, entry);
        units->watched = -1;
        return code;
    }
    return SB_OK;
}

/* Does this entry have bytes to read? */
static enum sb_code is_wanted(struct verify *verify, const struct sb_entry *entry, bool *wanted)
{
    bool holds;

    *wanted = false;
    TRY(sb_verify_integrity_failure(verify));
    if (entry->type == SB_DIR || entry->defect || entry->size == 0)
        return SB_OK;
    TRY(sb_verify_shard_holds(verify, entry, &holds));
    if (!holds)
        return pass_over(verify, entry);
    *wanted = entry->has & SB_HAS_CRC;
    return SB_OK;
}

static enum sb_code next(void *context, struct sb_checksum_extent *extent)
{
    struct data *data = context;
    struct sb_entry entry;
    bool wanted = false;
    enum sb_code code = data->ended ? SB_END : SB_OK;

    while (code == SB_OK && !wanted) {
        code = data->verify->units ? next_file(data->verify->units, &entry)
               : data->select      ? sb_select_next(data->select, &entry)
                                   : sb_cursor_next(data->cursor, &entry);
        if (code == SB_OK)
            code = is_wanted(data->verify, &entry, &wanted);
    }
    if (code != SB_OK) {
        data->ended = true;
        code = sb_verify_index_failed(data->verify, code);
        return code == SB_OK ? SB_END : code;
    }
    *extent = (struct sb_checksum_extent){
        .shard = entry.shard,
        .offset = entry.offset,
        .size = entry.size,
        .name = entry.path,
        .name_size = entry.path_size,
        .expected = entry.crc32c,
        .id = data->verify->units ? current_unit(data->verify->units) : 0,
    };
    return SB_OK;
}

static enum sb_code no_block(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return SB_OK;
}

/*
 * The index was changed since it was read: a defrag may have moved the bytes. *good: they are right
 * at their place in the current index, or the name is gone.
 */
static enum sb_code look_again(struct verify *verify, const struct sb_checksum_extent *extent,
                               bool *good)
{
    struct sb_entry entry = {.path = extent->name, .path_size = extent->name_size};
    enum sb_code code = SB_CHANGED;

    *good = false;
    /* Again each time that a writer moves the file while it is read. */
    for (int i = 0; i < SB_VERIFY_MOVES_MOST && code == SB_CHANGED; i++) {
        code = sb_content_find(verify->content, &entry);
        if (code == SB_CHANGED)
            break;
        if (code == SB_OK)
            code = sb_content_stream_sparse(verify->content, &entry, true, no_block, NULL);
    }
    if (code == SB_CHANGED && sb_archive_still_current(verify->archive))
        return sb_error()->code;
    *good = code == SB_OK || code == SB_CHANGED;
    return code == SB_NOMEM || code == SB_INTERRUPT ? code : SB_OK;
}

static enum sb_code report_data(struct verify *verify, const struct sb_checksum_extent *extent,
                                uint32_t crc, const struct sb_error *failure)
{
    struct sb_defect place = sb_defect_of(extent->name, extent->name_size);
    bool moved, good;

    place.shard = extent->shard;
    place.offset = extent->offset;
    TRY(sb_archive_still_current(verify->archive));
    TRY(sb_verify_index_moved(verify, &moved));
    if (moved) {
        TRY(look_again(verify, extent, &good));
        if (good)
            return SB_OK;
    }
    if (failure)
        sb_verify_defect(&verify->own, SB_REMEDY_SHARDS, "unreadable", place, "%s", failure->text);
    else
        sb_verify_defect(&verify->own, SB_REMEDY_SHARDS, "checksum", place,
                         "its %lld bytes at %lld in shard %u have CRC32C %08x, the index says %08x",
                         (long long)extent->size, (long long)extent->offset, extent->shard, crc,
                         extent->expected);
    return SB_OK;
}

static enum sb_code done(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                         const struct sb_error *failure)
{
    struct data *data = context;
    struct verify *verify = data->verify;
    struct sb_verify_units *units = verify->units;
    enum sb_code code;

    if (units)
        settle(units, extent->id);
    if (!failure && crc == extent->expected) {
        verify->result->files_read++;
        sb_count_up(&verify->result->bytes_read, extent->size);
        return SB_OK;
    }
    if (units)
        units->watched = extent->id;
    code = report_data(verify, extent, crc, failure);
    if (units)
        units->watched = -1;
    return code;
}

static void passed(void *context, int64_t size)
{
    struct data *data = context;
    const struct verify *verify = data->verify;
    const struct sb_verify_events *events = verify->events;

    sb_count_up(&data->passed, size);
    if (events->progress)
        events->progress(events->context, data->passed,
                         verify->units ? verify->units->planned.bytes : verify->result->bytes,
                         verify->result->files_read);
}

/* Plans what is read of the chosen files; an index that ends early is a defect. */
static enum sb_code plan_units(struct verify *verify)
{
    const struct sb_verify_choice *choice = &verify->options->choice;
    struct sb_verify_planned *planned = &verify->units->planned;
    enum sb_code code = sb_verify_index_failed(
        verify, sb_verify_plan_make(verify->units->plan, verify->archive, verify->shards, planned));

    if (planned->unknown)
        verify->result->index_unfinished = true;
    /* The first share has counted them all. */
    if (choice->share.index > 0)
        verify->result->files = planned->files;
    if (!code && planned->files == 0 && choice->has_shards && choice->share.count <= 1 &&
        !verify->result->index_unfinished)
        sb_report(verify->notify, SB_PROBLEM, "missing", sb_archive_path(verify->archive),
                  "no file has bytes and a checksum in the requested shards");
    verify->result->index_ms = sb_verify_clock() - verify->started;
    return code;
}

/* Begins to read the chosen files, those of the selection, or all. */
static enum sb_code open_files(struct data *data)
{
    struct verify *verify = data->verify;
    struct sb_query query = {.order = SB_BY_ADDRESS,
                             .files = true,
                             .all_shards = true,
                             .extents = verify->rows_are_sound};

    if (verify->units)
        return plan_units(verify);
    TRY(sb_verify_select(verify, &data->select));
    return data->select ? SB_OK : sb_cursor_open(&data->cursor, verify->archive, &query);
}

enum sb_code sb_verify_data(struct verify *verify)
{
    static const struct sb_checksum_ops ops = {.next = next, .done = done, .passed = passed};
    struct data data = {.verify = verify};
    enum sb_code code = open_files(&data);

    if (code) {
        code = sb_verify_index_failed(verify, code);
    } else {
        code = sb_checksum(verify->shards, &ops, &data, verify->options->threads);
        if (verify->units)
            end_units(verify->units, code == SB_OK);
    }
    sb_select_free(data.select);
    sb_cursor_free(data.cursor);
    return code;
}
