#include "task/table/cache_slot.h"

#include "store/array/name.h"

#include <stdlib.h>
#include <string.h>

void sb_cache_slot_release(struct sb_cache_slot *slot)
{
    sb_cache_reader_free(slot->reader);
    sb_framer_free(slot->framer);
    sb_buf_release(&slot->names);
    free(slot->asks);
    sb_buf_release(&slot->out);
    sb_buf_release(&slot->defects);
    sb_buf_release(&slot->head);
    sb_buf_release(&slot->name);
}

void sb_cache_slot_clear(struct sb_cache_slot *slot)
{
    slot->count = slot->next = slot->next_field = 0;
    slot->cost = slot->next_index = 0;
    slot->large = false;
    slot->failure.code = SB_OK;
    slot->counts = (struct sb_cache_fetch_counts){0};
    sb_buf_clear(&slot->names);
    sb_buf_clear(&slot->out);
    sb_buf_clear(&slot->defects);
}

static bool is_wanted(const struct sb_cache_slot *slot, const struct sb_cache_ask *ask,
                      size_t field)
{
    const struct sb_cache_fetch_options *options = slot->options;

    return ask->alone ||
           sb_array_is_among(ask->fields[field].name, options->arrays, options->array_count);
}

static int64_t arrays_of(const struct sb_cache_slot *slot, const struct sb_cache_ask *ask)
{
    int64_t arrays = 0;

    for (size_t i = ask->first; i < ask->first + ask->count; i++)
        arrays += is_wanted(slot, ask, i);
    return arrays;
}

enum sb_code sb_cache_slot_add(struct sb_cache_slot *slot, const struct sb_cache_asks *asks,
                               size_t number, int64_t *arrays, struct sb_error *err)
{
    struct sb_cache_ask *ask;

    if (slot->count == slot->room) {
        size_t room = slot->room ? 4 * slot->room : 16;

        ask = reallocarray(slot->asks, room, sizeof(*ask));
        if (!ask)
            return sb_fail_memory(err);
        slot->asks = ask;
        slot->room = room;
    }
    ask = &slot->asks[slot->count];
    *ask = asks->asks[number];
    ask->name_at = slot->names.size;
    if (sb_buf_add(&slot->names, asks->names.data + asks->asks[number].name_at, ask->name_size + 1))
        return sb_fail_memory(err);
    *arrays = arrays_of(slot, ask);
    if (slot->count == 0)
        slot->next_field = ask->first;
    slot->cost += ask->cost;
    slot->count++;
    return SB_OK;
}

static const char *name_of(const struct sb_cache_slot *slot, const struct sb_cache_ask *ask)
{
    return slot->names.data + ask->name_at;
}

static enum sb_code add_defect(struct sb_cache_slot *slot, const char *kind, const char *subject,
                               const char *text, struct sb_error *err)
{
    if (sb_buf_add(&slot->defects, kind, strlen(kind) + 1) ||
        sb_buf_add(&slot->defects, subject, strlen(subject) + 1) ||
        sb_buf_add(&slot->defects, text, strlen(text) + 1))
        return sb_fail_memory(err);
    return SB_OK;
}

/* In a batch whoever asked waits for an answer: that there are no bytes. */
static enum sb_code answer_word(struct sb_cache_slot *slot, const char *name, size_t size,
                                const char *word, struct sb_error *err)
{
    if (sb_buf_add(&slot->out, name, size) || sb_buf_add_char(&slot->out, ' ') ||
        sb_buf_add_text(&slot->out, word) || sb_buf_add_char(&slot->out, slot->options->line_end))
        return sb_fail_memory(err);
    return SB_OK;
}

static enum sb_code answer_missing(struct sb_cache_slot *slot, const struct sb_cache_ask *ask,
                                   struct sb_error *err)
{
    const char *name = name_of(slot, ask);
    bool nowhere = ask->place.segment == SB_CACHE_NOWHERE;

