#include "task/table/slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sb_table_slot_release(struct sb_table_slot *slot)
{
    if (slot->reader)
        slot->table->ops->reader_free(slot->reader);
    sb_framer_free(slot->framer);
    sb_encoder_free(slot->encoder);
    free(slot->extents);
    free(slot->request);
    free(slot->order);
    free(slot->sizes);
    sb_buf_release(&slot->texts);
    sb_buf_release(&slot->stored);
    sb_buf_release(&slot->decoded);
    sb_buf_release(&slot->out);
}

void sb_table_slot_clear(struct sb_table_slot *slot)
{
    slot->count = slot->placed = slot->given = slot->next = 0;
    slot->ascending = true;
    slot->located = slot->large = false;
    slot->failure.code = SB_OK;
    slot->answer = &slot->out;
    sb_buf_clear(&slot->texts);
    sb_buf_clear(&slot->out);
}

static enum sb_code grow(struct sb_table_slot *slot)
{
    size_t requests = slot->capacity, order = requests, extents = requests, sizes = requests;

    TRY(sb_grow(&slot->request, &requests, slot->count, sizeof(*slot->request)));
    TRY(sb_grow(&slot->order, &order, slot->count, sizeof(*slot->order)));
    TRY(sb_grow(&slot->extents, &extents, slot->count, sizeof(*slot->extents)));
    TRY(sb_grow(&slot->sizes, &sizes, slot->count, sizeof(*slot->sizes)));
    slot->capacity = requests;
    return SB_OK;
}

static bool is_before(struct sb_place a, struct sb_place b)
{
    return a.shard != b.shard ? a.shard < b.shard : a.index < b.index;
}

static enum sb_code keep_text(struct sb_table_slot *slot, const char *text, size_t *at)
{
    *at = slot->texts.size;
    TRY(sb_buf_add(&slot->texts, text, strlen(text) + 1));
    return SB_OK;
}

enum sb_code sb_table_slot_add(struct sb_table_slot *slot, const struct sb_cell *cell,
                               int64_t index, const char *name)
{
    struct sb_cell_request *request;
    size_t name_at = 0;

    if (slot->count == slot->capacity)
        TRY(grow(slot));
    if (name)
        TRY(keep_text(slot, name, &name_at));

    /* Field by field: clearing a struct by `rep stos`, or copying it before the caller's stores
     * have landed, takes as long as all the rest. */
    request = &slot->request[slot->count++];
    request->state = SB_CELL_REQUESTED;
    request->stored.cell.row = cell->row;
    request->stored.cell.column = cell->column;
    request->stored.cell.npy = cell->npy;
    request->stored.extent = (struct sb_extent){.offset = -1};
    request->index = index;
    request->at = request->text_at = 0;
    request->name_at = name ? name_at + 1 : 0;
    return SB_OK;
}

enum sb_code sb_table_slot_spoil(struct sb_table_slot *slot, enum sb_cell_state state,
                                 const char *text)
{
    struct sb_cell_request *request = &slot->request[slot->count - 1];

    request->state = state;
    return keep_text(slot, text, &request->text_at);
}

static enum sb_code mark_damaged(struct sb_table_slot *slot, struct sb_cell_request *request,
                                 const struct sb_error *why)
{
    request->state = SB_CELL_DAMAGED;
    request->text_at = slot->texts.size;
    if (slot->table->ops->subject(slot->reader, &request->stored.cell, &slot->texts) ||
        sb_buf_add_format(&slot->texts, ": %s", why->text) || sb_buf_add_char(&slot->texts, '\0'))
        return sb_fail_memory();
    return SB_OK;
}

struct sb_framed sb_table_slot_framed(const struct sb_table_slot *slot,
                                      const struct sb_cell_request *request, int64_t size,
                                      char number[SB_ROW_NUMBER_SIZE])
{
    struct sb_framed framed = {.index = request->index, .size = size};

    if (request->name_at) {
        framed.name = slot->texts.data + request->name_at - 1;
    } else if (slot->options->framing != SB_FRAMING_JSONL) {
        snprintf(number, SB_ROW_NUMBER_SIZE, "%" PRId64, request->index);
        framed.name = number;
    }
    return framed;
}

static int compare_places(const void *a, const void *b, void *context)
{
    const struct sb_cell_request *request = context;
    struct sb_place left = request[*(const uint32_t *)a].stored.place;
    struct sb_place right = request[*(const uint32_t *)b].stored.place;

    return is_before(left, right) ? -1 : is_before(right, left);
}

