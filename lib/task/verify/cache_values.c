#include "core/interrupt.h"
#include "core/pipeline.h"
#include "core/throttle.h"
#include "task/verify/cache_impl.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_AT_ONCE 1024
#define SLOTS_EACH   4 /* for each thread */
#define PAGE         4096

/* Rows of one segment that are read by one thread, from `first` on. */
struct value_slot {
    struct sb_cache_place place; /* the first */
    int64_t rows;
    size_t fields;
    int64_t bytes;
    unsigned char bad[ROWS_AT_ONCE / 8];
    struct sb_cache_reader *reader; /* of the slot: only one thread has it at a time */
};

struct value_check {
    struct sb_cache_check *check;
    uint32_t segment; /* the next one, */
    int64_t row;      /* from this row on */
    bool has_lost;    /* a segment shrank or vanished meanwhile, and was reported: */
    uint32_t lost;
};

/* Does the error concern only a value or its segment, and not the work as a whole? */
static bool is_damage(const struct sb_error *err)
{
    return err->code == SB_DAMAGED || err->code == SB_FORMAT || err->code == SB_NOENT ||
           (err->code == SB_SYSTEM && !sb_ends_work(err));
}

static enum sb_code fill(void *context, void *slot)
{
    struct value_check *values = context;
    struct sb_cache_check *check = values->check;
    struct value_slot *now = slot;
    struct sb_cache_segment segment;

    for (;; values->segment++, values->row = 0) {
        if (values->segment == check->segments)
            return SB_END;
        TRY(sb_cache_segment(check->cache, values->segment, &segment));
        if (values->row < segment.rows)
            break;
    }
    now->place = (struct sb_cache_place){.segment = values->segment, .row = values->row};
    now->rows = segment.rows - values->row;
    if (now->rows > ROWS_AT_ONCE)
        now->rows = ROWS_AT_ONCE;
    now->fields = segment.field_count;
    now->bytes = 0;
    memset(now->bad, 0, sizeof(now->bad));
    values->row += now->rows;
    return SB_OK;
}

/* Reads a byte of each page: pages that are not touched are never read from the disk. */
static void touch(const struct sb_cache_value *value)
{
    const volatile unsigned char *data = value->data;
    size_t size = (size_t)value->array.data_size;

    for (size_t at = 0; at < size; at += PAGE)
        (void)data[at];
    if (size > 0)
        (void)data[size - 1];
}

static enum sb_code read_row(struct sb_cache_reader *reader, struct sb_cache_place place,
                             size_t fields, int64_t *bytes)
{
    struct sb_cache_value value;

    for (size_t i = 0; i < fields; i++) {
        TRY(sb_cache_value(reader, place, i, &value));
        touch(&value);
        *bytes += value.array.data_size;
        sb_throttle_read(value.array.data_size);
        TRY(sb_cache_reader_check(reader));
    }
    return SB_OK;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct value_slot *now = slot;
    struct sb_cache_place place = now->place;

    (void)context;
    (void)turns;
    for (int64_t i = 0; i < now->rows; i++, place.row++) {
        enum sb_code code = read_row(now->reader, place, now->fields, &now->bytes);

        if (code && is_damage(sb_error()))
            now->bad[i / 8] |= (unsigned char)(1 << i % 8);
        else if (code)
            return code;
    }
    return SB_OK;
}

/* A segment that was sound a moment ago is reported once, not for each of its rows. */
static enum sb_code report_lost(struct value_check *values, uint32_t number)
{
    struct sb_cache_check *check = values->check;
    struct sb_cache_segment segment;
    const char *path;

    values->has_lost = true;
    values->lost = number;
    TRY(sb_cache_segment(check->cache, number, &segment));
    path = sb_cache_path_within(check, segment.path);
    sb_verify_defect(check->events, SB_REMEDY_REPAIR, "damaged", sb_defect_of(path, strlen(path)),
                     "has become shorter, or cannot be read any longer");
    return SB_OK;
}

/* Reads the row again, for its defect and its key. */
static enum sb_code report_row(struct value_check *values, struct sb_cache_place place,
                               size_t fields)
{
    struct sb_cache_check *check = values->check;
    struct sb_error found = {.text = "could not be read once"};
    struct sb_row_key key = {0};
    int64_t bytes = 0;
    enum sb_code code = INTO(&found, read_row(check->reader, place, fields, &bytes));

    if (code && !is_damage(&found))
        return sb_fail(code, "%s", found.text);
    if (IGNORED(sb_cache_key_at(check->reader, place, &key)) ||
        IGNORED(sb_cache_reader_check(check->reader)))
        return report_lost(values, place.segment);
    sb_verify_defect(check->events, SB_REMEDY_REPAIR, "value", sb_defect_of(key.text, key.size),
                     "%s", found.text);
    return SB_OK;
}

static enum sb_code drain(void *context, void *slot)
{
    struct value_check *values = context;
    struct sb_cache_check *check = values->check;
    struct value_slot *now = slot;
    struct sb_cache_place place = now->place;
    enum sb_code code = SB_OK;

    for (int64_t i = 0; !code && i < now->rows; i++, place.row++) {
        if ((now->bad[i / 8] >> i % 8 & 1) && !(values->has_lost && values->lost == place.segment))
            code = report_row(values, place, now->fields);
    }
    check->result->bytes_read += now->bytes;
    check->result->files_read += now->rows;
    if (!code && check->events->progress)
        check->events->progress(check->events->context, check->result->bytes_read, check->all_bytes,
                                check->result->files_read);
    return code;
}

enum sb_code sb_cache_check_values(struct sb_cache_check *check)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    struct value_check values = {.check = check};
    unsigned threads = check->options->threads, count = SLOTS_EACH * threads;
    struct value_slot *slots;
    enum sb_code code = SB_OK;

    TRY(SB_NEW_ARRAY(&slots, count));
    for (unsigned i = 0; !code && i < count; i++)
        code = sb_cache_reader_new(&slots[i].reader, check->cache);
    if (!code)
        code = sb_pipeline_run(&ops, &values, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_cache_reader_free(slots[i].reader);
    free(slots);
    return code;
}
