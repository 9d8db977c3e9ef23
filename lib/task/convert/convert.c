#include "task/convert/convert.h"

#include "archive/archive.h"
#include "store/archive/source.h"
#include "store/bag/record_names.h"
#include "store/beside/beside.h"
#include "store/own_files.h"
#include "store/part_sets.h"
#include "store/table_source.h"
#include "task/convert/arrays.h"
#include "task/convert/bag.h"
#include "task/convert/cache.h"
#include "task/convert/input.h"
#include "task/convert/output.h"
#include "task/convert/part.h"
#include "task/convert/paths.h"
#include "task/convert/samples.h"
#include "task/convert/wrap.h"
#include "task/transfer/taken.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct convert {
    const struct sb_convert_options *options;
    struct sb_convert_result *result;
    struct sb_transfer_options transfer;
    struct sb_notify notify;
    struct sb_convert_output output;
    struct sb_convert_part part;
    struct sb_record_names *names;
    struct sb_neighbours neighbours;     /* options->samples */
    struct sb_sample_order sample_order; /* likewise */
    bool streamed;                       /* an input was a stream */
    int64_t first_record;                /* number of the next input's first record */
    bool said_front;                     /* reported for an earlier source */
    bool said_encoding;
};

unsigned sb_convert_takes(const struct sb_convert_options *options)
{
    return sb_container_takes(options->to.kind);
}

const char *sb_convert_output_word(const struct sb_convert_options *options)
{
    const struct sb_convert_records *records = &options->records;

    return sb_container_word(records->framed_output ? sb_framing_kind(records->framing)
                                                    : options->to.kind);
}

static bool makes_records(const struct sb_convert_options *options)
{
    return sb_convert_takes(options) & SB_TO_RECORDS;
}

/* Counts the records of an input that an earlier run has converted. */
static enum sb_code convert_count_records(const struct sb_convert_options *options,
                                          const char *path, int64_t *count)
{
    struct sb_source *source = NULL;
    struct sb_member member;
    struct sb_store *store;
    enum sb_code code = sb_convert_count_file(options, path, count);

    if (code || *count >= 0)
        return code;
    *count = 0;
    if (!options->records.framed_input && !(sb_container_can(options->from) & SB_CAN_RECORDS))
        return SB_OK;
    TRY(sb_convert_open_input(&store, options, path));
    code = sb_convert_open_source(&source, store, options, NULL, NULL);
    while (!code)
        code = sb_source_next(source, &member);
    if (code == SB_END)
        *count = source->records;
    sb_source_free(source);
    sb_store_free(store);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code compare(const char *keys, int64_t key_count, int64_t records)
{
    if (key_count == records)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: has %" PRId64 " keys, and there are %" PRId64
                   " records; give the keys that were made with them",
                   keys, key_count, records);
}

static enum sb_code check_keys(const struct sb_record_names *names,
                               const struct sb_convert_options *options)
{
    int64_t sum = 0;

    for (size_t i = 0; i < options->input_count; i++) {
        int64_t count;

        TRY(sb_convert_count_file(options, options->inputs[i], &count));
        if (count < 0)
            return SB_OK;
        sum += count;
    }
    return compare(options->records.keys, sb_record_names_count(names), sum);
}

/*
 * Names for all inputs, by the options. With keys, the records of the inputs are counted, if these
 * are bags in files: SB_INVALID if there are more or fewer of them than keys.
 */
static enum sb_code convert_names(struct sb_record_names **out,
                                  const struct sb_convert_options *options)
{
    const struct sb_convert_records *records = &options->records;
    bool read = records->keys && !makes_records(options); /* else they are written */
    enum sb_code code;

    if (!read)
        return sb_record_names_by_format(out, records->name_format ? records->name_format
                                                                   : SB_RECORD_NAME_FORMAT);
    code = sb_record_names_by_keys(out, records->keys, NULL, options->notify);
    if (!code)
        code = check_keys(*out, options);
    if (code) {
        sb_record_names_free(*out);
        *out = NULL;
    }
    return code;
}

