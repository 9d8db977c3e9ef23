#include "store/kind.h"
#include "store/sinks.h"
#include "store/syrah/set.h"
#include "store/table_source.h"

#include <string.h>

enum sb_code sb_input_open_syrah(struct sb_syrah_set **out, struct sb_input *input)
{
    struct sb_syrah *syrah = NULL;

    *out = NULL;
    TRY(sb_input_spool(input, 0));
    if (!input->file)
        return sb_syrah_set_open(out, input->path);
    TRY(sb_syrah_open(&syrah, input->file));
    return sb_syrah_set_of(out, syrah);
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    return !input->there && sb_syrah_set_is_spec(input->path) ? SB_BY_NAME : SB_NO;
}

/* The header of a Syrah file is written last: of one that was not closed there is none, and only
 * the name says what it was to become. */
static enum sb_sure begins_as_syrah(const struct sb_input *input)
{
    static const unsigned char nothing[SB_SYRAH_HEADER];
    size_t size = input->first_size < SB_SYRAH_HEADER ? input->first_size : SB_SYRAH_HEADER;

    if (input->file && sb_container_by_suffix(input->path).kind == SB_SYRAH &&
        memcmp(input->first, nothing, size) == 0)
        return SB_BY_NAME;
    return sb_input_begins(input, "GS", 3) ? SB_BY_MAGIC : SB_NO;
}

const struct sb_kind sb_syrah_kind = {
    .word = "Syrah file",
    .words = (const struct sb_kind_word[]){{"syrah", 0, false}, {"syr", 0, false}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_ITEMS | SB_CAN_PLACES,
    .can_in_pieces = SB_CAN_PATHS | SB_CAN_ITEMS,
    .can_as_several = SB_CAN_PATHS | SB_CAN_ITEMS,
    .by_name = is_spec,
    .by_content = begins_as_syrah,
    .takes = SB_TO_ITEMS | SB_TO_PIPE | SB_TO_SUBTREES,
    .source = sb_source_open_rows,
    .sink = sb_sink_open_syrah,
    .table = sb_table_open_syrah,
};