    slot->counts.missing++;
    if (slot->options->framing == SB_FRAMING_BATCH)
        return answer_word(slot, name, ask->name_size, "missing", err);
    return add_defect(slot, "missing", name,
                      nowhere ? "no such key in the cache"
                              : "the key has no such array; ls tells which it has",
                      err);
}

/* Where the next field is one; else false, when the next key's turn has come. */
static bool find_field(struct sb_cache_slot *slot)
{
    const struct sb_cache_ask *ask = &slot->asks[slot->next];

    while (slot->next_field < ask->first + ask->count && !is_wanted(slot, ask, slot->next_field))
        slot->next_field++;
    return slot->next_field < ask->first + ask->count;
}

static void next_ask(struct sb_cache_slot *slot)
{
    slot->next++;
    if (slot->next < slot->count)
        slot->next_field = slot->asks[slot->next].first;
}

void sb_cache_slot_pass(struct sb_cache_slot *slot)
{
    slot->next_field++;
    slot->next_index++;
}

static enum sb_array_form form_of(const struct sb_cache_slot *slot, const struct sb_cache_ask *ask,
                                  const struct sb_cache_field *field)
{
    if (field->blob)
        return SB_FORM_PICKLE;
    return sb_array_is_npy(slot->options->as, ask->as_file) ? SB_FORM_NPY : SB_FORM_RAW;
}

static enum sb_code make_name(struct sb_cache_slot *slot, const struct sb_cache_ask *ask,
                              struct sb_error *err)
{
    const struct sb_cache_field *field = &ask->fields[slot->next_field];
    struct sb_array_name name = {
        .item = name_of(slot, ask),
        .item_size = ask->key_size,
        .array = field->name,
        .array_size = strlen(field->name),
        .form = form_of(slot, ask, field),
        .dtype = field->dtype,
    };

    return sb_array_name_make(&slot->name, &name, err);
}

static bool same_shape(const struct sb_npy *a, const struct sb_npy *b)
{
    return a->dtype == b->dtype && a->dims == b->dims &&
           memcmp(a->shape, b->shape, a->dims * sizeof(*a->shape)) == 0;
}

/* Neighbours are often of one shape: their header is the same. */
static enum sb_code make_head(struct sb_cache_slot *slot, const struct sb_npy *array,
                              struct sb_error *err)
{
    if (slot->head.size > 0 && same_shape(&slot->shape, array))
        return SB_OK;
    slot->shape = *array;
    sb_buf_clear(&slot->head);
    return sb_npy_add_header(&slot->head, array, err);
}

enum sb_code sb_cache_slot_value(struct sb_cache_slot *slot, struct sb_cache_answer *out,
                                 struct sb_error *err)
{
    const struct sb_cache_ask *ask = &slot->asks[slot->next];
    const struct sb_cache_field *field = &ask->fields[slot->next_field];
    enum sb_code code =
        sb_cache_value(slot->reader, ask->place, slot->next_field, &out->value, err);

    out->head_size = 0;
    if (!code && form_of(slot, ask, field) == SB_FORM_NPY) {
        code = make_head(slot, &out->value.array, err);
        out->head_size = slot->head.size;
    }
    if (code)
        return code;
    out->framed = (struct sb_framed){.name = slot->name.data,
                                     .index = slot->first_index + slot->next_index,
                                     .size = (int64_t)out->head_size + out->value.array.data_size};
    return SB_OK;
}

enum sb_code sb_cache_slot_refuse(struct sb_cache_slot *slot, const char *why, struct sb_error *err)
{
    enum sb_code code = add_defect(slot, "damaged", slot->name.data, why, err);

    slot->counts.damaged++;
    if (!code && slot->options->framing == SB_FRAMING_BATCH)
        code = answer_word(slot, slot->name.data, slot->name.size, "damaged", err);
    sb_cache_slot_pass(slot);
    return code;
}

