#include "task/convert/impl.h"

#include "store/bag/bag.h"
#include "store/bag/record_names.h"
#include "store/cache/cache.h"
#include "store/catalog.h"
#include "store/sinks.h"
#include "store/table.h"

#include <stdlib.h>

enum sb_code sb_convert_open_input(struct sb_store **out, const struct sb_convert_options *options,
                                   const char *path)
{
    const struct sb_store_options how = {
        .from.kind = options->records.framed_input ? sb_framing_kind(options->records.framing)
                                                   : options->from,
        .notify = options->notify,
    };
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;

    *out = NULL;
    TRY(sb_store_open(&store, path, &how));
    if (options->records.choice && !sb_store_can(store, SB_CAN_NUMBERS))
        return sb_fail(SB_INVALID,
                       "%s: has no numbered records: --records and -T are for bags and Syrah files",
                       sb_store_name(store));
    if (options->array_count > 0 && !sb_store_can(store, SB_CAN_ARRAYS))
        return sb_fail(SB_INVALID, "%s: has no arrays: --array is for Syrah files and caches",
                       sb_store_name(store));
    *out = TAKE(store);
    return SB_OK;
}

enum sb_member_order sb_convert_order(const struct sb_convert_options *options)
{
    bool framed_tar = options->records.framed_output && options->records.framing == SB_FRAMING_TAR;
    unsigned takes = sb_convert_takes(options);

    if (!framed_tar && !(takes & SB_TO_SUBTREES))
        return SB_ORDER_ADDRESS;
    return options->of_items || takes & SB_TO_ARRAYS ? SB_ORDER_SUBTREES : SB_ORDER_STORED;
}

struct sb_source_options sb_convert_source_options(const struct sb_convert_options *options,
                                                   struct sb_record_names *names)
{
    const struct sb_convert_records *records = &options->records;
    unsigned takes = sb_convert_takes(options);
    bool keys_are_read = records->keys && !(takes & SB_TO_RECORDS);

    return (struct sb_source_options){
        .max_size = options->max_size,
        .no_check = options->no_check,
        .locate = options->wrap,
        .own = options->own,
        .threads = options->transfer.threads,
        .order = sb_convert_order(options),
        .bag = records->read,
        .framing = records->framing,
        .names = names,
        .names_chosen = records->name_format || keys_are_read,
        .records = records->choice,
        .raw_arrays = options->wrap || takes & SB_TO_RECORDS,
        .whole_items = takes & SB_TO_ARRAYS || options->item_array_count > 0,
        .item_arrays = options->item_arrays,
        .item_array_count = options->item_array_count,
        .arrays = options->arrays,
        .array_count = options->array_count,
    };
}

enum sb_code sb_convert_open_source(struct sb_source **out, struct sb_store *store,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify)
{
    struct sb_source_options wanted = sb_convert_source_options(options, names);

    /* When arrays become records of a bag, those with a shape keep it. */
    if (sb_store_can(store, SB_CAN_KEYS))
        wanted.raw_arrays = options->wrap;
    return sb_store_source(store, out, &wanted, notify);
}

enum sb_code sb_convert_open_samples(struct sb_source **out, struct sb_store *store,
                                     const struct sb_convert_options *options,
                                     const struct sb_sample_order *order,
                                     const struct sb_catalog_options *catalog)
{
    const struct sb_source_options members = {.no_check = options->no_check,
                                              .max_size = options->max_size,
                                              .threads = options->transfer.threads};
    const struct sb_archive_source_options how = {
        .samples = order,
        .order = sb_convert_order(options),
        .no_check = options->no_check,
        .notify = catalog->notify,
    };
    struct sb_catalog_result result;
    struct sb_archive *archive;

    *out = NULL;
    if (sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS))
        return sb_fail(SB_INVALID, "%s: is a %s, and --samples is for files", sb_store_name(store),
                       sb_store_word(store));
    if (!sb_store_can(store, SB_CAN_PATHS))
        return SB_OK;
    TRY(sb_store_catalog(store, &archive, &members, catalog, &result));
    if (result.damage.code) {
        *sb_error() = result.damage;
        return sb_error()->code;
    }
    if (result.in_sequence)
        return sb_fail(
            SB_INVALID,
            "%s: has members, as sparse ones, that can only be read in sequence, without "
            "--samples; 'shardbox convert' makes an archive of it",
            sb_store_name(store));
    return sb_source_open_archive(out, archive, &how);
}

unsigned sb_convert_abilities(const struct sb_convert_options *options, const char *path)
{
    if (options->records.framed_input)
        return 0;
    return sb_store_abilities(path, (struct sb_container_type){.kind = options->from});
}