static void sort_by_place(struct sb_table_slot *slot)
{
    struct sb_place last = {.index = -1};
    size_t count = 0;

    for (size_t i = 0; i < slot->count; i++) {
        struct sb_cell_request *request = &slot->request[i];

        if (request->state != SB_CELL_REQUESTED)
            continue;
        request->stored.place = slot->table->ops->place_of(slot->table, &request->stored.cell);
        if (!is_before(last, request->stored.place))
            slot->ascending = false;
        last = request->stored.place;
        slot->order[count++] = (uint32_t)i;
    }
    if (!slot->ascending)
        qsort_r(slot->order, count, sizeof(*slot->order), compare_places, slot->request);
    slot->placed = count;
}

/* How many requests, in the order of places from i on, are in one stretch of a shard. */
static size_t stretch(const struct sb_table_slot *slot, size_t i)
{
    struct sb_place last = slot->request[slot->order[i]].stored.place;
    size_t n;

    for (n = 1; i + n < slot->placed; n++) {
        struct sb_place next = slot->request[slot->order[i + n]].stored.place;

        if (next.shard != last.shard || next.index > last.index + 1)
            break;
        last = next;
    }
    return n;
}

static enum sb_code locate_stretch(struct sb_table_slot *slot, size_t first, size_t *count)
{
    struct sb_place begin = slot->request[slot->order[first]].stored.place;
    int64_t last = slot->request[slot->order[first + *count - 1]].stored.place.index;
    size_t good = 0;
    enum sb_code code = slot->table->ops->extents(
        slot->reader, begin, (size_t)(last - begin.index) + 1, slot->extents, &good);

    if (code && code != SB_DAMAGED)
        return code;
    for (size_t i = 0; i < *count; i++) {
        struct sb_cell_request *request = &slot->request[slot->order[first + i]];
        size_t at = (size_t)(request->stored.place.index - begin.index);

        if (code && at > good) {
            *count = i;
            return SB_OK;
        }
        if (code && at == good) {
            request->state = SB_CELL_DAMAGED;
            TRY(keep_text(slot, sb_error()->text, &request->text_at));
            continue;
        }
        request->stored.extent = slot->extents[at];
        request->state = SB_CELL_LOCATED;
    }
    return SB_OK;
}

static enum sb_code locate(struct sb_table_slot *slot)
{
    size_t n;

    if (!slot->reader)
        TRY(slot->table->ops->reader_new(slot->table, &slot->reader));
    slot->located = true;
    if (!slot->table->ops->extents) {
        for (size_t i = 0; i < slot->count; i++) {
            if (slot->request[i].state == SB_CELL_REQUESTED)
                slot->request[i].state = SB_CELL_LOCATED;
        }
        return SB_OK;
    }
    sort_by_place(slot);
    for (size_t i = 0; i < slot->placed; i += n) {
        n = stretch(slot, i);
        TRY(locate_stretch(slot, i, &n));
    }
    return SB_OK;
}

/* The end of the records whose stored bytes fit together, and how many bytes those are. */
static size_t end_that_fits(const struct sb_table_slot *slot, size_t *wanted)
{
    size_t i, sum = 0;

    for (i = slot->next; i < slot->count; i++) {
        const struct sb_cell_request *request = &slot->request[i];

        if (request->state != SB_CELL_LOCATED)
            continue;
        if (request->stored.extent.size > (int64_t)(SB_TABLE_SLOT_CAPACITY - sum))
            break;
        sum += (size_t)request->stored.extent.size;
    }
    *wanted = sum;
    return i;
}

/* Records whose stored bytes lie one after the other. */
struct stored_run {
    size_t first, count; /* in the order of places; some of them may not belong to this run */
    uint32_t shard;
    int64_t offset, size;
    size_t at;
};

static bool is_wanted(const struct sb_table_slot *slot, size_t i, size_t end)
{
    return i >= slot->next && i < end && slot->request[i].state == SB_CELL_LOCATED;
}

static enum sb_code read_singly(struct sb_table_slot *slot, const struct stored_run *run,
                                size_t end)
{
    for (size_t i = run->first; i < run->first + run->count; i++) {
        struct sb_cell_request *request = &slot->request[slot->order[i]];
        struct sb_error cause;
        enum sb_code code;

        if (!is_wanted(slot, slot->order[i], end))
            continue;
        code = INTO(&cause, slot->table->ops->read(slot->reader, request->stored.extent.shard,
                                                   request->stored.extent.offset,
                                                   slot->stored.data + request->at,
                                                   (size_t)request->stored.extent.size));
        if (code == SB_DAMAGED)
            code = mark_damaged(slot, request, &cause);
        else if (code)
            *sb_error() = cause;
        if (code)
            return code;
    }
    return SB_OK;
}

