#include "task/occupancy.h"

/* The shard that the scan is in. */
struct tally {
    struct sb_shards *shards;
    struct sb_shard_use use;
    int64_t end; /* of all extents so far */
    enum sb_code (*each)(void *context, const struct sb_shard_use *use, struct sb_error *err);
    void *context;
};

static enum sb_code look_at_file(struct tally *tally, struct sb_error *err)
{
    struct stat st;
    enum sb_code code = sb_shards_stat(tally->shards, tally->use.shard, &st, err);

    tally->use.present = !code;
    if (!code)
        tally->use.size = st.st_size;
    /* What is no regular file is as good as not there. */
    return code == SB_NOENT || code == SB_FORMAT ? SB_OK : code;
}

/* Tells of the present shard and goes on to the next. */
static enum sb_code finish(struct tally *tally, struct sb_error *err)
{
    enum sb_code code;

    tally->use.size = tally->end;
    code = look_at_file(tally, err);
    if (code)
        return code;
    tally->use.gaps = tally->use.size > tally->use.used ? tally->use.size - tally->use.used : 0;
    if (tally->use.present || tally->use.files > 0)
        code = tally->each(tally->context, &tally->use, err);
    tally->use = (struct sb_shard_use){.shard = tally->use.shard + 1};
    tally->end = 0;
    return code;
}

static enum sb_code add(struct tally *tally, const struct sb_entry *entry, struct sb_error *err)
{
    int64_t begin = entry->offset, end = entry->offset + entry->size;
    enum sb_code code = SB_OK;

    while (!code && tally->use.shard < entry->shard)
        code = finish(tally, err);
    if (code)
        return code;
    if (begin < tally->end)
        begin = tally->end;
    if (end > begin)
        tally->use.used += end - begin;
    if (end > tally->end)
        tally->end = end;
    tally->use.files++;
    return SB_OK;
}

/* Shards behind the last one that a row names: empty, or wholly gaps. */
static enum sb_code finish_rest(struct tally *tally, struct sb_error *err)
{
    enum sb_code code = tally->use.files ? finish(tally, err) : SB_OK;
    struct stat st;

    while (!code && tally->use.shard <= SB_SHARD_MAX &&
           sb_shards_stat(tally->shards, tally->use.shard, &st, err) == SB_OK)
        code = finish(tally, err);
    return code;
}

enum sb_code sb_occupancy(struct sb_archive *archive, struct sb_shards *shards,
                          enum sb_code (*each)(void *context, const struct sb_shard_use *use,
                                               struct sb_error *err),
                          void (*defect)(void *context, const struct sb_entry *entry),
                          void *context, struct sb_error *err)
{
    struct sb_query query = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct tally tally = {.shards = shards, .each = each, .context = context};
    struct sb_cursor *cursor;
    struct sb_entry entry;
    enum sb_code code;

    code = sb_cursor_open(&cursor, archive, &query, err);
    if (code)
        return code;
    while (!(code = sb_cursor_next(cursor, &entry, err))) {
        if (!entry.defect)
            code = add(&tally, &entry, err);
        else if (defect)
            defect(context, &entry);
        if (code)
            break;
    }
    sb_cursor_free(cursor);
    return code == SB_END ? finish_rest(&tally, err) : code;
}
