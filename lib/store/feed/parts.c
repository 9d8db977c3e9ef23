#include "store/feed/impl.h"

#include "core/interrupt.h"
#include "core/thread.h"
#include "core/time.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define UNIT        ((size_t)1 << 20)  /* small parts are decompressed together, about so many */
#define BUDGET      ((size_t)76 << 20) /* bytes, compressed and not, of all that is in flight */
#define THREADS_MAX 64
#define PATIENCE_MS 200 /* for what may have parts */

enum unit_state { UNIT_WAITS, UNIT_SOUND, UNIT_UNSOUND };

/* What a thread decompresses at once: parts that follow each other. */
struct unit {
    enum unit_state state;
    char *in; /* kept until it is passed: the decoder of one thread may have to read it again */
    size_t content; /* at most */
    unsigned ends;  /* of what its parts are parts of */
    struct sb_part_run run;
};

struct parts_feed {
    struct sb_feed base;
    const struct sb_parts_format *format;
    unsigned threads;

    /* Before the reader starts and after it has ended, of the feed; else of the reader. */
    char *raw;
    size_t raw_size;
    size_t raw_capacity;
    size_t at;            /* in raw: the end of the whole parts that a unit will be made of */
    size_t content;       /* of these */
    unsigned count;       /* of these, but for empty ones */
    unsigned ends;        /* how many of these end what they are parts of */
    bool from_inside;     /* the first of these begins inside another's end */
    bool inside;          /* what follows these */
    int64_t patience;     /* when it ends, in milliseconds; 0: it has not begun */
    bool drained;         /* the last read gave less than it could have */
    enum sb_code in_code; /* why reading ended */
    struct sb_error in_err;

    /* Under the lock. Units are numbered; those from `passed` to `queued` are in the ring. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct unit *units;
    size_t unit_count;
    size_t queued;
    size_t taken;     /* by workers */
    size_t passed;    /* by the feed */
    size_t in_flight; /* bytes */
    bool ended;       /* the reader */
    bool stop;        /* no more units are queued or taken */

    /* Of the feed. */
    bool decided;
    bool reading; /* there is a reader to be joined */
    pthread_t reader;
    pthread_t workers[THREADS_MAX];
    unsigned worker_count;
    struct sb_part_past past; /* of the units that were passed */
    struct unit *unit;        /* bytes of this one come out */
    size_t unit_used;
    struct sb_feed rest;    /* below stream: from the first unit that was not passed on */
    size_t rest_used;       /* of that unit, or of raw */
    struct sb_feed *stream; /* once the decoder of one thread goes on */
};

static size_t weight(const struct unit *unit)
{
    return unit->run.in_size + unit->content;
}

/* Waits until that many more bytes, and one more unit, are within the limits. False: stop. */
static bool wait_for_capacity(struct parts_feed *feed, size_t size)
{
    while (!feed->stop && feed->in_flight > 0 &&
           (feed->in_flight + size > BUDGET || feed->queued - feed->passed == feed->unit_count))
        pthread_cond_wait(&feed->changed, &feed->lock);
    return !feed->stop;
}

/* False: stop. */
static bool grow(struct parts_feed *feed)
{
    size_t capacity = feed->raw_capacity ? 2 * feed->raw_capacity : 2 * SB_FEED_BUFFER;
    bool go_on;
    char *raw;

    if (feed->raw_capacity - feed->raw_size >= SB_FEED_BUFFER)
        return true;
    pthread_mutex_lock(&feed->lock);
    go_on = wait_for_capacity(feed, capacity);
    pthread_mutex_unlock(&feed->lock);
    if (!go_on)
        return false;
    raw = realloc(feed->raw, capacity);
    if (!raw) {
        feed->in_code = INTO(&feed->in_err, sb_fail_memory());
        return true;
    }
    feed->raw = raw;
    feed->raw_capacity = capacity;
    return true;
}

/* False: stop. */
static bool read_more(struct parts_feed *feed)
{
    size_t got = 0;

    if (!grow(feed))
        return false;
    if (!feed->in_code)
        feed->in_code =
            INTO(&feed->in_err,
                 sb_feed_fill(feed->base.from, feed->raw + feed->raw_size, SB_FEED_BUFFER, &got));
    if (!feed->in_code)
        feed->raw_size += got;
    feed->drained = got < SB_FEED_BUFFER;
    return true;
}

