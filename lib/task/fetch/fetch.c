#include "task/fetch/impl.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/many.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/number.h"
#include "core/pace.h"
#include "core/pipeline.h"
#include "core/time.h"
#include "store/source.h"
#include "store/unmatched.h"
#include "task/transfer/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_FIRST      16    /* names; twice as many each time, */
#define SLOT_MOST       256   /* up to this */
#define QUEUE_FIRST     512   /* names; the limit grows fourfold when it is reached at once, */
#define QUEUE_MOST      32768 /* up to this */
#define SLOTS_MAX       32
#define LOOKED_UP_MOST  32 /* look-ups for one name, while its file keeps being moved */
#define IN_FLIGHT_BYTES ((size_t)72 << 20) /* of answers, in all slots */
#define SLOT_BYTES      ((size_t)512 << 10) /* of answers in one slot, unless a single one is larger */
#define FRAME_EXTRA     24                  /* SP, a 64-bit number, end of line, newline */

/*
 * A batch of names that are answered together: filled, read by a worker, written. It belongs to one
 * thread at a time, and is empty when all is zero. Its memory is kept from one filling to the next.
 */
struct slot {
    struct sb_buf names;
    struct sb_request *requests;
    size_t count;
    size_t capacity; /* of requests */
    size_t cost;     /* bytes of data that the answers may take */
    char *data;
    size_t data_capacity;
    size_t data_size;
    int64_t took; /* nanoseconds to read it */
};

struct fetch {
    struct sb_shards *shards;
    struct sb_content *content;
    const struct sb_fetch_options *options;
    const struct sb_fetch_names *names;
    const struct sb_fetch_output *output;
    const struct sb_notify *notify;
    struct sb_fetch_counts *counts;
    struct sb_lookup lookup; /* of single names */
    struct sb_many *many;
    struct sb_queue queues[2];
    struct sb_queue *now;   /* being moved to slots */
    struct sb_queue *ahead; /* looked up meanwhile */
    struct sb_look_ahead look_ahead;
    size_t queue_limit;
    bool queue_filled; /* the latest, up to the limit */
    size_t slot_names;
    bool slow;        /* reading is waiting */
    size_t in_flight; /* sum of the costs of filled slots */
    bool ended;       /* no more names */
    struct sb_fetch_frames frames;
    struct sb_recoder *recoder; /* made for the first file that is decompressed */
};

/* Does the slot's data contain batch frames around the bytes? */
static bool is_batch(const struct fetch *f)
{
    return f->options->framing == SB_FRAMING_BATCH;
}

/* Bytes that the answer may need in the slot's data. */
static size_t cost_of(const struct fetch *f, const struct sb_request *request)
{
    if (request->answer != SB_ANSWER_BYTES)
        return 0;
    return (size_t)request->size + (is_batch(f) ? request->name_size + FRAME_EXTRA : 0);
}

/* The row of an answer with bytes, with this name. */
static struct sb_entry file_of(const struct sb_request *request, const char *name)
{
    struct sb_entry file = request->file;

    file.path = name;
    file.path_size = request->name_size;
    return file;
}

/* Makes the answer SB_ANSWER_DAMAGED; text is what is wrong. */
static enum sb_code mark_damaged(struct sb_request *request, struct sb_buf *names, const char *text)
{
    request->answer = SB_ANSWER_DAMAGED;
    request->file.defect = NULL;
    request->text_at = names->size;
    return sb_buf_add(names, text, strlen(text) + 1);
}

static void release_slot(struct slot *slot)
{
    sb_buf_release(&slot->names);
    free(slot->requests);
    free(slot->data);
}

