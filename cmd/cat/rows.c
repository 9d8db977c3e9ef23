#include "cat/cat.h"
#include "open/given.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/interrupt.h"
#include "store/bag/record_names.h"
#include "store/facts.h"
#include "store/samples/samples.h"
#include "task/index/record_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEYED_AT_ONCE 4096 /* records that were found by their keys, fetched together */

/* One run of it. */
struct cat_job {
    const struct cat_settings *settings;
    struct sb_table *table;
    int64_t written; /* bytes */
    int64_t missing; /* rows, or cells */
};

char cat_line_end(const struct cat_settings *settings)
{
    return settings->nul ? '\0' : '\n';
}

/* Writes what the feed has; is_last: there is no further call. */
static enum sb_code fetch(struct cat_job *job, const struct sb_cell_feed *feed, bool is_last)
{
    const struct sb_table_fetch_options wanted = {
        .framing = job->settings->wanted.framing,
        .line_end = cat_line_end(job->settings),
        .as = job->settings->npy   ? SB_ARRAY_AS_NPY
              : job->settings->raw ? SB_ARRAY_AS_VALUES
                                   : SB_ARRAY_AS_NAMED,
        .more_follows = !is_last,
        .threads = job->settings->wanted.threads,
    };
    const struct sb_fetch_output output = {.write = output_directly, .context = &job->written};
    struct sb_table_fetch_counts counts = {0};
    enum sb_code code =
        sb_table_fetch(job->table, feed, &wanted, &output, &message_notify, &counts);

    job->missing += counts.missing;
    return code;
}

/* Records by key: numbers that were found wait for others, so that they are fetched together. */
struct keyed {
    struct cat_job *job;
    struct sb_fetch_names names;
    int64_t found[KEYED_AT_ONCE];
    size_t count;
};

static enum sb_code fetch_keyed(struct keyed *keyed, bool is_last)
{
    struct found_records found = {.records = keyed->found, .count = keyed->count};
    const struct sb_cell_feed feed = found_records_feed(&found);
    enum sb_code code = fetch(keyed->job, &feed, is_last);

    keyed->count = 0;
    return code;
}

static enum sb_code answer_missing(struct keyed *keyed, const void *key, size_t size)
{
    const struct cat_settings *settings = keyed->job->settings;
    const char *keys = keyed->job->settings->keys;
    CLEANUP(sb_buf_release) struct sb_buf line = {0};

    TRY(fetch_keyed(keyed, false));
    keyed->job->missing++;
    if (settings->wanted.framing != SB_FRAMING_BATCH) {
        message_problem("%.*s: no such record in %s", (int)size, (const char *)key,
                        keys ? keys : settings->spec);
        return SB_OK;
    }
    TRY(sb_buf_add(&line, key, size));
    TRY(sb_buf_add_text(&line, " missing"));
    TRY(sb_buf_add_char(&line, cat_line_end(settings)));
    return output_directly(&keyed->job->written, line.data, line.size);
}

static enum sb_code take_found(void *context, const void *key, size_t key_size,
                               const int64_t *records, size_t count)
{
    struct keyed *keyed = context;

    if (count == 0)
        return answer_missing(keyed, key, key_size);
    keyed->found[keyed->count++] = records[0];
    if (keyed->count == KEYED_AT_ONCE || !keyed->names.ready(keyed->names.context))
        return fetch_keyed(keyed, false);
    return SB_OK;
}

static enum sb_code open_keys(const struct cat_job *job, struct sb_bag **keys)
{
    int64_t records = sb_bag_count(job->table->ops->records(job->table));

    TRY(open_bag(keys, job->settings->keys, NULL));
    if (sb_bag_count(*keys) == records)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: has %" PRId64 " records, and %s %" PRId64
                   ": they are not the keys of those",
                   job->settings->keys, sb_bag_count(*keys), job->settings->spec, records);
}

