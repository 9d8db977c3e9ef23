/*
 * What is wrong with the options and operands of convert, and what was meant where they say too
 * little.
 */
#include "convert/convert.h"
#include "ui/meant.h"

#include "core/array.h"
#include "core/context.h"
#include "core/list.h"
#include "core/name.h"
#include "store/store.h"

#include <string.h>
#include <sys/stat.h>

static bool writes_bag(const struct record_settings *settings)
{
    return sb_container_takes(settings->wanted->to.kind) & SB_TO_RECORDS;
}

static bool writes_frames(const struct record_settings *settings)
{
    return settings->framing != NOT_FRAMED && settings->wanted->to.kind == SB_UNKNOWN;
}

static bool has_words(const struct sb_bag_words *words)
{
    return words->compression || words->limits || words->layout || words->dictionary;
}

bool names_bags(const struct record_settings *settings)
{
    return has_words(&settings->bag) || has_words(&settings->from_bag) || settings->files_from;
}

const char *misused_bag_words(const struct record_settings *settings, bool from_bag, bool to_bag)
{
    if (!from_bag && has_words(&settings->from_bag))
        return "--from-compression, --from-dictionary, --from-limits and --from-layout are for "
               "bags that are read";
    if (!from_bag && !to_bag && has_words(&settings->bag))
        return "--compression, --dictionary, --limits and --layout are for bags";
    return NULL;
}

static bool holds_bags(const char *path)
{
    return sb_store_abilities(path, (struct sb_container_type){0}) & SB_CAN_BAGS;
}

/* Names may be read from a bag for any kind of INPUT. */
static bool reads_bag(const struct record_settings *settings)
{
    bool found = sb_container_can(settings->from.kind) & SB_CAN_RECORDS || settings->keys;

    for (size_t i = 0;
         !found && settings->from.kind == SB_UNKNOWN && i < settings->wanted->input_count; i++)
        found = holds_bags(settings->wanted->inputs[i]);
    return found;
}

static const char *misused_output(const struct record_settings *settings)
{
    if (writes_bag(settings))
        return settings->name_format
                   ? "--name-format is for records that become files, and a bag has no files"
                   : NULL;
    if (settings->name_format && settings->keys)
        return "--name-format and --keys both say what files are called: choose one";
    return NULL;
}

static const char *misused_records(const struct record_settings *settings)
{
    const char *wrong = misused_output(settings);

    if (wrong)
        return wrong;
    if (settings->framing != NOT_FRAMED && !writes_frames(settings) &&
        settings->from.kind != SB_UNKNOWN)
        return "--frame says what INPUTs are: it excludes --from";
    if (settings->files_from && settings->wanted->input_count > 1)
        return "-T is read but once: it goes with one INPUT, which may be bags joined by ','";
    return misused_bag_words(settings, reads_bag(settings), writes_bag(settings));
}

/* Options of INPUTs; those without from- are too, if no bag is written. */
static struct sb_bag_words words_of_inputs(const struct record_settings *settings, bool to_bag)
{
    struct sb_bag_words words = settings->from_bag;
    const struct sb_bag_words *other = &settings->bag;

    if (to_bag)
        return words;
    words.compression = words.compression ? words.compression : other->compression;
    words.limits = words.limits ? words.limits : other->limits;
    words.layout = words.layout ? words.layout : other->layout;
    words.dictionary = words.dictionary ? words.dictionary : other->dictionary;
    return words;
}

/* If --to overrules a suffix, the suffix does not decide about compression. */
static enum sb_compression compression_of(const struct record_settings *settings)
{
    if (settings->bag.compression != SB_COMPRESSION_AUTO || !settings->to_given)
        return settings->bag.compression;
    return settings->wanted->to.filter == SB_FILTER_ZSTD ? SB_COMPRESSION_ZSTD
                                                         : SB_COMPRESSION_NONE;
}

static bool writes_zstd(const struct record_settings *settings)
{
    enum sb_compression compression = compression_of(settings);

    return writes_bag(settings) &&
           sb_compression_of(compression, settings->wanted->output) == SB_COMPRESSION_ZSTD;
}

static void fill_output(struct sb_convert_records *wanted, const struct record_settings *settings)
{
    wanted->write = (struct sb_bag_writer_options){
        .compression = compression_of(settings),
        .limits = settings->bag.limits,
        .layout = settings->bag.layout,
        .shard_records = settings->count,
        .shard_bytes = settings->wanted->shard_size,
        .total = -1,
    };
    wanted->dictionary = settings->bag.dictionary;
    wanted->encode_anew = settings->wanted->level > 0;
}