/* Adds a copy of a request whose name and text are in `names`. */
static enum sb_code add_request(struct slot *slot, const struct sb_request *request,
                                const struct sb_buf *names)
{
    struct sb_request *added;

    TRY(sb_grow(&slot->requests, &slot->capacity, slot->count, sizeof(*added)));
    added = &slot->requests[slot->count];
    *added = *request;
    added->name_at = slot->names.size;
    TRY(sb_buf_add(&slot->names, names->data + request->name_at, request->name_size));
    TRY(sb_buf_add_char(&slot->names, '\0'));
    slot->count++;
    if (request->answer != SB_ANSWER_DAMAGED || request->file.defect)
        return SB_OK;
    return mark_damaged(added, &slot->names, names->data + request->text_at);
}

/* Is it an error of one file only, while others may be fine? */
static bool is_file_damage(const struct sb_error *err)
{
    return err->code == SB_DAMAGED || err->code == SB_NOENT ||
           (err->code == SB_SYSTEM && err->sys_errno == EIO);
}

/* How many requests from this one on have adjacent bytes, and how many bytes. */
static size_t run_length(const struct fetch *f, const struct slot *slot, size_t first,
                         size_t *bytes)
{
    const struct sb_request *request = &slot->requests[first];
    size_t end = first + 1;

    *bytes = (size_t)request->size;
    while (!is_batch(f) && end < slot->count) {
        const struct sb_request *next = &slot->requests[end];

        if (next->answer != SB_ANSWER_BYTES || next->file.shard != request->file.shard ||
            next->offset != request->offset + (int64_t)*bytes)
            break;
        *bytes += (size_t)next->size;
        end++;
    }
    return end - first;
}

/* Appends the answer whose bytes are at `from`, at or after the end of the slot's data. */
static enum sb_code keep_checked(const struct fetch *f, struct slot *slot,
                                 struct sb_request *request, const char *from)
{
    size_t size = (size_t)request->size;
    char *to = slot->data + slot->data_size;

    request->at = slot->data_size;
    if ((request->file.has & SB_HAS_CRC) && sb_crc32c(0, from, size) != request->file.crc32c)
        return mark_damaged(request, &slot->names, "its bytes do not match their CRC32C");
    if (!(request->file.has & SB_HAS_CRC) &&
        sb_archive_has_moved(f->lookup.archive, request->file.generation)) {
        request->answer = SB_ANSWER_MOVED;
        return SB_OK;
    }
    if (from != to)
        memmove(to, from, size);
    slot->data_size += size;
    return SB_OK;
}

/* For an empty file the shard is not opened: it may be missing. */
static enum sb_code read_bytes(const struct fetch *f, const struct sb_request *request, char *to,
                               size_t size)
{
    if (size == 0)
        return SB_OK;
    return sb_shards_read(f->shards, request->file.shard, request->offset, to, size);
}

static enum sb_code read_one(const struct fetch *f, struct slot *slot, struct sb_request *request)
{
    size_t start = slot->data_size;
    char *data = slot->data;
    enum sb_code code;

    if (is_batch(f)) {
        memcpy(data + start, sb_request_name(&slot->names, request), request->name_size);
        slot->data_size += request->name_size;
        slot->data_size +=
            (size_t)snprintf(data + slot->data_size, FRAME_EXTRA, " %" PRId64, request->size);
        data[slot->data_size++] = f->options->frame_end;
    }
    code = read_bytes(f, request, data + slot->data_size, (size_t)request->size);
    if (code && is_file_damage(sb_error()))
        code = mark_damaged(request, &slot->names, sb_error()->text);
    else if (!code)
        code = keep_checked(f, slot, request, data + slot->data_size);
    request->at = start;
    if (request->answer != SB_ANSWER_BYTES)
        slot->data_size = start;
    else if (is_batch(f))
        data[slot->data_size++] = '\n';
    return code;
}

static enum sb_code read_run(const struct fetch *f, struct slot *slot, size_t first, size_t count,
                             size_t bytes)
{
    struct sb_request *request = &slot->requests[first];
    const char *from = slot->data + slot->data_size;
    bool merged = count > 1 && !read_bytes(f, request, slot->data + slot->data_size, bytes);

    for (size_t i = 0; i < count; i++, request++) {
        TRY(merged ? keep_checked(f, slot, request, from) : read_one(f, slot, request));
        from += request->size;
    }
    return SB_OK;
}

