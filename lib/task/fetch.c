#include "task/fetch.h"

#include "archive/archive.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/name.h"
#include "core/pipeline.h"
#include "task/fetch_slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKUP_NAMES    256                         /* in one read transaction */
#define SORTED_BYTES    (SB_FETCH_SORTED_MAX * 128) /* of names sorted at once */
#define SLOTS_MAX       32
#define IN_FLIGHT_BYTES ((size_t)72 << 20) /* of answers, in all slots */

/* Names that were looked up and are not in a slot yet. */
struct queue {
    struct sb_buf names;
    struct sb_request *requests;
    size_t count;
    size_t next;
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

static void take_extent(const struct fetch *f, struct sb_request *request,
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
    request->answer = size > SB_FETCH_WHOLE_MAX ? SB_ANSWER_STREAM : SB_ANSWER_BYTES;
}

static enum sb_code look_up(struct fetch *f, struct sb_buf *names, struct sb_request *request,
                            struct sb_error *err)
{
    const char *name = sb_request_name(names, request);
    size_t size = request->name_size;
    struct sb_entry entry;
    enum sb_code code;
    bool stripped;

    request->answer = SB_ANSWER_MISSING;
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
        return sb_request_damaged(request, names, entry.defect, err);
    if (entry.type == SB_DIR)
        request->answer = SB_ANSWER_DIRECTORY;
    else
        take_extent(f, request, &entry);
    return SB_OK;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct sb_request *x = a, *y = b;
    bool x_has = x->answer == SB_ANSWER_BYTES || x->answer == SB_ANSWER_STREAM;
    bool y_has = y->answer == SB_ANSWER_BYTES || y->answer == SB_ANSWER_STREAM;

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
            (struct sb_request){.name_at = queue->names.size, .name_size = size};
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

static bool fits_in_memory(const struct fetch *f, size_t cost)
{
    return f->in_flight == 0 || f->in_flight + cost <= IN_FLIGHT_BYTES;
}

/* The slot stays empty when what comes next is too large for the memory that is left. */
static enum sb_code fill(void *context, void *slot_context, struct sb_error *err)
{
    struct fetch *f = context;
    struct queue *queue = &f->queue;
    struct sb_slot *slot = slot_context;

