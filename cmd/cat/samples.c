#include "cat/cat.h"

#include "open/chosen.h"
#include "ui/message.h"

#include "core/interrupt.h"
#include "store/facts.h"
#include "store/samples/samples.h"

#include <stdlib.h>

struct cat_samples {
    struct sb_table *table;
    struct chosen_rows chosen;
    struct sb_cell_feed feed;
    struct sb_cell_run run; /* the sample that is under way */
    uint32_t next;          /* of its files */
};

void cat_samples_free(struct cat_samples *samples)
{
    if (!samples)
        return;
    chosen_rows_close(&samples->chosen);
    sb_table_free(samples->table);
    free(samples);
}

static enum sb_code choose(struct cat_samples *samples, const struct cat_rows_settings *settings,
                           const struct cat_request *request)
{
    struct sb_table_choice_options *options = &samples->chosen.options;

    TRY(chosen_rows_open(&samples->chosen, samples->table, request->files_from,
                         request->nul ? '\0' : '\n', request->operands, request->operand_count));
    draw_as_set(&options->rows, settings);
    options->share = request->share;
    return chosen_rows_feed(&samples->chosen, samples->table, &samples->feed);
}

enum sb_code cat_samples_open(struct cat_samples **out, struct sb_archive *archive,
                              const struct cat_rows_settings *settings,
                              const struct cat_request *request)
{
    struct cat_samples *samples = calloc(1, sizeof(*samples));
    enum sb_code code;

    *out = samples;
    if (!samples)
        return sb_fail_memory();
    code = sb_table_of_samples(&samples->table, archive, false, ".", &message_notify);
    if (!code)
        code = choose(samples, settings, request);
    if (!code)
        return SB_OK;
    cat_samples_free(samples);
    *out = NULL;
    return code;
}

/* One that is not there is said, and passed over. */
static enum sb_code next_sample(struct cat_samples *samples, const struct sb_cell_feed *feed)
{
    enum sb_code code = feed->next(feed->context, &samples->run);

    samples->next = 0;
    if (code)
        samples->run.column_count = 0;
    if (code != SB_INVALID || samples->run.rows.count != 0)
        return code;
    message_problem("%s: %s", samples->table->name, sb_error()->text);
    return SB_OK;
}

/* Passes over those that have none of the wanted files: where none has, for ever, nobody would
 * know. */
static enum sb_code next_with_files(struct cat_samples *samples)
{
    const struct sb_cell_feed *feed = &samples->feed;
    int64_t round = feed->round ? feed->round(feed->context) : 0, silent = 0;

    while (samples->next == samples->run.column_count) {
        if (sb_interrupted())
            return sb_fail_interrupt();
        if (round > 0 && silent++ > round)
            return sb_fail(SB_INVALID,
                           "%s: none of the requested samples has such a file, so that nothing "
                           "would ever be written",
                           samples->table->name);
        TRY(next_sample(samples, feed));
    }
    return SB_OK;
}

static enum sb_code next(void *context, const char **name, size_t *size)
{
    struct cat_samples *samples = context;
    const struct sb_cell_run *run = &samples->run;
    struct sb_facts file;
    uint32_t column;
    enum sb_code code = next_with_files(samples);

    if (code)
        return code;
    column = run->columns ? run->columns[samples->next] : samples->next;
    samples->next++;
    code = samples->table->ops->describe(samples->table, run->rows.first, column, &file);
    *name = file.member.text;
    *size = file.member.size;
    return code;
}

static bool ready(void *context)
{
    const struct cat_samples *samples = context;
    const struct sb_cell_feed *feed = &samples->feed;

    return samples->next < samples->run.column_count || feed->ready(feed->context);
}

struct sb_fetch_names cat_samples_names(struct cat_samples *samples)
{
    return (struct sb_fetch_names){.next = next, .ready = ready, .context = samples};
}