bool sb_convert_all_can(const struct sb_convert_options *options, enum sb_store_ability ability)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (!(sb_convert_abilities(options, options->inputs[i]) & ability))
            return false;
    }
    return true;
}

enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count)
{
    const struct sb_store_options how = {.from.kind = options->from};
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;
    CLEANUP(sb_table_freep) struct sb_table *table = NULL;

    *count = -1;
    if (!(sb_convert_abilities(options, path) & SB_CAN_NUMBERS))
        return SB_OK;
    TRY(sb_store_open(&store, path, &how));
    TRY(sb_store_bag(store, &bag, options->records.read, 0));
    if (bag) {
        *count = sb_bag_count(bag);
        return SB_OK;
    }
    TRY(sb_store_table(store, &table));
    return table ? table->ops->count(table, count) : SB_OK;
}

/* How many of an input's records are chosen. */
static enum sb_code count_chosen(struct sb_convert_part *part,
                                 const struct sb_convert_options *options, const char *input,
                                 const struct sb_notify *notify, int64_t *count)
{
    const struct sb_record_choice_options *wanted = options->records.choice;
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;

    TRY(sb_convert_count_file(options, input, count));
    if (!wanted)
        return SB_OK;
    TRY(sb_record_choice_new(&choice, wanted, *count));
    if (!wanted->list) {
        *count = sb_record_choice_total(choice);
        return SB_OK;
    }
    /* Missing numbers are reported once for all parts. */
    TRY(sb_record_choice_spool(choice, &part->numbers, input,
                               options->share.index == 0 ? notify : NULL));
    part->listed = true;
    *count = sb_limit_spool_count(&part->numbers);
    return SB_OK;
}

static enum sb_code cut_records(struct sb_convert_part *part,
                                const struct sb_convert_options *options,
                                const struct sb_notify *notify)
{
    int64_t total = 0, first, count, before = 0;

    TRY(SB_NEW_ARRAY(&part->cuts, options->input_count));
    for (size_t i = 0; i < options->input_count; i++) {
        struct sb_record_cut *cut = &part->cuts[i];

        cut->given = true;
        TRY(count_chosen(part, options, options->inputs[i], notify, &cut->count));
        if (__builtin_add_overflow(total, cut->count, &total))
            return sb_fail(SB_LIMIT, "more records than can be counted");
    }
    sb_share_run(options->share, total, &first, &count);
    for (size_t i = 0; i < options->input_count; i++) {
        struct sb_record_cut *cut = &part->cuts[i];
        int64_t end = before + cut->count, from = first > before ? first : before;
        int64_t to = first + count < end ? first + count : end;

        cut->first = to > from ? from - before : 0;
        cut->count = to > from ? to - from : 0;
        before = end;
    }
    return SB_OK;
}

enum sb_code sb_convert_part_plan(struct sb_convert_part *out,
                                  const struct sb_convert_options *options,
                                  const struct sb_notify *notify)
{
    int64_t first, count;

    *out = (struct sb_convert_part){.end_input = options->input_count,
                                    .numbers = SB_LIMIT_SPOOL(options->output)};
    if (options->share.count == 0)
        return SB_OK;
    if (options->samples && options->input_count == 1)
        return SB_OK;
    if (sb_convert_all_can(options, SB_CAN_NUMBERS))
        return cut_records(out, options, notify);
    if (options->input_count == 1)
        return sb_fail(
            SB_INVALID,
            "%s: a single INPUT that is no bag and no Syrah file cannot be cut into parts; "
            "'shardbox split' divides what it holds, and 'pack --part' packs a part of a directory",
            options->inputs[0]);
    sb_share_run(options->share, (int64_t)options->input_count, &first, &count);
    out->first_input = (size_t)first;
    out->end_input = (size_t)(first + count);
    return SB_OK;
}

void sb_convert_part_release(struct sb_convert_part *part)
{
    free(part->cuts);
    sb_limit_spool_release(&part->numbers);
}

bool sb_convert_part_has(const struct sb_convert_part *part, size_t input)
{
    return input >= part->first_input && input < part->end_input &&
           (!part->cuts || part->cuts[input].count > 0);
}

const struct sb_record_choice_options *
sb_convert_part_choice(const struct sb_convert_part *part, size_t input,
                       const struct sb_record_choice_options *choice,
                       struct sb_record_choice_options *capacity)
{
    static const struct sb_record_choice_options all = {.sample = -1};