enum sb_code records_open(struct records *records, const struct record_settings *settings)
{
    bool to_bag = writes_bag(settings);
    struct sb_bag_words words = words_of_inputs(settings, to_bag);

    *records = (struct records){
        .wanted = {.name_format = settings->name_format, .keys = settings->keys},
    };
    records->wanted.read = &records->read;
    if (settings->framing != NOT_FRAMED) {
        records->wanted.framing = (enum sb_framing)settings->framing;
        records->wanted.framed_output = writes_frames(settings);
        records->wanted.framed_input = !records->wanted.framed_output;
    }
    if (to_bag)
        fill_output(&records->wanted, settings);
    TRY(chosen_records_open(&records->chosen, settings->files_from, '\n'));
    if (records->chosen.options.list && settings->wanted->force)
        sb_list_must_name(records->chosen.options.list);
    if (records->chosen.given)
        records->wanted.choice = &records->chosen.options;
    return bag_options_of(&words, settings->from, &records->read);
}

void records_release(struct records *records)
{
    sb_dictionary_free(records->read.dictionary);
    chosen_records_close(&records->chosen);
    *records = (struct records){0};
}

static bool all_can(const struct convert_settings *settings, enum sb_store_ability ability)
{
    for (size_t i = 0; i < settings->wanted.input_count; i++) {
        if (!(sb_store_abilities(settings->wanted.inputs[i], settings->records.from) & ability))
            return false;
    }
    return true;
}

static bool any_can(const struct convert_settings *settings, unsigned abilities)
{
    for (size_t i = 0; i < settings->wanted.input_count; i++) {
        if (sb_store_abilities(settings->wanted.inputs[i], settings->records.from) & abilities)
            return true;
    }
    return false;
}

static bool reads_bags_alone(const struct convert_settings *settings)
{
    return sb_container_can(settings->records.from.kind) & SB_CAN_RECORDS ||
           all_can(settings, SB_CAN_RECORDS);
}

static const char *misused_operands(const struct convert_settings *settings, unsigned takes)
{
    const struct sb_convert_options *wanted = &settings->wanted;
    bool known = wanted->to.kind != SB_UNKNOWN, to_pipe = strcmp(wanted->output, "-") == 0;
    size_t pipes = 0;

    for (size_t i = 0; i < wanted->input_count; i++) {
        if (!*wanted->inputs[i])
            return "the name of an INPUT is empty";
        pipes += strcmp(wanted->inputs[i], "-") == 0;
    }
    if (pipes > 1)
        return "standard input can be only one of the INPUTs";
    if (known && takes == 0)
        return "a cpio can only be read; choose another OUTPUT, or say --to";
    if (to_pipe && wanted->append)
        return "what was written to a pipe cannot be added to: give the name of OUTPUT";
    if (to_pipe && known && !(takes & SB_TO_PIPE))
        return "an archive, a directory or a cache is several files, and cannot be written to a "
               "pipe";
    if ((sb_store_abilities(wanted->output, (struct sb_container_type){0}) &
         (SB_CAN_BAGS | SB_CAN_RECORDS)) == SB_CAN_BAGS)
        return "bags side by side are only read; each array of a Syrah file becomes one, in a "
               "directory as OUTPUT, with --to=bagz";
    if (protect_is_given() && (to_pipe || takes & (SB_TO_TREE | SB_TO_KEYS)))
        return "--protect is for an archive, or a file: not for a pipe, a directory or a cache";
    if (settings->report && strcmp(settings->report, "-") == 0 && to_pipe)
        return "OUTPUT and the report cannot both go to standard output";
    return NULL;
}

