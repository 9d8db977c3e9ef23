#include "cat/samples.h"

#include "open/chosen_records.h"
#include "ui/message.h"

#include "store/samples/samples.h"

#include <inttypes.h>
#include <stdlib.h>

struct cat_samples {
    const char *spec;
    struct sb_samples *samples;
    struct chosen_records chosen;
    struct sb_record_choice *choice;
    struct sb_record_run run; /* what is left of it */
    bool begun;               /* a sample is under way */
};

void cat_samples_free(struct cat_samples *samples)
{
    if (!samples)
        return;
    sb_record_choice_free(samples->choice);
    chosen_records_close(&samples->chosen);
    sb_samples_free(samples->samples);
    free(samples);
}

static enum sb_code choose(struct cat_samples *samples, const struct cat_rows_settings *settings,
                           const struct cat_request *request, struct sb_error *err)
{
    struct sb_record_choice_options *options = &samples->chosen.options;
    int64_t count = sb_samples_count(samples->samples);
    enum sb_code code =
        chosen_records_open(&samples->chosen, request->files_from, request->nul ? '\0' : '\n', err);

    for (size_t i = 0; i < request->operand_count && !code; i++)
        code = chosen_records_add(&samples->chosen, request->operands[i], err);
    draw_as_set(options, settings);
    if (!code)
        code = sb_record_choice_share(options, request->share, count, err);
    return code ? code : sb_record_choice_new(&samples->choice, options, count, err);
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
    samples->spec = request->spec;
    code = sb_samples_open(&samples->samples, archive, ".", err);
    if (!code)
        code = choose(samples, settings, request, err);
    if (!code)
        return SB_OK;
    cat_samples_free(samples);
    *out = NULL;
    return code;
}

/* The next number; one that is not there is said, and passed over. */
static enum sb_code next_number(struct cat_samples *samples, int64_t *number, struct sb_error *err)
{
    struct sb_record_run *run = &samples->run;

    while (run->count == 0) {
        enum sb_code code = sb_record_choice_next(samples->choice, run, err);

        if (code == SB_INVALID && run->count == 0)
            message_problem("%s: sample %" PRId64 ": there are %" PRId64, samples->spec, run->first,
                            sb_samples_count(samples->samples));
        else if (code)
            return code;
    }
    *number = run->first;
    run->count--;
    run->first += run->step;
    return SB_OK;
}

static enum sb_code next(void *context, const char **name, size_t *size, struct sb_error *err)
{
    struct cat_samples *samples = context;
    int64_t number;
    enum sb_code code = SB_END;

    if (samples->begun)
        code = sb_samples_next(samples->samples, name, size, err);
    while (code == SB_END) {
        samples->begun = false;
        code = next_number(samples, &number, err);
        if (!code)
            code = sb_samples_seek(samples->samples, number, err);
        if (code)
            return code;
        samples->begun = true;
        code = sb_samples_next(samples->samples, name, size, err);
    }
    return code;
}

static bool ready(void *context)
{
    const struct cat_samples *samples = context;

    return samples->begun || samples->run.count > 0 || sb_record_choice_ready(samples->choice);
}

struct sb_fetch_names cat_samples_names(struct cat_samples *samples)
{
    return (struct sb_fetch_names){.next = next, .ready = ready, .context = samples};
}