    if (!part->cuts)
        return choice;
    *capacity = choice ? *choice : all;
    if (part->listed)
        *capacity = (struct sb_record_choice_options){
            .sample = -1,
            .numbers = {
                .spool = &part->numbers, .step = 1, .count = sb_limit_spool_count(&part->numbers)}};
    capacity->cut = part->cuts[input];
    return capacity;
}

/* What to do about names that several inputs have. */
#define MERGE_ADVICE "--duplicates, --prefix and --as-subdirs"

static enum sb_meeting meeting_of(const struct sb_convert_options *options)
{
    if (!options->duplicates_given || options->transfer.duplicates == SB_DUPLICATE_ERROR)
        return SB_MEET_ERROR;
    return options->transfer.duplicates == SB_DUPLICATE_FIRST ? SB_MEET_KEEP : SB_MEET_REPLACE;
}

static enum sb_code open_archive(struct sb_output *output, const struct sb_convert_options *options,
                                 const struct sb_transfer_options *transfer)
{
    const struct sb_writer_options writer = {
        .mode = options->append  ? SB_APPEND
                : options->force ? SB_REPLACE
                                 : SB_CREATE,
        .shard_size = options->shard_size,
        .strict = options->transfer.strict,
    };
    struct sb_archive_sink_options archive = {
        .writer = writer,
        .path = options->output,
        .names_repeat = true,
        .meeting = meeting_of(options),
        .advice = options->merge ? MERGE_ADVICE : NULL,
        .keep_dirs = options->merge && options->transfer.duplicates != SB_DUPLICATE_LAST,
        .dry_run = transfer->dry_run,
        .notify = transfer->notify,
    };
    struct sb_index_sink_options index = {
        .writer = writer,
        .path = options->output,
        .checksums = !options->no_checksum,
        .threads = options->transfer.threads,
        .notify = transfer->notify,
        .progress = transfer->progress,
        .context = transfer->context,
    };

    if (options->wrap)
        return sb_sink_open_index(&output->sink, &index);
    if (!archive.dry_run)
        TRY(sb_checkpoint_open(&output->run, &archive, &options->checkpoint, transfer->problems));
    return output->run ? SB_OK : sb_sink_open_archive(&output->sink, &archive);
}

static enum sb_code open_tree(struct sb_output *output, const struct sb_convert_options *options,
                              const struct sb_transfer_options *transfer)
{
    struct sb_tree_sink_options tree = {
        .directory = options->output,
        .own = options->own,
        .existing = options->existing,
        .preserve = options->preserve,
        .dry_run = transfer->dry_run,
        .root = !options->transfer.strip && !options->transfer.prefix,
        .threads = options->transfer.threads,
        .notify = transfer->notify,
    };

    return sb_sink_open_tree(&output->sink, &tree);
}

enum sb_code sb_convert_output_open(struct sb_output *output, struct sb_dictionary **dictionary,
                                    const struct sb_convert_options *options,
                                    const struct sb_transfer_options *transfer)
{
    struct sb_stream_sink_options stream = {
        .path = options->output,
        .force = options->force,
        .dry_run = transfer->dry_run,
        .filter = options->to.filter,
        .sparse = options->sparse,
        .store = options->store,
        .level = options->level,
        .threads = options->transfer.threads,
        .notify = transfer->notify,
    };
    unsigned takes = sb_convert_takes(options);

    if (options->records.framed_output) {
        stream.filter = sb_framing_filter(options->output);
        return sb_sink_open_frames(&output->sink, &stream, options->records.framing);
    }
    if (takes & SB_TO_INDEX)
        return open_archive(output, options, transfer);
    if (takes & SB_TO_TREE)
        return open_tree(output, options, transfer);
    if (takes & SB_TO_RECORDS)
        return sb_convert_open_bag(&output->sink, dictionary, options, transfer->notify);
    if (takes & SB_TO_KEYS)
        return sb_convert_open_cache(&output->sink, options, transfer->notify);
    return sb_sink_open_stream(&output->sink, options->to.kind, &stream);
}

static const struct {
    unsigned bit;
    const char *word;
    const char *text;
} properties[] = {
    {SB_KEEPS_OWNER, "owners", "owners"},
    {SB_KEEPS_OWNER_NAME, "owner-names", "owner names"},
    {SB_KEEPS_NANOSECONDS, "nanoseconds", "nanoseconds"},
    {SB_KEEPS_HARD_LINKS, "hard-links", "hard links"},
    {SB_KEEPS_SPECIAL, "special", "special files"},
    {SB_KEEPS_XATTRS, "xattrs", "xattrs"},
    {SB_KEEPS_ACLS, "acls", "ACLs"},
    {SB_KEEPS_FLAGS, "flags", "inode flags"},
    {SB_KEEPS_SPARSE, "holes", "holes"},
    {SB_KEEPS_COMMENT, "comments", "comments"},
    {SB_KEEPS_SHAPE, "shapes", "shapes"},
    {SB_KEEPS_ITEM_NAME, "item-names", "names of items"},
    {SB_KEEPS_SECOND_NAME, "second-names", "second names of owners"},
    {SB_KEEPS_FAR_TIME, "times", "times out of range"},
    {0, "other", "other properties"},
};

