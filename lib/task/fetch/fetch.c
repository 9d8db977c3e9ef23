#include "task/fetch/fetch.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/many.h"
#include "archive/shards.h"
#include "core/number.h"
#include "core/pace.h"
#include "core/pipeline.h"
#include "core/time.h"
#include "store/unmatched.h"
#include "task/fetch/impl.h"
#include "task/transfer/recode.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_FIRST      16    /* names; twice as many each time, */
#define SLOT_MOST       256   /* up to this */
#define QUEUE_FIRST     512   /* names; the limit grows fourfold when it is reached at once, */
#define QUEUE_MOST      32768 /* up to this */
#define SLOTS_MAX       32
#define LOOKED_UP_MOST  32 /* look-ups for one name, while its file keeps being moved */
#define IN_FLIGHT_BYTES ((size_t)72 << 20) /* of answers, in all slots */

static bool is_answered(const struct sb_queue *queue)
{
    return queue->next == queue->count;
}

static enum sb_code collect(struct sb_fetch *f, struct sb_queue *queue)
{
    enum sb_code code;

    if (f->queue_filled && f->queue_limit < QUEUE_MOST && !f->slow)
        f->queue_limit *= 4;
    code = sb_queue_collect(queue, f->names, f->queue_limit, f->options->by_address, &f->ended);
    f->queue_filled = queue->count == f->queue_limit;
    return code;
}

/* Makes the queue that was looked up ahead the current one, and collects more without waiting. */
static enum sb_code turn_queues(struct sb_fetch *f)
{
    struct sb_queue *answered = f->now;

    TRY(sb_look_ahead_end(&f->look_ahead));
    f->now = f->ahead;
    f->ahead = answered;
    if (is_answered(f->now) && !f->ended)
        TRY(collect(f, f->now));
    TRY(sb_queue_look_up(f->now, f->many, f->options));
    if (f->options->by_address)
        sb_queue_sort_by_address(f->now);
    else if (!f->ended && f->names->ready(f->names->context))
        TRY(collect(f, f->ahead));
    if (!is_answered(f->ahead))
        sb_look_ahead_begin(&f->look_ahead, f->ahead);
    return SB_OK;
}

static bool fits_in_memory(const struct sb_fetch *f, size_t cost)
{
    return f->in_flight == 0 || f->in_flight + cost <= IN_FLIGHT_BYTES;
}

/* The slot stays empty if the next answer is too large for the remaining memory. */
static enum sb_code fill(void *context, void *slot_context)
{
    struct sb_fetch *f = context;
    struct sb_slot *slot = slot_context;
    struct sb_queue *queue;

    sb_slot_clear(slot);
    if (is_answered(f->now))
        TRY(turn_queues(f));
    queue = f->now;
    if (is_answered(queue))
        return SB_END;
    while (!is_answered(queue) && slot->count < f->slot_names) {
        const struct sb_request *request = &queue->requests[queue->next];
        size_t cost = sb_request_cost(request, f->options);

        if (slot->count == 0 ? !fits_in_memory(f, cost) : slot->cost + cost > SB_FETCH_SLOT_BYTES)
            break;
        TRY(sb_slot_add(slot, request, &queue->names));
        slot->cost += cost;
        queue->next++;
    }
    f->in_flight += slot->cost;
    return SB_OK;
}

static int fill_would_wait(void *context)
{
    struct sb_fetch *f = context;
    const struct sb_queue *queue = f->now;

    if (!is_answered(queue))
        return !fits_in_memory(f, sb_request_cost(&queue->requests[queue->next], f->options));
    if (is_answered(f->ahead))
        return !f->ended && !f->names->ready(f->names->context);
    return sb_look_ahead_is_busy(&f->look_ahead);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct sb_slot *self = slot;
    int64_t began = sb_clock_ns();
    enum sb_code code = sb_slot_read(self);

    (void)context;
    (void)turns;
    self->took = sb_clock_ns() - began;
    return code;
}

enum sb_code sb_fetch_give(struct sb_fetch *f, const void *data, size_t size)
{
    return size ? f->output->write(f->output->context, data, size) : SB_OK;
}

enum sb_code sb_fetch_give_line(struct sb_fetch *f, const char *name, size_t size, const char *word)
{
    CLEANUP(sb_buf_release) struct sb_buf line = {0};

    TRY(sb_buf_add(&line, name, size));
    TRY(sb_buf_add_char(&line, ' '));
    TRY(sb_buf_add_text(&line, word));
    TRY(sb_buf_add_char(&line, f->options->frame_end));
    return sb_fetch_give(f, line.data, line.size);
}

