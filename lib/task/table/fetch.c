#include "task/table/fetch.h"

#include "core/pace.h"
#include "core/pipeline.h"
#include "core/time.h"
#include "task/table/slot.h"

#include <stdlib.h>

#define SLOTS_A_THREAD     2
#define SLOTS_MORE         2
#define SLOTS_MOST         20 /* each may take some 6 MB, where records are that large */
#define WORTH_MORE_THREADS ((int64_t)1 << 20) /* bytes */
#define FEW                64                 /* cells, for one thread; and in the first slots */

struct fetch {
    struct sb_table *table;
    const struct sb_cell_feed *feed;
    const struct sb_table_fetch_options *options;
    const struct sb_fetch_output *output;
    const struct sb_notify *notify;
    struct sb_table_fetch_counts *counts;
    struct sb_cell_run run; /* what is left of it; of its first row the columns */
    uint32_t column;        /* from this one on */
    int64_t index;          /* of the next cell, if rows have no numbers */
    bool named;
    struct sb_error ended; /* of the choice: SB_OK while more may come */
    struct sb_buf name, subject;
    size_t slot_cells; /* how many go into a slot; adapts to the capacity of slots */
    int64_t silent;    /* cells, and rows without any, since a byte was written */
};

/* A cell whose name cannot be read is damaged: it cannot be framed without it. */
static enum sb_code add_cell(struct fetch *f, struct sb_table_slot *slot,
                             const struct sb_cell *cell)
{
    int64_t index = f->table->numbered ? cell->row : f->index++;
    enum sb_code code = SB_OK;

    if (!f->named)
        return sb_table_slot_add(slot, cell, index, NULL);
    code = sb_table_cell_name(f->table, cell, &f->name);
    if (code && code != SB_DAMAGED && code != SB_LIMIT)
        return code;
    TRY(sb_table_slot_add(slot, cell, index, code ? NULL : f->name.data));
    return code ? sb_table_slot_spoil(slot, SB_CELL_DAMAGED, sb_error()->text) : SB_OK;
}

static enum sb_code add_missing(const struct fetch *f, struct sb_table_slot *slot, int64_t row,
                                const char *text)
{
    const struct sb_cell cell = {.row = row};

    TRY(sb_table_slot_add(slot, &cell, row, f->feed->missing(f->feed->context)));
    return sb_table_slot_spoil(slot, SB_CELL_MISSING, text);
}

static enum sb_code take_run(struct fetch *f, struct sb_table_slot *slot)
{
    struct sb_cell_run *run = &f->run;
    struct sb_record_run *rows = &run->rows;
    bool npy = sb_array_is_npy(f->options->as, run->as_file);

    while (rows->count > 0 && slot->count < f->slot_cells) {
        const struct sb_cell cell = {.row = rows->first,
                                     .column = run->columns ? run->columns[f->column] : f->column,
                                     .npy = npy};

        if (f->column < run->column_count)
            TRY(add_cell(f, slot, &cell));
        if (++f->column < run->column_count)
            continue;
        f->column = 0;
        rows->count--;
        if (rows->count > 0)
            rows->first += rows->step;
    }
    return SB_OK;
}

/* A feed that repeats its rows for ever must not loop without any output. */
static enum sb_code check_silence(struct fetch *f, size_t cells, bool given)
{
    int64_t round = f->feed->round ? f->feed->round(f->feed->context) : 0;

    f->silent = given ? 0 : f->silent + (int64_t)cells;
    if (round == 0 || f->silent <= round)
        return SB_OK;
    return sb_fail(f->counts->damaged > 0 ? SB_DAMAGED : SB_INVALID,
                   "%s: none of the requested %ss %s, so that nothing would ever be written",
                   f->table->name, f->table->row_word,
                   f->counts->damaged > 0 ? "can be read, or has a byte" : "has a byte");
}

/* The end, or an error of the choice, is kept until what came before it was written. */
static enum sb_code fill(void *context, void *slot_context)
{
    struct fetch *f = context;
    struct sb_table_slot *slot = slot_context;
    const struct sb_cell_facts *facts = f->options->facts;
    enum sb_code code = SB_OK;

