#include "task/convert_input.h"

#include "store/framing.h"

#include <string.h>
#include <sys/stat.h>

/* Records in frames are told by nothing but what the user says. */
static enum sb_container_kind forced_kind(const struct sb_convert_options *options)
{
    if (!options->records.framed_input)
        return options->from;
    return options->records.framing == SB_FRAMING_TAR ? SB_TAR : SB_FRAMES;
}

enum sb_code sb_convert_open_input(struct sb_input *input, const struct sb_convert_options *options,
                                   const char *path, struct sb_error *err)
{
    enum sb_code code = sb_input_open(input, path, forced_kind(options), err);

    if (code || !options->records.choice || input->type.kind == SB_BAG)
        return code;
    sb_fail(err, SB_INVALID, "%s: has no numbered records: --records and -T are for bags",
            input->name);
    sb_input_close(input);
    return SB_INVALID;
}

bool sb_convert_depth_first(const struct sb_convert_options *options)
{
    bool framed_tar = options->records.framed_output && options->records.framing == SB_FRAMING_TAR;

    return framed_tar || options->to.kind == SB_TAR || options->to.kind == SB_ZIP;
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
    };
}

enum sb_code sb_convert_open_source(struct sb_source **out, struct sb_input *input,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify,
                                    struct sb_error *err)
{
    struct sb_source_options wanted = sb_convert_source_options(options, names);

    if (input->type.kind != SB_FRAMES)
        return sb_source_open(out, input, &wanted, notify, err);
    return sb_source_open_frames(out, input, options->records.framing, &wanted, notify, err);
}

bool sb_convert_is_bag_file(const struct sb_convert_options *options, const char *path)
{
    struct stat st;

    if (options->records.framed_input || strcmp(path, "-") == 0 ||
        (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)))
        return false;
    return options->from == SB_BAG || (options->from == SB_UNKNOWN && sb_is_bag(path));
}
