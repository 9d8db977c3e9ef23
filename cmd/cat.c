/*
 * shardbox cat: writes files of an archive to standard output by name, also from a stream of names
 * whose answers another program waits for; or records of a bag, or arrays of items of a Syrah file,
 * by number; or arrays of a cache by their keys.
 */
#include "cat/cat.h"
#include "open/given.h"
#include "open/opening.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/archive.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/glob.h"
#include "core/list.h"
#include "core/name.h"
#include "core/number.h"
#include "task/fetch/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ORDER_INPUT, ORDER_ADDRESS };
static const char *const orders[] = {"input", "address", NULL};

struct wanted {
    struct sb_buf *names; /* as they are stored, in order */
    size_t count;
    bool any_glob; /* some of them may be patterns as well */
};

static int compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    if (a_size != b_size)
        return a_size < b_size ? -1 : 1;
    return memcmp(a, b, a_size);
}

static int compare_names(const void *a, const void *b)
{
    const struct sb_buf *x = a, *y = b;

    return compare(x->data, x->size, y->data, y->size);
}

/* Out of memory ends the program. */
static void wanted_begin(struct wanted *wanted, char *const *args, size_t count)
{
    bool stripped;

    wanted->names = calloc(3 * count + 1, sizeof(*wanted->names));
    if (!wanted->names) {
        output_check(ENOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct sb_buf *name = &wanted->names[wanted->count++];

        if (sb_name_normalize(args[i], name, &stripped) || sb_buf_reserve(name, 0))
            output_check(ENOMEM);
        /* Only for the message that there is one. */
        for (enum sb_form form = SB_NFC; form <= SB_NFD; form++)
            wanted->count +=
                sb_name_form(name->data, name->size, form, &wanted->names[wanted->count]);
        wanted->any_glob |= sb_is_glob(args[i]);
    }
    qsort(wanted->names, wanted->count, sizeof(*wanted->names), compare_names);
}

static void wanted_end(struct wanted *wanted)
{
    for (size_t i = 0; i < wanted->count; i++)
        sb_buf_release(&wanted->names[i]);
    free(wanted->names);
    *wanted = (struct wanted){0};
}

/* For sb_catalog_options.wanted: is this stored name one of them? context is the struct wanted. */
static bool wanted_has(void *context, const char *name, size_t size)
{
    const struct wanted *wanted = context;
    size_t at;

    for (size_t i = 0; wanted->any_glob && i < wanted->count; i++) {
        if (sb_glob_match(wanted->names[i].data, name, size))
            return true;
    }
    at = FIRST_WHERE(i, wanted->count,
                     compare(wanted->names[i].data, wanted->names[i].size, name, size) >= 0);
    return at < wanted->count &&
           compare(wanted->names[at].data, wanted->names[at].size, name, size) == 0;
}

/* "OFFSET:" is to the end, ":LENGTH" from the beginning. */
static bool split_range(struct sb_fetch_options *wanted, const char *value)
{
    const char *colon = strchr(value, ':');
    char offset[32] = "0";
    size_t size = colon ? (size_t)(colon - value) : 0;

    if (!colon || size >= sizeof(offset) || strcmp(value, ":") == 0)
        return false;
    if (size > 0) {
        memcpy(offset, value, size);
        offset[size] = '\0';
    }
    wanted->ranged = true;
    wanted->range_size = INT64_MAX;
    return sb_parse_size(offset, &wanted->range_offset) &&
           (!colon[1] || sb_parse_size(colon + 1, &wanted->range_size));
}

static bool parse_range(void *settings, const char *value)
{
    if (split_range(&((struct cat_settings *)settings)->wanted, value))
        return true;
    message_usage("--range: '%s' is not OFFSET:LENGTH in bytes", value);
    return false;
}

static const struct option options[] = {
    OPTION_GROUP("Files"),
    OPTION_TEXT('T', "files-from", struct cat_settings, files_from, "FILE",
                "names or numbers too, one a line; - is stdin", OPERAND_FILE),
    OPTION_FLAG('0', "null", struct cat_settings, nul, "names in FILE end in NUL, not newline"),
    OPTION_CALL(0, "range", "OFFSET:LENGTH", parse_range,
                "only these bytes of each file, unchecked", OPERAND_NONE),
    OPTION_CHOICE(0, "order", struct cat_settings, order, "ORDER", orders,
                  "'address' reads in the order on disk"),
    OPTION_PART(struct cat_settings, part, "part I of N, from 1, of the names or rows, or 'auto'"),
    OPTION_GROUP("Output"),
    OPTION_CHOICE(0, "frame", struct cat_settings, wanted.framing, "HOW", sb_framing_words,
                  "how files or records are set apart: line, u32, tar"),
    OPTION_FLAG(0, "decompress", struct cat_settings, wanted.decompress,
                "files called .gz, .bz2, .xz or .zst decompressed"),
    OPTION_FLAG(0, "npy", struct cat_settings, npy,
                "arrays as .npy files, with their type and shape"),
    OPTION_FLAG(0, "raw", struct cat_settings, raw, "arrays as values alone, not as .npy files"),
    OPTION_MORE("Output"),
    OPTION_FORMAT,
    OPTION_FLAG(0, "decompress-all", struct cat_settings, wanted.decompress_all,
                "the same, also where several are stacked"),
    OPTION_FLAG(0, "batch", struct cat_settings, batch,
                "frame answers: a line 'PATH SIZE' (-0: to NUL), bytes, newline"),
    OPTION_GROUP("Records, items and samples"),
    OPTION_FLAG(0, "samples", struct cat_settings, samples,
                "files of one name up to its first dot, numbered"),
    OPTION_ARRAY,
    OPTION_INTEGER(0, "sample", struct cat_settings, draw.sample, "N", 0, INT64_MAX,
                   "N records, items or keys, at random"),
    OPTION_FLAG(0, "shuffle", struct cat_settings, draw.shuffle, "all of them, in a random order"),
    OPTION_INTEGER(0, "seed", struct cat_settings, draw.seed, "N", 0, INT64_MAX,
                   "which order that is (default: 0)"),
    OPTION_FIND,
    OPTION_MORE("Records, items and samples"),
    OPTION_FLAG(0, "replace", struct cat_settings, draw.replace,
                "--sample may draw one more than once"),
    OPTION_FLAG(0, "forever", struct cat_settings, draw.forever,
                "again and again, without end; --shuffle each time anew"),
    OPTION_TEXT(0, "keys", struct cat_settings, keys, "BAG",
                "records by names, which are the records of BAG", OPERAND_FILE),
    OPTIONS_BAG(struct cat_settings, opening.bag),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct cat_settings, wanted.threads, "threads that read ahead"),
    OPTION_MORE("Records, items and samples"),
    OPTION_KEEP_CASE,
    OPTION_MORE("Speed"),
    OPTION_BWLIMIT,
    OPTION_MORE("Input"),
    OPTIONS_INPUT,
    OPTION_MAX_SIZE(struct cat_settings, wanted.max_size),
    OPTION_FLAG(0, "no-check", struct cat_settings, wanted.no_check,
                "do not check the bytes' CRC32C"),
    OPTION_END,
};