static enum sb_code make_data_space(struct slot *slot)
{
    if (slot->data && slot->cost <= slot->data_capacity)
        return SB_OK;
    free(slot->data);
    slot->data_capacity = slot->cost > SLOT_BYTES ? slot->cost : SLOT_BYTES;
    return sb_alloc(&slot->data, slot->data_capacity);
}

/* Reads and checks the bytes of the requests, and lays out the answers in data. */
static enum sb_code read_slot(const struct fetch *f, struct slot *slot)
{
    size_t count, bytes;

    TRY(make_data_space(slot));
    for (size_t i = 0; i < slot->count; i += count) {
        count = 1;
        if (slot->requests[i].answer == SB_ANSWER_BYTES) {
            count = run_length(f, slot, i, &bytes);
            TRY(read_run(f, slot, i, count, bytes));
        } else {
            slot->requests[i].at = slot->data_size;
        }
    }
    return SB_OK;
}

static bool is_answered(const struct sb_queue *queue)
{
    return queue->next == queue->count;
}

static enum sb_code collect(struct fetch *f, struct sb_queue *queue)
{
    enum sb_code code;

    if (f->queue_filled && f->queue_limit < QUEUE_MOST && !f->slow)
        f->queue_limit *= 4;
    code = sb_queue_collect(queue, f->names, f->queue_limit, f->options->by_address, &f->ended);
    f->queue_filled = queue->count == f->queue_limit;
    return code;
}

/* Makes the queue that was looked up ahead the current one, and collects more without waiting. */
static enum sb_code turn_queues(struct fetch *f)
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

static bool fits_in_memory(const struct fetch *f, size_t cost)
{
    return f->in_flight == 0 || f->in_flight + cost <= IN_FLIGHT_BYTES;
}

/* The slot stays empty if the next answer is too large for the remaining memory. */
static enum sb_code fill(void *context, void *slot_context)
{
    struct fetch *f = context;
    struct slot *slot = slot_context;
    struct sb_queue *queue;

    sb_buf_clear(&slot->names);
    slot->count = slot->cost = slot->data_size = 0;
    if (is_answered(f->now))
        TRY(turn_queues(f));
    queue = f->now;
    if (is_answered(queue))
        return SB_END;
    while (!is_answered(queue) && slot->count < f->slot_names) {
        const struct sb_request *request = &queue->requests[queue->next];
        size_t cost = cost_of(f, request);

        if (slot->count == 0 ? !fits_in_memory(f, cost) : slot->cost + cost > SLOT_BYTES)
            break;
        TRY(add_request(slot, request, &queue->names));
        slot->cost += cost;
        queue->next++;
    }
    f->in_flight += slot->cost;
    return SB_OK;
}

static int fill_would_wait(void *context)
{
    struct fetch *f = context;
    const struct sb_queue *queue = f->now;

    if (!is_answered(queue))
        return !fits_in_memory(f, cost_of(f, &queue->requests[queue->next]));
    if (is_answered(f->ahead))
        return !f->ended && !f->names->ready(f->names->context);
    return sb_look_ahead_is_busy(&f->look_ahead);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct slot *self = slot;
    int64_t began = sb_clock_ns();
    enum sb_code code = read_slot(context, self);

    (void)turns;
    self->took = sb_clock_ns() - began;
    return code;
}

static enum sb_code give(struct fetch *f, const void *data, size_t size)
{
    return size ? f->output->write(f->output->context, data, size) : SB_OK;
}

static enum sb_code give_line(struct fetch *f, const char *name, size_t size, const char *word)
{
    CLEANUP(sb_buf_release) struct sb_buf line = {0};

