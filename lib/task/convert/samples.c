#include "task/convert/samples.h"

#include "store/catalog.h"
#include "task/convert/input.h"

static enum sb_code refuse(const struct sb_store *store)
{
    return sb_fail(SB_INVALID, "%s: is a %s, and --samples is for files", sb_store_name(store),
                   sb_store_word(store));
}

static enum sb_code open_catalog(struct sb_archive **archive, struct sb_store *store,
                                 const struct sb_convert_options *options,
                                 const struct sb_catalog_options *catalog)
{
    const struct sb_source_options how = {.no_check = options->no_check,
                                          .max_size = options->max_size,
                                          .threads = options->transfer.threads};
    struct sb_catalog_result result;

    TRY(sb_store_catalog(store, archive, &how, catalog, &result));
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
    return SB_OK;
}

enum sb_code sb_convert_open_samples(struct sb_source **out, struct sb_store *store,
                                     const struct sb_convert_options *options,
                                     const struct sb_sample_order *order,
                                     const struct sb_catalog_options *catalog)
{
    const struct sb_archive_source_options how = {
        .samples = order,
        .order = sb_convert_order(options),
        .no_check = options->no_check,
        .notify = catalog->notify,
    };
    struct sb_archive *archive;

    *out = NULL;
    if (sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS))
        return refuse(store);
    if (!sb_store_can(store, SB_CAN_PATHS))
        return SB_OK;
    TRY(open_catalog(&archive, store, options, catalog));
    return sb_source_open_archive(out, archive, &how);
}