static enum sb_code find_and_fetch(struct cat_job *job, struct given_names *given)
{
    const char *keys_spec = job->settings->keys;
    struct sb_record_index_options options = {.threads = job->settings->wanted.threads};
    struct keyed keyed = {.job = job, .names = given_names_of(given)};
    CLEANUP(sb_bag_freep) struct sb_bag *keys = NULL;

    if (keys_spec)
        TRY(open_keys(job, &keys));
    if (keys_spec && job->settings->wanted.framing != SB_FRAMING_NONE)
        TRY(sb_record_names_by_keys(&job->table->names, keys_spec, NULL, &message_notify));
    TRY(sb_record_index_find(keys ? keys : job->table->ops->records(job->table), &options,
                             &keyed.names, take_found, &keyed, &message_notify));
    return fetch_keyed(&keyed, true);
}

/* Keys of --find come first, then operands, then the list: of a bag, those of --find, --keys and
 * the names. */
static enum sb_code fetch_by_key(struct cat_job *job)
{
    const struct cat_settings *settings = job->settings;
    struct given_keys keys;
    enum sb_code code;

    given_keys_begin(&keys);
    keys.names.share = settings->share;
    code = given_keys_open(&keys, settings->operands, settings->operand_count, settings->files_from,
                           cat_line_end(settings));
    if (!code)
        code = find_and_fetch(job, &keys.names);
    given_keys_close(&keys);
    return code;
}

static const char options_of_bags[] = "keys find compression dictionary limits layout";

static const char options_of_draws[] = "sample replace shuffle seed forever";

const char *cat_rows_given(bool drawn)
{
    const char *given = drawn ? NULL : options_given_of(options_of_draws);

    return given ? given : options_given_of(options_of_bags);
}

static bool is_by_key(const struct cat_settings *settings)
{
    struct given_keys given;

    given_keys_begin(&given);
    return settings->keys || given.find;
}

bool is_random(const struct cat_settings *settings)
{
    return settings->draw.sample >= 0 || settings->draw.shuffle || settings->draw.forever;
}

/* Are rows requested by names that say nothing about their order? */
static bool requests_names(const struct cat_settings *settings)
{
    return sb_store_can(settings->store, SB_CAN_KEYS) &&
           (settings->operand_count > 0 || settings->files_from);
}

const char *misused_draw(const struct cat_settings *settings)
{
    if (settings->draw.replace && settings->draw.sample < 0)
        return "--replace says how --sample draws: give --sample=N, or --shuffle";
    if (settings->draw.sample >= 0 && settings->draw.shuffle)
        return "--sample and --shuffle cannot be given together; a sample comes in a random order";
    if (is_random(settings) && requests_names(settings))
        return "keys that are named cannot be sampled, shuffled or repeated; without any, all are";
    if (is_random(settings) && settings->files_from)
        return "--files-from cannot be sampled, shuffled or repeated; give numbers and slices";
    if (settings->draw.forever && settings->wanted.framing == SB_FRAMING_TAR)
        return "--forever and --frame=tar cannot be given together: a tar has an end";
    return NULL;
}

static const char *misused_keys(const struct cat_settings *settings)
{
    struct given_keys given;

    given_keys_begin(&given);
    if (is_random(settings) && is_by_key(settings))
        return "records by key cannot be sampled, shuffled or repeated";
    if (!settings->keys && given.find && settings->operand_count > 0)
        return "--find without --keys and record numbers cannot be given together";
    if (is_by_key(settings) && given.count == 0 && !settings->files_from &&
        settings->operand_count == 0)
        return settings->keys ? "--keys: no NAME given"
                              : "--find needs a key: --find=KEY, or a list of them by -T";
    return NULL;
}

