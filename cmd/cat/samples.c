#include "cat/samples.h"

#include "open/chosen_rows.h"
#include "ui/message.h"

#include "store/samples/samples.h"

#include <stdlib.h>

struct cat_samples {
    struct sb_table *table;
    struct chosen_rows chosen;
    struct sb_table_choice *choice;
    struct sb_cell_run run; /* the sample that is under way */
    uint32_t next;          /* of its files */
};

void cat_samples_free(struct cat_samples *samples)
{
    if (!samples)
        return;
    sb_table_choice_free(samples->choice);
    chosen_rows_close(&samples->chosen);
    sb_table_free(samples->table);
    free(samples);
}

static enum sb_code choose(struct cat_samples *samples, const struct cat_rows_settings *settings,
                           const struct cat_request *request, struct sb_error *err)
{
    struct sb_table_choice_options *options = &samples->chosen.options;
    enum sb_code code = chosen_rows_open(&samples->chosen, samples->table, request->files_from,
                                         request->nul ? '\0' : '\n', request->operands,
                                         request->operand_count, err);

    if (code)
        return code;
    draw_as_set(&options->rows, settings);
    options->share = request->share;
    return sb_table_choice_new(&samples->choice, samples->table, options, &message_notify, err);
}

enum sb_code cat_samples_open(struct cat_samples **out, struct sb_archive *archive,
                              const struct cat_rows_settings *settings,
                              const struct cat_request *request, struct sb_error *err)
{
    struct cat_samples *samples = calloc(1, sizeof(*samples));
    enum sb_code code;

    *out = samples;
    if (!samples)
        return sb_fail_memory(err);
    code = sb_table_of_samples(&samples->table, archive, ".", err);
    if (!code)
        code = choose(samples, settings, request, err);
    if (!code)
        return SB_OK;
    cat_samples_free(samples);
    *out = NULL;
    return code;
}

/* The next sample; one that is not there is said, and passed over. */
static enum sb_code next_sample(struct cat_samples *samples, struct sb_error *err)
{
    struct sb_cell_feed feed = sb_table_choice_feed(samples->choice);
    enum sb_code code;

    samples->next = 0;
    samples->run.column_count = 0;
    while ((code = feed.next(feed.context, &samples->run, err)) == SB_INVALID &&
           samples->run.rows.count == 0)
        message_problem("%s: %s", samples->table->name, err->text);
    return code;
}

static enum sb_code next(void *context, const char **name, size_t *size, struct sb_error *err)
{
    struct cat_samples *samples = context;
    const struct sb_cell_run *run = &samples->run;
    const struct sb_sample_file *file;
    enum sb_code code = SB_OK;

    while (!code && samples->next == run->column_count)
        code = next_sample(samples, err);
    if (code)
        return code;
    file = sb_sample_files(samples->table) +
           (run->columns ? run->columns[samples->next] : samples->next);
    samples->next++;
    *name = file->path;
    *size = file->path_size;
    return SB_OK;
}

static bool ready(void *context)
{
    const struct cat_samples *samples = context;
    struct sb_cell_feed feed = sb_table_choice_feed(samples->choice);

    return samples->next < samples->run.column_count || feed.ready(feed.context);
}

struct sb_fetch_names cat_samples_names(struct cat_samples *samples)
{
    return (struct sb_fetch_names){.next = next, .ready = ready, .context = samples};
}