/* Are bags converted to arrays? For a pipe it is not known beforehand whether it is a bag. */
static bool convert_is_zipped(const struct sb_convert_options *options)
{
    return sb_convert_takes(options) & SB_TO_ARRAYS && !options->archive &&
           sb_convert_all_can(options, SB_CAN_RECORDS);
}

/* Is it a warning that was reported for an earlier source? */
static bool said_before(struct convert *convert, enum sb_level level, const char *kind)
{
    bool *said = strcmp(kind, "name") == 0       ? &convert->said_front
                 : strcmp(kind, "encoding") == 0 ? &convert->said_encoding
                                                 : NULL;
    bool before = said && *said;

    if (!said || level != SB_WARNING)
        return false;
    *said = true;
    return before;
}

static void forward(void *context, enum sb_level level, const char *kind, const char *subject,
                    const char *text)
{
    struct convert *convert = context;
    const struct sb_notify *notify = convert->options->notify;

    if (said_before(convert, level, kind))
        return;
    if (level == SB_LOSS && convert->options->transfer.strict)
        level = SB_PROBLEM;
    convert->result->problems += level == SB_PROBLEM;
    notify->call(notify->context, level, kind, subject, text);
}

static void lose(void *context, const char *name, unsigned lost)
{
    struct convert *convert = context;
    const struct sb_convert_options *options = convert->options;

    if (options->lost)
        options->lost(options->transfer.context, name, lost);
    if (options->transfer.strict)
        sb_report(&convert->notify, SB_PROBLEM, "lost", name, "has %s, which %s does not hold%s",
                  sb_property_text(lost & -lost),
                  convert->output.sink ? convert->output.sink->name : options->output,
                  options->samples ? " after --samples" : "");
}

static void progress(void *context, int64_t bytes, int64_t total, int64_t files)
{
    struct convert *convert = context;
    const struct sb_transfer_options *wanted = &convert->options->transfer;

    if (wanted->progress)
        wanted->progress(wanted->context, bytes, total, files);
}

static enum sb_code convert_archive(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_archive_source_options source_options = {
        .no_check = options->no_check,
        .order = sb_convert_order(options),
        .notify = &convert->notify,
    };
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;

    TRY(sb_source_open_archive(&source, options->archive, &source_options));
    convert->transfer.stored_names = true;
    convert->result->begun = true;
    return sb_transfer(source, convert->output.sink, &convert->transfer, &convert->result->members);
}

static enum sb_code transfer(struct convert *convert, struct sb_source *source, size_t number,
                             bool by_name)
{
    int64_t *members = &convert->result->members;

    if (!convert->output.run)
        return sb_transfer(source, convert->output.sink, &convert->transfer, members);
    TRY(sb_checkpoint_begin(convert->output.run, number, by_name, source));
    return sb_checkpoint_transfer(convert->output.run, source, &convert->transfer, members);
}

/* A wrapped bag or cache is as many sources as it has files. */
static enum sb_code wrap_files(struct convert *convert, struct sb_store *store, int64_t *records)
{
    struct sb_source_options source = sb_convert_source_options(convert->options, convert->names);
    struct sb_wrap wrap = {
        .sink = convert->output.sink,
        .source = &source,
        .transfer = &convert->transfer,
        .notify = &convert->notify,
        .members = &convert->result->members,
    };

    return sb_wrap_files(&wrap, store, convert->first_record, records);
}

/* SB_OK and NULL: neighbours decide. Across several inputs, they are to be the same samples. */
static enum sb_code open_samples(struct convert *convert, struct sb_store *store,
                                 struct sb_source **out)
{
    const struct sb_convert_options *options = convert->options;
    bool alone = options->input_count == 1;
    const struct sb_catalog_options catalog = {
        .notify = &convert->notify, .lost = lose, .context = convert};
    enum sb_code code;

