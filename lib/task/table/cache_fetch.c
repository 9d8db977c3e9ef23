#include "task/table/cache_fetch.h"

#include "core/pipeline.h"
#include "task/table/cache_slot.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_A_THREAD 2
#define SLOTS_MORE     2
#define SLOTS_MOST     32

/* Below this many bytes in all, further threads cost more than they bring. */
#define WORTH_MORE_THREADS ((int64_t)1 << 20)

#define STREAMED_AT_ONCE ((size_t)256 << 10)

struct fetch {
    struct sb_cache *cache;
    const struct sb_cache_fetch_options *options;
    const struct sb_fetch_names *names;
    const struct sb_fetch_output *output;
    const struct sb_notify *notify;
    struct sb_cache_fetch_counts *counts;
    struct sb_cache_asks asks;
    size_t next; /* of the asks */
    int64_t next_index;
    bool ended; /* there are no further names */
};

static enum sb_code turn(struct fetch *f, struct sb_error *err)
{
    f->next = 0;
    return sb_cache_asks_next(&f->asks, f->cache, f->names, &f->ended, err);
}

static enum sb_code fill(void *context, void *slot_context, struct sb_error *err)
{
    struct fetch *f = context;
    struct sb_cache_slot *slot = slot_context;

    sb_cache_slot_clear(slot);
    slot->first_index = f->next_index;
    if (f->next == f->asks.count && !f->ended && turn(f, err))
        return err->code;
    if (f->next == f->asks.count)
        return SB_END;
    while (f->next < f->asks.count && slot->count < SB_CACHE_SLOT_KEYS &&
           slot->cost < SB_CACHE_SLOT_GOAL) {
        int64_t arrays;

        if (sb_cache_slot_add(slot, &f->asks, f->next, &arrays, err))
            return err->code;
        f->next_index += arrays;
        f->next++;
    }
    return SB_OK;
}

static int fill_would_wait(void *context)
{
    struct fetch *f = context;

    return f->next == f->asks.count && !f->ended && !f->names->ready(f->names->context);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns, struct sb_error *err)
{
    (void)context;
    (void)turns;
    return sb_cache_slot_lay_out(slot, err);
}

static enum sb_code give(struct fetch *f, const void *data, size_t size, struct sb_error *err)
{
    f->counts->bytes += (int64_t)size;
    return size ? f->output->write(f->output->context, data, size, err) : SB_OK;
}

static enum sb_code give_out(struct fetch *f, struct sb_cache_slot *slot, struct sb_error *err)
{
    enum sb_code code = give(f, slot->out.data, slot->out.size, err);

    sb_buf_clear(&slot->out);
    return code;
}

/* What came of the slot since the last time. */
static void account(struct fetch *f, struct sb_cache_slot *slot)
{
    const char *text = slot->defects.data, *end = text + slot->defects.size;

    f->counts->arrays += slot->counts.arrays;
    f->counts->missing += slot->counts.missing;
    f->counts->damaged += slot->counts.damaged;
    slot->counts = (struct sb_cache_fetch_counts){0};
    while (text < end) {
        const char *kind = text, *subject = kind + strlen(kind) + 1;

        text = subject + strlen(subject) + 1;
        sb_tell(f->notify, SB_PROBLEM, kind, subject, "%s", text);
        text += strlen(text) + 1;
    }
    sb_buf_clear(&slot->defects);
}

/* One that is larger than the room of a slot. */
struct stream {
    struct fetch *f;
    struct sb_cache_slot *slot;
    struct sb_cache_answer answer;
    bool begun;   /* something of it was given out */
    bool damaged; /* else an error is that of the output, or the framing's */
};

/* Bytes are copied before they are looked at a last time: a write would not see that they are no
 * longer there. */
static enum sb_code stream_piece(struct stream *stream, const unsigned char *data, size_t size,
                                 struct sb_error *err)
{
    struct sb_cache_slot *slot = stream->slot;
    bool bare = sb_framing_is_bare(slot->options->framing);
    size_t before = slot->out.size;
    enum sb_code code = SB_OK;

    if (!bare)
        code = sb_framer_data(slot->framer, data, size, &slot->out, err);
    else if (sb_buf_add(&slot->out, data, size))
        code = sb_fail_memory(err);
    if (code)
        return code;
    code = sb_cache_reader_check(slot->reader, err);
    if (code) {
        stream->damaged = true;
        sb_buf_cut(&slot->out, before);
        return code;
    }
    stream->begun = true;
    return give_out(stream->f, slot, err);
}

static enum sb_code stream_head(struct stream *stream, struct sb_error *err)
{
    struct sb_cache_slot *slot = stream->slot;
    struct sb_cache_answer *answer = &stream->answer;

    if (sb_framing_is_bare(slot->options->framing))
        return sb_buf_add(&slot->out, slot->head.data, answer->head_size) ? sb_fail_memory(err)
                                                                          : SB_OK;
    if (sb_framer_begin(slot->framer, &answer->framed, &slot->out, err))
        return err->code;
    return sb_framer_data(slot->framer, slot->head.data, answer->head_size, &slot->out, err);
}