static void report_batch(const struct sb_fetch_counts *counts)
{
    if (counts->missing > 0)
        message_problem("%" PRId64 " of the requested names %s not a file in the archive",
                        counts->missing, counts->missing == 1 ? "is" : "are");
}

static enum sb_code fetch_from_archive(const struct cat_settings *settings,
                                       struct sb_archive *archive,
                                       const struct sb_fetch_names *requested)
{
    struct sb_fetch_options wanted = settings->wanted;
    int64_t written = 0;
    struct sb_fetch_output output = {.write = output_directly, .context = &written};
    struct sb_fetch_counts counts;

    /* Of one name there is nothing to read ahead. */
    if (!settings->samples && !settings->files_from && settings->operand_count == 1)
        wanted.threads = 1;
    wanted.by_address = settings->order == ORDER_ADDRESS;
    wanted.frame_end = cat_line_end(settings);
    TRY(sb_fetch(archive, &wanted, requested, &output, &message_notify, &counts));
    if (settings->wanted.framing == SB_FRAMING_BATCH)
        report_batch(&counts);
    return SB_OK;
}

static struct sb_source_options reading(const struct cat_settings *settings)
{
    return (struct sb_source_options){.no_check = settings->wanted.no_check,
                                      .threads = settings->wanted.threads,
                                      .max_size = settings->wanted.max_size};
}