    convert->sample_order.beside = convert->transfer.beside;
    if (alone)
        convert->sample_order.share = options->share;
    code = sb_convert_open_samples(out, store, options, &convert->sample_order, &catalog);
    convert->transfer.neighbours = *out && alone ? NULL : &convert->neighbours;
    convert->transfer.sample_share = convert->sample_order.share;
    return code;
}

static enum sb_code convert_opened(struct convert *convert, struct sb_store *store, size_t number,
                                   int64_t *records)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_convert_options cut = *options;
    struct sb_record_choice_options capacity;
    struct sb_source *source = NULL;
    enum sb_code code = SB_OK;

    cut.records.choice =
        sb_convert_part_choice(&convert->part, number, options->records.choice, &capacity);
    if (options->wrap && sb_store_can(store, SB_CAN_PARTS))
        return wrap_files(convert, store, records);
    if (sb_store_can(store, SB_CAN_ITEMS) && makes_records(options) && options->array_count != 1)
        return sb_fail(SB_INVALID,
                       "%s: each array becomes a bag of its own, which is not done from a pipe; "
                       "choose one with --array=NAME",
                       sb_store_name(store));
    if (options->wrap)
        code = sb_wrap_input(convert->output.sink, store);
    if (!code && options->samples)
        code = open_samples(convert, store, &source);
    convert->transfer.stored_names = source || sb_store_archive(store);
    if (!code && !source)
        code = sb_convert_open_source(&source, store, &cut, convert->names, &convert->notify);
    if (!code) {
        convert->result->begun = true;
        code = transfer(convert, source, number, sb_store_can(store, SB_CAN_RESUME));
        *records = source->records;
    }
    sb_source_free(source);
    return code;
}

/* Records of merged inputs keep their numbers, as files keep their names. */
static void pass_records(struct convert *convert, int64_t records)
{
    if (convert->options->merge)
        return;
    convert->first_record += records;
    sb_record_names_place(convert->names, convert->first_record, 1);
}

static enum sb_code convert_input(struct convert *convert, size_t number)
{
    struct sb_store *store;
    int64_t records = 0;
    enum sb_code code =
        sb_convert_open_input(&store, convert->options, convert->options->inputs[number]);

    if (code)
        return code;
    convert->streamed = convert->streamed || sb_store_is_stream(store);
    code = convert_opened(convert, store, number, &records);
    pass_records(convert, records);
    sb_store_free(store);
    return code;
}

/* Another run converts this input; only the numbers of its records matter here. */
static enum sb_code pass_input(struct convert *convert, size_t number)
{
    int64_t records;

    TRY(convert_count_records(convert->options, convert->options->inputs[number], &records));
    pass_records(convert, records);
    return SB_OK;
}

/* A disk that is not mounted must not cost an existing output. Wrapping reads no bytes. */
static bool replaces_by_nothing(const struct convert *convert)
{
    return convert->options->force && !convert->transfer.dry_run && !convert->options->wrap &&
           convert->result->problems > 0 && sb_convert_output_counts(&convert->output).files == 0 &&
           !(convert->output.run && sb_checkpoint_kept(convert->output.run));
}

/* An empty tree or tar that was given by name is accepted. */
static enum sb_code refuse_empty_stream(const struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool kept = convert->output.run && sb_checkpoint_kept(convert->output.run);

    if (!options->force || !convert->streamed || convert->result->members > 0 || kept ||
        strcmp(options->output, "-") == 0)
        return SB_OK;
    return sb_fail_empty(options->input_count > 1               ? "what INPUTs hold"
                         : strcmp(options->inputs[0], "-") == 0 ? "standard input"
                                                                : options->inputs[0]);
}

