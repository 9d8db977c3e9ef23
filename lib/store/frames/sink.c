/*
 * Framed records, written as a stream: in its turn a batch is framed and goes out. Records are
 * numbered as they do, so that what is left out leaves no gap.
 */
#include "core/io.h"
#include "store/frames/framing.h"
#include "store/out/out_file.h"
#include "store/sinks.h"

#include <inttypes.h>
#include <stdlib.h>

/* What goes out at once. */
#define OUT_BYTES ((size_t)256 << 10)

struct frames_sink {
    struct sb_sink sink;
    struct sb_outfile *file;
    struct sb_framer *framer;
    enum sb_framing framing;

    /* Of the turn: */
    struct sb_buf out;
    int64_t number; /* of the next record */
};

static struct frames_sink *to_frames(struct sb_sink *sink)
{
    return (struct frames_sink *)sink;
}

static void free_sink(struct sb_sink *sink)
{
    struct frames_sink *frames = to_frames(sink);

    sb_outfile_free(frames->file);
    sb_framer_free(frames->framer);
    sb_buf_release(&frames->out);
    free(frames);
}

/* What has no bytes is no record; a hard link is one where its source has them at hand. */
static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    (void)sink;
    (void)item;
    return member->entry.type == SB_DIR ? SB_END : SB_OK;
}

/* The framer's errors do not name the record. */
static enum sb_code name_error(const struct sb_item *item)
{
    return sb_fail(sb_error()->code, "%s: %s", item->member.entry.path, sb_error()->text);
}

static enum sb_code put_out(struct frames_sink *frames, size_t above)
{
    enum sb_code code = SB_OK;

    if (frames->out.size <= above)
        return SB_OK;
    code = sb_outfile_write(frames->file, frames->out.data, frames->out.size);
    sb_buf_clear(&frames->out);
    return code;
}

static enum sb_code begin(struct frames_sink *frames, const struct sb_item *item, int64_t size)
{
    struct sb_framed record = {
        .name = item->member.entry.path, .index = frames->number, .size = size};
    enum sb_code code = sb_framer_begin(frames->framer, &record, &frames->out);

    return code ? name_error(item) : SB_OK;
}

static enum sb_code put(struct frames_sink *frames, const struct sb_item *item, const void *data,
                        size_t size)
{
    enum sb_code code = sb_framer_data(frames->framer, data, size, &frames->out);

    return code ? name_error(item) : put_out(frames, OUT_BYTES);
}

static enum sb_code end(struct frames_sink *frames, const struct sb_item *item)
{
    enum sb_code code = sb_framer_end(frames->framer, &frames->out);

    frames->number++;
    return code ? name_error(item) : SB_OK;
}

/* Large records, from a loader */

static enum sb_code add_size(void *context, const void *data, size_t size)
{
    int64_t *total = context;

    (void)data;
    *total += (int64_t)size;
    return SB_OK;
}

struct large {
    struct frames_sink *frames;
    struct sb_item *item;
    int64_t size;
    bool begun;
};

static enum sb_code begin_large(struct large *large)
{
    if (large->begun)
        return SB_OK;
    large->begun = true;
    return begin(large->frames, large->item, large->size);
}

static enum sb_code put_block(void *context, const void *data, size_t size)
{
    struct large *large = context;

    TRY(begin_large(large));
    return put(large->frames, large->item, data, size);
}

/* Its events say why it must be left out. */
static enum sb_code leave_out(struct large *large, int64_t start)
{
    large->item->state = SB_ITEM_FAILED;
    if (!large->begun)
        return SB_OK;
    sb_buf_clear(&large->frames->out);
    if (sb_outfile_size(large->frames->file) == start ||
        sb_outfile_cut(large->frames->file, start) == SB_OK)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: is damaged, and the output has its beginning already; leave it out",
                   large->item->member.entry.path);
}

static enum sb_code store_large(struct frames_sink *frames, struct sb_batch *batch,
                                struct sb_item *item)
{
    struct large large = {.frames = frames, .item = item, .size = item->member.entry.size};
    enum sb_code code = put_out(frames, 0);
    int64_t start = sb_outfile_size(frames->file);

    /* Where only reading shows its size, it is read twice. */
    if (!code && large.size < 0 && sb_framing_has_size(frames->framing)) {
        large.size = 0;
        code = sb_item_stream(batch, item, add_size, &large.size);
    }
    if (!code)
        code = sb_item_stream(batch, item, put_block, &large);
    if (code == SB_END)
        return leave_out(&large, start);
    TRY(code);
    TRY(begin_large(&large));
    return end(frames, item);
}

/* A member that comes in parts: its frame stays open from one batch to the next. */
static enum sb_code store_part(struct frames_sink *frames, const struct sb_batch *batch,
                               const struct sb_item *item)
{
    if (item->part_offset == 0)
        TRY(begin(frames, item, item->member.entry.size));
    TRY(put(frames, item, batch->data + item->data_at, item->data_size));
    return item->part_last ? end(frames, item) : SB_OK;
}

static enum sb_code store_read(struct frames_sink *frames, const struct sb_batch *batch,
                               const struct sb_item *item)
{
    TRY(begin(frames, item, (int64_t)item->data_size));
    TRY(put(frames, item, batch->data + item->data_at, item->data_size));
    return end(frames, item);
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct frames_sink *frames = to_frames(sink);
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        switch (item->state) {
        case SB_ITEM_READ:
            code = store_read(frames, batch, item);
            break;
        case SB_ITEM_PART:
            code = store_part(frames, batch, item);
            break;
        case SB_ITEM_LARGE:
            code = store_large(frames, batch, item);
            break;
        case SB_ITEM_BARE:
            code = sb_item_fail(batch, item, "link",
                                "is a hard link, whose bytes have passed by; left out");
            break;
        default:
            break;
        }
    }
    return code ? code : put_out(frames, 0);
}

static enum sb_code commit(struct sb_sink *sink)
{
    struct frames_sink *frames = to_frames(sink);

    TRY(sb_framer_finish(frames->framer, &frames->out));
    TRY(put_out(frames, 0));
    return sb_outfile_commit(frames->file);
}

static const struct sb_sink_ops frames_ops = {
    .free = free_sink,
    .accept = accept,
    .write = write_batch,
    .commit = commit,
};

enum sb_code sb_sink_open_frames(struct sb_sink **out, const struct sb_stream_sink_options *options,
                                 enum sb_framing framing)
{
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;
    struct frames_sink *frames;

    *out = NULL;
    if (framing == SB_FRAMING_TAR)
        return sb_sink_open_tar(out, options);
    TRY(SB_NEW(&frames));
    sink = &frames->sink;
    *sink = (struct sb_sink){.ops = &frames_ops, .any_names = true};
    frames->framing = framing;
    TRY(sb_framer_new(&frames->framer, framing));
    TRY(sb_outfile_open(&frames->file, options));
    sink->name = sb_outfile_name(frames->file);
    *out = TAKE(sink);
    return SB_OK;
}
