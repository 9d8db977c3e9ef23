#include "store/feed/impl.h"

#include "core/interrupt.h"
#include "core/throttle.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A file: less than this is read rather than passed over. Where something was passed over, the next
 * reading may only be for a header: it begins small, and doubles.
 */
#define SKIP_MIN   ((int64_t)64 << 10)
#define STEP_FIRST ((size_t)8 << 10)

struct input_feed {
    struct sb_feed base;
    const struct sb_input *input;
    size_t head_used;
    int64_t offset; /* of a file: of what comes next */
    int64_t size;   /* of a file */
    size_t step;    /* of a file: how much to read at once */

    struct sb_source *from; /* another container, whose member it is; else NULL */
    const char *block;      /* what is left of a block of that */
    size_t block_size;
};

static enum sb_code wait_for_bytes(struct input_feed *feed, unsigned *tries)
{
    struct pollfd wanted = {.fd = feed->input->pipe->fd, .events = POLLIN};
    int ready = 0;

    while (ready == 0 || (ready < 0 && errno == EINTR && sb_may_try_again(tries))) {
        if (sb_feed_is_over(&feed->base))
            return sb_fail_interrupt();
        ready = poll(&wanted, 1, SB_FEED_WAIT_MS);
    }
    return ready > 0 ? SB_OK : sb_fail_errno(errno, "%s", feed->base.name);
}

static enum sb_code read_stream(struct input_feed *feed, void *data, size_t capacity, size_t *got)
{
    unsigned tries = 0;

    for (;;) {
        ssize_t size;

        TRY(wait_for_bytes(feed, &tries));
        size = read(feed->input->pipe->fd, data, sb_throttle_piece(capacity));
        if (size >= 0) {
            sb_throttle_read(size);
            *got = (size_t)size;
            return size > 0 ? SB_OK : SB_END;
        }
        if ((errno != EINTR && errno != EAGAIN) || !sb_may_try_again(&tries))
            return sb_fail_errno(errno, "%s", feed->base.name);
    }
}

static enum sb_code read_file(struct input_feed *feed, void *data, size_t capacity, size_t *got)
{
    size_t size = feed->step < capacity ? feed->step : capacity;

    if (feed->input->section && (int64_t)size > feed->size - feed->offset)
        size = (size_t)(feed->size - feed->offset);
    TRY(sb_file_read(feed->input->file, data, size, feed->offset, got));
    feed->offset += (int64_t)*got;
    if (feed->step < capacity)
        feed->step *= 2;
    return *got > 0 ? SB_OK : SB_END;
}

static enum sb_code read_member(struct input_feed *feed, void *data, size_t capacity, size_t *got)
{
    const void *block = feed->block;

    if (feed->block_size == 0)
        TRY(sb_source_block(feed->from, &block, &feed->block_size));
    *got = sb_feed_copy(data, capacity, block, feed->block_size);
    feed->block = (const char *)block + *got;
    feed->block_size -= *got;
    return SB_OK;
}

static enum sb_code fill_input(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct input_feed *feed = (struct input_feed *)base;
    const struct sb_buf *head = &feed->input->head;

    if (feed->head_used < head->size) {
        *got = sb_feed_copy(data, capacity, head->data + feed->head_used,
                            head->size - feed->head_used);
        feed->head_used += *got;
    } else if (feed->from) {
        TRY(read_member(feed, data, capacity, got));
    } else if (!feed->input->pipe) {
        TRY(read_file(feed, data, capacity, got));
    } else {
        TRY(read_stream(feed, data, capacity, got));
    }
    atomic_fetch_add_explicit(&base->watch->taken, (int64_t)*got, memory_order_relaxed);
    return SB_OK;
}

static int64_t skip_input(struct sb_feed *base, int64_t size)
{
    struct input_feed *feed = (struct input_feed *)base;

    if (feed->input->pipe || feed->from || size < SKIP_MIN || feed->offset >= feed->size)
        return 0;
    if (size > feed->size - feed->offset)
        size = feed->size - feed->offset;
    feed->offset += size;
    feed->step = STEP_FIRST;
    atomic_fetch_add_explicit(&base->watch->taken, size, memory_order_relaxed);
    return size;
}

static bool input_is_ready(struct sb_feed *base, int milliseconds)
{
    struct input_feed *feed = (struct input_feed *)base;
    struct pollfd wanted = {.events = POLLIN};

    if (!feed->input->pipe || feed->head_used < feed->input->head.size)
        return true;
    wanted.fd = feed->input->pipe->fd;
    return poll(&wanted, 1, milliseconds) > 0;
}

static void free_input(struct sb_feed *base)
{
    free(base);
}

enum sb_code sb_feed_input(struct sb_feed **out, const struct sb_input *input,
                           struct sb_feed_watch *watch)
{
    static const struct sb_feed_ops ops = {fill_input, skip_input, input_is_ready, free_input};
    struct input_feed *feed;

    TRY(SB_NEW(&feed));
    feed->base = (struct sb_feed){.ops = &ops, .name = input->name, .watch = watch};
    feed->input = input;
    feed->from = input->section ? input->section->from : NULL;
    feed->step = input->section ? STEP_FIRST : SIZE_MAX;
    if (input->section) {
        feed->offset = input->section->at;
        feed->size = input->section->at + input->section->size;
    } else if (!input->pipe) {
        feed->size = input->file->st.st_size;
    }
    *out = &feed->base;
    return SB_OK;
}
