#include "task/convert/input.h"

#include "store/bag/bag.h"
#include "store/frames/framing.h"
#include "store/syrah/syrah.h"

#include <string.h>
#include <sys/stat.h>

/* Records in frames are told by nothing but what the user says. */
static enum sb_container_kind forced_kind(const struct sb_convert_options *options)
{
    if (!options->records.framed_input)
        return options->from;
    return options->records.framing == SB_FRAMING_TAR ? SB_TAR : SB_FRAMES;
}

/* What is chosen of it must be something that it has. */
static enum sb_code refuse_choice(const struct sb_input *input,
                                  const struct sb_convert_options *options, struct sb_error *err)
{
    enum sb_container_kind kind = input->type.kind;

    if (options->records.choice && kind != SB_BAG && kind != SB_SYRAH)
        return sb_fail(err, SB_INVALID,
                       "%s: has no numbered records: --records and -T are for bags and Syrah files",
                       input->name);
    if (options->array_count > 0 && kind != SB_SYRAH && kind != SB_CACHE)
        return sb_fail(err, SB_INVALID, "%s: has no arrays: --array is for Syrah files and caches",
                       input->name);
    return SB_OK;
}

enum sb_code sb_convert_open_input(struct sb_input *input, const struct sb_convert_options *options,
                                   const char *path, struct sb_error *err)
{
    enum sb_code code = sb_input_open(input, path, forced_kind(options), err);

    if (!code)
        code = refuse_choice(input, options, err);
    if (code)
        sb_input_close(input);
    return code;
}

bool sb_convert_depth_first(const struct sb_convert_options *options)
{
    bool framed_tar = options->records.framed_output && options->records.framing == SB_FRAMING_TAR;

    return framed_tar || options->to.kind == SB_TAR || options->to.kind == SB_ZIP ||
           options->to.kind == SB_SYRAH || options->to.kind == SB_CACHE;
}

struct sb_source_options sb_convert_source_options(const struct sb_convert_options *options,
                                                   struct sb_record_names *names)
{
    const struct sb_convert_records *records = &options->records;
    bool keys_are_read = records->keys && options->to.kind != SB_BAG;

    return (struct sb_source_options){
        .max_size = options->max_size,
        .no_check = options->no_check,
        .locate = options->wrap,
        .threads = options->transfer.threads,
        .depth_first = sb_convert_depth_first(options),
        .bag = records->read,
        .names = names,
        .names_chosen = records->name_format || keys_are_read,
        .records = records->choice,
        .raw_arrays = options->wrap || options->to.kind == SB_BAG,
        .whole_items = options->to.kind == SB_SYRAH || options->to.kind == SB_CACHE ||
                       options->item_array_count > 0,
        .item_arrays = options->item_arrays,
        .item_array_count = options->item_array_count,
        .arrays = options->arrays,
        .array_count = options->array_count,
    };
}

enum sb_code sb_convert_open_source(struct sb_source **out, struct sb_input *input,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify,
                                    struct sb_error *err)
{
    struct sb_source_options wanted = sb_convert_source_options(options, names);

    /* As records of a bag, arrays that have a shape keep it. */
    if (input->type.kind == SB_CACHE)
        wanted.raw_arrays = options->wrap;
    if (input->type.kind != SB_FRAMES)
        return sb_source_open(out, input, &wanted, notify, err);
    return sb_source_open_frames(out, input, options->records.framing, &wanted, notify, err);
}

/* Can it be read again and again? */
static bool stays(const char *path)
{
    struct stat st;

    return strcmp(path, "-") != 0 && !(stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}

bool sb_convert_is_bag_file(const struct sb_convert_options *options, const char *path)
{
    if (options->records.framed_input || !stays(path))
        return false;
    return options->from == SB_BAG || (options->from == SB_UNKNOWN && sb_is_bag(path));
}

bool sb_convert_is_syrah_file(const struct sb_convert_options *options, const char *path)
{
    struct sb_input input;
    struct sb_error ignored;
    bool found;

    if (options->records.framed_input || !stays(path))
        return false;
    if (options->from != SB_UNKNOWN)
        return options->from == SB_SYRAH;
    if (sb_input_open(&input, path, SB_UNKNOWN, &ignored))
        return false;
    found = input.type.kind == SB_SYRAH;
    sb_input_close(&input);
    return found;
}

static enum sb_code count_bag(const struct sb_convert_options *options, const char *path,
                              int64_t *count, struct sb_error *err)
{
    struct sb_bag *bag;
    enum sb_code code = sb_bag_open(&bag, path, options->records.read, NULL, err);

    if (code)
        return code;
    *count = sb_bag_count(bag);
    sb_bag_free(bag);
    return SB_OK;
}

static enum sb_code count_syrah(const char *path, int64_t *count, struct sb_error *err)
{
    struct sb_syrah *syrah = NULL;
    struct sb_input input;
    enum sb_code code = sb_input_open(&input, path, SB_SYRAH, err);

    if (code)
        return code;
    code = sb_input_open_syrah(&syrah, &input, 0, err);
    if (!code)
        *count = sb_syrah_count(syrah);
    sb_syrah_free(syrah);
    sb_input_close(&input);
    return code;
}

enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count, struct sb_error *err)
{
    *count = -1;
    if (sb_convert_is_bag_file(options, path))
        return count_bag(options, path, count, err);
    if (sb_convert_is_syrah_file(options, path))
        return count_syrah(path, count, err);
    return SB_OK;
}