/* Options that need another kind of output, each with the kinds that it is for. */
static const char *misused_for_output(const struct convert_settings *settings, unsigned takes)
{
    static const struct {
        const char *options;
        unsigned takes;
        const char *wrong;
    } rows[] = {
        {"checkpoint resume", SB_TO_INDEX,
         "--checkpoint and --resume are for an archive: other outputs appear whole or not at all"},
        {"compact segment-size key-prefix sequence", SB_TO_KEYS,
         "--compact, --segment-size, --key-prefix and --sequence are for a cache that is written "
         "(--to=cache)"},
        {"dtype", SB_TO_ARRAYS,
         "--dtype is for bags that become the arrays of a Syrah file or a cache"},
        {"count", SB_TO_RECORDS, "--count is for a bag of several shards: OUT@*.bagz"},
        {"append", SB_TO_APPEND,
         "--append is for an archive, a bag or a cache (--to=archive, if OUTPUT is one in spite of "
         "its name)"},
        {"shard-size", SB_TO_SHARDS,
         "--shard-size is for an archive or a bag (--to=archive, if OUTPUT is one in spite of its "
         "name)"},
        {"wrap", SB_TO_INDEX,
         "--wrap makes an archive (--to=archive, if OUTPUT is one in spite of its name)"},
        {"existing preserve no-same-owner numeric-owner", SB_TO_TREE,
         "--existing, --preserve, --no-same-owner and --numeric-owner are for a directory"},
        {"method", SB_TO_MEMBERS, "--method is for a zip"},
        {"sparse", SB_TO_SPARSE, "--sparse is for a tar"},
        {"format", SB_TO_SPARSE, "--format is for a tar"},
    };

    if (settings->from_extents && !(takes & SB_TO_INDEX))
        return "--from=extents makes the index of an archive";
    if (options_are_set("wrap") && options_are_set("multi-volume"))
        return "--wrap is not for volumes: an index can point at one file only";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (!(takes & rows[i].takes) && options_are_set(rows[i].options))
            return rows[i].wrong;
    }
    if (settings->wanted.sparse && sb_context_now->tar_format != SB_TAR_PAX)
        return "--sparse needs --format=pax";
    if (takes & SB_TO_TREE && settings->wanted.force)
        return "a directory is not replaced; see --existing";
    if (takes & SB_TO_ARRAYS && options_are_set("compress"))
        return "--compress makes files that are no arrays any longer, and a Syrah file and a cache "
               "hold arrays";
    return NULL;
}

/* With --wrap and --from=extents. */
static const char *misused_over_others(const struct convert_settings *settings)
{
    if (options_are_set("checkpoint resume"))
        return "an index over other files is made at once: --checkpoint and --resume are not for "
               "--wrap and --from=extents";
    if (settings->part)
        return "an index over other files is made at once: --part is not for --wrap and "
               "--from=extents";
    if (settings->wanted.samples)
        return "--samples writes files in another order: it is not for --wrap and --from=extents";
    return NULL;
}

/* Where a bag is written in parts. */
static const char *misused_parts_of_bags(const struct convert_settings *settings)
{
    if (options_are_set("count shard-size"))
        return "with --part each part is one shard of the bag: it excludes --count and "
               "--shard-size";
    if (settings->records.bag.layout == SB_LAYOUT_INTERLEAVED)
        return "parts are runs of records: --part excludes --layout=interleaved";
    return NULL;
}

/* Whether one of several inputs has no arrays is reported when it is opened. */
static const char *misused_for_inputs(const struct convert_settings *settings, unsigned takes)
{
    const struct sb_convert_options *wanted = &settings->wanted;

    if (wanted->dtype && !reads_bags_alone(settings))
        return "--dtype is for bags that become the arrays of a Syrah file or a cache";
    if (wanted->cache.compact && !all_can(settings, SB_CAN_KEYS))
        return "--compact is for caches that become one";
    if (option_is_given("array") && (settings->from_extents || reads_bags_alone(settings)))
        return "--array is for Syrah files and caches";
    if (wanted->samples &&
        (takes & SB_TO_ARRAYS || any_can(settings, SB_CAN_NUMBERS | SB_CAN_KEYS)))
        return "--samples is for files, not for bags, Syrah files and caches; a bag can be OUTPUT";
    if (settings->from_extents && wanted->input_count != 1)
        return "--from=extents takes one LIST and the ARCHIVE whose index is made";
    return NULL;
}

static bool compresses(const struct convert_settings *settings, unsigned takes)
{
    const struct sb_convert_options *wanted = &settings->wanted;

    return options_are_set("compress") ||
           (takes & SB_TO_RECORDS ? wanted->append || writes_zstd(&settings->records)
                                  : wanted->to.filter != SB_FILTER_NONE) ||
           (wanted->to.kind == SB_UNKNOWN && sb_framing_filter(wanted->output)) ||
           (takes & SB_TO_MEMBERS && settings->method != METHOD_STORE);
}

static const struct option_rule rules[] = {
    {RULE_WITH, "dry-run", "checkpoint resume",
     "--dry-run commits nothing: it excludes --checkpoint and --resume"},
    {RULE_WITH, "compact", "include exclude prefix strip-components duplicates max-size",
     "--compact copies rows as they are: it excludes --include, --exclude, --prefix, "
     "--strip-components, --duplicates and --max-size"},
    {RULE_WITH, "samples", "checkpoint resume", "--samples excludes --checkpoint and --resume"},
    {RULE_WITH, "append", "force", "--append and --force exclude each other"},
    {RULE_WITH, "wrap", "append shard-size decompress decompress-all compress",
     "--wrap changes no bytes: it excludes --append, --shard-size, --compress and --decompress"},
    {0},
};

