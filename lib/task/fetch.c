#include "task/fetch.h"

#include "archive/archive.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "core/name.h"
#include "core/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKUP_NAMES    256                         /* in one read transaction */
#define SORTED_BYTES    (SB_FETCH_SORTED_MAX * 128) /* of names sorted at once */
#define SLOT_BYTES      ((size_t)512 << 10)         /* of answers, unless one alone is larger */
#define SLOTS_MAX       32
#define IN_FLIGHT_BYTES ((size_t)72 << 20) /* of answers, in all slots */
#define FRAME_EXTRA     24                 /* SP, a 64-bit number, end of line, newline */

enum answer {
    ANSWER_BYTES,
    ANSWER_STREAM, /* bytes too, but too many to hold */
    ANSWER_MISSING,
    ANSWER_DIRECTORY,
    ANSWER_DAMAGED,
};

/* Places are offsets into the names of the queue or slot that the request is in. */
struct request {
    size_t name_at;
    size_t name_size;
    size_t text_at; /* ANSWER_DAMAGED: what is wrong */
    enum answer answer;
    bool has_crc; /* and it covers the bytes wanted */
    uint32_t crc32c;
    uint32_t shard;
    int64_t offset; /* of the bytes wanted */
    int64_t size;
    size_t at; /* where the answer stands in the slot's data */
};

/* Names that were looked up and are not in a slot yet. */
struct queue {
    struct sb_buf names;
    struct request *requests;
    size_t count;
    size_t next;
};

struct slot {
    struct sb_buf names;
    struct request *requests;
    size_t count;
    size_t room; /* of requests */
    size_t cost; /* bytes of data that the answers may take */
    char *data;
    size_t data_room;
    size_t data_size;
};

struct fetch {
    struct sb_archive *archive;
    struct sb_shards *shards;
    const struct sb_fetch_options *options;
    const struct sb_fetch_names *names;
    const struct sb_fetch_output *output;
    const struct sb_notify *notify;
    struct sb_fetch_counts *counts;
    struct queue queue;
    size_t queue_room;
    struct sb_buf normal; /* a name in its stored form */
    size_t in_flight;     /* sum of the costs of filled slots */
    bool ended;           /* no more names */
};

static const char *name_of(const struct sb_buf *names, const struct request *request)
{
    return names->data + request->name_at;
}

static void slot_release(struct slot *slot)
{
    sb_buf_release(&slot->names);
    free(slot->requests);
    free(slot->data);
}

static enum sb_code mark_damaged(struct sb_buf *names, struct request *request, const char *text,
                                 struct sb_error *err)
{
    request->answer = ANSWER_DAMAGED;
    request->text_at = names->size;
    if (sb_buf_add(names, text, strlen(text) + 1))
        return sb_fail_memory(err);
    return SB_OK;
}

static void take_extent(const struct fetch *f, struct request *request,
                        const struct sb_entry *entry)
{
    const struct sb_fetch_options *options = f->options;
    int64_t skip = 0;
    int64_t size = entry->size;

    if (options->ranged) {
        skip = options->range_offset < size ? options->range_offset : size;
        size -= skip;
        if (size > options->range_size)
            size = options->range_size;
    }
    request->shard = entry->shard;
    request->offset = entry->offset + skip;
    request->size = size;
    request->crc32c = entry->crc32c;
    request->has_crc = (entry->has & SB_HAS_CRC) && !options->ranged && !options->no_check;
    request->answer = size > SB_FETCH_WHOLE_MAX ? ANSWER_STREAM : ANSWER_BYTES;
}

static enum sb_code look_up(struct fetch *f, struct sb_buf *names, struct request *request,
                            struct sb_error *err)
{
    const char *name = name_of(names, request);
    size_t size = request->name_size;
    struct sb_entry entry;
    enum sb_code code;
    bool stripped;

    request->answer = ANSWER_MISSING;
    if (size == 0 || memchr(name, '\0', size))
        return SB_OK;
    if (sb_name_problem(name, size)) {
        sb_buf_clear(&f->normal);
        if (sb_name_normalize(name, &f->normal, &stripped))
            return sb_fail_memory(err);
        name = f->normal.size ? f->normal.data : "";
        size = f->normal.size;
    }
    code = sb_archive_lookup(f->archive, name, size, &entry, err);
    if (code == SB_NOENT)
        return SB_OK;
    if (code)
        return code;
    if (entry.defect)
        return mark_damaged(names, request, entry.defect, err);
    if (entry.type == SB_DIR)
        request->answer = ANSWER_DIRECTORY;
    else
        take_extent(f, request, &entry);
    return SB_OK;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    bool x_has = x->answer == ANSWER_BYTES || x->answer == ANSWER_STREAM;
    bool y_has = y->answer == ANSWER_BYTES || y->answer == ANSWER_STREAM;

