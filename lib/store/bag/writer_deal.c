/*
 * Interleaved sets: record count g goes to shard g mod n.
 *
 * Records wait in memory until there are 32 MiB of them; then each shard is opened, gets its share,
 * and is closed. Their limits go through one spool, in the order of records, and are dealt out at
 * the commit in the same way.
 */
#include "store/bag/writer_private.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELD_BYTES   ((size_t)32 << 20)
#define HELD_RECORDS ((size_t)1 << 20)

/* Limits that are dealt out at once. */
#define LIMIT_RUN ((size_t)1 << 20)

struct sb_bag_dealing {
    char *data;
    uint32_t *ends; /* of records in data */
    size_t count;
    int64_t *shard_ends; /* of what each shard has, the records that wait included */
};

static uint32_t shard_of(const struct sb_bag_writer *writer, int64_t record)
{
    return (uint32_t)(record % writer->shards);
}

enum sb_code sb_bag_deal_begin(struct sb_bag_writer *writer)
{
    struct sb_bag_dealing *dealing = calloc(1, sizeof(*dealing));
    int fd;

    writer->dealing = dealing;
    if (!dealing)
        return sb_fail_memory();
    dealing->data = malloc(HELD_BYTES);
    dealing->ends = malloc(HELD_RECORDS * sizeof(*dealing->ends));
    dealing->shard_ends = calloc(writer->shards, sizeof(*dealing->shard_ends));
    if (!dealing->data || !dealing->ends || !dealing->shard_ends)
        return sb_fail_memory();
    for (uint32_t shard = 0; shard < writer->shards; shard++) {
        for (int limits = 0; limits <= (int)writer->separate; limits++) {
            TRY(sb_bag_create(writer, shard, limits, &fd));
            close(fd);
        }
    }
    return SB_OK;
}

void sb_bag_deal_free(struct sb_bag_writer *writer)
{
    struct sb_bag_dealing *dealing = writer->dealing;

    if (!dealing)
        return;
    free(dealing->data);
    free(dealing->ends);
    free(dealing->shard_ends);
    free(dealing);
}

static enum sb_code open_shard(struct sb_bag_writer *writer, uint32_t shard, bool limits)
{
    TRY(sb_bag_reopen(writer, shard, limits, &writer->fd));
    return sb_outbuf_begin(&writer->out, writer->fd, writer->name, true,
                           lseek(writer->fd, 0, SEEK_END));
}

static enum sb_code close_shard(struct sb_bag_writer *writer, bool synced)
{
    int fd = writer->fd;
    enum sb_code code = sb_outbuf_flush(&writer->out);

    writer->fd = -1;
    if (code == SB_OK && synced)
        return sb_bag_close_synced(writer, fd);
    close(fd);
    return code;
}

/* Everything that waits goes to its shard. */
static enum sb_code deal_out(struct sb_bag_writer *writer)
{
    struct sb_bag_dealing *dealing = writer->dealing;
    int64_t first = writer->records - (int64_t)dealing->count;

    for (size_t i = 0; i < dealing->count && i < writer->shards; i++) {
        TRY(open_shard(writer, shard_of(writer, first + (int64_t)i), false));
        for (size_t j = i; j < dealing->count; j += writer->shards) {
            uint32_t start = j ? dealing->ends[j - 1] : 0;

            TRY(sb_outbuf_write(&writer->out, dealing->data + start, dealing->ends[j] - start));
        }
        TRY(close_shard(writer, false));
    }
    dealing->count = 0;
    return SB_OK;
}

static enum sb_code count_record(struct sb_bag_writer *writer, int64_t size)
{
    int64_t *end = &writer->dealing->shard_ends[shard_of(writer, writer->records)];

    *end += size;
    writer->records++;
    writer->bytes += size;
    return sb_limit_spool_add(&writer->limits, end, 1);
}

enum sb_code sb_bag_deal(struct sb_bag_writer *writer, const char *data, const size_t *sizes,
                         size_t count)
{
    struct sb_bag_dealing *dealing = writer->dealing;

    for (size_t i = 0; i < count; data += sizes[i], i++) {
        size_t held = dealing->count ? dealing->ends[dealing->count - 1] : 0;

        if (dealing->count == HELD_RECORDS || sizes[i] > HELD_BYTES - held) {
            TRY(deal_out(writer));
            held = 0;
        }
        if (sizes[i] > HELD_BYTES) {
            TRY(sb_bag_deal_piece(writer, data, sizes[i]));
            TRY(sb_bag_deal_end_record(writer));
            continue;
        }
        memcpy(dealing->data + held, data, sizes[i]);
        dealing->ends[dealing->count++] = (uint32_t)(held + sizes[i]);
        TRY(count_record(writer, (int64_t)sizes[i]));
    }
    return SB_OK;
}

enum sb_code sb_bag_deal_piece(struct sb_bag_writer *writer, const void *data, size_t size)
{
    if (writer->fd < 0) {
        TRY(deal_out(writer));
        TRY(open_shard(writer, shard_of(writer, writer->records), false));
    }
    writer->record_bytes += (int64_t)size;
    return sb_outbuf_write(&writer->out, data, size);
}

enum sb_code sb_bag_deal_end_record(struct sb_bag_writer *writer)
{
    int64_t size = writer->record_bytes;

    if (writer->fd >= 0)
        TRY(close_shard(writer, false));
    writer->record_bytes = 0;
    return count_record(writer, size);
}

enum sb_code sb_bag_deal_drop_record(struct sb_bag_writer *writer, int64_t size)
{
    if (writer->fd < 0)
        return SB_OK;
    TRY(sb_outbuf_cut(&writer->out, sb_outbuf_size(&writer->out) - size));
    return close_shard(writer, false);
}

/* One shard's share of a run of limits; with the last run it is complete, and synced. */
static enum sb_code write_limits(struct sb_bag_writer *writer, uint32_t shard,
                                 const int64_t *limits, int64_t first, size_t size, bool last)
{
    uint32_t skip = (shard + writer->shards - shard_of(writer, first)) % writer->shards;

    if (skip >= size && !last)
        return SB_OK;
    TRY(open_shard(writer, shard, writer->separate));
    for (size_t i = skip; i < size; i += writer->shards) {
        uint64_t limit = htole64((uint64_t)limits[i]);

        TRY(sb_outbuf_write(&writer->out, &limit, sizeof(limit)));
    }
    TRY(close_shard(writer, last));
    if (last && writer->separate) {
        TRY(open_shard(writer, shard, false));
        TRY(close_shard(writer, true));
    }
    return SB_OK;
}

enum sb_code sb_bag_deal_end(struct sb_bag_writer *writer)
{
    CLEANUP(sb_freep) int64_t *limits = NULL;
    int64_t first = 0;
    size_t size;

    TRY(sb_alloc(&limits, LIMIT_RUN * sizeof(*limits)));
    TRY(deal_out(writer));
    do {
        int64_t left = writer->records - first;

        size = left < (int64_t)LIMIT_RUN ? (size_t)left : LIMIT_RUN;
        TRY(sb_limit_spool_get(&writer->limits, first, size, limits));
        for (uint32_t shard = 0; shard < writer->shards; shard++)
            TRY(write_limits(writer, shard, limits, first, size, (int64_t)size == left));
        first += (int64_t)size;
    } while (first < writer->records);
    return SB_OK;
}