    sb_slot_clear(slot);
    if (queue->next == queue->count && !f->ended) {
        if (collect_names(f, err) || look_up_queue(f, err))
            return err->code;
    }
    if (queue->next == queue->count)
        return SB_END;
    while (queue->next < queue->count && slot->count < LOOKUP_NAMES) {
        const struct sb_request *request = &queue->requests[queue->next];
        size_t cost = sb_request_cost(request, f->options);

        if (slot->count == 0 ? !fits_in_memory(f, cost) : slot->cost + cost > SB_FETCH_SLOT_BYTES)
            break;
        if (sb_slot_add(slot, request, &queue->names, err))
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
        return !fits_in_memory(f, sb_request_cost(&queue->requests[queue->next], f->options));
    return !f->ended && !f->names->ready(f->names->context);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns, struct sb_error *err)
{
    (void)context;
    (void)turns;
    return sb_slot_read(slot, err);
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

static enum sb_code answer_absent(struct fetch *f, const struct sb_slot *slot,
                                  const struct sb_request *request, struct sb_error *err)
{
    const char *name = sb_request_name(&slot->names, request);

    f->counts->missing++;
    if (request->answer == SB_ANSWER_DIRECTORY)
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
    const struct sb_request *request;
    bool begun;         /* something was given out */
    bool output_failed; /* then the error is not the file's */
};

static enum sb_code give_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct stream *stream = context;
    const struct sb_request *request = stream->request;
    char number[24];
    enum sb_code code = SB_OK;

    if (!stream->begun && stream->f->options->framed) {
        snprintf(number, sizeof(number), "%" PRId64, request->size);
        code = give_line(stream->f, stream->name, request->name_size, number, err);
    }
    stream->begun = true;
    if (!code)
        code = give(stream->f, data, size, err);
    stream->output_failed = code != SB_OK;
    return code;
}

/* The frame's line waits for the first block: until then the answer can still be "damaged". */
static enum sb_code answer_stream(struct fetch *f, const struct sb_slot *slot,
                                  const struct sb_request *request, struct sb_error *err)
{
    const char *name = sb_request_name(&slot->names, request);
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
    if (stream.output_failed || !sb_is_file_damage(err))
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

static bool same_extent(const struct sb_request *a, const struct sb_request *b)
{
    return a->answer == b->answer && a->shard == b->shard && a->offset == b->offset &&
           a->size == b->size && a->has_crc == b->has_crc && a->crc32c == b->crc32c;
}

static enum sb_code give_slot(struct fetch *f, struct sb_slot *slot, bool again,
                              struct sb_error *err);

/*
 * Bytes that seem damaged may just have been moved by a writer since the name was looked up: where
 * its row is another by now, the file is read anew.
 */
static enum sb_code answer_doubtful(struct fetch *f, const struct sb_slot *slot,
                                    const struct sb_request *request, struct sb_error *err)
{
    const char *name = sb_request_name(&slot->names, request);
    struct sb_slot second = {.shards = f->shards, .options = f->options};
    struct sb_request before = *request;
    struct sb_request *now;
    enum sb_code code = sb_archive_still_current(f->archive, err);

    if (code)
        return code;
    before.answer = SB_ANSWER_BYTES;
    code = sb_slot_add(&second, request, &slot->names, err);
    if (code)
        goto out;
    now = second.requests;
    code = look_up(f, &second.names, now, err);
    if (code)
        goto out;
    if (now->answer == SB_ANSWER_DAMAGED || same_extent(now, &before)) {
        code =
            answer_damaged(f, name, request->name_size, slot->names.data + request->text_at, err);
        goto out;
    }
    second.cost = sb_request_cost(now, f->options);
    code = sb_slot_read(&second, err);
    if (!code)
        code = give_slot(f, &second, true, err);
out:
    sb_slot_release(&second);
    return code;
}

static enum sb_code answer_otherwise(struct fetch *f, const struct sb_slot *slot,
                                     const struct sb_request *request, bool again,
                                     struct sb_error *err)
{
    switch (request->answer) {
    case SB_ANSWER_STREAM:
        return answer_stream(f, slot, request, err);
    case SB_ANSWER_DAMAGED:
        if (!again)
            return answer_doubtful(f, slot, request, err);
        return answer_damaged(f, sb_request_name(&slot->names, request), request->name_size,
                              slot->names.data + request->text_at, err);
    default:
        return answer_absent(f, slot, request, err);
    }
}

/* Writes whole stretches of answers at once. `again`: these names were looked up a second time. */
static enum sb_code give_slot(struct fetch *f, struct sb_slot *slot, bool again,
                              struct sb_error *err)
{
    size_t given = 0;
    enum sb_code code;

    for (size_t i = 0; i < slot->count; i++) {
        const struct sb_request *request = &slot->requests[i];

        if (request->answer == SB_ANSWER_BYTES) {
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
    struct sb_slot *slot = slot_context;
    enum sb_code code = give_slot(f, slot, false, err);

    f->in_flight -= slot->cost;
    if (slot->data_room > SB_FETCH_SLOT_BYTES) {
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
    struct sb_slot *slots = calloc(count, sizeof(*slots));
    enum sb_code code;

    *counts = (struct sb_fetch_counts){0};
    f.queue_room = options->by_address ? SB_FETCH_SORTED_MAX : LOOKUP_NAMES;
    f.queue.requests = calloc(f.queue_room, sizeof(*f.queue.requests));
    if (!slots || !f.queue.requests)
        code = sb_fail_memory(err);
    else
        code = sb_shards_open(&f.shards, archive, err);
    for (unsigned i = 0; !code && i < count; i++) {
        slots[i].shards = f.shards;
        slots[i].options = options;
    }
    if (!code)
        code = sb_pipeline_run(&ops, &f, slots, sizeof(*slots), count, options->threads, err);
    for (unsigned i = 0; slots && i < count; i++)
        sb_slot_release(&slots[i]);
    free(slots);
    free(f.queue.requests);
    sb_buf_release(&f.queue.names);
    sb_buf_release(&f.normal);
    sb_shards_free(f.shards);
    return code;
}
