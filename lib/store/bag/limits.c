#include "store/bag/impl.h"

#include "core/io.h"
#include "core/pace.h"
#include "core/pipeline.h"

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS_MORE 3
#define BLOCKS     2048

struct block {
    uint32_t shard;
    int64_t number;
    size_t count;
    uint64_t *limits; /* SB_LIMIT_BLOCK; NULL: never used */
};

struct sb_limit_cache {
    pthread_mutex_t mutex;
    struct block blocks[BLOCKS]; /* each where its shard and number lead */
};

enum sb_code sb_limit_cache_new(struct sb_limit_cache **out)
{
    struct sb_limit_cache *cache = calloc(1, sizeof(*cache));

    *out = cache;
    if (!cache)
        return sb_fail_memory();
    pthread_mutex_init(&cache->mutex, NULL);
    return SB_OK;
}

void sb_limit_cache_free(struct sb_limit_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < BLOCKS; i++)
        free(cache->blocks[i].limits);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* Shards of one set are alike in size, so that their blocks are spread by an odd stride. */
static struct block *place_of(struct sb_limit_cache *cache, uint32_t shard, int64_t number)
{
    return &cache->blocks[((uint64_t)number + (uint64_t)shard * 37) % BLOCKS];
}

bool sb_limit_cache_get(struct sb_limit_cache *cache, uint32_t shard, int64_t block, size_t at,
                        uint64_t *out, size_t count)
{
    const struct block *place = place_of(cache, shard, block);
    bool kept;

    pthread_mutex_lock(&cache->mutex);
    kept = place->limits && place->shard == shard && place->number == block &&
           at + count <= place->count;
    if (kept)
        memcpy(out, place->limits + at, count * sizeof(*out));
    pthread_mutex_unlock(&cache->mutex);
    return kept;
}

void sb_limit_cache_keep(struct sb_limit_cache *cache, uint32_t shard, int64_t block,
                         const uint64_t *limits, size_t count)
{
    struct block *place = place_of(cache, shard, block);

    pthread_mutex_lock(&cache->mutex);
    if (!place->limits)
        place->limits = malloc(SB_LIMIT_BLOCK * sizeof(*limits));
    if (place->limits) {
        memcpy(place->limits, limits, count * sizeof(*limits));
        place->shard = shard;
        place->number = block;
        place->count = count;
    }
    pthread_mutex_unlock(&cache->mutex);
}

enum sb_code sb_bag_read_limits(struct sb_bag *bag, uint32_t shard, int64_t first, uint64_t *out,
                                size_t count)
{
    const struct sb_bag_shard *s = &bag->shards[shard];
    enum sb_bag_part part = s->separate ? SB_BAG_LIMITS : SB_BAG_RECORDS;
    int64_t base = s->separate ? 0 : s->bytes;

    TRY(sb_bag_file_read(bag, shard, part, base + first * SB_LIMIT_SIZE, out,
                         count * SB_LIMIT_SIZE));
    for (size_t i = 0; i < count; i++)
        out[i] = le64toh(out[i]);
    return s->separate ? SB_OK : sb_bag_file_settled(bag, shard);
}

static enum sb_code read_block(struct sb_bag *bag, uint32_t shard, int64_t block, size_t at,
                               uint64_t *out, size_t count)
{
    uint64_t limits[SB_LIMIT_BLOCK];
    int64_t first = block * (int64_t)SB_LIMIT_BLOCK, left = bag->shards[shard].records - first;
    size_t size = left < (int64_t)SB_LIMIT_BLOCK ? (size_t)left : SB_LIMIT_BLOCK;

    TRY(sb_bag_read_limits(bag, shard, first, limits, size));
    sb_limit_cache_keep(bag->limit_cache, shard, block, limits, size);
    memcpy(out, limits + at, count * sizeof(*out));
    return SB_OK;
}

enum sb_code sb_bag_pick_limits(struct sb_bag *bag, uint32_t shard, int64_t first, uint64_t *out,
                                size_t count)
{
    while (count > 0) {
        int64_t block = first / (int64_t)SB_LIMIT_BLOCK;
        size_t at = (size_t)(first % (int64_t)SB_LIMIT_BLOCK), n = SB_LIMIT_BLOCK - at;

        if (n > count)
            n = count;
        if (!sb_limit_cache_get(bag->limit_cache, shard, block, at, out, n))
            TRY(read_block(bag, shard, block, at, out, n));
        out += n;
        first += (int64_t)n;
        count -= n;
    }
    return SB_OK;
}

/* Limits at the tail: the last of them says where they begin. */
static enum sb_code find_tail(struct sb_bag *bag, uint32_t shard)
{
    struct sb_bag_shard *s = &bag->shards[shard];
    int64_t size = bag->files[shard][SB_BAG_RECORDS].size, last_at = size - SB_LIMIT_SIZE;
    uint64_t last;