    TRY(sb_buf_add(&line, name, size));
    TRY(sb_buf_add_char(&line, ' '));
    TRY(sb_buf_add_text(&line, word));
    TRY(sb_buf_add_char(&line, f->options->frame_end));
    return give(f, line.data, line.size);
}

static enum sb_code answer_absent(struct fetch *f, const struct slot *slot,
                                  const struct sb_request *request)
{
    const char *name = sb_request_name(&slot->names, request);

    f->counts->missing++;
    if (request->answer == SB_ANSWER_DIRECTORY)
        sb_report(f->notify, SB_PROBLEM, "directory", name, "is a directory");
    else if (!is_batch(f))
        sb_report(f->notify, SB_PROBLEM, "missing", name, "no such file in the archive%s",
                  sb_unmatched_in(f->lookup.archive, name));
    if (is_batch(f))
        return give_line(f, name, request->name_size, "missing");
    return SB_OK;
}

/* SB_ANSWER_DAMAGED, or SB_ANSWER_MOVED: a file that was removed or replaced while it was read. */
static enum sb_code answer_failed(struct fetch *f, enum sb_answer answer, const char *name,
                                  size_t size, const char *text)
{
    bool damaged = answer == SB_ANSWER_DAMAGED;

    f->counts->damaged += damaged;
    f->counts->missing += !damaged;
    sb_report(f->notify, SB_PROBLEM, damaged ? "damaged" : "changed", name, "%s", text);
    return is_batch(f) ? give_line(f, name, size, damaged ? "damaged" : "missing") : SB_OK;
}

struct stream {
    struct fetch *f;
    const char *name;
    const struct sb_request *request;
    bool begun;         /* something was written */
    bool output_failed; /* then the file is not at fault */
};

static enum sb_code begin_stream(struct stream *stream)
{
    const struct sb_request *request = stream->request;
    struct fetch *f = stream->f;
    struct sb_entry file = file_of(request, stream->name);
    char number[24];

    stream->begun = true;
    if (f->frames.framer)
        return sb_fetch_frames_begin(&f->frames, stream->name, request->size, &file);
    if (!is_batch(f))
        return SB_OK;
    snprintf(number, sizeof(number), "%" PRId64, request->size);
    return give_line(f, stream->name, request->name_size, number);
}

static enum sb_code end_stream(struct stream *stream)
{
    struct fetch *f = stream->f;

    if (!stream->begun)
        TRY(begin_stream(stream));
    if (f->frames.framer)
        return sb_fetch_frames_end(&f->frames, stream->name);
    return is_batch(f) ? give(f, "\n", 1) : SB_OK;
}

static enum sb_code give_block(void *context, const void *data, size_t size)
{
    struct stream *stream = context;
    enum sb_code code = SB_OK;

    if (!stream->begun)
        code = begin_stream(stream);
    if (!code && stream->f->frames.framer)
        code = sb_fetch_frames_data(&stream->f->frames, stream->name, data, size);
    else if (!code)
        code = give(stream->f, data, size);
    stream->output_failed = code != SB_OK;
    return code;
}

static enum sb_code feed_block(void *context, const void *data, size_t size)
{
    struct stream *stream = context;

    return sb_recoder_feed(stream->f->recoder, data, size);
}

static enum sb_code stream_file(struct fetch *f, struct stream *stream, sb_each_block *each)
{
    const struct sb_request *request = stream->request;
    struct sb_entry entry = file_of(request, stream->name);
    struct sb_filling filling = {.name = sb_archive_path(f->lookup.archive),
                                 .member = stream->name,
                                 .most = f->options->max_size,
                                 .each = each,
                                 .context = stream};

    TRY(sb_stored_name(&f->lookup, &entry.path, &entry.path_size));
    if (request->size == request->file.size)
        return sb_content_stream_sparse(f->content, &entry, request->file.has & SB_HAS_CRC,
                                        sb_fill_hole, &filling);
    return sb_content_stream(f->content, &entry, request->skipped, request->size,
                             request->file.has & SB_HAS_CRC, each, stream);
}

