#include "task/convert/zipped.h"

#include "store/bag/arrays.h"
#include "task/convert/input.h"

bool sb_convert_is_zipped(const struct sb_convert_options *options)
{
    if ((options->to.kind != SB_SYRAH && options->to.kind != SB_CACHE) || options->archive)
        return false;
    for (size_t i = 0; i < options->input_count; i++) {
        if (!(sb_convert_abilities(options, options->inputs[i]) & SB_CAN_RECORDS))
            return false;
    }
    return true;
}

enum sb_code sb_convert_open_zipped(struct sb_source **out,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify,
                                    struct sb_error *err)
{
    struct sb_bag_arrays_options wanted = {
        .specs = options->inputs,
        .count = options->input_count,
        .bag = options->records.read,
        .records = options->records.choice,
        .share = options->share,
        .names = options->records.keys || options->records.name_format ? names : NULL,
        .dtype = options->dtype,
    };

    return sb_source_open_bag_arrays(out, &wanted, notify, err);
}
