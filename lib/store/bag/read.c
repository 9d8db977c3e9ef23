#include "store/bag/impl.h"

#include "core/interrupt.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Limits that are read at once: going on, and at some other place. */
#define LIMITS_AHEAD ((size_t)2048)
#define LIMITS_FAR   ((size_t)32768) /* of a reader that goes through all */
#define LIMITS_FEW   ((size_t)16)

/* Shards, by the low digits of their numbers, whose limits are kept. */
#define WINDOWS 16

#define PLAIN_BLOCK ((size_t)1 << 20)
#define ZSTD_BLOCK  ((size_t)256 << 10)

/* Of the bytes of records: a gap that is read rather than skipped, and the largest record that is
 * worth a copy. */
#define READ_THROUGH ((int64_t)16 << 10)
#define LOAD_MAX     (SB_BAG_WINDOW / 4)

/* Limits of the records from `first` to before `end` in a shard; the one before them comes first.
 */
struct window {
    uint32_t shard;
    int64_t first, end;
    uint64_t *limits; /* those read ahead and one; NULL: never used */
};

struct sb_bag_reader {
    struct sb_bag *bag;
    size_t ahead;               /* limits that are read at once, going on */
    struct sb_decoder *decoder; /* made at first use */
    struct window windows[WINDOWS];
    struct sb_buf stored; /* a record as it is stored */
    char *block;          /* PLAIN_BLOCK, made at first use */
};

enum sb_code sb_bag_reader_new(struct sb_bag_reader **out, struct sb_bag *bag)
{
    struct sb_bag_reader *reader = calloc(1, sizeof(*reader));

    *out = reader;
    if (!reader)
        return sb_fail_memory();
    reader->bag = bag;
    reader->ahead = LIMITS_AHEAD;
    return SB_OK;
}

void sb_bag_reader_goes_far(struct sb_bag_reader *reader)
{
    reader->ahead = LIMITS_FAR;
}

