#include "archive/archive.h"
#include "archive/content.h"
#include "core/number.h"
#include "store/source.h"
#include "task/fetch/impl.h"
#include "task/transfer/recode.h"

#include <inttypes.h>
#include <stdio.h>

struct stream {
    struct sb_fetch *f;
    const char *name;
    const struct sb_request *request;
    bool begun;         /* something was written */
    bool output_failed; /* then the file is not at fault */
};

static enum sb_code begin_stream(struct stream *stream)
{
    const struct sb_request *request = stream->request;
    struct sb_fetch *f = stream->f;
    struct sb_entry file = sb_request_file(request, stream->name);
    char number[24];

    stream->begun = true;
    if (f->frames.framer)
        return sb_fetch_frames_begin(&f->frames, stream->name, request->size, &file);
    if (!sb_fetch_batches(f->options))
        return SB_OK;
    snprintf(number, sizeof(number), "%" PRId64, request->size);
    return sb_fetch_give_line(f, stream->name, request->name_size, number);
}

static enum sb_code end_stream(struct stream *stream)
{
    struct sb_fetch *f = stream->f;

    if (!stream->begun)
        TRY(begin_stream(stream));
    if (f->frames.framer)
        return sb_fetch_frames_end(&f->frames, stream->name);
    return sb_fetch_batches(f->options) ? sb_fetch_give(f, "\n", 1) : SB_OK;
}

static enum sb_code give_block(void *context, const void *data, size_t size)
{
    struct stream *stream = context;
    enum sb_code code = SB_OK;

    if (!stream->begun)
        code = begin_stream(stream);
    if (!code && stream->f->frames.framer)
        code = sb_fetch_frames_data(&stream->f->frames, stream->name, data, size);
    else if (!code)
        code = sb_fetch_give(stream->f, data, size);
    stream->output_failed = code != SB_OK;
    return code;
}

static enum sb_code feed_block(void *context, const void *data, size_t size)
{
    struct stream *stream = context;

    return sb_recoder_feed(stream->f->recoder, data, size);
}

static enum sb_code stream_file(struct sb_fetch *f, struct stream *stream, sb_each_block *each)
{
    const struct sb_request *request = stream->request;
    struct sb_entry entry = sb_request_file(request, stream->name);
    struct sb_filling filling = {.name = sb_archive_path(f->lookup.archive),
                                 .member = stream->name,
                                 .most = f->options->max_size,
                                 .each = each,
                                 .context = stream};

    TRY(sb_stored_name(&f->lookup, &entry.path, &entry.path_size));
    if (request->size == request->file_size)
        return sb_content_stream_sparse(f->content, &entry, request->has_crc, sb_fill_hole,
                                        &filling);
    return sb_content_stream(f->content, &entry, request->skipped, request->size, request->has_crc,
                             each, stream);
}

static enum sb_code stream_decoded(struct sb_fetch *f, struct stream *stream)
{
    const struct sb_recode recode = {.decompress = true, .all_layers = f->options->decompress_all};

    if (!f->recoder)
        TRY(sb_recoder_new(&f->recoder));
    TRY(sb_recoder_begin(f->recoder, &recode, stream->name, stream->request->name_size,
                         stream->request->size, give_block, stream));
    TRY(stream_file(f, stream, feed_block));
    return sb_recoder_finish(f->recoder);
}

static enum sb_code fail_stream(struct sb_fetch *f, const struct stream *stream)
{
    const char *name = stream->name;
    size_t size = stream->request->name_size;
    struct sb_error cause = *sb_error();

    if (stream->output_failed || (cause.code != SB_CHANGED && !sb_is_file_damage(&cause)))
        return cause.code;
    TRY(sb_archive_still_current(f->lookup.archive));
    if (stream->begun && !sb_framing_is_bare(f->options->framing)) {
        f->counts->damaged++;
        return sb_fail(cause.code, "%s: %s; the output ends within this file", name, cause.text);
    }
    return cause.code == SB_CHANGED ? sb_fetch_answer_changed(f, name, size, cause.text)
                                    : sb_fetch_answer_damaged(f, name, size, cause.text);
}

/* The frame's line is written with the first block: until then the answer can still change. */
enum sb_code sb_fetch_answer_stream(struct sb_fetch *f, const struct sb_slot *slot,
                                    const struct sb_request *request)
{
    const char *name = sb_request_name(&slot->names, request);
    struct stream stream = {.f = f, .name = name, .request = request};
    enum sb_code code =
        request->decoded ? stream_decoded(f, &stream) : stream_file(f, &stream, give_block);

    if (code)
        return fail_stream(f, &stream);
    f->counts->files++;
    sb_count_up(&f->counts->bytes, request->size);
    return end_stream(&stream);
}