static enum sb_code frame(struct sb_cache_slot *slot, const struct sb_cache_answer *answer,
                          struct sb_error *err)
{
    size_t size = (size_t)answer->value.array.data_size;
    enum sb_code code = sb_framer_begin(slot->framer, &answer->framed, &slot->out, err);

    if (!code)
        code = sb_framer_data(slot->framer, slot->head.data, answer->head_size, &slot->out, err);
    if (!code)
        code = sb_framer_data(slot->framer, answer->value.data, size, &slot->out, err);
    return code ? code : sb_framer_end(slot->framer, &slot->out, err);
}

static enum sb_code add_bytes(struct sb_cache_slot *slot, const struct sb_cache_answer *answer,
                              struct sb_error *err)
{
    if (sb_buf_add(&slot->out, slot->head.data, answer->head_size) ||
        sb_buf_add(&slot->out, answer->value.data, (size_t)answer->value.array.data_size))
        return sb_fail_memory(err);
    return SB_OK;
}

/* SB_END: there is no room for it in this go, or the framing does not take it. */
static enum sb_code add_answer(struct sb_cache_slot *slot, const struct sb_cache_answer *answer,
                               struct sb_error *err)
{
    size_t before = slot->out.size;
    struct sb_error cause;
    enum sb_code code;

    if (answer->framed.size > (int64_t)(SB_CACHE_SLOT_ROOM - before)) {
        slot->large = before == 0;
        return SB_END;
    }
    if (sb_framing_is_bare(slot->options->framing))
        code = add_bytes(slot, answer, err);
    else
        code = frame(slot, answer, err);
    if (code == SB_NOMEM)
        return code;
    if (code) {
        sb_buf_cut(&slot->out, before);
        slot->failure = *err;
        return SB_END;
    }
    if (sb_cache_reader_check(slot->reader, &cause)) {
        sb_buf_cut(&slot->out, before);
        return sb_cache_slot_refuse(slot, cause.text, err);
    }
    slot->counts.arrays++;
    sb_cache_slot_pass(slot);
    return SB_OK;
}

static enum sb_code lay_out_field(struct sb_cache_slot *slot, const struct sb_cache_ask *ask,
                                  struct sb_error *err)
{
    struct sb_cache_answer answer;
    struct sb_error cause;
    enum sb_code code;

    if (slot->out.size >= SB_CACHE_SLOT_ROOM)
        return SB_END;
    if (make_name(slot, ask, err))
        return err->code;
    code = sb_cache_slot_value(slot, &answer, &cause);
    if (code == SB_DAMAGED)
        return sb_cache_slot_refuse(slot, cause.text, err);
    if (code) {
        *err = cause;
        return code;
    }
    return add_answer(slot, &answer, err);
}

static enum sb_code lay_out_ask(struct sb_cache_slot *slot, struct sb_error *err)
{
    const struct sb_cache_ask *ask = &slot->asks[slot->next];
    enum sb_code code = SB_OK;

    if (arrays_of(slot, ask) == 0)
        code = answer_missing(slot, ask, err);
    while (!code && find_field(slot))
        code = lay_out_field(slot, ask, err);
    if (!code)
        next_ask(slot);
    return code;
}

static enum sb_code prepare(struct sb_cache_slot *slot, struct sb_error *err)
{
    if (!slot->reader && sb_cache_reader_new(&slot->reader, slot->cache, err))
        return err->code;
    if (!slot->framer && sb_framer_new(&slot->framer, slot->options->framing, err))
        return err->code;
    sb_framer_set_line_end(slot->framer, slot->options->line_end);
    return SB_OK;
}

enum sb_code sb_cache_slot_lay_out(struct sb_cache_slot *slot, struct sb_error *err)
{
    enum sb_code code = prepare(slot, err);

    sb_buf_clear(&slot->out);
    slot->large = false;
    while (!code && slot->next < slot->count)
        code = lay_out_ask(slot, err);
    return code == SB_END ? SB_OK : code;
}