    if (x_has != y_has)
        return x_has ? 1 : -1;
    if (x_has && x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    if (x_has && x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->name_at < y->name_at ? -1 : x->name_at > y->name_at;
}

/* Waits for one name and takes those that come without waiting, or as many as are to be sorted. */
static enum sb_code collect_names(struct fetch *f, struct sb_error *err)
{
    struct queue *queue = &f->queue;
    const char *name;
    enum sb_code code;
    size_t size;

    queue->count = queue->next = 0;
    sb_buf_clear(&queue->names);
    do {
        code = f->names->next(f->names->context, &name, &size, err);
        f->ended = code == SB_END;
        if (code)
            return f->ended ? SB_OK : code;
        queue->requests[queue->count++] =
            (struct request){.name_at = queue->names.size, .name_size = size};
        if (sb_buf_add(&queue->names, name, size) || sb_buf_add_char(&queue->names, '\0'))
            return sb_fail_memory(err);
    } while (queue->count < f->queue_room && queue->names.size < SORTED_BYTES &&
             (f->options->by_address || f->names->ready(f->names->context)));
    return SB_OK;
}

static enum sb_code look_up_queue(struct fetch *f, struct sb_error *err)
{
    struct queue *queue = &f->queue;
    enum sb_code code = sb_archive_begin(f->archive, err);

    if (code)
        return code;
    for (size_t i = 0; i < queue->count && !code; i++)
        code = look_up(f, &queue->names, &queue->requests[i], err);
    sb_archive_end(f->archive);
    if (!code && f->options->by_address)
        qsort(queue->requests, queue->count, sizeof(*queue->requests), compare_addresses);
    return code;
}

static size_t cost_of(const struct fetch *f, const struct request *request)
{
    if (request->answer != ANSWER_BYTES)
        return 0;
    return (size_t)request->size + (f->options->framed ? request->name_size + FRAME_EXTRA : 0);
}

static enum sb_code slot_add(struct slot *slot, const struct request *request, const char *name,
                             const char *text, struct sb_error *err)
{
    struct request *requests;
    size_t room;

    if (slot->count == slot->room) {
        room = slot->room ? slot->room * 2 : 16;
        requests = reallocarray(slot->requests, room, sizeof(*requests));
        if (!requests)
            return sb_fail_memory(err);
        slot->requests = requests;
        slot->room = room;
    }
    requests = &slot->requests[slot->count];
    *requests = *request;
    requests->name_at = slot->names.size;
    if (sb_buf_add(&slot->names, name, request->name_size) || sb_buf_add_char(&slot->names, '\0'))
        return sb_fail_memory(err);
    slot->count++;
    return text ? mark_damaged(&slot->names, requests, text, err) : SB_OK;
}

static void slot_clear(struct slot *slot)
{
    sb_buf_clear(&slot->names);
    slot->count = 0;
    slot->cost = 0;
    slot->data_size = 0;
}

static bool fits_in_memory(const struct fetch *f, size_t cost)
{
    return f->in_flight == 0 || f->in_flight + cost <= IN_FLIGHT_BYTES;
}

/* The slot stays empty when what comes next is too large for the memory that is left. */
static enum sb_code fill(void *context, void *slot_context, struct sb_error *err)
{
    struct fetch *f = context;
    struct queue *queue = &f->queue;
    struct slot *slot = slot_context;

    slot_clear(slot);
    if (queue->next == queue->count && !f->ended) {
        if (collect_names(f, err) || look_up_queue(f, err))
            return err->code;
    }
    if (queue->next == queue->count)
        return SB_END;
    while (queue->next < queue->count && slot->count < LOOKUP_NAMES) {
        const struct request *request = &queue->requests[queue->next];
        const char *text =
            request->answer == ANSWER_DAMAGED ? queue->names.data + request->text_at : NULL;
        size_t cost = cost_of(f, request);

        if (slot->count == 0 ? !fits_in_memory(f, cost) : slot->cost + cost > SLOT_BYTES)
            break;
        if (slot_add(slot, request, name_of(&queue->names, request), text, err))
            return err->code;
        slot->cost += cost;
        queue->next++;
    }
    f->in_flight += slot->cost;
    return SB_OK;
}

static int fill_would_wait(void *context)
{
    struct fetch *f = context;
    const struct queue *queue = &f->queue;

    if (queue->next < queue->count)
        return !fits_in_memory(f, cost_of(f, &queue->requests[queue->next]));
    return !f->ended && !f->names->ready(f->names->context);
}

/* What concerns one file only, while others may well be whole. */
static bool is_damage(const struct sb_error *err)
{
    return err->code == SB_DAMAGED || err->code == SB_NOENT ||
           (err->code == SB_SYSTEM && err->sys_errno == EIO);
}

/* How many requests from this one on have their bytes one behind the other, and how many bytes. */
static size_t run_length(const struct fetch *f, const struct slot *slot, size_t first,
                         size_t *bytes)
{
    const struct request *request = &slot->requests[first];
    size_t end = first + 1;

    *bytes = (size_t)request->size;
    while (!f->options->framed && end < slot->count) {
        const struct request *next = &slot->requests[end];

        if (next->answer != ANSWER_BYTES || next->shard != request->shard ||
            next->offset != request->offset + (int64_t)*bytes)
            break;
        *bytes += (size_t)next->size;
        end++;
    }
    return end - first;
}

/* Appends the answer whose bytes are at `from`, in the slot's data at or behind its end. */
static enum sb_code keep_checked(struct slot *slot, struct request *request, const char *from,
                                 struct sb_error *err)
{
    size_t size = (size_t)request->size;
    char *to = slot->data + slot->data_size;

    request->at = slot->data_size;
    if (request->has_crc && sb_crc32c(0, from, size) != request->crc32c)
        return mark_damaged(&slot->names, request, "its bytes do not match their CRC32C", err);
    if (from != to)
        memmove(to, from, size);
    slot->data_size += size;
    return SB_OK;
}

/* Nothing is asked of a shard for an empty file: it may not be there. */
static enum sb_code read_bytes(struct fetch *f, const struct request *request, char *to,
                               size_t size, struct sb_error *err)
{
    if (size == 0)
        return SB_OK;
    return sb_shards_read(f->shards, request->shard, request->offset, to, size, err);
}

static enum sb_code read_one(struct fetch *f, struct slot *slot, struct request *request,
                             struct sb_error *err)
{
    const struct sb_fetch_options *options = f->options;
    size_t start = slot->data_size;
    char *data = slot->data;
    enum sb_code code;

    if (options->framed) {
        memcpy(data + start, name_of(&slot->names, request), request->name_size);
        slot->data_size += request->name_size;
        slot->data_size += (size_t)sprintf(data + slot->data_size, " %" PRId64, request->size);
        data[slot->data_size++] = options->frame_end;
    }
    code = read_bytes(f, request, data + slot->data_size, (size_t)request->size, err);
    if (code && is_damage(err))
        code = mark_damaged(&slot->names, request, err->text, err);
    else if (!code)
        code = keep_checked(slot, request, data + slot->data_size, err);
    request->at = start;
    if (request->answer == ANSWER_DAMAGED)
        slot->data_size = start;
    else if (options->framed)
        data[slot->data_size++] = '\n';
    return code;
}

static enum sb_code read_run(struct fetch *f, struct slot *slot, size_t first, size_t count,
                             size_t bytes, struct sb_error *err)
{
    struct request *request = &slot->requests[first];
    const char *from = slot->data + slot->data_size;
    enum sb_code code = SB_OK;
    bool merged = count > 1 && !read_bytes(f, request, slot->data + slot->data_size, bytes, err);

    for (size_t i = 0; i < count && !code; i++, request++) {
        if (merged) {
            code = keep_checked(slot, request, from, err);
            from += request->size;
        } else {
            code = read_one(f, slot, request, err);
        }
    }
    return code;
}

static enum sb_code make_data_room(struct slot *slot, struct sb_error *err)
{
    if (slot->cost <= slot->data_room)
        return SB_OK;
    free(slot->data);
    slot->data_room = slot->cost > SLOT_BYTES ? slot->cost : SLOT_BYTES;
    slot->data = malloc(slot->data_room);
    if (!slot->data) {
        slot->data_room = 0;
        return sb_fail_memory(err);
    }
    return SB_OK;
}

static enum sb_code work(void *context, void *slot_context, struct sb_pipeline *turns,
                         struct sb_error *err)
{
    struct fetch *f = context;
    struct slot *slot = slot_context;
    enum sb_code code = make_data_room(slot, err);
    size_t count, bytes;

    (void)turns;
    for (size_t i = 0; i < slot->count && !code; i += count) {
        count = 1;
        if (slot->requests[i].answer == ANSWER_BYTES) {
            count = run_length(f, slot, i, &bytes);
            code = read_run(f, slot, i, count, bytes, err);
        } else {
            slot->requests[i].at = slot->data_size;
        }
    }
    return code;
}

static enum sb_code give(struct fetch *f, const void *data, size_t size, struct sb_error *err)
{
    return size ? f->output->write(f->output->context, data, size, err) : SB_OK;
}

static enum sb_code give_line(struct fetch *f, const char *name, size_t size, const char *word,
                              struct sb_error *err)
{
    struct sb_buf line = {0};
    enum sb_code code = SB_OK;

    if (sb_buf_add(&line, name, size) || sb_buf_add_char(&line, ' ') ||
        sb_buf_add_text(&line, word) || sb_buf_add_char(&line, f->options->frame_end))
        code = sb_fail_memory(err);
    if (!code)
        code = give(f, line.data, line.size, err);
    sb_buf_release(&line);
    return code;
}

static enum sb_code answer_absent(struct fetch *f, const struct slot *slot,
                                  const struct request *request, struct sb_error *err)
{
    const char *name = name_of(&slot->names, request);

    f->counts->missing++;
    if (request->answer == ANSWER_DIRECTORY)
        sb_tell(f->notify, SB_PROBLEM, "directory", name, "is a directory");
    else if (!f->options->framed)
        sb_tell(f->notify, SB_PROBLEM, "missing", name, "no such file in the archive");
    if (f->options->framed)
        return give_line(f, name, request->name_size, "missing", err);
    return SB_OK;
}

static enum sb_code answer_damaged(struct fetch *f, const char *name, size_t size, const char *text,
                                   struct sb_error *err)
{
    f->counts->damaged++;
    sb_tell(f->notify, SB_PROBLEM, "damaged", name, "%s", text);
    return f->options->framed ? give_line(f, name, size, "damaged", err) : SB_OK;
}

struct stream {
    struct fetch *f;
    const char *name;
    const struct request *request;
    bool begun;         /* something was given out */
    bool output_failed; /* then the error is not the file's */
};

static enum sb_code give_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct stream *stream = context;
    const struct request *request = stream->request;
    char number[FRAME_EXTRA];
    enum sb_code code = SB_OK;

    if (!stream->begun && stream->f->options->framed) {
        sprintf(number, "%" PRId64, request->size);
        code = give_line(stream->f, stream->name, request->name_size, number, err);
    }
    stream->begun = true;
    if (!code)
        code = give(stream->f, data, size, err);
    stream->output_failed = code != SB_OK;
    return code;
}

/* The first line of its frame waits for the first block: until then it can be answered "damaged".
 */
static enum sb_code answer_stream(struct fetch *f, const struct slot *slot,
                                  const struct request *request, struct sb_error *err)
{
    const char *name = name_of(&slot->names, request);
    struct stream stream = {.f = f, .name = name, .request = request};
    struct sb_error current;
    enum sb_code code =
        sb_shards_stream(f->shards, request->shard, request->offset, request->size,
                         request->has_crc ? &request->crc32c : NULL, give_block, &stream, err);

    if (!code) {
        f->counts->files++;
        f->counts->bytes += request->size;
        return f->options->framed ? give(f, "\n", 1, err) : SB_OK;
    }
    if (stream.output_failed || !is_damage(err))
        return code;
    if (sb_archive_still_current(f->archive, &current)) {
        *err = current;
        return err->code;
    }
    if (!stream.begun || !f->options->framed)
        return answer_damaged(f, name, request->name_size, err->text, err);
    f->counts->damaged++;
    current = *err;
    return sb_fail(err, SB_DAMAGED, "%s: %s; the output ends within this file", name, current.text);
}

static bool same_extent(const struct request *a, const struct request *b)
{
    return a->answer == b->answer && a->shard == b->shard && a->offset == b->offset &&
           a->size == b->size && a->has_crc == b->has_crc && a->crc32c == b->crc32c;
}

static enum sb_code give_slot(struct fetch *f, struct slot *slot, bool again, struct sb_error *err);

/*
 * Bytes that seem damaged may just have been moved by a writer since the name was looked up: where
 * its row is another by now, the file is read anew.
 */
static enum sb_code answer_doubtful(struct fetch *f, const struct slot *slot,
                                    const struct request *request, struct sb_error *err)
{
    const char *name = name_of(&slot->names, request);
    struct slot second = {0};
    struct request before = *request;
    struct request *now;
    enum sb_code code = sb_archive_still_current(f->archive, err);

    if (code)
        return code;
    before.answer = ANSWER_BYTES;
    code = slot_add(&second, request, name, NULL, err);
    if (code)
        goto out;
    now = second.requests;
    code = look_up(f, &second.names, now, err);
    if (code)
        goto out;
    if (now->answer == ANSWER_DAMAGED || same_extent(now, &before)) {
        code =
            answer_damaged(f, name, request->name_size, slot->names.data + request->text_at, err);
        goto out;
    }
    second.cost = cost_of(f, now);
    code = work(f, &second, NULL, err);
    if (!code)
        code = give_slot(f, &second, true, err);
out:
    slot_release(&second);
    return code;
}

static enum sb_code answer_otherwise(struct fetch *f, const struct slot *slot,
                                     const struct request *request, bool again,
                                     struct sb_error *err)
{
    switch (request->answer) {
    case ANSWER_STREAM:
        return answer_stream(f, slot, request, err);
    case ANSWER_DAMAGED:
        if (!again)
            return answer_doubtful(f, slot, request, err);
        return answer_damaged(f, name_of(&slot->names, request), request->name_size,
                              slot->names.data + request->text_at, err);
    default:
        return answer_absent(f, slot, request, err);
    }
}

/* Writes whole stretches of answers at once. `again`: these names were looked up a second time. */
static enum sb_code give_slot(struct fetch *f, struct slot *slot, bool again, struct sb_error *err)
{
    size_t given = 0;
    enum sb_code code;