static void release_output(struct convert *convert, bool failed)
{
    struct sb_convert_result *result = convert->result;

    result->counts = sb_convert_output_counts(&convert->output);
    result->kept = failed && convert->output.run && sb_checkpoint_kept(convert->output.run);
    sb_convert_output_release(&convert->output);
    sb_record_names_free(convert->names);
    convert->names = NULL;
}

/* Numbers of records after the last converted one matter only if a bag of keys covers them all. */
static bool numbers_matter(const struct convert *convert, size_t input)
{
    const struct sb_convert_options *options = convert->options;

    return !makes_records(options) && (input < convert->part.end_input || options->records.keys);
}

/* If the last input is read first, the first row of each name wins. */
static enum sb_code convert_inputs(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool backwards = options->merge && options->transfer.duplicates == SB_DUPLICATE_LAST;
    enum sb_code code = SB_OK;

    for (size_t done = 0; code == SB_OK && done < options->input_count; done++) {
        size_t i = backwards ? options->input_count - 1 - done : done;

        if (!sb_convert_part_has(&convert->part, i) ||
            (convert->output.run && sb_checkpoint_passes(convert->output.run, i))) {
            if (numbers_matter(convert, i))
                code = pass_input(convert, i);
            continue;
        }
        convert->transfer.merged_number = i;
        if (options->prefixes)
            convert->transfer.prefix = options->prefixes[i];
        code = convert_input(convert, i);
    }
    return code;
}

/* The run of items of each share. */
static enum sb_code choose_items(const struct convert *convert, struct sb_table *table,
                                 struct sb_record_choice_options *out)
{
    const struct sb_record_choice_options *wanted = convert->options->records.choice;
    struct sb_share share = convert->options->share;
    int64_t count;
    enum sb_code code = table->ops->count(table, &count);

    *out = wanted ? *wanted : (struct sb_record_choice_options){.sample = -1};
    return code || share.count == 0 ? code : sb_record_choice_share(out, share, count);
}

/*
 * Bags that are read side by side are one source of items: only of values, whose types are in the
 * bags' names (beside.h).
 */
static enum sb_code convert_zipped(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    const struct sb_beside_options how = {
        .bag = options->records.read, .arrays = true, .dtype = options->dtype};
    struct sb_source_options wanted = sb_convert_source_options(options, convert->names);
    struct sb_record_choice_options items = {0};
    struct sb_source *source = NULL;
    struct sb_table *table;
    enum sb_code code =
        sb_table_of_bags(&table, options->inputs, options->input_count, &how, &convert->notify);

    if (code)
        return code;
    wanted.records = options->records.choice || options->share.count > 0 ? &items : NULL;
    wanted.raw_arrays = wanted.unsized = true;
    wanted.whole_items = false;
    code = choose_items(convert, table, &items);
    if (code)
        sb_table_free(table);
    else
        code = sb_source_of_table(&source, table, &wanted, &convert->notify);
    if (!code)
        code = transfer(convert, source, 0, false);
    if (!code)
        convert->first_record = source->records;
    sb_source_free(source);
    return code;
}

static enum sb_code open_output(struct convert *convert)
{
    const struct sb_convert_output_use use = {
        .dry_run = convert->transfer.dry_run,
        .problems = &convert->result->problems,
        .notify = &convert->notify,
        .progress = progress,
        .context = convert,
    };
    enum sb_code code = sb_convert_output_open(&convert->output, convert->options, &use);

    convert->result->done = code == SB_END;
    return code;
}