static enum sb_code read_run(struct sb_table_slot *slot, const struct stored_run *run, size_t end)
{
    enum sb_code code;

    if (run->size == 0)
        return SB_OK;
    code = slot->table->ops->read(slot->reader, run->shard, run->offset,
                                  slot->stored.data + run->at, (size_t)run->size);
    return code == SB_DAMAGED ? read_singly(slot, run, end) : code;
}

/* A record that was requested twice has its bytes once. */
static bool joins(const struct stored_run *run, const struct sb_extent *extent)
{
    return run->count > 0 && run->shard == extent->shard &&
           extent->offset <= run->offset + run->size && extent->offset >= run->offset;
}

static enum sb_code read_stored(struct sb_table_slot *slot, size_t end, size_t wanted)
{
    struct stored_run run = {0};
    size_t used = 0;

    sb_buf_clear(&slot->stored);
    TRY(sb_buf_reserve(&slot->stored, wanted));
    for (size_t i = 0; i < slot->placed; i++) {
        struct sb_cell_request *request = &slot->request[slot->order[i]];
        const struct sb_extent *extent = &request->stored.extent;

        if (!is_wanted(slot, slot->order[i], end))
            continue;
        if (!joins(&run, extent)) {
            TRY(read_run(slot, &run, end));
            run = (struct stored_run){
                .first = i, .shard = extent->shard, .offset = extent->offset, .at = used};
        }
        request->at = run.at + (size_t)(extent->offset - run.offset);
        run.count = i + 1 - run.first;
        if (extent->offset + extent->size > run.offset + run.size)
            run.size = extent->offset + extent->size - run.offset;
        used = run.at + (size_t)run.size;
    }
    slot->stored.size = used;
    return read_run(slot, &run, end);
}

static bool is_encoded(const struct sb_table_slot *slot, const struct sb_cell_request *request)
{
    return !slot->table->ops->is_encoded ||
           slot->table->ops->is_encoded(slot->table, &request->stored);
}

static bool is_bare(const struct sb_table_slot *slot)
{
    return !slot->options->bag && sb_framing_is_bare(slot->options->framing);
}

bool sb_table_slot_keeps(const struct sb_table_slot *slot, const struct sb_cell_request *request)
{
    const struct sb_cell_bag *bag = slot->options->bag;
    bool encoded = is_encoded(slot, request);

    return encoded == sb_bag_writer_compresses(bag->writer) && (!encoded || bag->as_stored);
}

/* Can the stored bytes be written unchanged? Not if records share bytes, because of wrong limits,
 * or if one turned out to be missing. */
static bool is_answer_itself(const struct sb_table_slot *slot, size_t end)
{
    size_t used = 0;

    if (!slot->ascending || !is_bare(slot))
        return false;
    for (size_t i = slot->next; i < end; i++) {
        const struct sb_cell_request *request = &slot->request[i];

        if (request->state != SB_CELL_LOCATED)
            continue;
        if (is_encoded(slot, request) || request->at != used)
            return false;
        used += (size_t)request->stored.extent.size;
    }
    return used == slot->stored.size;
}

/* Appends the record, as it was written, to a buffer; SB_LIMIT if it does not fit. */
static enum sb_code decode(struct sb_table_slot *slot, const struct sb_cell_request *request,
                           struct sb_buf *to)
{
    size_t size = 0, capacity = SB_TABLE_SLOT_CAPACITY - to->size;
    enum sb_code code;

    TRY(sb_buf_reserve(to, capacity));
    code = slot->table->ops->decode(slot->reader, &request->stored, slot->stored.data + request->at,
                                    to->data + to->size, capacity, &size);
    if (!code)
        to->size += size;
    to->data[to->size] = '\0';
    return code;
}

/* Appends a record of the bag. encoder NULL: unchanged. */
static enum sb_code store(struct sb_table_slot *slot, struct sb_encoder *encoder, const void *data,
                          size_t size)
{
    size_t before = slot->out.size;

    TRY(encoder ? sb_encode(encoder, data, size, &slot->out) : sb_buf_add(&slot->out, data, size));
    slot->sizes[slot->ready++] = slot->out.size - before;
    return SB_OK;
}

