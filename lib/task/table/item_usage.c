#include "task/table/item_usage.h"

#include "core/interrupt.h"

#define ITEMS_BETWEEN 65536 /* looks whether a signal came */

static enum sb_code measure(const struct sb_syrah_set *set, struct sb_place place,
                            struct sb_array_usage *arrays, const struct sb_notify *notify,
                            struct sb_error *err)
{
    for (uint32_t i = 0; i < sb_syrah_set_array_count(set); i++) {
        struct sb_extent extent;
        enum sb_code code;

        if (arrays[i].passed_over)
            continue;
        code = sb_syrah_set_extent(set, place, i, &extent, err);
        if (code == SB_DAMAGED) {
            sb_tell(notify, SB_PROBLEM, "damaged", sb_syrah_set_name(set), "%s", err->text);
            continue;
        }
        if (code)
            return code;
        arrays[i].items++;
        if (__builtin_add_overflow(arrays[i].bytes, extent.size, &arrays[i].bytes))
            arrays[i].bytes = INT64_MAX;
    }
    return SB_OK;
}

enum sb_code sb_item_usage(const struct sb_syrah_set *set, struct sb_array_usage *arrays,
                           const struct sb_notify *notify, struct sb_error *err)
{
    int64_t between = 0;

    for (uint32_t file = 0; file < sb_syrah_set_file_count(set); file++) {
        int64_t count = sb_syrah_count(sb_syrah_set_file(set, file));

        for (int64_t item = 0; item < count; item++) {
            struct sb_place place = {.shard = file, .index = item};

            if (between++ % ITEMS_BETWEEN == 0 && sb_interrupted())
                return sb_fail(err, SB_INTERRUPT, "interrupted");
            if (measure(set, place, arrays, notify, err))
                return err->code;
        }
    }
    return SB_OK;
}