static enum sb_code refuse_in_sequence(const struct sb_store *store, const char *option)
{
    return sb_fail(SB_INVALID,
                   "%s: can only be read in sequence, without %s; 'shardbox convert' makes an "
                   "archive of it",
                   sb_store_name(store), option);
}

/* Options that need to know the place or the size of bytes before they come. */
static const char *clash_with_sequence(const struct cat_settings *settings)
{
    if (settings->wanted.framing == SB_FRAMING_BATCH)
        return "--batch";
    if (settings->wanted.ranged)
        return "--range";
    return settings->order == ORDER_ADDRESS ? "--order=address" : NULL;
}

/* Are all names requested, because none is given? */
static bool names_all(const struct given_names *names)
{
    return names->operands == names->end && !names->list;
}

static enum sb_code fetch_in_sequence(const struct cat_settings *settings,
                                      struct given_names *names,
                                      const struct sb_fetch_samples *samples)
{
    struct sb_fetch_names requested = given_names_of(names);
    const struct sb_source_options how = reading(settings);
    const struct sb_fetch_options wanted = {.decompress = settings->wanted.decompress,
                                            .decompress_all = settings->wanted.decompress_all,
                                            .framing = settings->wanted.framing,
                                            .glob_count = (size_t)(names->end - names->operands),
                                            .share = &names->share,
                                            .samples = samples};
    int64_t written = 0;
    struct sb_fetch_output output = {.write = output_directly, .context = &written};
    struct sb_fetch_counts counts;
    struct sb_source *source = NULL;
    const char *clash = clash_with_sequence(settings);
    enum sb_code code;

    if (clash)
        return refuse_in_sequence(settings->store, clash);
    code = sb_store_source(settings->store, &source, &how, &message_notify);
    if (!code)
        code = sb_fetch_stream(source, names_all(names) ? NULL : &requested, &wanted, &output,
                               &message_notify, &counts);
    sb_source_free(source);
    /* A sequence cannot be read past its damage. */
    if (code == SB_DAMAGED)
        sb_error()->code = SB_FORMAT;
    return code ? sb_error()->code : SB_OK;
}

/* Opens an archive of the requested names if they are known beforehand, or else of everything. */
static enum sb_code catalog(const struct cat_settings *settings, struct sb_archive **archive,
                            const struct given_names *names, struct sb_catalog_result *result)
{
    const struct sb_source_options how = reading(settings);
    CLEANUP(wanted_end) struct wanted wanted = {0};
    struct sb_catalog_options selection = {.notify = &message_notify, .context = &wanted};

    if (names->list || names_all(names) || sb_store_is_stream(settings->store))
        return catalog_store(settings->store, archive, &how, &selection, result);
    wanted_begin(&wanted, names->operands, (size_t)(names->end - names->operands));
    selection.wanted = wanted_has;
    selection.metadata = settings->wanted.framing == SB_FRAMING_TAR;
    return catalog_store(settings->store, archive, &how, &selection, result);
}

/* Without an archive, requested names must be read in sequence. */
static enum sb_code fetch(const struct cat_settings *settings, struct given_names *names)
{
    const struct sb_query files = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct sb_catalog_result result = {0};
    struct sb_fetch_names requested = given_names_of(names);
    struct sb_archive *archive = NULL;
    enum sb_code code = SB_OK;

