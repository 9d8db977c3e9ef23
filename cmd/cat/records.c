#include "cat/records.h"

#include "cat/job.h"
#include "open/chosen_records.h"
#include "ui/message.h"
#include "ui/output.h"

#include "task/table/record_fetch.h"

#include <inttypes.h>
#include <string.h>

const char *cat_records_given(void)
{
    static const char *const names[] = {"sample",     "replace", "shuffle", "seed",
                                        "forever",    "keys",    "find",    "compression",
                                        "dictionary", "limits",  "layout",  NULL};

    return options_given_of(names);
}

/* Does it take what --find names? */
static bool is_finding(void)
{
    return options_given_of((const char *const[]){"find", NULL}) != NULL;
}

/* Is there a --find with a key of its own? */
static bool has_key(void)
{
    const struct given_option *given;
    size_t count = options_given(&given);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(given[i].name, "find") == 0 && given[i].value != keys_of_list)
            return true;
    }
    return false;
}

static bool is_by_key(const struct cat_records_settings *settings)
{
    return settings->keys || is_finding();
}

static bool is_random(const struct cat_records_settings *settings)
{
    return settings->sample >= 0 || settings->shuffle || settings->forever;
}

const char *misused_draw(const struct cat_records_settings *settings,
                         const struct cat_request *request)
{
    if (settings->replace && settings->sample < 0)
        return "--replace says how --sample draws: give --sample=N, or --shuffle";
    if (settings->sample >= 0 && settings->shuffle)
        return "--sample and --shuffle cannot be given together; a sample comes in a random order";
    if (is_random(settings) && request->files_from)
        return "--files-from cannot be sampled, shuffled or repeated; give numbers and slices";
    if (settings->forever && request->framing == SB_FRAMING_TAR)
        return "--forever and --frame=tar cannot be given together: a tar has an end";
    return NULL;
}

/* NULL: nothing is wrong. */
static const char *misuse(const struct cat_records_settings *settings,
                          const struct cat_request *request)
{
    const char *wrong = misused_draw(settings, request);

    if (wrong)
        return wrong;
    if (is_random(settings) && is_by_key(settings))
        return "records by key cannot be sampled, shuffled or repeated";
    if (!settings->keys && is_finding() && request->operand_count > 0)
        return "--find without --keys and record numbers cannot be given together";
    if (is_by_key(settings) && !has_key() && !request->files_from && request->operand_count == 0)
        return settings->keys ? "--keys: no NAME given"
                              : "--find needs a key: --find=KEY, or a list of them by -T";
    return NULL;
}

enum sb_code cat_fetch(struct cat_job *job, const struct sb_record_choice_options *options,
                       bool is_last, struct sb_error *err)
{
    struct sb_record_fetch_options wanted = {
        .framing = job->request->framing,
        .line_end = job->request->nul ? '\0' : '\n',
        .names = job->names,
        .more_follows = !is_last,
        .threads = job->request->threads,
    };
    struct sb_fetch_output output = {.write = output_directly, .context = &job->written};
    struct sb_record_fetch_counts counts = {0};
    struct sb_record_choice *choice;
    enum sb_code code = sb_record_choice_new(&choice, options, sb_bag_count(job->bag), err);

    if (!code)
        code = sb_record_fetch(job->bag, choice, &wanted, &output, &message_notify, &counts, err);
    sb_record_choice_free(choice);
    job->missing += counts.missing;
    return code;
}

static enum sb_code add_operand(struct chosen_records *records, const char *spec, const char *text,
                                struct sb_error *err)
{
    struct sb_error wrong;
    enum sb_code code = chosen_records_add(records, text, &wrong);

    if (code)
        return sb_fail(err, code, "%s: %s%s", spec, wrong.text,
                       code == SB_INVALID ? "; names take --keys=BAG" : "");
    return SB_OK;
}

/* The share's records of those that are chosen; a list is read to its end first. */
static enum sb_code cut(const struct cat_job *job, struct sb_record_choice_options *options,
                        struct sb_limit_spool *numbers, struct sb_error *err)
{
    struct sb_share share = job->request->share;
    int64_t count = sb_bag_count(job->bag);
    struct sb_record_choice *choice;
    enum sb_code code;

    if (share.count == 0 || !options->list)
        return sb_record_choice_share(options, share, count, err);
    code = sb_record_choice_new(&choice, options, count, err);
    if (code)
        return code;
    /* What is not there is told once for all shares. */
    code = sb_record_choice_spool(choice, numbers, job->request->spec,
                                  share.index == 0 ? &message_notify : NULL, err);
    sb_record_choice_free(choice);
    *options = (struct sb_record_choice_options){
        .sample = -1,
        .numbers = {.spool = numbers, .step = 1, .count = sb_limit_spool_count(numbers)}};
    return code ? code : sb_record_choice_share(options, share, count, err);
}

static enum sb_code fetch_chosen(struct cat_job *job, struct sb_error *err)
{
    const struct cat_records_settings *settings = job->settings;
    const struct cat_request *request = job->request;
    struct sb_limit_spool numbers = {.fd = -1, .beside = "."};
    struct sb_record_choice_options options;
    struct chosen_records records;
    enum sb_code code =
        chosen_records_open(&records, request->files_from, request->nul ? '\0' : '\n', err);

    for (size_t i = 0; i < request->operand_count && !code; i++)
        code = add_operand(&records, request->spec, request->operands[i], err);
    options = records.options;
    options.sample = settings->sample;
    options.replace = settings->replace;
    options.shuffle = settings->shuffle;
    options.forever = settings->forever;
    options.seed = (uint64_t)settings->seed;
    if (!code)
        code = cut(job, &options, &numbers, err);
    if (!code)
        code = cat_fetch(job, &options, true, err);
    chosen_records_close(&records);
    sb_limit_spool_release(&numbers);
    return code;
}

/* Members of a tar are called as files made of records are. */
static enum sb_code name_members(struct cat_job *job, struct sb_error *err)
{
    if (job->request->framing != SB_FRAMING_TAR || job->settings->keys)
        return SB_OK;
    return sb_record_names_by_format(&job->names, SB_RECORD_NAME_FORMAT, err);
}

static enum sb_code open_and_fetch(struct cat_job *job, struct sb_error *err)
{
    enum sb_code code = sb_store_bag(job->request->store, &job->bag, NULL, 0, err);

    if (!code)
        code = name_members(job, err);
    if (!code)
        code = is_by_key(job->settings) ? cat_by_key(job, err) : fetch_chosen(job, err);
    message_progress_end();
    return code;
}

int cat_records(const struct cat_records_settings *settings, const struct cat_request *request)
{
    struct cat_job job = {.settings = settings, .request = request};
    const char *wrong = misuse(settings, request);
    struct sb_error err;
    enum sb_code code;

    if (wrong)
        return message_usage("%s", wrong);
    code = open_and_fetch(&job, &err);
    sb_record_names_free(job.names);
    sb_bag_free(job.bag);
    if (code)
        return message_failure(&err);
    if (job.missing > 0 && request->framing == SB_FRAMING_BATCH)
        message_problem("%" PRId64 " of the records asked for %s not there", job.missing,
                        job.missing == 1 ? "is" : "are");
    return message_status();
}