/* Appends a cell by its bytes: framed, or as a record of a bag. */
static enum sb_code put(struct sb_table_slot *slot, const struct sb_cell_request *request,
                        const void *data, size_t size)
{
    size_t before = slot->out.size;
    char number[SB_ROW_NUMBER_SIZE];
    struct sb_framed framed;
    enum sb_code code;

    if (slot->options->bag)
        return store(slot, slot->encoder, data, size);
    framed = sb_table_slot_framed(slot, request, (int64_t)size, number);
    code = sb_framer_begin(slot->framer, &framed, &slot->out);
    if (!code)
        code = sb_framer_data(slot->framer, data, size, &slot->out);
    if (!code)
        code = sb_framer_end(slot->framer, &slot->out);
    if (!code || code == SB_NOMEM)
        return code;
    sb_buf_cut(&slot->out, before);
    slot->failure = *sb_error();
    return SB_END;
}

enum sb_code sb_table_slot_refuse(struct sb_table_slot *slot, const struct sb_cell_request *request)
{
    char number[SB_ROW_NUMBER_SIZE];
    struct sb_framed framed = sb_table_slot_framed(slot, request, 0, number);
    const char *why = request->state == SB_CELL_MISSING ? "missing" : "damaged";

    if (slot->options->framing == SB_FRAMING_BATCH &&
        sb_buf_add_format(&slot->out, "%s %s%c", framed.name, why, slot->options->line_end))
        return sb_fail_memory();
    return SB_OK;
}

/* SB_END: the slot is full; it is answered in the next turn. */
static enum sb_code answer_with_bytes(struct sb_table_slot *slot, struct sb_cell_request *request)
{
    const char *stored = slot->stored.data + request->at;
    size_t stored_size = (size_t)request->stored.extent.size;
    bool bare = is_bare(slot);
    struct sb_buf *to = bare ? &slot->out : &slot->decoded;
    struct sb_error cause;
    enum sb_code code;

    if (slot->out.size >= SB_TABLE_SLOT_CAPACITY)
        return SB_END;
    if (slot->options->bag && sb_table_slot_keeps(slot, request))
        return store(slot, NULL, stored, stored_size);
    if (!bare && !is_encoded(slot, request))
        return put(slot, request, stored, stored_size);
    if (!bare)
        sb_buf_clear(to);
    code = INTO(&cause, decode(slot, request, to));
    if (code == SB_LIMIT) {
        slot->large = slot->out.size == 0;
        return SB_END;
    }
    if (code == SB_DAMAGED) {
        TRY(mark_damaged(slot, request, &cause));
        return sb_table_slot_refuse(slot, request);
    }
    if (code)
        *sb_error() = cause;
    return code || bare ? code : put(slot, request, to->data, to->size);
}

static enum sb_code answer(struct sb_table_slot *slot, size_t end)
{
    enum sb_code code = SB_OK;

    for (; !code && slot->next < end; slot->next += !code) {
        struct sb_cell_request *request = &slot->request[slot->next];

        if (request->state == SB_CELL_LOCATED)
            code = answer_with_bytes(slot, request);
        else
            code = sb_table_slot_refuse(slot, request);
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code make_coder(struct sb_table_slot *slot)
{
    const struct sb_cell_bag *bag = slot->options->bag;

    if (bag && !slot->encoder && sb_bag_writer_compresses(bag->writer))
        return sb_encoder_new(&slot->encoder, bag->dictionary, bag->level);
    if (bag)
        return SB_OK;
    if (!slot->framer)
        TRY(sb_framer_new(&slot->framer, slot->options->framing));
    sb_framer_set_line_end(slot->framer, slot->options->line_end);
    return SB_OK;
}

enum sb_code sb_table_slot_read(struct sb_table_slot *slot)
{
    size_t end, wanted;

    sb_buf_clear(&slot->out);
    slot->ready = 0;
    slot->answer = &slot->out;
    TRY(make_coder(slot));
    if (!slot->located)
        TRY(locate(slot));
    end = end_that_fits(slot, &wanted);
    slot->large = end == slot->next && end < slot->count;
    TRY(read_stored(slot, end, wanted));
    if (!is_answer_itself(slot, end))
        return answer(slot, end);
    slot->answer = &slot->stored;
    slot->next = end;
    return SB_OK;
}

enum sb_code sb_table_slot_measure(struct sb_table_slot *slot)
{
    TRY(locate(slot));
    for (size_t i = 0; i < slot->placed; i++) {
        struct sb_cell_request *request = &slot->request[slot->order[i]];
        enum sb_code code;

        if (request->state != SB_CELL_LOCATED)
            continue;
        code = slot->table->ops->size(slot->reader, &request->stored, &request->size);
        if (code == SB_DAMAGED)
            code = mark_damaged(slot, request, sb_error());
        TRY(code);
    }
    slot->next = slot->count;
    return SB_OK;
}
