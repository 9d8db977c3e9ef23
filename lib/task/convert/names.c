#include "task/convert/names.h"

#include "task/convert/input.h"

#include <inttypes.h>
#include <string.h>

enum sb_code sb_convert_count_records(const struct sb_convert_options *options, const char *path,
                                      int64_t *count, struct sb_error *err)
{
    struct sb_source *source = NULL;
    struct sb_member member;
    struct sb_store *store;
    enum sb_code code = sb_convert_count_file(options, path, count, err);

    if (code || *count >= 0)
        return code;
    *count = 0;
    if (!options->records.framed_input && options->from != SB_BAG)
        return SB_OK;
    code = sb_convert_open_input(&store, options, path, err);
    if (code)
        return code;
    code = sb_convert_open_source(&source, store, options, NULL, NULL, err);
    while (!code)
        code = sb_source_next(source, &member, err);
    if (code == SB_END)
        *count = source->records;
    sb_source_free(source);
    sb_store_free(store);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code compare(const char *keys, int64_t key_count, int64_t records,
                            struct sb_error *err)
{
    if (key_count == records)
        return SB_OK;
    return sb_fail(err, SB_INVALID,
                   "%s: has %" PRId64 " keys, and there are %" PRId64
                   " records; give the keys that were made with them",
                   keys, key_count, records);
}

static enum sb_code check_keys(const struct sb_record_names *names,
                               const struct sb_convert_options *options, struct sb_error *err)
{
    int64_t sum = 0;

    for (size_t i = 0; i < options->input_count; i++) {
        int64_t count;

        if (sb_convert_count_file(options, options->inputs[i], &count, err))
            return err->code;
        if (count < 0)
            return SB_OK;
        sum += count;
    }
    return compare(options->records.keys, sb_record_names_count(names), sum, err);
}

enum sb_code sb_convert_names(struct sb_record_names **out,
                              const struct sb_convert_options *options, struct sb_error *err)
{
    const struct sb_convert_records *records = &options->records;
    bool read = records->keys && options->to.kind != SB_BAG; /* else they are written */
    enum sb_code code;

    if (!read)
        return sb_record_names_by_format(
            out, records->name_format ? records->name_format : SB_RECORD_NAME_FORMAT, err);
    code = sb_record_names_by_keys(out, records->keys, NULL, options->notify, err);
    if (!code)
        code = check_keys(*out, options, err);
    if (code) {
        sb_record_names_free(*out);
        *out = NULL;
    }
    return code;
}

enum sb_code sb_convert_names_end(const struct sb_record_names *names, int64_t records,
                                  const char *keys, struct sb_error *err)
{
    int64_t count = sb_record_names_count(names);

    return count >= 0 ? compare(keys, count, records, err) : SB_OK;
}