static size_t row_of(unsigned property)
{
    size_t row = 0;

    while (properties[row].bit && properties[row].bit != property)
        row++;
    return row;
}

const char *sb_property_text(unsigned property)
{
    return properties[row_of(property)].text;
}

const char *sb_property_word(unsigned property)
{
    return properties[row_of(property)].word;
}

enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_store *store)
{
    if (sb_store_can(store, SB_CAN_PLACES))
        return sb_sink_index_file(sink, sb_store_path(store));
    if (sb_store_is_stream(store))
        return sb_fail(SB_INVALID, "%s: --wrap needs a file that stays; convert it without --wrap",
                       sb_store_name(store));
    if (sb_store_is_compressed(store))
        return sb_fail(SB_INVALID,
                       "%s: is compressed as a whole, so that no index can point at its members; "
                       "convert it without --wrap",
                       sb_store_name(store));
    return sb_fail(
        SB_INVALID,
        "%s: --wrap is for a tar, cpio, zip, bag, Syrah file or cache, not for this kind: %s",
        sb_store_name(store), sb_store_word(store));
}

/* As a bag of its own, with its limits placed like those of the whole bag. */
static enum sb_code wrap_shard(const struct sb_wrap *wrap, const struct sb_bag_shard *shard,
                               const struct sb_bag_options *bag_options)
{
    struct sb_source_options options = *wrap->source;
    const struct sb_store_options how = {.from = sb_container_named("bag"), .notify = wrap->notify};
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;

    if (shard->zstd)
        return sb_fail(SB_INVALID,
                       "%s: its records are compressed, so that no index can point at them; "
                       "convert it without --wrap",
                       shard->path);
    TRY(sb_sink_index_file(wrap->sink, shard->path));
    TRY(sb_store_open(&store, shard->path, &how));
    options.bag = bag_options;
    TRY(sb_store_source(store, &source, &options, wrap->notify));
    return sb_transfer(source, wrap->sink, wrap->transfer, wrap->members);
}

static enum sb_code wrap_bag(const struct sb_wrap *wrap, struct sb_bag *bag, int64_t first)
{
    struct sb_bag_options options = *sb_bag_options_of(bag);
    bool interleaved = options.layout == SB_LAYOUT_INTERLEAVED;
    uint32_t count = sb_bag_shard_count(bag);

    if (wrap->source->records && count > 1)
        return sb_fail(SB_INVALID,
                       "%s: --records with --wrap is for a bag in one file; convert it without "
                       "--wrap",
                       sb_bag_name(bag));
    options.layout = SB_LAYOUT_CONCATENATED;
    for (uint32_t i = 0; i < count; i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(bag, i);

        sb_record_names_place(wrap->source->names, first + (interleaved ? i : 0),
                              interleaved ? count : 1);
        TRY(wrap_shard(wrap, shard, &options));
        first += interleaved ? 0 : shard->records;
    }
    return SB_OK;
}

static enum sb_code wrap_cache(const struct sb_wrap *wrap, struct sb_cache *cache, const char *name)
{
    int64_t rows, live;

    TRY(sb_cache_count(cache, &rows, &live));
    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        CLEANUP(sb_source_freep) struct sb_source *source = NULL;
        struct sb_cache_segment about;

        TRY(sb_cache_segment(cache, i, &about));
        if (about.rows == 0)
            continue;
        TRY(sb_sink_index_file(wrap->sink, about.path));
        TRY(sb_source_over_cache(&source, cache, i, name, wrap->source, wrap->notify));
        TRY(sb_transfer(source, wrap->sink, wrap->transfer, wrap->members));
    }
    return SB_OK;
}

enum sb_code sb_wrap_files(const struct sb_wrap *wrap, struct sb_store *store, int64_t first,
                           int64_t *records)
{
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;

    TRY(sb_store_bag(store, &bag, wrap->source->bag, 0));
    *records = bag ? sb_bag_count(bag) : 0;
    TRY(sb_store_cache(store, &cache));
    if (bag)
        TRY(wrap_bag(wrap, bag, first));
    return cache ? wrap_cache(wrap, cache, sb_store_name(store)) : SB_OK;
}