static enum sb_split split_next(const struct parts_feed *feed, struct sb_part *part)
{
    size_t left = feed->raw_size - feed->at;
    enum sb_split split = SB_SPLIT_MORE;

    if (left > 0)
        split = feed->format->split((const unsigned char *)feed->raw + feed->at, left, feed->inside,
                                    part);
    if ((split == SB_SPLIT_MORE || split == SB_SPLIT_MAYBE) && left > SB_PART_MAX)
        return SB_SPLIT_NONE;
    if (split == SB_SPLIT_PART && (part->content > SB_PART_MAX || part->size > SB_PART_MAX ||
                                   part->size + part->content > SB_PART_MAX))
        return SB_SPLIT_NONE;
    return split;
}

/* Adds parts to the coming unit. SB_SPLIT_PART: it is large enough. */
static enum sb_split gather_more(struct parts_feed *feed)
{
    while (feed->at + feed->content < UNIT) {
        struct sb_part part = {0};
        enum sb_split split = split_next(feed, &part);

        if (split != SB_SPLIT_PART || (part.inside && feed->at > 0))
            return split;
        feed->from_inside = feed->inside;
        feed->inside = part.inside;
        feed->at += part.size;
        feed->content += part.content;
        feed->count += part.content > 0;
        feed->ends += !part.inside;
        feed->patience = 0;
        if (part.inside)
            return SB_SPLIT_PART;
    }
    return SB_SPLIT_PART;
}

static enum sb_split gather(struct parts_feed *feed)
{
    enum sb_split split = gather_more(feed);
    int64_t now, left;

    if (split != SB_SPLIT_MAYBE)
        return split;
    /* Where there may be no parts, only what comes at once is waited for. */
    now = sb_clock_ns() / (SB_SECOND / 1000);
    if (feed->patience == 0)
        feed->patience = now + PATIENCE_MS;
    left = now < feed->patience ? feed->patience - now : 0;
    return sb_feed_is_ready(feed->base.from, (int)left) ? SB_SPLIT_MORE : SB_SPLIT_NONE;
}

/* Queues the gathered parts; what follows them in raw stays there. False: they stay, too. */
static bool queue_unit(struct parts_feed *feed)
{
    struct unit unit = {.in = feed->raw,
                        .content = feed->content,
                        .ends = feed->ends,
                        .run = {.in = feed->raw,
                                .in_size = feed->at,
                                .from_inside = feed->from_inside,
                                .to_inside = feed->inside,
                                .capacity = feed->content + 1}};
    size_t left = feed->raw_size - feed->at, capacity = 2 * SB_FEED_BUFFER;
    char *raw;
    bool go_on;

    if (capacity < left)
        capacity = left;
    pthread_mutex_lock(&feed->lock);
    go_on = wait_for_capacity(feed, weight(&unit));
    pthread_mutex_unlock(&feed->lock);
    raw = go_on ? malloc(capacity) : NULL;
    unit.run.out = raw ? malloc(unit.run.capacity) : NULL; /* by one thread: malloc keeps less */
    if (!unit.run.out) {
        free(raw);
        return false;
    }
    memcpy(raw, feed->raw + feed->at, left);
    pthread_mutex_lock(&feed->lock);
    go_on = !feed->stop;
    if (go_on) {
        feed->units[feed->queued % feed->unit_count] = unit;
        feed->queued++;
        feed->in_flight += weight(&unit);
        pthread_cond_broadcast(&feed->changed);
    }
    pthread_mutex_unlock(&feed->lock);
    if (!go_on) {
        free(unit.run.out);
        free(raw);
        return false;
    }
    feed->raw = raw;
    feed->raw_size = left;
    feed->raw_capacity = capacity;
    feed->at = feed->content = feed->ends = 0;
    return true;
}

/* What came is decompressed before more is waited for. */
static bool is_due(const struct parts_feed *feed, enum sb_split split)
{
    return split != SB_SPLIT_MORE || feed->in_code || (feed->at > 0 && feed->drained);
}