    sb_table_slot_clear(slot);
    while (!code && slot->count < f->slot_cells && !f->ended.code) {
        struct sb_error cause;

        if (f->run.rows.count > 0) {
            bool empty = f->run.column_count == 0;

            code = take_run(f, slot);
            if (!code && empty)
                code = check_silence(f, 1, false);
            continue;
        }
        if (!f->feed->ready(f->feed->context)) {
            if (slot->count > 0)
                return SB_OK;
            if (facts)
                facts->waits(facts->context);
        }
        cause.code = INTO(&cause, f->feed->next(f->feed->context, &f->run));
        if (cause.code == SB_INVALID && (facts || f->run.rows.count == 0)) {
            f->run.rows.count = 0;
            code = add_missing(f, slot, f->run.rows.first, cause.text);
        } else {
            f->ended = cause;
        }
    }
    if (code || slot->count > 0)
        return code;
    if (f->ended.code != SB_END)
        *sb_error() = f->ended;
    return f->ended.code;
}

static int fill_would_wait(void *context)
{
    struct fetch *f = context;

    return f->run.rows.count == 0 && !f->ended.code && !f->feed->ready(f->feed->context);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct sb_table_slot *self = slot;
    int64_t began = sb_clock_ns();
    enum sb_code code =
        self->options->facts ? sb_table_slot_measure(self) : sb_table_slot_read(self);

    (void)context;
    (void)turns;
    self->took = sb_clock_ns() - began;
    return code;
}

static enum sb_code give(struct fetch *f, const struct sb_buf *bytes)
{
    f->counts->bytes += (int64_t)bytes->size;
    return bytes->size ? f->output->write(f->output->context, bytes->data, bytes->size) : SB_OK;
}

/* Counts the cells since the last call. */
static void count_given(struct fetch *f, struct sb_table_slot *slot)
{
    for (; slot->given < slot->next; slot->given++) {
        const struct sb_cell_request *request = &slot->request[slot->given];
        const char *text = slot->texts.data + request->text_at;

        if (request->state == SB_CELL_LOCATED) {
            f->counts->cells++;
        } else if (request->state == SB_CELL_DAMAGED) {
            f->counts->damaged++;
            sb_report(f->notify, SB_PROBLEM, "damaged", f->table->name, "%s", text);
        } else {
            f->counts->missing++;
            if (f->options->framing != SB_FRAMING_BATCH)
                sb_report(f->notify, SB_PROBLEM, "missing", f->table->name, "%s", text);
        }
    }
}

struct stream {
    struct fetch *f;
    struct sb_table_slot *slot;
    bool begun;         /* something of it was written */
    bool output_failed; /* then the error is not the record's */
};

static enum sb_code pass_on(struct stream *stream)
{
    enum sb_code code = give(stream->f, &stream->slot->out);

    sb_buf_clear(&stream->slot->out);
    return code;
}

static enum sb_code stream_block(void *context, const void *data, size_t size)
{
    struct stream *stream = context;
    enum sb_code code = sb_framer_data(stream->slot->framer, data, size, &stream->slot->out);

    stream->begun = true;
    if (!code)
        code = pass_on(stream);
    stream->output_failed = code != SB_OK;
    return code;
}

static enum sb_code drop_piece(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return SB_OK;
}

static enum sb_code store_piece(void *context, const void *data, size_t size)
{
    const struct stream *stream = context;

    return sb_bag_writer_piece(stream->f->options->bag->writer, data, size);
}

static enum sb_code encode_piece(void *context, const void *data, size_t size)
{
    const struct stream *stream = context;

    return sb_encode_more(stream->slot->encoder, data, size, store_piece, context);
}

static enum sb_code store_pieces(struct stream *stream, const struct sb_cell_request *request,
                                 int64_t size)
{
    struct sb_table_slot *slot = stream->slot;
    const struct sb_table_ops *ops = slot->table->ops;

    if (!slot->encoder)
        return ops->stream(slot->reader, &request->stored, store_piece, stream);
    TRY(sb_encode_begin(slot->encoder, size));
    TRY(ops->stream(slot->reader, &request->stored, encode_piece, stream));
    return sb_encode_end(slot->encoder, store_piece, stream);
}

/* Once a part of it is written it cannot be left out, so damage must be found first. */
static enum sb_code stream_to_bag(struct stream *stream, const struct sb_cell_request *request)
{
    const struct sb_cell_bag *bag = stream->f->options->bag;
    struct sb_table_slot *slot = stream->slot;
    const struct sb_table_ops *ops = slot->table->ops;
    int64_t size;
    enum sb_code code;