static enum sb_code answer_absent(struct sb_fetch *f, const struct sb_slot *slot,
                                  const struct sb_request *request)
{
    const char *name = sb_request_name(&slot->names, request);

    f->counts->missing++;
    if (request->answer == SB_ANSWER_DIRECTORY)
        sb_report(f->notify, SB_PROBLEM, "directory", name, "is a directory");
    else if (!sb_fetch_batches(f->options))
        sb_report(f->notify, SB_PROBLEM, "missing", name, "no such file in the archive%s",
                  sb_unmatched_in(f->lookup.archive, name));
    if (sb_fetch_batches(f->options))
        return sb_fetch_give_line(f, name, request->name_size, "missing");
    return SB_OK;
}

enum sb_code sb_fetch_answer_damaged(struct sb_fetch *f, const char *name, size_t size,
                                     const char *text)
{
    f->counts->damaged++;
    sb_report(f->notify, SB_PROBLEM, "damaged", name, "%s", text);
    return sb_fetch_batches(f->options) ? sb_fetch_give_line(f, name, size, "damaged") : SB_OK;
}

enum sb_code sb_fetch_answer_changed(struct sb_fetch *f, const char *name, size_t size,
                                     const char *text)
{
    f->counts->missing++;
    sb_report(f->notify, SB_PROBLEM, "changed", name, "%s", text);
    return sb_fetch_batches(f->options) ? sb_fetch_give_line(f, name, size, "missing") : SB_OK;
}

static bool same_extent(const struct sb_request *a, const struct sb_request *b)
{
    return a->shard == b->shard && a->offset == b->offset && a->size == b->size &&
           a->has_crc == b->has_crc && a->crc32c == b->crc32c;
}

/* Is it worthwhile to look its row up again? */
static bool is_doubtful(const struct sb_fetch *f, const struct sb_request *request)
{
    switch (request->answer) {
    case SB_ANSWER_DAMAGED:
    case SB_ANSWER_MOVED:
        return true;
    case SB_ANSWER_STREAM:
        return sb_archive_has_moved(f->lookup.archive, request->generation);
    default:
        return false;
    }
}

/* Looks the name up again and reads its file anew, if that may help. */
static enum sb_code read_again(struct sb_fetch *f, struct sb_slot *slot, bool *useful)
{
    struct sb_request *now = slot->requests, before = *now;

    TRY(sb_look_up(&f->lookup, &slot->names, now));
    *useful = now->answer != SB_ANSWER_DAMAGED &&
              !(before.answer == SB_ANSWER_DAMAGED && now->generation == before.generation &&
                now->answer != SB_ANSWER_MISSING && same_extent(now, &before));
    if (!*useful) {
        if (now->answer != SB_ANSWER_DAMAGED)
            *now = before;
        return SB_OK;
    }
    slot->cost = sb_request_cost(now, f->options);
    slot->data_size = 0;
    return sb_slot_read(slot);
}

static enum sb_code give_slot(struct sb_fetch *f, struct sb_slot *slot, bool again);

/*
 * Bytes that seem damaged, or have no checksum, may have been moved by a writer since the name was
 * looked up.
 */
static enum sb_code answer_doubtful(struct sb_fetch *f, const struct sb_slot *slot,
                                    const struct sb_request *request)
{
    CLEANUP(sb_slot_release)
    struct sb_slot second = {
        .archive = f->lookup.archive, .shards = f->shards, .options = f->options};
    bool useful = true;

    TRY(sb_archive_still_current(f->lookup.archive));
    TRY(sb_slot_add(&second, request, &slot->names));
    second.requests->at = 0;
    for (int i = 0; useful && is_doubtful(f, second.requests) && i < LOOKED_UP_MOST; i++)
        TRY(read_again(f, &second, &useful));
    return give_slot(f, &second, true);
}

/* Answers a request whose bytes are not in the slot's data. */
static enum sb_code answer_otherwise(struct sb_fetch *f, const struct sb_slot *slot,
                                     const struct sb_request *request, bool again)
{
    const char *name = sb_request_name(&slot->names, request);

    if (!again && is_doubtful(f, request))
        return answer_doubtful(f, slot, request);
    switch (request->answer) {
    case SB_ANSWER_STREAM:
        return sb_fetch_answer_stream(f, slot, request);
    case SB_ANSWER_DAMAGED:
        return sb_fetch_answer_damaged(f, name, request->name_size,
                                       sb_request_problem(&slot->names, request));
    case SB_ANSWER_MOVED:
        return sb_fetch_answer_changed(f, name, request->name_size, "keeps being moved; try again");
    default:
        return answer_absent(f, slot, request);
    }
}