static void *read_parts(void *context)
{
    struct parts_feed *feed = context;
    bool go_on = true;

    while (go_on) {
        enum sb_split split = gather(feed);

        if (is_due(feed, split)) {
            if (feed->at > 0)
                go_on = queue_unit(feed);
            go_on = go_on && split != SB_SPLIT_NONE && !(split == SB_SPLIT_MORE && feed->in_code);
        }
        if (go_on && split == SB_SPLIT_MORE)
            go_on = read_more(feed);
    }
    pthread_mutex_lock(&feed->lock);
    feed->ended = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}

static struct unit *take_unit(struct parts_feed *feed)
{
    while (!feed->stop && !feed->ended && feed->taken == feed->queued)
        pthread_cond_wait(&feed->changed, &feed->lock);
    if (feed->stop || feed->taken == feed->queued)
        return NULL;
    return &feed->units[feed->taken++ % feed->unit_count];
}

static void *decode_units(void *context)
{
    struct parts_feed *feed = context;
    void *decoder = feed->format->new_decoder();
    struct unit *unit;

    pthread_mutex_lock(&feed->lock);
    while ((unit = take_unit(feed))) {
        bool sound;

        pthread_mutex_unlock(&feed->lock);
        sound = decoder && feed->format->decode(decoder, &unit->run);
        pthread_mutex_lock(&feed->lock);
        unit->state = sound ? UNIT_SOUND : UNIT_UNSOUND;
        pthread_cond_broadcast(&feed->changed);
    }
    pthread_mutex_unlock(&feed->lock);
    if (decoder)
        feed->format->free_decoder(decoder);
    return NULL;
}

static void join_workers(struct parts_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->stop = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    while (feed->worker_count > 0)
        pthread_join(feed->workers[--feed->worker_count], NULL);
}

static void join_reader(struct parts_feed *feed)
{
    if (feed->reading)
        pthread_join(feed->reader, NULL);
    feed->reading = false;
}

/* Fewer threads than requested will do; without any, the decoder of one thread goes on. */
static bool start_threads(struct parts_feed *feed)
{
    while (feed->worker_count < feed->threads &&
           sb_thread_start(&feed->workers[feed->worker_count], decode_units, feed))
        feed->worker_count++;
    if (feed->worker_count > 0)
        feed->reading = sb_thread_start(&feed->reader, read_parts, feed);
    return feed->reading;
}

/* Is there a second part? Then it is worth starting threads. */
static bool has_parts(struct parts_feed *feed)
{
    struct sb_part part;
    enum sb_split split = gather(feed);

    while (!is_due(feed, split) && read_more(feed))
        split = gather(feed);
    if (split == SB_SPLIT_PART && feed->count <= 1 &&
        (feed->raw_size > feed->at || feed->in_code || read_more(feed)))
        split = split_next(feed, &part);
    return feed->at > 0 && (split == SB_SPLIT_PART || (split == SB_SPLIT_MORE && !feed->in_code));
}

static void release_unit(struct parts_feed *feed, struct unit *unit)
{
    free(unit->in);
    free(unit->run.out);
    pthread_mutex_lock(&feed->lock);
    feed->in_flight -= weight(unit);
    feed->passed++;
    *unit = (struct unit){0};
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
}

static void pass_unit(struct parts_feed *feed, struct unit *unit)
{
    feed->past.any = true;
    atomic_fetch_add(&feed->base.watch->ends, unit->ends);
    if (feed->format->pass)
        feed->format->pass(&feed->past, &unit->run);
    release_unit(feed, unit);
}

static enum sb_code rest_of_units(struct parts_feed *feed, void *data, size_t capacity, size_t *got)
{
    struct unit *unit = &feed->units[feed->passed % feed->unit_count];

    *got = sb_feed_copy(data, capacity, unit->in + feed->rest_used,
                        unit->run.in_size - feed->rest_used);
    feed->rest_used += *got;
    if (feed->rest_used == unit->run.in_size) {
        release_unit(feed, unit);
        feed->rest_used = 0;
    }
    return SB_OK;
}

/* The bytes that were not decompressed yet, then those that follow. Workers have ended. */
static enum sb_code fill_rest(struct sb_feed *rest, void *data, size_t capacity, size_t *got)
{
    struct parts_feed *feed =
        (struct parts_feed *)((char *)rest - offsetof(struct parts_feed, rest));