    if (sb_table_slot_keeps(slot, request))
        return sb_bag_writer_add_run(bag->writer, bag->reader, request->stored.place, 1);
    TRY(ops->size(slot->reader, &request->stored, &size));
    TRY(ops->stream(slot->reader, &request->stored, drop_piece, NULL));
    code = store_pieces(stream, request, size);
    if (!code)
        code = sb_bag_writer_end_record(bag->writer);
    if (code == SB_DAMAGED)
        sb_error()->code = code = SB_CHANGED;
    return code;
}

static enum sb_code stream_framed(struct stream *stream, const struct sb_cell_request *request)
{
    struct sb_table_slot *slot = stream->slot;
    char number[SB_ROW_NUMBER_SIZE];
    struct sb_framed framed;
    int64_t size = -1;
    enum sb_code code;

    if (sb_framing_has_size(slot->options->framing))
        TRY(slot->table->ops->size(slot->reader, &request->stored, &size));
    framed = sb_table_slot_framed(slot, request, size, number);
    code = sb_framer_begin(slot->framer, &framed, &slot->out);
    stream->output_failed = code != SB_OK;
    if (!code)
        code = slot->table->ops->stream(slot->reader, &request->stored, stream_block, stream);
    if (code)
        return code;
    code = sb_framer_end(slot->framer, &slot->out);
    if (!code)
        code = pass_on(stream);
    stream->output_failed = code != SB_OK;
    return code;
}

/* For messages; kept until the next call. */
static const char *subject_of(struct fetch *f, const struct sb_table_slot *slot,
                              const struct sb_cell_request *request)
{
    sb_buf_clear(&f->subject);
    return slot->table->ops->subject(slot->reader, &request->stored.cell, &f->subject)
               ? f->table->row_word
               : f->subject.data;
}

/* A cell that is larger than the capacity of a slot. */
static enum sb_code give_large(struct fetch *f, struct sb_table_slot *slot)
{
    struct sb_cell_request *request = &slot->request[slot->next];
    struct stream stream = {.f = f, .slot = slot};
    struct sb_error cause;
    enum sb_code code;

    sb_buf_clear(&slot->out);
    code = INTO(&cause, f->options->bag ? stream_to_bag(&stream, request)
                                        : stream_framed(&stream, request));
    slot->next++;
    slot->large = false;
    if (!code) {
        count_given(f, slot);
        return SB_OK;
    }
    slot->given++;
    if (code != SB_DAMAGED || stream.output_failed) {
        if (code == SB_INVALID)
            return sb_fail(code, "%s: %s: %s", f->table->name, subject_of(f, slot, request),
                           cause.text);
        *sb_error() = cause;
        return code;
    }
    f->counts->damaged++;
    if (stream.begun && !sb_framing_is_bare(f->options->framing))
        return sb_fail(SB_DAMAGED, "%s: %s: %s; the output ends within it", f->table->name,
                       subject_of(f, slot, request), cause.text);
    sb_report(f->notify, SB_PROBLEM, "damaged", f->table->name, "%s: %s",
              subject_of(f, slot, request), cause.text);
    request->state = SB_CELL_DAMAGED;
    sb_buf_clear(&slot->out);
    TRY(sb_table_slot_refuse(slot, request));
    return pass_on(&stream);
}

/*
 * Slots should fit into the CPU's caches, whatever the size of records. Where each cell is waited
 * for, small ones let all threads wait at once.
 */
static void follow(struct fetch *f, const struct sb_table_slot *slot)
{
    size_t taken = slot->answer->size + (slot->answer == &slot->stored ? 0 : slot->stored.size);

    if (sb_pace_is_slow(slot->count, slot->took))
        f->slot_cells = f->slot_cells < FEW ? f->slot_cells : FEW;
    else if (slot->next < slot->count && f->slot_cells > 1)
        f->slot_cells /= 2;
    else if (slot->count == f->slot_cells && taken < SB_TABLE_SLOT_GOAL / 2 &&
             f->slot_cells < SB_TABLE_SLOT_MOST)
        f->slot_cells *= 2;
}

static enum sb_code give_slot(struct fetch *f, struct sb_table_slot *slot)
{
    const struct sb_cell_bag *bag = f->options->bag;