const char *misuse_of_convert(const struct convert_settings *settings)
{
    const struct sb_convert_options *wanted = &settings->wanted;
    unsigned takes = sb_container_takes(wanted->to.kind);
    bool over_others = wanted->wrap || settings->from_extents;
    const char *wrong = misused_operands(settings, takes);

    if (!wrong)
        wrong = misused_for_output(settings, takes);
    if (!wrong && over_others)
        wrong = misused_over_others(settings);
    if (!wrong && wanted->append && wanted->transfer.strict && options_are_set("checkpoint resume"))
        wrong = "--strict with --append adds everything or nothing: it excludes --checkpoint and "
                "--resume";
    if (!wrong && settings->part && takes & SB_TO_RECORDS)
        wrong = misused_parts_of_bags(settings);
    if (!wrong)
        wrong = misused_for_inputs(settings, takes);
    if (!wrong && settings->from_extents &&
        options_are_set("append wrap include exclude prefix strip-components shard-size decompress "
                        "decompress-all max-size compress duplicates no-check report"))
        wrong = "--from=extents takes the list as it is: of the options only --force, "
                "--no-checksum, --strict, --dry-run and --threads go with it";
    if (!wrong)
        wrong = misused_records(&settings->records);
    if (!wrong && wanted->level && !compresses(settings, takes))
        wrong = "--level is for what is compressed";
    if (!wrong)
        wrong = options_misused(rules);
    if (!wrong && wanted->no_checksum && !over_others)
        wrong = "--no-checksum is for --wrap and --from=extents";
    return wrong;
}

/* "shardbox convert", the options of a line, the INPUTs and OUTPUT. */
static struct line_to_type begin_line(const struct convert_settings *settings, const char *options)
{
    struct line_to_type line = {0};

    line_say(&line, "convert");
    line_say(&line, options);
    line_quote_all(&line, settings->wanted.inputs, settings->wanted.input_count);
    line_quote(&line, settings->wanted.output);
    return line;
}

bool convert_output_is_unknown(const struct convert_settings *settings)
{
    bool pipe = strcmp(settings->wanted.output, "-") == 0;
    bool suffix = strchr(sb_base_name(settings->wanted.output), '.') != NULL;
    struct line_to_type line;

    if (settings->wanted.to.kind != SB_UNKNOWN || writes_frames(&settings->records))
        return false;
    line = begin_line(settings, pipe ? "--to=tar" : suffix ? "--to=archive" : "--to=dir");
    return line_complain(&line,
                         "%s: what it is to become is said by --to, or a suffix: .barecat, .tar, "
                         ".tar.gz, .tar.zst, .zip, .bag, .bagz, .syr",
                         pipe ? "standard output" : settings->wanted.output);
}

/* How the records of a file with such a name are separated; NULL: not known. */
static const char *frame_of(const char *path)
{
    static const char *const lines[] = {".jsonl", ".ndjson", ".txt", ".csv", ".tsv", ".lst"};
    const char *suffix = strrchr(path, '.');

    if (!suffix || suffix == path)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        if (strcasecmp(suffix, lines[i]) == 0)
            return "--frame=line";
    }
    return strcasecmp(suffix, ".tfrecord") == 0 || strcasecmp(suffix, ".tfrecords") == 0
               ? "--frame=tfrecord"
               : NULL;
}

static bool is_plain_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

bool convert_explain_input(const struct convert_settings *settings)
{
    struct line_to_type line;
    const char *input = NULL;

    if (sb_error()->code != SB_FORMAT || settings->from != NOT_GIVEN ||
        settings->records.framing != NOT_FRAMED)
        return false;
    for (size_t i = 0; !input && i < settings->wanted.input_count; i++) {
        if (is_plain_file(settings->wanted.inputs[i]) && frame_of(settings->wanted.inputs[i]) &&
            sb_store_abilities(settings->wanted.inputs[i], settings->records.from) == 0)
            input = settings->wanted.inputs[i];
    }
    if (!input && sb_container_takes(settings->wanted.to.kind) & SB_TO_RECORDS &&
        settings->wanted.input_count == 1 && strcmp(settings->wanted.inputs[0], "-") == 0) {
        line = begin_line(settings, "--frame=line");
        return line_complain(&line, "%s; --frame says how records are separated", sb_error()->text);
    }
    if (!input)
        return false;
    line = begin_line(settings, frame_of(input));
    return line_complain(&line, "%s: is no container; --frame says how its records are separated",
                         input);
}