static int check_usage(const struct cat_settings *settings)
{
    bool of_bag = sb_store_can(settings->store, SB_CAN_RECORDS);
    const char *other = of_bag ? NULL : options_given_of(options_of_bags);
    const char *wrong = misused_draw(settings);

    if (!wrong && of_bag)
        wrong = misused_keys(settings);
    if (other)
        return message_usage("%s: is a %s, and --%s is for bags", settings->spec,
                             sb_store_word(settings->store), other);
    if (wrong)
        return message_usage("%s", wrong);
    if (!of_bag && settings->files_from && strcmp(settings->files_from, "-") == 0 &&
        strcmp(settings->spec, "-") == 0)
        return message_usage("the %s and -T cannot both be standard input",
                             sb_store_word(settings->store));
    return STATUS_CLEAN;
}

/* How the options say that rows are to be drawn, shuffled or repeated, and which share is wanted.
 */
static void draw_as_set(struct sb_table_choice_options *options,
                        const struct cat_settings *settings)
{
    options->rows.sample = settings->draw.sample;
    options->rows.replace = settings->draw.replace;
    options->rows.shuffle = settings->draw.shuffle;
    options->rows.forever = settings->draw.forever;
    options->rows.seed = settings->draw.seed;
    options->share = settings->share;
}

static enum sb_code fetch_chosen(struct cat_job *job)
{
    const struct cat_settings *settings = job->settings;
    struct sb_cell_feed feed;
    CLEANUP(chosen_rows_close) struct chosen_rows chosen = {0};

    TRY(chosen_rows_open(&chosen, job->table, settings->files_from, cat_line_end(settings),
                         settings->operands, settings->operand_count));
    draw_as_set(&chosen.options, settings);
    chosen.named.advice = "; ls shows which it has";
    TRY(chosen_rows_feed(&chosen, job->table, &feed));
    return fetch(job, &feed, true);
}

/* Members of a tar are called as files made of records are. */
static enum sb_code name_members(struct cat_job *job)
{
    if (job->settings->wanted.framing != SB_FRAMING_TAR || job->settings->keys ||
        sb_table_has_names(job->table))
        return SB_OK;
    return sb_record_names_by_format(&job->table->names, SB_RECORD_NAME_FORMAT);
}

static enum sb_code open_and_fetch(struct cat_job *job)
{
    TRY(sb_store_table(job->settings->store, &job->table));
    TRY(name_members(job));
    return is_by_key(job->settings) ? fetch_by_key(job) : fetch_chosen(job);
}

int cat_rows(const struct cat_settings *settings)
{
    struct cat_job job = {.settings = settings};
    int status = check_usage(settings);
    const char *word;
    enum sb_code code;

    if (status)
        return status;
    code = open_and_fetch(&job);
    message_progress_end();
    word = job.table ? job.table->row_word : "";
    if (job.table)
        sb_record_names_free(job.table->names);
    if (!code && job.missing > 0 && settings->wanted.framing == SB_FRAMING_BATCH)
        message_problem("%" PRId64 " of the requested %ss %s not there", job.missing, word,
                        job.missing == 1 ? "is" : "are");
    status = code ? message_failure() : message_status();
    sb_table_free(job.table);
    return status;
}

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

static enum sb_code choose(struct cat_samples *samples, const struct cat_settings *settings)
{
    TRY(chosen_rows_open(&samples->chosen, samples->table, settings->files_from,
                         cat_line_end(settings), settings->operands, settings->operand_count));
    draw_as_set(&samples->chosen.options, settings);
    return chosen_rows_feed(&samples->chosen, samples->table, &samples->feed);
}

enum sb_code cat_samples_open(struct cat_samples **out, struct sb_archive *archive,
                              const struct cat_settings *settings)
{
    struct cat_samples *samples = calloc(1, sizeof(*samples));
    enum sb_code code;

    *out = samples;
    if (!samples)
        return sb_fail_memory();
    code = sb_table_of_samples(&samples->table, archive, false, ".", &message_notify);
    if (!code)
        code = choose(samples, settings);
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