    if (size == 0)
        return SB_OK;
    if (last_at < 0)
        return sb_fail(SB_FORMAT, "%s: is no bag: it has only %lld bytes", s->path,
                       (long long)size);
    TRY(sb_bag_file_read(bag, shard, SB_BAG_RECORDS, last_at, &last, sizeof(last)));
    TRY(sb_bag_file_settled(bag, shard));
    last = le64toh(last);
    if (last > (uint64_t)last_at)
        return sb_fail(SB_FORMAT,
                       "%s: is no bag, or was cut: its last 8 bytes say that records end at byte "
                       "%llu of %lld",
                       s->path, (unsigned long long)last, (long long)size);
    s->bytes = (int64_t)last;
    if ((size - s->bytes) % SB_LIMIT_SIZE != 0)
        return sb_fail(SB_FORMAT,
                       "%s: is no bag, or was cut: its limits take %lld bytes, which is no "
                       "multiple of 8",
                       s->path, (long long)(size - s->bytes));
    s->records = (size - s->bytes) / SB_LIMIT_SIZE;
    return SB_OK;
}

/* How many limits, from the first on, are within the records' file. They are taken to increase:
 * whether they do is seen when they are used. */
static enum sb_code count_within(struct sb_bag *bag, uint32_t shard, int64_t *count)
{
    const struct sb_bag_shard *s = &bag->shards[shard];
    int64_t low = 0, high = s->records, middle;
    uint64_t limit;

    while (low < high) {
        /* The last is looked at first: usually it is within. */
        middle = high == s->records ? high - 1 : low + (high - low) / 2;
        TRY(sb_bag_read_limits(bag, shard, middle, &limit, 1));
        if (limit <= (uint64_t)s->bytes)
            low = middle + 1;
        else
            high = middle;
    }
    *count = low;
    return SB_OK;
}

static enum sb_code find_separate(struct sb_bag *bag, uint32_t shard,
                                  const struct sb_notify *notify)
{
    struct sb_bag_shard *s = &bag->shards[shard];
    int64_t size = bag->files[shard][SB_BAG_LIMITS].size, within = 0;

    s->separate = true;
    s->bytes = bag->files[shard][SB_BAG_RECORDS].size;
    s->records = size / SB_LIMIT_SIZE;
    TRY(count_within(bag, shard, &within));
    if (within < s->records || size % SB_LIMIT_SIZE != 0)
        sb_report(notify, SB_PROBLEM, "unfinished", s->path,
                  "its writing was broken off: of %lld records in its limits file, the first %lld "
                  "are there",
                  (long long)s->records, (long long)within);
    s->records = within;
    return SB_OK;
}

static enum sb_code find_limits(struct sb_bag *bag, uint32_t shard, const struct sb_notify *notify)
{
    bool named = true;
    enum sb_code code;

    /* What an earlier look found is no longer so. */
    bag->shards[shard].separate = false;
    bag->shards[shard].bytes = bag->shards[shard].records = 0;
    TRY(sb_bag_file_open(bag, shard, SB_BAG_RECORDS));
    if (bag->unnamed || bag->options.limits == SB_LIMITS_TAIL)
        return find_tail(bag, shard);
    code = sb_bag_file_open(bag, shard, SB_BAG_LIMITS);
    if (code == SB_NOENT && bag->options.limits != SB_LIMITS_SEPARATE)
        return find_tail(bag, shard);
    TRY(code);
    /* A file that was open before may have been replaced, with its limits. */
    if (bag->file)
        TRY(sb_is_named(bag->file->fd, bag->shards[shard].path, &named));
    if (!named)
        return sb_fail(SB_CHANGED, "%s: was replaced while it was opened", bag->file->name);
    return find_separate(bag, shard, notify);
}

enum sb_code sb_bag_find_limits(struct sb_bag *bag, uint32_t shard, const struct sb_notify *notify)
{
    enum sb_code code = find_limits(bag, shard, notify);

    /* An append may have begun or ended just now: the next look sees either, as it looks at what is
     * there by then. */
    for (int again = 0; code == SB_CHANGED && again < LOOKS_MORE; again++) {
        if (!bag->unnamed) {
            sb_file_free(bag->file);
            bag->file = NULL;
        }
        code = find_limits(bag, shard, notify);
    }
    return code;
}

struct ahead {
    struct sb_bag *bag;
    const int64_t *records;
    size_t next, count;
};

struct slot {
    size_t from, to;
};

static enum sb_code fill(void *context, void *slot_)
{
    struct ahead *ahead = context;
    struct slot *slot = slot_;

    if (ahead->next == ahead->count)
        return SB_END;
    slot->from = ahead->next;
    slot->to = ahead->count - slot->from < SB_PACE_FEW ? ahead->count : slot->from + SB_PACE_FEW;
    ahead->next = slot->to;
    return SB_OK;
}

static enum sb_code work(void *context, void *slot_, struct sb_pipeline *turns)
{
    const struct ahead *ahead = context;
    const struct slot *slot = slot_;

    (void)turns;
    for (size_t i = slot->from; i < slot->to; i++) {
        struct sb_place place = sb_bag_place_of(ahead->bag, ahead->records[i]);
        int64_t first = place.index > 0 ? place.index - 1 : 0;
        uint64_t limits[2];

        if (IGNORED(sb_bag_pick_limits(ahead->bag, place.shard, first, limits,
                                       (size_t)(place.index - first) + 1)))
            break;
    }
    return SB_OK;
}

enum sb_code sb_bag_limits_ahead(struct sb_bag *bag, const int64_t *records, size_t count,
                                 unsigned threads)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work};
    struct ahead ahead = {.bag = bag, .records = records, .count = count};
    CLEANUP(sb_freep) struct slot *slots = NULL;

    TRY(SB_NEW_ARRAY(&slots, threads));
    return sb_pipeline_run(&ops, &ahead, slots, sizeof(*slots), threads, threads);
}