static enum sb_code stream_value(struct stream *stream, struct sb_error *err)
{
    struct sb_cache_slot *slot = stream->slot;
    struct sb_cache_answer *answer = &stream->answer;
    const unsigned char *data;
    size_t left;
    enum sb_code code = sb_cache_slot_value(slot, answer, err);

    stream->damaged = code == SB_DAMAGED;
    if (!code)
        code = stream_head(stream, err);
    if (code)
        return code;
    data = answer->value.data;
    left = (size_t)answer->value.array.data_size;
    while (!code && left > 0) {
        size_t part = left < STREAMED_AT_ONCE ? left : STREAMED_AT_ONCE;

        code = stream_piece(stream, data, part, err);
        data += part;
        left -= part;
    }
    if (!code && !sb_framing_is_bare(slot->options->framing))
        code = sb_framer_end(slot->framer, &slot->out, err);
    return code ? code : give_out(stream->f, slot, err);
}

static enum sb_code give_large(struct fetch *f, struct sb_cache_slot *slot, struct sb_error *err)
{
    struct stream stream = {.f = f, .slot = slot};
    struct sb_error cause;

    slot->large = false;
    if (!stream_value(&stream, &cause)) {
        slot->counts.arrays++;
        sb_cache_slot_pass(slot);
        return SB_OK;
    }
    sb_buf_clear(&slot->out);
    if (!stream.damaged) {
        *err = cause;
        return cause.code == SB_INVALID
                   ? sb_fail(err, SB_INVALID, "%s: %s", slot->name.data, cause.text)
                   : cause.code;
    }
    if (stream.begun && !sb_framing_is_bare(slot->options->framing))
        return sb_fail(err, SB_DAMAGED, "%s: %s; the output ends within this array",
                       slot->name.data, cause.text);
    if (sb_cache_slot_refuse(slot, cause.text, err))
        return err->code;
    return give_out(f, slot, err);
}

static enum sb_code drain(void *context, void *slot_context, struct sb_error *err)
{
    struct fetch *f = context;
    struct sb_cache_slot *slot = slot_context;

    for (;;) {
        if (give_out(f, slot, err))
            return err->code;
        account(f, slot);
        if (slot->failure.code)
            return sb_fail(err, slot->failure.code, "%s: %s", slot->name.data, slot->failure.text);
        if (slot->large && give_large(f, slot, err))
            return err->code;
        if (slot->next == slot->count)
            return SB_OK;
        if (sb_cache_slot_lay_out(slot, err))
            return err->code;
    }
}

static enum sb_code finish(struct fetch *f, struct sb_error *err)
{
    struct sb_buf out = {0};
    enum sb_code code = sb_framing_finish(f->options->framing, &out, err);

    if (!code)
        code = give(f, out.data, out.size, err);
    sb_buf_release(&out);
    return code;
}

/* All that is asked for is known, and it is little. */
static bool is_little(const struct fetch *f)
{
    int64_t cost = 0;

    for (size_t i = 0; f->ended && i < f->asks.count && cost < WORTH_MORE_THREADS; i++)
        cost += f->asks.asks[i].cost;
    return f->ended && cost < WORTH_MORE_THREADS;
}

static enum sb_code run(struct fetch *f, struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {
        .fill = fill, .work = work, .drain = drain, .fill_would_wait = fill_would_wait};
    unsigned threads = is_little(f) ? 1 : f->options->threads;
    unsigned count = threads > 1 ? SLOTS_A_THREAD * threads + SLOTS_MORE : 1;
    struct sb_cache_slot *slots;
    enum sb_code code;

    if (count > SLOTS_MOST)
        count = SLOTS_MOST;
    slots = calloc(count, sizeof(*slots));
    if (!slots)
        return sb_fail_memory(err);
    for (unsigned i = 0; i < count; i++) {
        slots[i].cache = f->cache;
        slots[i].options = f->options;
    }
    code = sb_pipeline_run(&ops, f, slots, sizeof(*slots), count, threads, err);
    for (unsigned i = 0; i < count; i++)
        sb_cache_slot_release(&slots[i]);
    free(slots);
    return code;
}

enum sb_code sb_cache_fetch(struct sb_cache *cache, const struct sb_cache_fetch_options *options,
                            const struct sb_fetch_names *names,
                            const struct sb_fetch_output *output, const struct sb_notify *notify,
                            struct sb_cache_fetch_counts *counts, struct sb_error *err)
{
    struct fetch f = {.cache = cache,
                      .options = options,
                      .names = names,
                      .output = output,
                      .notify = notify,
                      .counts = counts};
    enum sb_code code;

    *counts = (struct sb_cache_fetch_counts){0};
    code = turn(&f, err);
    if (!code)
        code = run(&f, err);
    sb_cache_asks_release(&f.asks);
    return code ? code : finish(&f, err);
}