    if (feed->passed < feed->queued)
        return rest_of_units(feed, data, capacity, got);
    join_reader(feed);
    if (feed->raw_size > feed->rest_used) {
        *got = sb_feed_copy(data, capacity, feed->raw + feed->rest_used,
                            feed->raw_size - feed->rest_used);
        feed->rest_used += *got;
        return SB_OK;
    }
    free(feed->raw);
    feed->raw = NULL;
    feed->raw_size = feed->rest_used = 0;
    if (feed->in_code) {
        *sb_error() = feed->in_err;
        return feed->in_code;
    }
    return sb_feed_fill(feed->base.from, data, capacity, got);
}

static enum sb_code begin_stream(struct parts_feed *feed)
{
    static const struct sb_feed_ops ops = {.fill = fill_rest};

    join_workers(feed);
    feed->rest = (struct sb_feed){.ops = &ops, .name = feed->base.name, .watch = feed->base.watch};
    return sb_feed_streams(&feed->stream, &feed->rest, feed->format->kind, 1, &feed->past);
}

/* The next unit, or NULL: no sound one follows. */
static struct unit *wait_for_unit(struct parts_feed *feed)
{
    struct unit *unit = &feed->units[feed->passed % feed->unit_count];

    pthread_mutex_lock(&feed->lock);
    while (!sb_feed_is_over(&feed->base) &&
           (feed->passed == feed->queued ? !feed->ended : unit->state == UNIT_WAITS))
        sb_feed_wait(&feed->changed, &feed->lock);
    if (feed->passed == feed->queued || unit->state != UNIT_SOUND)
        unit = NULL;
    pthread_mutex_unlock(&feed->lock);
    return unit;
}

/* Sets unit to one that has bytes, or stream. */
static enum sb_code next_unit(struct parts_feed *feed)
{
    if (!feed->decided) {
        feed->decided = true;
        if (!has_parts(feed) || !start_threads(feed)) {
            atomic_store(&feed->base.watch->in_one, true);
            return begin_stream(feed);
        }
    }
    while (!feed->unit || feed->unit_used == feed->unit->run.made) {
        if (feed->unit)
            pass_unit(feed, feed->unit);
        feed->unit_used = 0;
        feed->unit = wait_for_unit(feed);
        if (!feed->unit)
            return sb_feed_is_over(&feed->base) ? sb_fail_interrupt() : begin_stream(feed);
    }
    return SB_OK;
}

static enum sb_code fill_parts(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct parts_feed *feed = (struct parts_feed *)base;

    if (!feed->stream)
        TRY(next_unit(feed));
    if (feed->stream)
        return sb_feed_fill(feed->stream, data, capacity, got);
    *got = sb_feed_copy(data, capacity, feed->unit->run.out + feed->unit_used,
                        feed->unit->run.made - feed->unit_used);
    feed->unit_used += *got;
    return SB_OK;
}

static void free_parts(struct sb_feed *base)
{
    struct parts_feed *feed = (struct parts_feed *)base;

    atomic_store(&base->watch->stop, true);
    join_workers(feed);
    join_reader(feed);
    if (feed->stream)
        feed->stream->ops->free(feed->stream);
    for (size_t i = 0; feed->units && i < feed->unit_count; i++) {
        free(feed->units[i].in);
        free(feed->units[i].run.out);
    }
    free(feed->units);
    free(feed->raw);
    free(feed->rest.held);
    pthread_cond_destroy(&feed->changed);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

enum sb_code sb_feed_parts(struct sb_feed **out, struct sb_feed *from,
                           const struct sb_parts_format *format, unsigned threads)
{
    static const struct sb_feed_ops ops = {.fill = fill_parts, .free = free_parts};
    struct parts_feed *feed;

    TRY(SB_NEW(&feed));
    feed->threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    feed->unit_count = feed->threads + 2;
    if (SB_NEW_ARRAY(&feed->units, feed->unit_count)) {
        free(feed);
        return SB_NOMEM;
    }
    feed->base = sb_feed_on(&ops, from);
    feed->format = format;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->changed, NULL);
    *out = &feed->base;
    return SB_OK;
}
