#include "task/fetch/occupancy.h"

#include "core/number.h"

#include <stdlib.h>

/*
 * How many scans are dropped because the index changed, before one is accepted that is of no single
 * moment.
 */
#define SCANS_MOST 5

struct shard {
    struct sb_shard_use use;
    int64_t end; /* of all extents so far */
};

struct tally {
    struct shard *shards; /* by number */
    size_t count, capacity;
    bool steady;      /* files come by address */
    int64_t defects;  /* found in this scan */
    int64_t reported; /* and in any scan, and reported */
};

static enum sb_code add(struct tally *tally, const struct sb_entry *entry)
{
    int64_t begin = entry->offset, end = entry->offset + entry->size;
    struct shard *shard;

    TRY(sb_grow(&tally->shards, &tally->capacity, entry->shard, sizeof(*tally->shards)));
    for (; tally->count <= entry->shard; tally->count++)
        tally->shards[tally->count] = (struct shard){.use.shard = (uint32_t)tally->count};
    shard = &tally->shards[entry->shard];
    if (tally->steady && begin < shard->end)
        begin = shard->end;
    if (end > begin)
        sb_count_up(&shard->use.used, end - begin);
    if (end > shard->end)
        shard->end = end;
    shard->use.files++;
    return SB_OK;
}

static enum sb_code scan(struct tally *tally, struct sb_archive *archive,
                         void (*defect)(void *context, const struct sb_entry *entry), void *context)
{
    struct sb_query query = {
        .order = SB_BY_ADDRESS, .files = true, .all_shards = true, .steady = tally->steady};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    tally->count = 0;
    tally->defects = 0;
    TRY(sb_cursor_open(&cursor, archive, &query));
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK) {
        if (!entry.defect) {
            TRY(add(tally, &entry));
        } else if (tally->defects++ == tally->reported) {
            tally->reported++;
            if (defect)
                defect(context, &entry);
        }
    }
    return code == SB_END ? SB_OK : code;
}

/* *there: its file exists, or a file in it. */
static enum sb_code look_at_file(struct sb_shards *shards, struct shard *shard, bool *there)
{
    struct sb_shard_use *use = &shard->use;
    struct stat st;
    enum sb_code code = sb_shards_stat(shards, use->shard, &st);

    use->present = !code;
    use->size = code ? shard->end : st.st_size;
    use->gaps = use->size > use->used ? use->size - use->used : 0;
    *there = use->present || use->files > 0;
    /* A file that is not regular counts as missing. */
    return code == SB_NOENT || code == SB_FORMAT ? SB_OK : code;
}

static enum sb_code pass_shards(struct tally *tally, struct sb_shards *shards,
                                enum sb_code (*each)(void *context, const struct sb_shard_use *use),
                                void *context)
{
    bool there = true;

    /* After the last shard that a row names there may be empty ones, or ones that are one gap. */
    for (uint32_t i = 0; i <= SB_SHARD_MAX && (there || i < tally->count); i++) {
        struct shard beyond = {.use.shard = i};
        struct shard *shard = i < tally->count ? &tally->shards[i] : &beyond;

        TRY(look_at_file(shards, shard, &there));
        if (there)
            TRY(each(context, &shard->use));
    }
    return SB_OK;
}

enum sb_code sb_occupancy(struct sb_archive *archive, struct sb_shards *shards,
                          enum sb_code (*each)(void *context, const struct sb_shard_use *use),
                          void (*defect)(void *context, const struct sb_entry *entry),
                          void *context)
{
    struct tally tally = {.steady = true};
    enum sb_code code = SB_CHANGED;

    for (int scans = 0; code == SB_CHANGED && scans <= SCANS_MOST; scans++) {
        tally.steady = scans < SCANS_MOST;
        code = scan(&tally, archive, defect, context);
    }
    if (!code)
        code = pass_shards(&tally, shards, each, context);
    free(tally.shards);
    return code;
}