static enum sb_code run(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool was_there = access(options->output, F_OK) == 0;
    int64_t key_count;
    enum sb_code code = convert_names(&convert->names, options);

    convert->first_record = 0;
    if (!code)
        code = open_output(convert);
    if (!code && convert->output.run && convert->transfer.seen)
        code = sb_checkpoint_see(convert->output.run, convert->transfer.seen);
    if (!code && options->archive)
        code = convert_archive(convert);
    if (!code)
        code = convert_is_zipped(options) ? convert_zipped(convert) : convert_inputs(convert);
    key_count = code ? -1 : sb_record_names_count(convert->names);
    if (key_count >= 0)
        code = compare(options->records.keys, key_count, convert->first_record);
    if (convert->transfer.seen)
        sb_seen_shrink(convert->transfer.seen);
    if (!code && replaces_by_nothing(convert))
        code = sb_fail(SB_INVALID, "%s: nothing of it could be read; %s is left as it is",
                       options->archive ? sb_archive_path(options->archive) : options->inputs[0],
                       options->output);
    if (!code)
        code = refuse_empty_stream(convert);
    if (!code && !convert->transfer.dry_run)
        code = sb_convert_output_commit(&convert->output);
    release_output(convert, code != SB_OK && !convert->result->done);
    /* Removes a directory that was made in vain; rmdir keeps one with files in it. */
    if (code && !was_there && sb_convert_takes(options) & SB_TO_TREE)
        rmdir(options->output);
    return code;
}

/*
 * Sets how merged inputs conflict: for each name the first in the order of reading wins, unless no
 * two inputs can have a name in common. Within one input the last one wins.
 */
static bool arrange_merge(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool meet = options->input_count > 1 && !options->prefixes;

    convert->transfer.merged = meet ? options->inputs : NULL;
    if (!meet)
        convert->transfer.duplicates = SB_DUPLICATE_LAST;
    else if (options->transfer.duplicates == SB_DUPLICATE_LAST)
        convert->transfer.duplicates = SB_DUPLICATE_FIRST;
    return meet;
}

/*
 * Sets how names conflict where they stay names: an error is a name in two inputs; if `error` was
 * given, also one that comes twice within an input, where otherwise the last member counts.
 */
static bool arrange_names(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool names = !(sb_convert_takes(options) & (SB_TO_RECORDS | SB_TO_ARRAYS)) &&
                 !options->records.framed_output;
    bool errors = options->transfer.duplicates == SB_DUPLICATE_ERROR;

    if (errors && !options->duplicates_given && (!names || options->input_count < 2))
        convert->transfer.duplicates = SB_DUPLICATE_LAST;
    if (errors && names && options->input_count > 1) {
        convert->transfer.merged = options->inputs;
        convert->transfer.sink_dirs = true;
        convert->transfer.each_once = options->duplicates_given;
    }
    return convert->transfer.duplicates != SB_DUPLICATE_LAST;
}

/* The set of names belongs to one run. */
static enum sb_code run_once(struct convert *convert, bool dry)
{
    struct sb_seen *seen = NULL;
    bool looks_up = convert->options->merge ? arrange_merge(convert) : arrange_names(convert);
    enum sb_code code = SB_OK;

    convert->transfer.dry_run = dry;
    convert->transfer.beside = dry ? "." : convert->options->output;
    if (looks_up)
        code = sb_seen_new(&seen, convert->transfer.beside);
    convert->transfer.seen = seen;
    if (!code && convert->options->samples)
        code =
            sb_neighbours_begin(&convert->neighbours, convert->transfer.beside, &convert->notify);
    if (!code && (convert->transfer.strip > 0 || convert->transfer.recode.decompress))
        code = sb_taken_new(&convert->transfer.taken, convert->transfer.beside);
    if (!code)
        code = run(convert);
    if (convert->transfer.taken)
        convert->result->kept_stored = sb_taken_kept(convert->transfer.taken);
    sb_taken_free(convert->transfer.taken);
    convert->transfer.taken = NULL;
    sb_neighbours_end(&convert->neighbours);
    sb_seen_free(seen);
    return code;
}

/* A directory appears file by file: so everything that it cannot hold must be found first. */
static bool looks_first(const struct sb_convert_options *options)
{
    struct stat st;

    if (!options->transfer.strict || !(sb_convert_takes(options) & SB_TO_TREE) ||
        options->transfer.dry_run)
        return false;
    for (size_t i = 0; i < options->input_count; i++) {
        if (stat(options->inputs[i], &st) || S_ISFIFO(st.st_mode))
            return false;
    }
    return true;
}