void sb_bag_reader_free(struct sb_bag_reader *reader)
{
    if (!reader)
        return;
    sb_decoder_free(reader->decoder);
    for (size_t i = 0; i < WINDOWS; i++)
        free(reader->windows[i].limits);
    sb_buf_release(&reader->stored);
    free(reader->block);
    free(reader);
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * Which limits to read where the record at `index`, with `count` in all, is not in the window: many
 * where it goes on from the window, or back from it.
 */
static void choose_range(const struct window *window, size_t ahead, int64_t records, int64_t index,
                         size_t count, int64_t *first, int64_t *end)
{
    bool goes_on = index >= window->end && index - window->end < (int64_t)LIMITS_FEW;
    bool goes_back = index < window->first && window->first - index <= (int64_t)LIMITS_FEW;
    size_t take = goes_on || count > LIMITS_FEW ? ahead : LIMITS_FEW;

    *first = index;
    if (goes_back) {
        *end = min(window->first, index + (int64_t)ahead);
        *first = *end > (int64_t)ahead ? *end - (int64_t)ahead : 0;
        return;
    }
    *end = min(records, index + (int64_t)take);
}

static enum sb_code fill(struct sb_bag_reader *reader, struct window *window, uint32_t shard,
                         int64_t first, int64_t end)
{
    bool at_start = first == 0;
    int64_t from = at_start ? 0 : first - 1;
    size_t count = (size_t)(end - from);
    uint64_t *limits = window->limits + at_start;

    window->first = window->end = 0;
    window->shard = shard;
    window->limits[0] = 0;
    TRY(count > LIMITS_FEW + 1 ? sb_bag_read_limits(reader->bag, shard, from, limits, count)
                               : sb_bag_pick_limits(reader->bag, shard, from, limits, count));
    window->first = first;
    window->end = end;
    return SB_OK;
}

/* The window that holds the limits of the record at a place. */
static enum sb_code find_window(struct sb_bag_reader *reader, struct sb_place place, size_t count,
                                const struct window **out)
{
    struct window *window = &reader->windows[place.shard % WINDOWS];
    int64_t records = reader->bag->shards[place.shard].records, first, end;

    *out = window;
    if (!window->limits) {
        TRY(sb_alloc(&window->limits, (reader->ahead + 1) * sizeof(*window->limits)));
    } else if (window->shard == place.shard && place.index >= window->first &&
               place.index < window->end) {
        return SB_OK;
    }
    if (window->shard != place.shard)
        window->first = window->end = 0;
    choose_range(window, reader->ahead, records, place.index, count, &first, &end);
    return fill(reader, window, place.shard, first, end);
}

static enum sb_code bad_limits(const struct sb_bag *bag, struct sb_place place, uint64_t start,
                               uint64_t end)
{
    const struct sb_bag_shard *shard = &bag->shards[place.shard];
    const char *of = bag->shard_count > 1 ? " of shard " : "";
    const char *path = bag->shard_count > 1 ? shard->path : "";
    long long record = sb_bag_record_at(bag, place);

    if (end < start)
        return sb_fail(SB_DAMAGED,
                       "record %lld: its limits%s%s decrease, from %llu to %llu; it cannot be read",
                       record, of, path, (unsigned long long)start, (unsigned long long)end);
    return sb_fail(SB_DAMAGED,
                   "record %lld: its limits%s%s let it end at byte %llu, but records end at %lld; "
                   "it cannot be read",
                   record, of, path, (unsigned long long)end, (long long)shard->bytes);
}

/* Extents of the records that a window has, at most count. */
static enum sb_code take_extents(const struct sb_bag *bag, const struct window *window,
                                 struct sb_place place, size_t count, struct sb_extent *out,
                                 size_t *good)
{
    const uint64_t *limits = window->limits + (place.index - window->first);
    uint64_t bytes = (uint64_t)bag->shards[place.shard].bytes;

    for (size_t i = 0; i < count; i++, place.index++, ++*good) {
        if (limits[i + 1] < limits[i] || limits[i + 1] > bytes)
            return bad_limits(bag, place, limits[i], limits[i + 1]);
        out[i] = (struct sb_extent){.shard = place.shard,
                                    .offset = (int64_t)limits[i],
                                    .size = (int64_t)(limits[i + 1] - limits[i])};
    }
    return SB_OK;
}

enum sb_code sb_bag_extents(struct sb_bag_reader *reader, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good)
{
    struct sb_place place = first;
    const struct window *window;
    enum sb_code code;

    *good = 0;
    while (*good < count) {
        place.index = first.index + (int64_t)*good;
        code = find_window(reader, place, count - *good, &window);
        if (code == SB_DAMAGED)
            return sb_fail(SB_DAMAGED, "record %lld: its limits cannot be read: %s",
                           (long long)sb_bag_record_at(reader->bag, place), sb_error()->text);
        TRY(code);
        TRY(take_extents(reader->bag, window, place,
                         (size_t)min((int64_t)(count - *good), window->end - place.index),
                         out + *good, good));
    }
    return SB_OK;
}

enum sb_code sb_bag_read(struct sb_bag_reader *reader, uint32_t shard, int64_t offset, void *data,
                         size_t size)
{
    return size == 0 ? SB_OK
                     : sb_bag_file_read(reader->bag, shard, SB_BAG_RECORDS, offset, data, size);
}

static enum sb_code make_decoder(struct sb_bag_reader *reader)
{
    return reader->decoder ? SB_OK
                           : sb_decoder_new(&reader->decoder, reader->bag->options.dictionary);
}

/* What is wrong with a record, and where it is. */
static enum sb_code damaged_at(const struct sb_bag *bag, const struct sb_extent *extent)
{
    if (sb_error()->code != SB_DAMAGED)
        return sb_error()->code;
    if (bag->shard_count > 1)
        return sb_fail(SB_DAMAGED, "%s (shard %s, offset %lld)", sb_error()->text,
                       bag->shards[extent->shard].path, (long long)extent->offset);
    return sb_fail(SB_DAMAGED, "%s (offset %lld)", sb_error()->text, (long long)extent->offset);
}

static enum sb_code too_large(void)
{
    sb_error()->code = SB_LIMIT;
    sb_error()->text[0] = '\0';
    return SB_LIMIT;
}

enum sb_code sb_bag_decode(struct sb_bag_reader *reader, uint32_t shard, const void *stored,
                           size_t stored_size, void *data, size_t capacity, size_t *size)
{
    const struct sb_bag *bag = reader->bag;
    enum sb_code code;

    *size = 0;
    if (bag->shards[shard].zstd) {
        TRY(make_decoder(reader));
        code = sb_decode(reader->decoder, stored, stored_size, data, capacity, size);
        if (code == SB_DAMAGED && bag->shard_count > 1)
            return sb_fail(SB_DAMAGED, "%s (shard %s)", sb_error()->text, bag->shards[shard].path);
        return code;
    }
    if (stored_size > capacity)
        return too_large();
    memcpy(data, stored, stored_size);
    *size = stored_size;
    return SB_OK;
}

static enum sb_code load_zstd(struct sb_bag_reader *reader, const struct sb_extent *extent,
                              void *data, size_t capacity, size_t *size)
{
    size_t stored_size = (size_t)extent->size;
    struct sb_buf *stored = &reader->stored;

    /* No encoder makes more of so few bytes; what does not fit is known before it is read. */
    if (stored_size > ZSTD_compressBound(capacity))
        return too_large();
    sb_buf_clear(stored);
    TRY(sb_buf_reserve(stored, stored_size));
    TRY(make_decoder(reader));
    TRY(sb_bag_read(reader, extent->shard, extent->offset, stored->data, stored_size));
    if (sb_decode(reader->decoder, stored->data, stored_size, data, capacity, size))
        return damaged_at(reader->bag, extent);
    return SB_OK;
}

enum sb_code sb_bag_load(struct sb_bag_reader *reader, const struct sb_extent *extent, void *data,
                         size_t capacity, size_t *size)
{
    *size = 0;
    if (extent->size == 0)
        return SB_OK;
    if (reader->bag->shards[extent->shard].zstd)
        return load_zstd(reader, extent, data, capacity, size);
    if ((uint64_t)extent->size > capacity)
        return too_large();
    *size = (size_t)extent->size;
    return sb_bag_read(reader, extent->shard, extent->offset, data, *size);
}

/* Feeds the stored bytes, in blocks. */
static enum sb_code stream_stored(struct sb_bag_reader *reader, const struct sb_extent *extent,
                                  size_t block, sb_each_block *each, void *context)
{
    int64_t offset = extent->offset, end = extent->offset + extent->size;
    size_t take;

    if (!reader->block)
        reader->block = malloc(PLAIN_BLOCK);
    if (!reader->block)
        return sb_fail_memory();
    for (; offset < end; offset += (int64_t)take) {
        take = (size_t)min(end - offset, (int64_t)block);
        TRY(sb_interrupted() ? sb_fail_interrupt()
                             : sb_bag_read(reader, extent->shard, offset, reader->block, take));
        TRY(each(context, reader->block, take));
    }
    return SB_OK;
}

struct decoding {
    struct sb_bag_reader *reader;
    const struct sb_extent *extent;
    sb_each_block *each;
    void *context;
    enum sb_code passed_on; /* what `each` said, which is not of the record */
};

static enum sb_code pass_on(void *context, const void *data, size_t size)
{
    struct decoding *decoding = context;

    decoding->passed_on = decoding->each(decoding->context, data, size);
    return decoding->passed_on;
}

static enum sb_code decode_block(void *context, const void *data, size_t size)
{
    struct decoding *decoding = context;
    enum sb_code code = sb_decode_more(decoding->reader->decoder, data, size, pass_on, decoding);

    if (code && !decoding->passed_on)
        return damaged_at(decoding->reader->bag, decoding->extent);
    return code;
}

enum sb_code sb_bag_stream(struct sb_bag_reader *reader, const struct sb_extent *extent,
                           sb_each_block *each, void *context)
{
    struct decoding decoding = {
        .reader = reader, .extent = extent, .each = each, .context = context};

    if (!reader->bag->shards[extent->shard].zstd)
        return stream_stored(reader, extent, PLAIN_BLOCK, each, context);
    TRY(make_decoder(reader));
    TRY(sb_decode_begin(reader->decoder));
    TRY(stream_stored(reader, extent, ZSTD_BLOCK, decode_block, &decoding));
    if (sb_decode_end(reader->decoder))
        return damaged_at(reader->bag, extent);
    return SB_OK;
}

static enum sb_code count_bytes(void *context, const void *data, size_t size)
{
    (void)data;
    *(int64_t *)context += (int64_t)size;
    return SB_OK;
}

enum sb_code sb_bag_record_size(struct sb_bag_reader *reader, const struct sb_extent *extent,
                                int64_t *size)
{
    size_t take = (size_t)min(extent->size, SB_FRAME_HEADER_MAX);
    unsigned char head[SB_FRAME_HEADER_MAX];

    *size = extent->size;
    if (extent->size == 0 || !reader->bag->shards[extent->shard].zstd)
        return SB_OK;
    TRY(sb_bag_read(reader, extent->shard, extent->offset, head, take));
    if (sb_frame_size(head, take, extent->size, size))
        return damaged_at(reader->bag, extent);
    if (*size >= 0)
        return SB_OK;
    *size = 0;
    return sb_bag_stream(reader, extent, count_bytes, size);
}

/* Windows */

void sb_bag_window_release(struct sb_bag_window *window)
{
    free(window->data);
    *window = (struct sb_bag_window){0};
}

/* The first `size` of its stored bytes, at most SB_BAG_WINDOW; they live until the next call. */
static enum sb_code look_through(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                 const struct sb_extent *extent, size_t size, const void **data)
{
    int64_t held = (int64_t)window->held, skip = extent->offset - window->at;
    bool same = window->shard == extent->shard && skip >= 0;

    if (!window->data)
        window->data = malloc(SB_BAG_WINDOW);
    if (!window->data)
        return sb_fail_memory();
    if (!same || skip + (int64_t)size > held) {
        if (same && held > 0 && skip <= held + READ_THROUGH) /* it goes on from there */
            size = (size_t)min(reader->bag->shards[extent->shard].bytes - extent->offset,
                               (int64_t)SB_BAG_WINDOW);
        window->held = 0;
        TRY(sb_bag_read(reader, extent->shard, extent->offset, window->data, size));
        window->shard = extent->shard;
        window->at = extent->offset;
        window->held = size;
    }
    *data = window->data + (extent->offset - window->at);
    return SB_OK;
}

enum sb_code sb_bag_window_load(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                const struct sb_extent *extent, void *data, size_t capacity,
                                size_t *size)
{
    size_t stored_size = (size_t)extent->size;
    const void *stored = NULL;
    enum sb_code code;

    if (extent->size == 0 || extent->size > (int64_t)LOAD_MAX)
        return sb_bag_load(reader, extent, data, capacity, size);
    code = look_through(window, reader, extent, stored_size, &stored);
    if (!code)
        code = sb_bag_decode(reader, extent->shard, stored, stored_size, data, capacity, size);
    /* Once more by itself: a file that was cut still has what comes before the cut, and the error
     * names the place of the damage. */
    return code == SB_DAMAGED ? sb_bag_load(reader, extent, data, capacity, size) : code;
}

enum sb_code sb_bag_window_size(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                const struct sb_extent *extent, int64_t *size)
{
    size_t take = (size_t)min(extent->size, SB_FRAME_HEADER_MAX);
    const void *head = NULL;

    *size = extent->size;
    if (extent->size == 0 || !reader->bag->shards[extent->shard].zstd)
        return SB_OK;
    if (!look_through(window, reader, extent, take, &head) &&
        !sb_frame_size(head, take, extent->size, size) && *size >= 0)
        return SB_OK;
    return sb_bag_record_size(reader, extent, size);
}