    if ((sb_store_can(settings->store, SB_CAN_PATHS | SB_CAN_WALK)))
        code = catalog(settings, &archive, names, &result);
    if (!code && archive && !result.in_sequence && names_all(names))
        code = sb_cursor_open(&names->files, archive, &files);
    names->archive = result.in_sequence ? NULL : archive;
    if (!code && archive && !result.in_sequence)
        code = fetch_from_archive(settings, archive, &requested);
    else if (!code)
        code = fetch_in_sequence(settings, names, NULL);
    message_progress_end();
    return code;
}

/* In sequence, only samples by numbers from the beginning can be found. */
static enum sb_code fetch_neighbours(const struct cat_settings *settings)
{
    struct given_names all = {.share = settings->share};
    struct chosen_records chosen;
    const char **columns, *other = is_random(settings)    ? "draws (--sample, --shuffle, --forever)"
                                   : settings->files_from ? "-T"
                                                          : NULL;
    enum sb_code code = chosen_records_open(&chosen, NULL, '\n');
    struct sb_fetch_samples samples = {.column_count = arrays_given(&columns)};

    for (size_t i = 0; !code && i < settings->operand_count; i++)
        code = chosen_records_add(&chosen, settings->operands[i]);
    samples.columns = columns;
    samples.slices = chosen.options.slices;
    samples.slice_count = chosen.options.slice_count;
    for (const struct sb_slice *slice = samples.slices;
         slice < samples.slices + samples.slice_count; slice++) {
        if (slice->step < 0 || slice->start < 0 || slice->stop < 0)
            other = "numbers from the end, or backwards";
    }
    if (!code)
        code = other ? refuse_in_sequence(settings->store, other)
                     : fetch_in_sequence(settings, &all, &samples);
    chosen_records_close(&chosen);
    free(columns);
    message_progress_end();
    return code;
}

static enum sb_code fetch_samples(const struct cat_settings *settings)
{
    struct given_names everything = {.operands = settings->operands, .end = settings->operands};
    struct sb_catalog_result result;
    struct sb_archive *archive;
    struct cat_samples *samples;
    struct sb_fetch_names requested;
    enum sb_code code;

    if (!sb_store_can(settings->store, SB_CAN_PATHS | SB_CAN_WALK))
        return fetch_neighbours(settings);
    code = catalog(settings, &archive, &everything, &result);
    if (!code)
        code = cat_samples_open(&samples, archive, settings);
    if (code)
        return code;
    requested = cat_samples_names(samples);
    code = fetch_from_archive(settings, archive, &requested);
    cat_samples_free(samples);
    message_progress_end();
    return code;
}

static const struct option_rule rules[] = {
    {RULE_WITH, "decompress decompress-all", "range",
     "--decompress and --range cannot be given together"},
    {RULE_WITH, "decompress decompress-all", "batch",
     "--decompress and --batch cannot be given together"},
    {0},
};

/* What does not go with what, of an archive. */
static int check_files(const struct cat_settings *settings)
{
    const char *of_rows = cat_rows_given(settings->samples);
    const char *wrong = settings->samples ? misused_draw(settings) : NULL;

    if (of_rows && cat_rows_given(true))
        return message_usage("%s: is no bag, and --%s is for bags", settings->spec, of_rows);
    if (of_rows)
        return message_usage("%s: --%s goes with rows, or with --samples", settings->spec, of_rows);
    if (wrong)
        return message_usage("%s", wrong);
    wrong = options_misused(rules);
    if (wrong)
        return message_usage("%s", wrong);
    if (settings->wanted.decompress && sb_framing_has_size(settings->wanted.framing))
        return message_usage("--decompress and --frame=%s cannot be given together: it writes "
                             "lengths before they are known",
                             sb_framing_words[settings->wanted.framing]);
    return STATUS_CLEAN;
}

static enum sb_code fetch_named(const struct cat_settings *settings)
{
    CLEANUP(given_names_release)
    struct given_names names = {.operands = settings->operands,
                                .end = settings->operands + settings->operand_count,
                                .share = settings->share};

