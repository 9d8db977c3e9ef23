#include "store/catalog.h"
#include "store/table.h"
#include "task/convert/impl.h"

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
