#include "task/convert/convert.h"

#include "archive/archive.h"
#include "store/bag/record_names.h"
#include "store/beside/beside.h"
#include "store/own_files.h"
#include "store/part_sets.h"
#include "store/table_source.h"
#include "task/convert/impl.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct convert {
    const struct sb_convert_options *options;
    struct sb_convert_result *result;
    struct sb_transfer_options transfer;
    struct sb_notify notify;
    struct sb_output output;
    struct sb_dictionary *dictionary; /* of an output that is a bag */
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
static enum sb_code count_records(const struct sb_convert_options *options, const char *path,
                                  int64_t *count)
{
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    struct sb_member member;
    enum sb_code code = SB_OK;

    TRY(sb_convert_count_file(options, path, count));
    if (*count >= 0)
        return SB_OK;
    *count = 0;
    if (!options->records.framed_input && !(sb_container_can(options->from) & SB_CAN_RECORDS))
        return SB_OK;
    TRY(sb_convert_open_input(&store, options, path));
    TRY(sb_convert_open_source(&source, store, options, NULL, NULL));
    while (!code)
        code = sb_source_next(source, &member);
    if (code != SB_END)
        return code;
    *count = source->records;
    return SB_OK;
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
static enum sb_code open_names(struct sb_record_names **out,
                               const struct sb_convert_options *options)
{
    const struct sb_convert_records *records = &options->records;
    CLEANUP(sb_record_names_freep) struct sb_record_names *names = NULL;

    if (!records->keys || makes_records(options)) /* keys are not read then, but written */
        return sb_record_names_by_format(out, records->name_format ? records->name_format
                                                                   : SB_RECORD_NAME_FORMAT);
    TRY(sb_record_names_by_keys(&names, records->keys, NULL, options->notify));
    TRY(check_keys(names, options));
    *out = TAKE(names);
    return SB_OK;
}

static void forward(void *context, enum sb_level level, const char *kind, const char *subject,
                    const char *text)
{
    struct convert *convert = context;
    const struct sb_notify *notify = convert->options->notify;
    bool *said = strcmp(kind, "name") == 0       ? &convert->said_front
                 : strcmp(kind, "encoding") == 0 ? &convert->said_encoding
                                                 : NULL;

    if (said && level == SB_WARNING) {
        if (*said)
            return;
        *said = true;
    }
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
    return sb_output_transfer(&convert->output, source, number, by_name, &convert->transfer,
                              &convert->result->members);
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
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    enum sb_code code;

    if (options->wrap && sb_store_can(store, SB_CAN_PARTS))
        return wrap_files(convert, store, records);
    if (sb_store_can(store, SB_CAN_ITEMS) && makes_records(options) && options->array_count != 1)
        return sb_fail(SB_INVALID,
                       "%s: each array becomes a bag of its own, which is not done from a pipe; "
                       "choose one with --array=NAME",
                       sb_store_name(store));
    if (options->wrap)
        TRY(sb_wrap_input(convert->output.sink, store));
    if (options->samples)
        TRY(open_samples(convert, store, &source));
    convert->transfer.stored_names = source || sb_store_archive(store);
    cut.records.choice =
        sb_convert_part_choice(&convert->part, number, options->records.choice, &capacity);
    if (!source)
        TRY(sb_convert_open_source(&source, store, &cut, convert->names, &convert->notify));
    convert->result->begun = true;
    code = transfer(convert, source, number, sb_store_can(store, SB_CAN_RESUME));
    *records = source->records;
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
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    int64_t records = 0;

    TRY(sb_convert_open_input(&store, convert->options, convert->options->inputs[number]));
    convert->streamed = convert->streamed || sb_store_is_stream(store);
    TRY(convert_opened(convert, store, number, &records));
    pass_records(convert, records);
    return SB_OK;
}

/* A disk that is not mounted must not cost an existing output. Wrapping reads no bytes. */
static bool replaces_by_nothing(const struct convert *convert)
{
    return convert->options->force && !convert->transfer.dry_run && !convert->options->wrap &&
           convert->result->problems > 0 && sb_output_counts(&convert->output).files == 0 &&
           !sb_output_kept(&convert->output);
}

/* An empty tree or tar that was given by name is accepted. */
static enum sb_code refuse_empty_stream(const struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool kept = sb_output_kept(&convert->output);

    if (!options->force || !convert->streamed || convert->result->members > 0 || kept ||
        strcmp(options->output, "-") == 0)
        return SB_OK;
    return sb_fail_empty(options->input_count > 1               ? "what INPUTs hold"
                         : strcmp(options->inputs[0], "-") == 0 ? "standard input"
                                                                : options->inputs[0]);
}

/* If the last input is read first, the first row of each name wins. */
static enum sb_code convert_inputs(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    bool backwards = options->merge && options->transfer.duplicates == SB_DUPLICATE_LAST;
    int64_t records;

    for (size_t done = 0; done < options->input_count; done++) {
        size_t i = backwards ? options->input_count - 1 - done : done;

        if (sb_convert_part_has(&convert->part, i) &&
            !(convert->output.run && sb_checkpoint_passes(convert->output.run, i))) {
            convert->transfer.merged_number = i;
            if (options->prefixes)
                convert->transfer.prefix = options->prefixes[i];
            TRY(convert_input(convert, i));
            continue;
        }
        /* Another run converts it: only the numbers of its records matter here; after the last
         * converted one only if a bag of keys covers them all. */
        if (!makes_records(options) && (i < convert->part.end_input || options->records.keys)) {
            TRY(count_records(options, options->inputs[i], &records));
            pass_records(convert, records);
        }
    }
    return SB_OK;
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
    struct sb_record_choice_options items = {.sample = -1};
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    CLEANUP(sb_table_freep) struct sb_table *table = NULL;
    int64_t count;

    TRY(sb_table_of_bags(&table, options->inputs, options->input_count, &how, &convert->notify));
    TRY(table->ops->count(table, &count));
    if (options->records.choice)
        items = *options->records.choice;
    if (options->share.count > 0)
        TRY(sb_record_choice_share(&items, options->share, count));
    wanted.records = options->records.choice || options->share.count > 0 ? &items : NULL;
    wanted.raw_arrays = wanted.unsized = true;
    wanted.whole_items = false;
    TRY(sb_source_of_table(&source, TAKE(table), &wanted, &convert->notify));
    TRY(transfer(convert, source, 0, false));
    convert->first_record = source->records;
    return SB_OK;
}

static enum sb_code fill_output(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    enum sb_code code;
    int64_t key_count;

    convert->first_record = 0;
    TRY(open_names(&convert->names, options));
    code =
        sb_convert_output_open(&convert->output, &convert->dictionary, options, &convert->transfer);
    convert->result->done = code == SB_END;
    if (code)
        return code;
    if (convert->output.run && convert->transfer.seen)
        TRY(sb_checkpoint_see(convert->output.run, convert->transfer.seen));
    if (options->archive)
        TRY(convert_archive(convert));
    /* Bags become arrays side by side. Of a pipe it is not known beforehand whether it is a bag. */
    if (sb_convert_takes(options) & SB_TO_ARRAYS && !options->archive &&
        sb_convert_all_can(options, SB_CAN_RECORDS))
        TRY(convert_zipped(convert));
    else
        TRY(convert_inputs(convert));
    key_count = sb_record_names_count(convert->names);
    if (key_count >= 0)
        TRY(compare(options->records.keys, key_count, convert->first_record));
    if (convert->transfer.seen)
        sb_names_shrink(convert->transfer.seen);
    if (replaces_by_nothing(convert))
        return sb_fail(SB_INVALID, "%s: nothing of it could be read; %s is left as it is",
                       options->archive ? sb_archive_path(options->archive) : options->inputs[0],
                       options->output);
    TRY(refuse_empty_stream(convert));
    return convert->transfer.dry_run ? SB_OK : sb_output_commit(&convert->output);
}

static enum sb_code run(struct convert *convert)
{
    const struct sb_convert_options *options = convert->options;
    struct sb_convert_result *result = convert->result;
    bool was_there = access(options->output, F_OK) == 0;
    enum sb_code code = fill_output(convert);

    result->counts = sb_output_counts(&convert->output);
    result->kept = code && !result->done && sb_output_kept(&convert->output);
    sb_output_release(&convert->output);
    sb_dictionary_free(convert->dictionary);
    convert->dictionary = NULL;
    sb_record_names_free(convert->names);
    convert->names = NULL;
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
    const struct sb_convert_options *options = convert->options;
    struct sb_transfer_options *how = &convert->transfer;
    CLEANUP(sb_names_freep) struct sb_names *seen = NULL;
    CLEANUP(sb_taken_freep) struct sb_taken *taken = NULL;
    bool looks_up = options->merge ? arrange_merge(convert) : arrange_names(convert);
    enum sb_code code = SB_OK;

    how->dry_run = dry;
    how->beside = dry ? "." : options->output;
    if (looks_up)
        TRY(sb_names_new(&seen, how->beside));
    how->seen = seen;
    if (how->strip > 0 || how->recode.decompress)
        TRY(sb_taken_new(&taken, how->beside));
    how->taken = taken;
    if (options->samples)
        code = sb_neighbours_begin(&convert->neighbours, how->beside, &convert->notify);
    if (!code)
        code = run(convert);
    sb_neighbours_end(&convert->neighbours);
    if (taken)
        convert->result->kept_stored = sb_taken_kept(taken);
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

    TRY(sb_convert_part_plan(&convert->part, options, &convert->notify));
    if (sb_convert_is_of_bags(options))
        return sb_convert_bags(options, &convert->part, &convert->notify, result);
    if (sb_convert_is_of_caches(options))
        return sb_convert_caches(options, &convert->part, &convert->notify, result);
    if (looks_first(options)) {
        enum sb_code code = run_once(convert, true);

        *result = (struct sb_convert_result){.problems = result->problems};
        if (code)
            return code;
    }
    return run_once(convert, options->transfer.dry_run);
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

static void release(struct convert *convert)
{
    sb_convert_part_release(&convert->part);
}

enum sb_code sb_convert(const struct sb_convert_options *options, struct sb_convert_result *result)
{
    struct sb_convert_options with_own = *options;
    CLEANUP(release)
    struct convert convert = {.options = &with_own,
                              .result = result,
                              .transfer = options->transfer,
                              .part.numbers = SB_LIMIT_SPOOL(NULL)};
    CLEANUP(sb_own_files_freep) struct sb_own_files *own = NULL;
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
    TRY(sb_own_files_new(&own));
    with_own.own = own;
    TRY(check_paths(&with_own));
    TRY(own_inputs(own, &with_own));
    if (options->merge && !options->append)
        TRY(sb_part_sets_check(options->inputs, options->input_count, &convert.notify));
    TRY(sb_recode_check(&options->transfer.recode));
    code = convert_part(&convert);
    return result->done ? SB_OK : code;
}