/* Checks where outputs may be written. */
static enum sb_code check_paths(const struct sb_convert_options *options)
{
    const struct sb_convert_records *records = &options->records;
    unsigned takes = records->framed_output ? 0 : sb_convert_takes(options);

    TRY(sb_convert_paths_check(options->inputs, options->input_count, options->output));
    if (!(takes & (SB_TO_INDEX | SB_TO_TREE)))
        TRY(sb_convert_spare_archive(options->output, sb_convert_output_word(options)));
    if (takes & SB_TO_RECORDS && records->keys)
        TRY(sb_convert_beside_check(options->inputs, options->input_count, options->output,
                                    records->keys, "bag of keys"));
    if (records->dictionary)
        TRY(sb_convert_beside_check(options->inputs, options->input_count, options->output,
                                    records->dictionary, "dictionary"));
    return SB_OK;
}

static enum sb_code convert_part(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_convert_result *result = convert->result;
    enum sb_code code = sb_convert_part_plan(&convert->part, options, &convert->notify);

    if (!code && sb_convert_is_of_bags(options)) {
        code = sb_convert_bags(options, &convert->part, &convert->notify, result);
        goto out;
    }
    if (!code && sb_convert_is_of_caches(options)) {
        code = sb_convert_caches(options, &convert->part, &convert->notify, result);
        goto out;
    }
    if (!code && looks_first(options)) {
        code = run_once(convert, true);
        *result = (struct sb_convert_result){.problems = result->problems};
    }
    if (!code)
        code = run_once(convert, options->transfer.dry_run);
out:
    sb_convert_part_release(&convert->part);
    return code;
}

/* What lies in a tree that is read or written may be an input itself. */
static enum sb_code own_inputs(struct sb_own_files *own, const struct sb_convert_options *options)
{
    bool trees = sb_convert_takes(options) & SB_TO_TREE;

    for (size_t i = 0; !trees && i < options->input_count; i++)
        trees = sb_convert_abilities(options, options->inputs[i]) & SB_CAN_WALK;
    if (trees && options->archive)
        TRY(sb_own_files_add(own, sb_archive_path(options->archive), NULL));
    for (size_t i = 0; trees && i < options->input_count; i++)
        TRY(sb_own_files_add(own, options->inputs[i], NULL));
    return SB_OK;
}

enum sb_code sb_convert(const struct sb_convert_options *options, struct sb_convert_result *result)
{
    struct sb_convert_options with_own = *options;
    struct sb_own_files *own;
    struct convert convert = {
        .options = &with_own, .result = result, .transfer = options->transfer};
    enum sb_code code;

    *result = (struct sb_convert_result){0};
    if (sb_convert_is_of_arrays(options))
        return sb_convert_arrays(options, result);
    convert.notify = (struct sb_notify){.call = forward, .context = &convert};
    convert.transfer.notify = &convert.notify;
    convert.transfer.problems = &result->problems;
    convert.transfer.max_size = options->max_size;
    convert.transfer.recode.max_size = options->max_size;
    convert.transfer.meeting_names = options->duplicates_given;
    convert.transfer.lost = lose;
    convert.transfer.progress = progress;
    convert.transfer.context = &convert;
    code = sb_own_files_new(&own);
    with_own.own = own;
    options = &with_own;
    if (!code)
        code = check_paths(options);
    if (!code)
        code = own_inputs(own, options);
    if (!code && options->merge && !options->append)
        code = sb_part_sets_check(options->inputs, options->input_count, &convert.notify);
    if (!code)
        code = sb_recode_check(&options->transfer.recode);
    if (!code)
        code = convert_part(&convert);
    sb_own_files_free(own);
    return result->done ? SB_OK : code;
}
