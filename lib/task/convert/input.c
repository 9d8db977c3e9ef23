#include "task/convert/input.h"

#include "store/table.h"

/* Refuses to choose something that the store does not have. */
static enum sb_code refuse_choice(const struct sb_store *store,
                                  const struct sb_convert_options *options)
{
    if (options->records.choice && !sb_store_can(store, SB_CAN_NUMBERS))
        return sb_fail(SB_INVALID,
                       "%s: has no numbered records: --records and -T are for bags and Syrah files",
                       sb_store_name(store));
    if (options->array_count > 0 && !sb_store_can(store, SB_CAN_ARRAYS))
        return sb_fail(SB_INVALID, "%s: has no arrays: --array is for Syrah files and caches",
                       sb_store_name(store));
    return SB_OK;
}

enum sb_code sb_convert_open_input(struct sb_store **out, const struct sb_convert_options *options,
                                   const char *path)
{
    const struct sb_store_options how = {
        .from.kind = options->records.framed_input ? sb_framing_kind(options->records.framing)
                                                   : options->from,
        .notify = options->notify,
    };
    enum sb_code code = sb_store_open(out, path, &how);

    if (!code)
        code = refuse_choice(*out, options);
    if (code) {
        sb_store_free(*out);
        *out = NULL;
    }
    return code;
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

static enum sb_code count_records(struct sb_store *store, const struct sb_convert_options *options,
                                  int64_t *count)
{
    struct sb_table *table = NULL;
    struct sb_bag *bag = NULL;
    enum sb_code code = sb_store_bag(store, &bag, options->records.read, 0);

    if (!code && !bag)
        code = sb_store_table(store, &table);
    if (bag)
        *count = sb_bag_count(bag);
    if (table)
        code = table->ops->count(table, count);
    sb_table_free(table);
    sb_bag_free(bag);
    return code;
}

enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count)
{
    const struct sb_store_options how = {.from.kind = options->from};
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;

    *count = -1;
    if (!(sb_convert_abilities(options, path) & SB_CAN_NUMBERS))
        return SB_OK;
    TRY(sb_store_open(&store, path, &how));
    return count_records(store, options, count);
}
