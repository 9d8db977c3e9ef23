/*
 * Merged rows, read in batches by a thread that runs ahead of the consumer.
 */
#include "core/buf.h"
#include "core/events.h"
#include "core/pipeline.h"
#include "task/merge/merged_rows.h"

#include <stdlib.h>

#define BATCHES    4
#define BATCH_ROWS 512

struct merged_row {
    struct sb_entry entry; /* path is set on delivery: the text may move */
    size_t text;
    size_t input;
};

struct batch {
    struct merged_row *rows;
    size_t count;
    struct sb_buf text;
    struct sb_events events;
    enum sb_code failed; /* to record an event */
};

struct ahead {
    struct sb_merged_rows *rows;
    const struct sb_notify *notify;
    sb_each_merged_row *each;
    void *context;
    bool read;  /* the end was reached; accessed in turn */
    bool ended; /* and all of it was consumed; the calling thread's */
};

static void keep_event(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    struct batch *batch = context;

    if (IGNORED(sb_events_add(&batch->events, level, kind, subject, text)))
        batch->failed = SB_NOMEM;
}

static enum sb_code fill(void *context, void *slot)
{
    const struct ahead *ahead = context;
    struct batch *batch = slot;

    batch->count = 0;
    sb_buf_clear(&batch->text);
    return ahead->ended ? SB_END : SB_OK;
}

static enum sb_code read_batch(struct ahead *ahead, struct batch *batch)
{
    struct sb_notify notify = {.call = keep_event, .context = batch};
    enum sb_code code = SB_OK;

    sb_merged_rows_notify(ahead->rows, &notify);
    while (batch->count < BATCH_ROWS) {
        struct merged_row *row = &batch->rows[batch->count];

        code = sb_merged_rows_next(ahead->rows, &row->entry, &row->input);
        if (code)
            break;
        row->text = batch->text.size;
        if (sb_buf_add(&batch->text, row->entry.path, row->entry.path_size + 1))
            return sb_fail_memory();
        batch->count++;
    }
    sb_merged_rows_notify(ahead->rows, ahead->notify);
    ahead->read = code == SB_END;
    if (batch->failed)
        return sb_fail_memory();
    return code == SB_END ? SB_OK : code;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct ahead *ahead = context;
    enum sb_code code = sb_turn_begin(turns, slot);

    if (code)
        return sb_fail(code, "interrupted");
    if (!ahead->read)
        code = read_batch(ahead, slot);
    sb_turn_end(turns, slot);
    return code;
}

/* A batch that is not full is the last. */
static enum sb_code drain(void *context, void *slot)
{
    struct ahead *ahead = context;
    struct batch *batch = slot;
    enum sb_code code = SB_OK;

    sb_events_report(&batch->events, ahead->notify);
    for (size_t i = 0; code == SB_OK && i < batch->count; i++) {
        struct merged_row *row = &batch->rows[i];

        row->entry.path = batch->text.data + row->text;
        code = ahead->each(ahead->context, &row->entry, row->input);
    }
    if (batch->count < BATCH_ROWS)
        ahead->ended = true;
    return code;
}

enum sb_code sb_merged_rows_each(struct sb_merged_rows *rows, unsigned threads,
                                 const struct sb_notify *notify, sb_each_merged_row *each,
                                 void *context)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    struct ahead ahead = {.rows = rows, .notify = notify, .each = each, .context = context};
    struct batch batches[BATCHES] = {0};
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < BATCHES; i++) {
        batches[i].rows = calloc(BATCH_ROWS, sizeof(*batches[i].rows));
        if (!batches[i].rows)
            code = sb_fail_memory();
    }
    if (code == SB_OK)
        code =
            sb_pipeline_run(&ops, &ahead, batches, sizeof(*batches), BATCHES, threads > 1 ? 2 : 1);
    for (size_t i = 0; i < BATCHES; i++) {
        free(batches[i].rows);
        sb_buf_release(&batches[i].text);
        sb_events_release(&batches[i].events);
    }
    return code;
}
