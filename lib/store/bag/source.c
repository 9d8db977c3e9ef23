#include "archive/archive.h"
#include "store/bag/bag.h"
#include "store/kind.h"
#include "store/shard_spec.h"
#include "store/table_source.h"

#include <string.h>
#include <unistd.h>

enum sb_code sb_input_open_bag(struct sb_bag **out, struct sb_input *input,
                               const struct sb_bag_options *options, int64_t max_size,
                               const struct sb_notify *notify)
{
    bool named = !input->pipe && strcmp(input->path, "-") != 0;

    *out = NULL;
    TRY(sb_input_spool(input, max_size));
    return input->file ? sb_bag_open_file(out, input->file, named, options, notify)
                       : sb_bag_open(out, input->path, options, notify);
}

static bool has_limits_beside(const char *path)
{
    struct sb_buf limits = {0};
    bool there = sb_limits_name(path, &limits) == SB_OK && access(limits.data, F_OK) == 0;

    sb_buf_release(&limits);
    return there;
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    return !input->there && sb_spec_is_of_bags(input->path) && !sb_archive_looks_like(input->path)
               ? SB_BY_NAME
               : SB_NO;
}

/* An archive may be called like a bag; and the first record of a bag may be a database, but then
 * the bag has its limits somewhere. */
static enum sb_sure is_called_bag(const struct sb_input *input)
{
    if (!input->there || !S_ISREG(input->st.st_mode) || !sb_is_bag_name(input->path))
        return SB_NO;
    if (sb_archive_kind.by_content(input) && !sb_input_ends_as_bag(input) &&
        !has_limits_beside(input->path))
        return SB_NO;
    return SB_BY_NAME;
}

const struct sb_kind sb_bag_kind = {
    .word = "bag",
    .words = (const struct sb_kind_word[]){{"bag", SB_FILTER_NONE, false},
                                           {"bagz", SB_FILTER_ZSTD, false},
                                           {0}},
    .can = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_BAGS | SB_CAN_PLACES | SB_CAN_PARTS,
    .can_in_pieces = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_BAGS,
    .can_as_several = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_BAGS | SB_CAN_PLACES | SB_CAN_PARTS,
    .starts_anyhow = true,
    .by_name = is_spec,
    .by_content = is_called_bag,
    .takes = SB_TO_RECORDS | SB_TO_PIPE | SB_TO_APPEND | SB_TO_SHARDS,
    .source = sb_source_open_rows,
    .table = sb_table_open_bag,
};
