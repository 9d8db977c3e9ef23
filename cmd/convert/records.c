#include "convert/records.h"

#include "core/list.h"

#include <string.h>

static bool writes_bag(const struct record_use *use)
{
    return sb_container_takes(use->wanted->to.kind) & SB_TO_RECORDS;
}

bool writes_frames(const struct record_settings *settings, const struct record_use *use)
{
    return settings->framing != NOT_FRAMED && use->wanted->to.kind == SB_UNKNOWN;
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
static bool reads_bag(const struct record_settings *settings, const struct record_use *use)
{
    bool found = sb_container_can(use->from.kind) & SB_CAN_RECORDS || settings->keys;

    for (size_t i = 0; !found && use->from.kind == SB_UNKNOWN && i < use->wanted->input_count; i++)
        found = holds_bags(use->wanted->inputs[i]);
    return found;
}

static const char *misused_output(const struct record_settings *settings,
                                  const struct record_use *use)
{
    if (writes_bag(use))
        return settings->name_format
                   ? "--name-format is for records that become files, and a bag has no files"
                   : NULL;
    if (settings->name_format && settings->keys)
        return "--name-format and --keys both say what files are called: choose one";
    return NULL;
}

const char *misused_records(const struct record_settings *settings, const struct record_use *use)
{
    const char *wrong = misused_output(settings, use);

    if (wrong)
        return wrong;
    if (settings->framing != NOT_FRAMED && !writes_frames(settings, use) &&
        use->from.kind != SB_UNKNOWN)
        return "--frame says what INPUTs are: it excludes --from";
    if (settings->files_from && use->wanted->input_count > 1)
        return "-T is read but once: it goes with one INPUT, which may be bags joined by ','";
    return misused_bag_words(settings, reads_bag(settings, use), writes_bag(use));
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
static enum sb_compression compression_of(const struct record_settings *settings,
                                          const struct record_use *use)
{
    if (settings->bag.compression != SB_COMPRESSION_AUTO || !use->to_given)
        return settings->bag.compression;
    return use->wanted->to.filter == SB_FILTER_ZSTD ? SB_COMPRESSION_ZSTD : SB_COMPRESSION_NONE;
}

bool writes_zstd(const struct record_settings *settings, const struct record_use *use)
{
    enum sb_compression compression = compression_of(settings, use);

    return writes_bag(use) &&
           sb_compression_of(compression, use->wanted->output) == SB_COMPRESSION_ZSTD;
}

static void fill_output(struct sb_convert_records *wanted, const struct record_settings *settings,
                        const struct record_use *use)
{
    wanted->write = (struct sb_bag_writer_options){
        .compression = compression_of(settings, use),
        .limits = settings->bag.limits,
        .layout = settings->bag.layout,
        .shard_records = settings->count,
        .shard_bytes = use->wanted->shard_size,
        .total = -1,
    };
    wanted->dictionary = settings->bag.dictionary;
    wanted->encode_anew = use->wanted->level > 0;
}

enum sb_code records_open(struct records *records, const struct record_settings *settings,
                          const struct record_use *use)
{
    bool to_bag = writes_bag(use);
    struct sb_bag_words words = words_of_inputs(settings, to_bag);

    *records = (struct records){
        .wanted = {.name_format = settings->name_format, .keys = settings->keys},
    };
    records->wanted.read = &records->read;
    if (settings->framing != NOT_FRAMED) {
        records->wanted.framing = (enum sb_framing)settings->framing;
        records->wanted.framed_output = writes_frames(settings, use);
        records->wanted.framed_input = !records->wanted.framed_output;
    }
    if (to_bag)
        fill_output(&records->wanted, settings, use);
    TRY(chosen_records_open(&records->chosen, settings->files_from, '\n'));
    if (records->chosen.options.list && use->wanted->force)
        sb_list_must_name(records->chosen.options.list);
    if (records->chosen.given)
        records->wanted.choice = &records->chosen.options;
    return bag_options_of(&words, use->from, &records->read);
}

void records_release(struct records *records)
{
    sb_dictionary_free(records->read.dictionary);
    chosen_records_close(&records->chosen);
    *records = (struct records){0};
}
