#include "open/bag_opening.h"
#include "ui/message.h"

#include "store/container.h"

#include <string.h>

const char *const compression_words[] = {"auto", "none", "zstd", NULL};
const char *const limits_words[] = {"auto", "tail", "separate", NULL};
const char *const layout_words[] = {"concatenated", "interleaved", NULL};

enum sb_code bag_options_of(const struct sb_bag_words *words, struct sb_container_type from,
                            struct sb_bag_options *out)
{
    *out = (struct sb_bag_options){
        .compression = words->compression,
        .limits = words->limits,
        .layout = words->layout,
        .otherwise = sb_container_can(from.kind) & SB_CAN_RECORDS && from.filter == SB_FILTER_ZSTD
                         ? SB_COMPRESSION_ZSTD
                         : SB_COMPRESSION_NONE,
    };
    return words->dictionary ? sb_dictionary_read(&out->dictionary, words->dictionary) : SB_OK;
}

bool is_bag(const char *path, const struct opening *opening)
{
    if (opening->from.kind != SB_UNKNOWN)
        return sb_container_can(opening->from.kind) & SB_CAN_RECORDS;
    return sb_store_abilities(path, opening->from) & SB_CAN_RECORDS;
}

enum sb_code open_bag(struct sb_bag **out, const char *path, const struct sb_bag_options *options)
{
    const struct opening as_bag = {.from = sb_container_named("bag")};
    struct sb_store *store;
    enum sb_code code = open_store(&store, path, &as_bag);

    *out = NULL;
    if (code)
        return code;
    code = sb_store_bag(store, out, options, 0);
    sb_store_free(store);
    return code;
}