    for (;;) {
        if (!bag)
            TRY(give(f, slot->answer));
        else if (slot->ready > 0)
            TRY(sb_bag_writer_add(bag->writer, slot->out.data, slot->sizes, slot->ready));
        count_given(f, slot);
        if (slot->failure.code)
            return sb_fail(slot->failure.code, "%s: %s: %s", f->table->name,
                           subject_of(f, slot, &slot->request[slot->next]), slot->failure.text);
        if (slot->large)
            TRY(give_large(f, slot));
        if (slot->next == slot->count)
            return SB_OK;
        TRY(sb_table_slot_read(slot));
    }
}

static enum sb_code give_facts(struct fetch *f, const struct sb_table_slot *slot)
{
    const struct sb_cell_facts *wanted = f->options->facts;
    struct sb_facts facts = {.part = -1};
    struct sb_table_part part = {0};

    for (size_t i = 0; i < slot->count; i++) {
        const struct sb_cell_request *request = &slot->request[i];
        const struct sb_extent *extent = &request->stored.extent;
        uint32_t shard = request->stored.place.shard;
        const char *text = slot->texts.data + request->text_at;

        if (request->state == SB_CELL_MISSING) {
            sb_report(f->notify, SB_PROBLEM, "missing", f->table->name, "%s", text);
            continue;
        }
        if (facts.part != shard)
            TRY(f->table->ops->part(f->table, shard, &part));
        facts.row = request->stored.cell.row;
        facts.part = shard;
        facts.path = part.path;
        facts.offset = extent->offset;
        facts.stored = extent->offset < 0 ? -1 : extent->size;
        facts.size = request->state == SB_CELL_DAMAGED ? -1 : request->size;
        facts.defect = request->state == SB_CELL_DAMAGED ? text : NULL;
        TRY(wanted->each(wanted->context, &facts));
    }
    return SB_OK;
}

static int64_t stored_bytes(const struct sb_table_slot *slot)
{
    int64_t sum = 0;

    for (size_t i = 0; i < slot->count; i++)
        sum += slot->request[i].stored.extent.size;
    return sum;
}

static enum sb_code drain(void *context, void *slot_context)
{
    struct fetch *f = context;
    struct sb_table_slot *slot = slot_context;
    const struct sb_cell_bag *bag = f->options->bag;
    int64_t before = f->counts->bytes;

    follow(f, slot);
    if (f->options->facts)
        return give_facts(f, slot);
    TRY(give_slot(f, slot));
    if (bag)
        bag->progress(bag->context, stored_bytes(slot));
    return check_silence(f, slot->count, f->counts->bytes > before);
}

enum sb_code sb_table_fetch(struct sb_table *table, const struct sb_cell_feed *feed,
                            const struct sb_table_fetch_options *options,
                            const struct sb_fetch_output *output, const struct sb_notify *notify,
                            struct sb_table_fetch_counts *counts)
{
    static const struct sb_pipeline_ops ops = {
        .fill = fill, .work = work, .drain = drain, .fill_would_wait = fill_would_wait};
    struct fetch f = {.table = table,
                      .feed = feed,
                      .options = options,
                      .output = output,
                      .notify = notify,
                      .counts = counts,
                      .named = table->names ||
                               (table->ops->row_name && sb_framing_has_names(options->framing))};
    int64_t average = table->cell_size, total = feed->total(feed->context);
    int64_t cells = (int64_t)SB_TABLE_SLOT_GOAL / average;
    unsigned threads = options->threads, count;
    CLEANUP(sb_buf_release) struct sb_buf out = {0};
    struct sb_table_slot *slots;
    enum sb_code code;

    *counts = (struct sb_table_fetch_counts){0};
    f.slot_cells = options->facts || cells > FEW ? FEW : cells < 1 ? 1 : (size_t)cells;
    if (total >= 0 && total <= FEW && total < WORTH_MORE_THREADS / average)
        threads = 1;
    count = threads > 1 ? SLOTS_A_THREAD * threads + SLOTS_MORE : 1;
    if (count > SLOTS_MOST)
        count = SLOTS_MOST;
    TRY(SB_NEW_ARRAY(&slots, count));
    for (unsigned i = 0; i < count; i++) {
        slots[i].table = table;
        slots[i].options = options;
    }
    code = sb_pipeline_run(&ops, &f, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_table_slot_release(&slots[i]);
    free(slots);
    sb_buf_release(&f.name);
    sb_buf_release(&f.subject);
    if (code || !output || options->more_follows)
        return code;
    TRY(sb_framing_finish(options->framing, &out));
    return give(&f, &out);
}