static enum sb_code stream_decoded(struct fetch *f, struct stream *stream)
{
    const struct sb_recode recode = {.decompress = true, .all_layers = f->options->decompress_all};

    if (!f->recoder)
        TRY(sb_recoder_new(&f->recoder));
    TRY(sb_recoder_begin(f->recoder, &recode, stream->name, stream->request->name_size,
                         stream->request->size, give_block, stream));
    TRY(stream_file(f, stream, feed_block));
    return sb_recoder_finish(f->recoder);
}

static enum sb_code fail_stream(struct fetch *f, const struct stream *stream)
{
    const char *name = stream->name;
    struct sb_error cause = *sb_error();

    if (stream->output_failed || (cause.code != SB_CHANGED && !is_file_damage(&cause)))
        return cause.code;
    TRY(sb_archive_still_current(f->lookup.archive));
    if (stream->begun && !sb_framing_is_bare(f->options->framing)) {
        f->counts->damaged++;
        return sb_fail(cause.code, "%s: %s; the output ends within this file", name, cause.text);
    }
    return answer_failed(f, cause.code == SB_CHANGED ? SB_ANSWER_MOVED : SB_ANSWER_DAMAGED, name,
                         stream->request->name_size, cause.text);
}

/* The frame's line is written with the first block: until then the answer can still change. */
static enum sb_code answer_stream(struct fetch *f, const struct slot *slot,
                                  const struct sb_request *request)
{
    const char *name = sb_request_name(&slot->names, request);
    struct stream stream = {.f = f, .name = name, .request = request};
    enum sb_code code =
        request->decoded ? stream_decoded(f, &stream) : stream_file(f, &stream, give_block);

    if (code)
        return fail_stream(f, &stream);
    f->counts->files++;
    sb_count_up(&f->counts->bytes, request->size);
    return end_stream(&stream);
}

static bool same_extent(const struct sb_request *a, const struct sb_request *b)
{
    return a->file.shard == b->file.shard && a->offset == b->offset && a->size == b->size &&
           ((a->file.has ^ b->file.has) & SB_HAS_CRC) == 0 && a->file.crc32c == b->file.crc32c;
}

/* Is it worthwhile to look its row up again? */
static bool is_doubtful(const struct fetch *f, const struct sb_request *request)
{
    switch (request->answer) {
    case SB_ANSWER_DAMAGED:
    case SB_ANSWER_MOVED:
        return true;
    case SB_ANSWER_STREAM:
        return sb_archive_has_moved(f->lookup.archive, request->file.generation);
    default:
        return false;
    }
}

/* Looks the name up again and reads its file anew, if that may help. */
static enum sb_code read_again(struct fetch *f, struct slot *slot, bool *useful)
{
    struct sb_request *now = slot->requests, before = *now;

    TRY(sb_look_up(&f->lookup, &slot->names, now));
    *useful =
        now->answer != SB_ANSWER_DAMAGED &&
        !(before.answer == SB_ANSWER_DAMAGED && now->file.generation == before.file.generation &&
          now->answer != SB_ANSWER_MISSING && same_extent(now, &before));
    if (!*useful) {
        if (now->answer != SB_ANSWER_DAMAGED)
            *now = before;
        return SB_OK;
    }
    slot->cost = cost_of(f, now);
    slot->data_size = 0;
    return read_slot(f, slot);
}

static enum sb_code give_slot(struct fetch *f, struct slot *slot, bool again);

/*
 * Bytes that seem damaged, or have no checksum, may have been moved by a writer since the name was
 * looked up.
 */
static enum sb_code answer_doubtful(struct fetch *f, const struct slot *slot,
                                    const struct sb_request *request)
{
    CLEANUP(release_slot) struct slot second = {0};
    bool useful = true;

    TRY(sb_archive_still_current(f->lookup.archive));
    TRY(add_request(&second, request, &slot->names));
    second.requests->at = 0;
    for (int i = 0; useful && is_doubtful(f, second.requests) && i < LOOKED_UP_MOST; i++)
        TRY(read_again(f, &second, &useful));
    return give_slot(f, &second, true);
}

