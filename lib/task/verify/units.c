#include "task/verify/impl.h"
#include "task/verify/plan.h"

#include <stdlib.h>
#include <string.h>

/* A unit that has some of its files so far. */
struct reading {
    struct sb_verify_unit unit;
    uint64_t digest; /* of the rows as they came */
    bool bad;
    bool skipped; /* a part of it has not arrived */
};

/* Units whose results are pending are in a ring, which grows: as many as have files in the
 * pipeline.
 */
struct sb_verify_units {
    struct verify *verify;
    struct sb_verify_plan *plan;
    struct sb_cursor *cursor; /* over the last unit */
    struct reading *ring;
    size_t capacity;     /* a power of two */
    int64_t first, end;  /* units in it, counted from 0 */
    int64_t watched;     /* -1: none */
    enum sb_code failed; /* to write the state: nothing is written afterwards */
    struct sb_error failure;
};

enum sb_code sb_verify_units_open(struct sb_verify_units **out, struct verify *verify)
{
    struct sb_verify_units *units = calloc(1, sizeof(*units));

    *out = units;
    if (!units)
        return sb_fail_memory();
    units->verify = verify;
    units->watched = -1;
    return sb_verify_plan_open(&units->plan, &verify->options->choice, verify->archive);
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

struct sb_verify_plan *sb_verify_units_plan(const struct sb_verify_units *units)
{
    return units->plan;
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

enum sb_code sb_verify_units_next(struct sb_verify_units *units, struct sb_entry *entry)
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

int64_t sb_verify_units_current(const struct sb_verify_units *units)
{
    return units->end - 1;
}

/* If the state cannot be written, reading goes on. */
void sb_verify_units_settle(struct sb_verify_units *units, int64_t unit)
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

void sb_verify_units_watch(struct sb_verify_units *units, int64_t unit)
{
    units->watched = unit;
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

void sb_verify_units_unreadable(struct sb_verify_units *units, const struct sb_entry *entry)
{
    mark_bad(units, units->end - 1,
             &(struct sb_defect){.kind = "bounds",
                                 .path = entry->path,
                                 .path_size = entry->path_size,
                                 .shard = entry->shard,
                                 .offset = entry->offset,
                                 .text = "its bytes are not within a shard that can be read"});
}

void sb_verify_units_pass_over(struct sb_verify_units *units)
{
    at(units, units->end - 1)->skipped = true;
}

void sb_verify_units_end(struct sb_verify_units *units, bool whole)
{
    const struct verify *verify = units->verify;

    if (whole)
        sb_verify_units_settle(units, units->end);
    if (units->failed == SB_OK)
        units->failed =
            INTO(&units->failure, sb_verify_plan_end(units->plan, &verify->result->progress));
    if (units->failed != SB_OK)
        sb_report(verify->notify, SB_PROBLEM, "state", NULL,
                  "%s: not all of what was read is remembered", units->failure.text);
}