    if (settings->files_from)
        TRY(sb_list_open(&names.list, settings->files_from, cat_line_end(settings)));
    return fetch(settings, &names);
}

static int cat_files(const struct cat_settings *settings)
{
    enum sb_code code;
    int status = check_files(settings);

    if (status)
        return status;
    code = settings->samples ? fetch_samples(settings) : fetch_named(settings);
    return code ? message_failure() : message_status();
}

/* What only files of archives have. */
static const char *clash_with_table(const struct cat_settings *settings)
{
    if (settings->wanted.ranged)
        return "--range";
    if (settings->wanted.decompress)
        return "--decompress";
    if (settings->wanted.no_check)
        return "--no-check";
    if (settings->samples)
        return "--samples";
    return settings->order == ORDER_ADDRESS ? "--order=address" : NULL;
}

static int cat_table(const struct cat_settings *settings)
{
    const char *clash = clash_with_table(settings);

    if (settings->npy && settings->raw)
        return message_usage("--raw and --npy cannot be given together");
    if (clash)
        return message_usage("%s: is a %s, and %s is for files of archives", settings->spec,
                             sb_store_word(settings->store), clash);
    return cat_rows(settings);
}

static int cat_store(struct cat_settings *settings)
{
    if (holds_caches(settings->store))
        return message_usage("%s: holds caches, and keys are those of one of them: 'shardbox ls "
                             "%s' shows which there are",
                             settings->spec, settings->spec);
    if (!sb_store_can(settings->store, SB_CAN_ARRAYS) &&
        refuse_arrays(settings->spec, settings->samples))
        return STATUS_ERROR;
    return sb_store_can(settings->store, SB_CAN_NUMBERS | SB_CAN_ARRAYS) ? cat_table(settings)
                                                                         : cat_files(settings);
}

static int run(void *context, char **operands, int count)
{
    struct cat_settings *settings = context;
    int status;

    settings->wanted.decompress |= settings->wanted.decompress_all;
    output_allow(settings->wanted.max_size);
    if (option_is_given("format") && settings->wanted.framing != SB_FRAMING_TAR)
        return message_usage("--format goes with --frame=tar");
    if (settings->batch && settings->wanted.framing)
        return message_usage("--batch and --frame cannot be given together");
    if (settings->batch)
        settings->wanted.framing = SB_FRAMING_BATCH;
    if (!part_parse(settings->part, &settings->share))
        return message_status();
    settings->opening.once = count == 2 && !settings->files_from && !settings->samples;
    if (open_store(&settings->store, operands[0], &settings->opening))
        return message_failure();
    settings->spec = sb_store_path(settings->store);
    settings->operands = operands + 1;
    settings->operand_count = (size_t)count - 1;
    status = cat_store(settings);
    sb_store_free(settings->store);
    return status;
}

const struct command cat_command = {
    .name = "cat",
    .summary = "write files of an archive, records of a bag, or arrays to standard output",
    .synopsis = {"[-0] [-T FILE] ARCHIVE [PATH|GLOB]...",
                 "[-T FILE] BAG [NUMBER|START:STOP:STEP]...",
                 "[--npy|--raw] [-T FILE] CACHE [KEY[/NAME]]...",
                 "[--npy|--raw] [-T FILE] SYRAH [ITEM[/ARRAY]]...", "--keys=KEYS BAG NAME...",
                 "--samples [-T FILE] ARCHIVE [NUMBER[/NAME]|START:STOP:STEP]..."},
    .examples = {"shardbox cat train.barecat images/0017.jpg >0017.jpg",
                 "shardbox cat --frame=line -T numbers text.bagz >some.jsonl"},
    .options = options,
    .exit_status = "0 all were written, 1 some are missing or damaged, 2 error",
    .notes = "Records and items are counted from 0, below zero from the end; see "
             "shardbox-records(7).",
    .operands = OPERAND_ARCHIVE_ROWS,
    .settings_size = sizeof(struct cat_settings),
    .needs_archive = true,
    .defaults = &(const struct cat_settings){.draw = {.sample = -1}},
    .run = run,
};
