#include "store/bag/impl.h"

#include "core/io.h"

#include <endian.h>
#include <string.h>

#define LOOKS_MORE 3

enum sb_code sb_bag_read_limits(struct sb_bag *bag, uint32_t shard, int64_t first, uint64_t *out,
                                size_t count)
{
    const struct sb_bag_shard *s = &bag->shards[shard];
    enum sb_bag_part part = s->separate ? SB_BAG_LIMITS : SB_BAG_RECORDS;
    int64_t base = s->separate ? 0 : s->bytes;
    enum sb_code code = sb_bag_file_read(bag, shard, part, base + first * SB_LIMIT_SIZE, out,
                                         count * SB_LIMIT_SIZE);

    for (size_t i = 0; i < count && !code; i++)
        out[i] = le64toh(out[i]);
    return code || s->separate ? code : sb_bag_file_settled(bag, shard);
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
        if (!sb_limit_cache_get(bag->limit_cache, shard, block, at, out, n) &&
            read_block(bag, shard, block, at, out, n))
            return sb_error()->code;
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

static enum sb_code open_records(struct sb_bag *bag, uint32_t shard)
{
    return bag->file ? sb_bag_file_take(bag) : sb_bag_file_open(bag, shard, SB_BAG_RECORDS);
}

/* Limits that lie beside the records. A file that was open before may have been replaced, with its
 * limits: SB_CHANGED. */
static enum sb_code open_limits(struct sb_bag *bag, uint32_t shard)
{
    bool named = true;

    TRY(sb_bag_file_open(bag, shard, SB_BAG_LIMITS));
    if (bag->file)
        TRY(sb_is_named(bag->file->fd, bag->shards[shard].path, &named));
    if (!named)
        return sb_fail(SB_CHANGED, "%s: was replaced while it was opened", bag->file->name);
    return SB_OK;
}

static enum sb_code find_limits(struct sb_bag *bag, uint32_t shard, const struct sb_notify *notify)
{
    enum sb_code code = SB_NOENT;

    /* What an earlier look found is no longer so. */
    bag->shards[shard].separate = false;
    bag->shards[shard].bytes = bag->shards[shard].records = 0;
    TRY(open_records(bag, shard));
    if (!bag->unnamed && bag->options.limits != SB_LIMITS_TAIL)
        code = open_limits(bag, shard);
    if (code == SB_OK)
        return find_separate(bag, shard, notify);
    if (code != SB_NOENT || bag->options.limits == SB_LIMITS_SEPARATE)
        return code;
    return find_tail(bag, shard);
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
