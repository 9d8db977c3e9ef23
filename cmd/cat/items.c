#include "cat/items.h"

#include "open/item_opening.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "task/table/item_fetch.h"

#include <inttypes.h>
#include <string.h>

static const char *const options_of_bags[] = {
    "keys", "find", "compression", "dictionary", "limits", "layout", NULL,
};

/* NULL: nothing is wrong. */
static const char *misuse(const struct cat_records_settings *settings,
                          const struct cat_request *request)
{
    const char *wrong = misused_draw(settings, request);

    if (wrong)
        return wrong;
    if (request->files_from && strcmp(request->files_from, "-") == 0 &&
        strcmp(request->spec, "-") == 0)
        return "the Syrah file and -T cannot both be standard input";
    return NULL;
}

static enum sb_code fetch(const struct cat_request *request, const struct sb_syrah_set *set,
                          const struct sb_item_choice_options *chosen, enum sb_array_as as,
                          int64_t *missing, struct sb_error *err)
{
    const struct sb_item_fetch_options wanted = {
        .records = {.framing = request->framing,
                    .line_end = request->nul ? '\0' : '\n',
                    .threads = request->threads},
        .as = as,
    };
    int64_t written = 0;
    const struct sb_fetch_output output = {.write = output_directly, .context = &written};
    struct sb_record_fetch_counts counts = {0};
    struct sb_item_choice *choice;
    enum sb_code code = sb_item_choice_new(&choice, set, chosen, &message_notify, err);

    if (!code)
        code = sb_item_fetch(set, choice, &wanted, &output, &message_notify, &counts, err);
    sb_item_choice_free(choice);
    message_progress_end();
    *missing = counts.missing;
    return code;
}

static void add_random(struct sb_record_choice_options *options,
                       const struct cat_records_settings *settings)
{
    options->sample = settings->sample;
    options->replace = settings->replace;
    options->shuffle = settings->shuffle;
    options->forever = settings->forever;
    options->seed = (uint64_t)settings->seed;
}

static enum sb_code open_and_fetch(const struct cat_records_settings *settings,
                                   const struct cat_request *request, enum sb_array_as as,
                                   int64_t *missing, struct sb_error *err)
{
    struct chosen_items items;
    struct sb_syrah_set *set;
    enum sb_code code = sb_store_syrah(request->store, &set, err);

    if (code)
        return code;
    code = chosen_items_open(&items, request->spec, request->files_from, request->nul ? '\0' : '\n',
                             request->operands, request->operand_count, err);
    if (!code) {
        add_random(&items.options.records, settings);
        items.options.share = request->share;
        code = fetch(request, set, &items.options, as, missing, err);
        chosen_items_close(&items);
    }
    sb_syrah_set_free(set);
    return code;
}

int cat_items(const struct cat_records_settings *settings, const struct cat_request *request,
              enum sb_array_as as)
{
    const char *other = options_given_of(options_of_bags), *wrong = misuse(settings, request);
    struct sb_error err;
    int64_t missing = 0;

    if (other)
        return message_usage("%s: is a Syrah file, and --%s is for bags", request->spec, other);
    if (wrong)
        return message_usage("%s", wrong);
    if (open_and_fetch(settings, request, as, &missing, &err))
        return message_failure(&err);
    if (missing > 0 && request->framing == SB_FRAMING_BATCH)
        message_problem("%" PRId64 " of the items asked for %s not there", missing,
                        missing == 1 ? "is" : "are");
    return message_status();
}
