#include "store/bag/record_names.h"
#include "store/frames/reader.h"
#include "store/kind.h"

#include <stdlib.h>

struct frames_source {
    struct sb_source base;
    struct sb_frame_reader *reader;
    struct sb_record_names *names;
    bool own_names; /* freed with the source */
    bool chosen;    /* else those in the frames are better */
    struct sb_buf name;
};

static enum sb_code next(struct sb_source *base, struct sb_member *member)
{
    struct frames_source *source = (struct frames_source *)base;
    struct sb_frame frame;

    TRY(sb_frame_reader_next(source->reader, &frame));
    if (!frame.name || source->chosen) {
        TRY(sb_record_name(source->names, frame.number, &source->name));
        frame.name = source->name.data;
        frame.name_size = source->name.size;
    }
    *member = (struct sb_member){
        .entry = {.path = frame.name,
                  .path_size = frame.name_size,
                  .type = SB_FILE,
                  .size = frame.size},
        .dir_fd = -1,
    };
    base->records = frame.number + 1;
    base->done = sb_frame_reader_taken(source->reader);
    return SB_OK;
}

static enum sb_code block(struct sb_source *base, const void **data, size_t *size)
{
    return sb_frame_reader_block(((struct frames_source *)base)->reader, data, size);
}

static void free_source(struct sb_source *base)
{
    struct frames_source *source = (struct frames_source *)base;

    sb_frame_reader_free(source->reader);
    if (source->own_names)
        sb_record_names_free(source->names);
    sb_buf_release(&source->name);
    free(source);
}

/*
 * Framed records as the members of a source, in sequence (block, no loaders). A member is named by
 * its number, as options->names says, or in batch and jsonl by the name in its frame, unless
 * options->names_chosen. Sizes are always known. input->type.filter says how the frames are
 * compressed (SB_FRAMES). For tar it is the source of a tar.
 */
static enum sb_code open_frames(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify)
{
    static const struct sb_source_ops ops = {.free = free_source, .next = next, .block = block};
    const struct sb_feed_options how = {.max_size = options->max_size, .threads = options->threads};
    enum sb_framing framing = options->framing;
    CLEANUP(sb_source_freep) struct sb_source *base = NULL;
    struct frames_source *source;

    *out = NULL;
    if (framing == SB_FRAMING_TAR)
        return sb_source_open_tar(out, input, options, notify);
    TRY(SB_NEW(&source));
    base = &source->base;
    *base = (struct sb_source){
        .ops = &ops,
        .name = input->name,
        .unique = !options->names && framing != SB_FRAMING_BATCH && framing != SB_FRAMING_JSONL,
    };
    source->names = options->names;
    source->own_names = !options->names;
    source->chosen = options->names_chosen;
    base->total = input->pipe ? 0 : input->file->st.st_size;
    if (source->own_names)
        TRY(sb_record_names_by_format(&source->names, SB_RECORD_NAME_FORMAT));
    TRY(sb_frame_reader_open(&source->reader, input, framing, &how, notify));
    *out = TAKE(base);
    return SB_OK;
}

const struct sb_kind sb_frames_kind = {
    .word = "stream of records",
    .words = (const struct sb_kind_word[]){{0}},
    .starts_anyhow = true,
    .filter_by_name = sb_framing_filter,
    .source = open_frames,
};