    for (size_t i = 0; i < slot->count; i++) {
        const struct request *request = &slot->requests[i];

        if (request->answer == ANSWER_BYTES) {
            f->counts->files++;
            f->counts->bytes += request->size;
            continue;
        }
        code = give(f, slot->data + given, request->at - given, err);
        given = request->at;
        if (!code)
            code = answer_otherwise(f, slot, request, again, err);
        if (code)
            return code;
    }
    return give(f, slot->data + given, slot->data_size - given, err);
}

static enum sb_code drain(void *context, void *slot_context, struct sb_error *err)
{
    struct fetch *f = context;
    struct slot *slot = slot_context;
    enum sb_code code = give_slot(f, slot, false, err);

    f->in_flight -= slot->cost;
    if (slot->data_room > SLOT_BYTES) {
        free(slot->data);
        slot->data = NULL;
        slot->data_room = 0;
    }
    return code;
}

static unsigned slot_count(unsigned threads)
{
    unsigned wanted = threads == 1 ? 1 : 2 * threads + 2;

    return wanted < SLOTS_MAX ? wanted : SLOTS_MAX;
}

enum sb_code sb_fetch(struct sb_archive *archive, const struct sb_fetch_options *options,
                      const struct sb_fetch_names *names, const struct sb_fetch_output *output,
                      const struct sb_notify *notify, struct sb_fetch_counts *counts,
                      struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {
        .fill = fill, .work = work, .drain = drain, .fill_would_wait = fill_would_wait};
    struct fetch f = {.archive = archive,
                      .options = options,
                      .names = names,
                      .output = output,
                      .notify = notify,
                      .counts = counts};
    unsigned count = slot_count(options->threads);
    struct slot *slots = calloc(count, sizeof(*slots));
    enum sb_code code;

    *counts = (struct sb_fetch_counts){0};
    f.queue_room = options->by_address ? SB_FETCH_SORTED_MAX : LOOKUP_NAMES;
    f.queue.requests = calloc(f.queue_room, sizeof(*f.queue.requests));
    if (!slots || !f.queue.requests)
        code = sb_fail_memory(err);
    else
        code = sb_shards_open(&f.shards, archive, err);
    if (!code)
        code = sb_pipeline_run(&ops, &f, slots, sizeof(*slots), count, options->threads, err);
    for (unsigned i = 0; slots && i < count; i++)
        slot_release(&slots[i]);
    free(slots);
    free(f.queue.requests);
    sb_buf_release(&f.queue.names);
    sb_buf_release(&f.normal);
    sb_shards_free(f.shards);
    return code;
}