static enum sb_code give_bytes(struct sb_fetch *f, const struct sb_slot *slot,
                               const struct sb_request *request)
{
    const char *name = sb_request_name(&slot->names, request);
    struct sb_entry file = sb_request_file(request, name);

    TRY(sb_fetch_frames_begin(&f->frames, name, request->size, &file));
    TRY(sb_fetch_frames_data(&f->frames, name, slot->data + request->at, (size_t)request->size));
    return sb_fetch_frames_end(&f->frames, name);
}

/* Writes runs of answers at once. `again`: these names were looked up a second time. */
static enum sb_code give_slot(struct sb_fetch *f, struct sb_slot *slot, bool again)
{
    size_t given = 0;

    for (size_t i = 0; i < slot->count; i++) {
        const struct sb_request *request = &slot->requests[i];

        if (request->answer == SB_ANSWER_BYTES) {
            f->counts->files++;
            sb_count_up(&f->counts->bytes, request->size);
            if (!f->frames.framer)
                continue;
            TRY(give_bytes(f, slot, request));
            given = request->at + (size_t)request->size;
            continue;
        }
        TRY(sb_fetch_give(f, slot->data + given, request->at - given));
        given = request->at;
        TRY(answer_otherwise(f, slot, request, again));
    }
    TRY(sb_fetch_give(f, slot->data + given, slot->data_size - given));
    return sb_fetch_frames_flush(&f->frames);
}

/* Where each name is waited for, few in a slot and a queue let all threads wait at once. */
static void follow(struct sb_fetch *f, const struct sb_slot *slot)
{
    f->slow = sb_pace_is_slow(slot->count, slot->took);
    if (f->slow)
        f->slot_names = SLOT_FIRST;
    else if (slot->count == f->slot_names && f->slot_names < SLOT_MOST)
        f->slot_names *= 2;
}

static enum sb_code drain(void *context, void *slot_context)
{
    struct sb_fetch *f = context;
    struct sb_slot *slot = slot_context;
    enum sb_code code;

    follow(f, slot);
    code = give_slot(f, slot, false);
    f->in_flight -= slot->cost;
    if (slot->data_capacity > SB_FETCH_SLOT_BYTES) {
        free(slot->data);
        slot->data = NULL;
        slot->data_capacity = 0;
    }
    return code;
}

static enum sb_code run(struct sb_fetch *f)
{
    static const struct sb_pipeline_ops ops = {
        .fill = fill, .work = work, .drain = drain, .fill_would_wait = fill_would_wait};
    struct sb_archive *archive = f->lookup.archive;
    unsigned threads = f->options->threads, count = threads == 1 ? 1 : 2 * threads + 2;
    struct sb_slot *slots;
    enum sb_code code;

    TRY(sb_fetch_frames_open(&f->frames, f->options->framing, f->output));
    TRY(sb_shards_open(&f->shards, archive));
    TRY(sb_many_new(&f->many, archive, threads));
    f->look_ahead.many = f->many;
    TRY(sb_content_open(&f->content, archive, f->shards));
    if (count > SLOTS_MAX)
        count = SLOTS_MAX;
    TRY(SB_NEW_ARRAY(&slots, count));
    for (unsigned i = 0; i < count; i++) {
        slots[i].archive = archive;
        slots[i].shards = f->shards;
        slots[i].options = f->options;
    }
    code = sb_pipeline_run(&ops, f, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_slot_release(&slots[i]);
    free(slots);
    return code ? code : sb_fetch_frames_finish(&f->frames);
}

static void release(struct sb_fetch *f)
{
    sb_look_ahead_release(&f->look_ahead);
    sb_many_free(f->many);
    sb_queue_release(&f->queues[0]);
    sb_queue_release(&f->queues[1]);
    sb_lookup_release(&f->lookup);
    sb_recoder_free(f->recoder);
    sb_fetch_frames_release(&f->frames);
    sb_content_free(f->content);
    sb_shards_free(f->shards);
}

enum sb_code sb_fetch(struct sb_archive *archive, const struct sb_fetch_options *options,
                      const struct sb_fetch_names *names, const struct sb_fetch_output *output,
                      const struct sb_notify *notify, struct sb_fetch_counts *counts)
{
    CLEANUP(release)
    struct sb_fetch f = {
        .lookup = {.archive = archive, .options = options},
        .look_ahead = {.options = options},
        .options = options,
        .names = names,
        .output = output,
        .notify = notify,
        .counts = counts,
        .slot_names = SLOT_FIRST,
        .queue_limit = options->by_address ? SB_FETCH_SORTED_MAX : QUEUE_FIRST,
    };

    *counts = (struct sb_fetch_counts){0};
    f.now = &f.queues[0];
    f.ahead = &f.queues[1];
    return run(&f);
}