/* Answers a request whose bytes are not in the slot's data. */
static enum sb_code answer_otherwise(struct fetch *f, const struct slot *slot,
                                     const struct sb_request *request, bool again)
{
    const char *name = sb_request_name(&slot->names, request);

    if (!again && is_doubtful(f, request))
        return answer_doubtful(f, slot, request);
    switch (request->answer) {
    case SB_ANSWER_STREAM:
        return answer_stream(f, slot, request);
    case SB_ANSWER_DAMAGED:
        return answer_failed(f, SB_ANSWER_DAMAGED, name, request->name_size,
                             request->file.defect ? request->file.defect
                                                  : slot->names.data + request->text_at);
    case SB_ANSWER_MOVED:
        return answer_failed(f, SB_ANSWER_MOVED, name, request->name_size,
                             "keeps being moved; try again");
    default:
        return answer_absent(f, slot, request);
    }
}

static enum sb_code give_bytes(struct fetch *f, const struct slot *slot,
                               const struct sb_request *request)
{
    const char *name = sb_request_name(&slot->names, request);
    struct sb_entry file = file_of(request, name);

    TRY(sb_fetch_frames_begin(&f->frames, name, request->size, &file));
    TRY(sb_fetch_frames_data(&f->frames, name, slot->data + request->at, (size_t)request->size));
    return sb_fetch_frames_end(&f->frames, name);
}

/* Writes runs of answers at once. `again`: these names were looked up a second time. */
static enum sb_code give_slot(struct fetch *f, struct slot *slot, bool again)
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
        TRY(give(f, slot->data + given, request->at - given));
        given = request->at;
        TRY(answer_otherwise(f, slot, request, again));
    }
    TRY(give(f, slot->data + given, slot->data_size - given));
    return sb_fetch_frames_flush(&f->frames);
}

/* Where each name is waited for, few in a slot and a queue let all threads wait at once. */
static void follow(struct fetch *f, const struct slot *slot)
{
    f->slow = sb_pace_is_slow(slot->count, slot->took);
    if (f->slow)
        f->slot_names = SLOT_FIRST;
    else if (slot->count == f->slot_names && f->slot_names < SLOT_MOST)
        f->slot_names *= 2;
}

static enum sb_code drain(void *context, void *slot_context)
{
    struct fetch *f = context;
    struct slot *slot = slot_context;
    enum sb_code code;

    follow(f, slot);
    code = give_slot(f, slot, false);
    f->in_flight -= slot->cost;
    if (slot->data_capacity > SLOT_BYTES) {
        free(TAKE(slot->data));
        slot->data_capacity = 0;
    }
    return code;
}

static enum sb_code run(struct fetch *f)
{
    static const struct sb_pipeline_ops ops = {
        .fill = fill, .work = work, .drain = drain, .fill_would_wait = fill_would_wait};
    struct sb_archive *archive = f->lookup.archive;
    unsigned threads = f->options->threads, count = threads == 1 ? 1 : 2 * threads + 2;
    struct slot *slots;
    enum sb_code code;

    TRY(sb_fetch_frames_open(&f->frames, f->options->framing, f->output));
    TRY(sb_shards_open(&f->shards, archive));
    TRY(sb_many_new(&f->many, archive, threads));
    f->look_ahead.many = f->many;
    TRY(sb_content_open(&f->content, archive, f->shards));
    if (count > SLOTS_MAX)
        count = SLOTS_MAX;
    TRY(SB_NEW_ARRAY(&slots, count));
    code = sb_pipeline_run(&ops, f, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        release_slot(&slots[i]);
    free(slots);
    return code ? code : sb_fetch_frames_finish(&f->frames);
}

static void release(struct fetch *f)
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
    struct fetch f = {
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
