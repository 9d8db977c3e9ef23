/*
 * A tar file, written as a stream.
 *
 * The headers of a batch, and the zeros after its members, are made in batch->output; item->mark
 * says where in it the bytes of the item belong. In its turn a batch is written as pieces of that
 * and of its data, without a copy.
 */
#include "core/context.h"
#include "core/number.h"
#include "store/out/out_file.h"
#include "store/tar/header.h"
#include "store/tar/sparse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECES_MAX ((size_t)2 * SB_BATCH_ITEMS + 1)

static const char zeros[SB_TAR_RECORD];

struct tar_sink {
    struct sb_sink sink;
    struct sb_outfile *file;
    const struct sb_notify *notify;

    /* Of the turn: */
    struct sb_buf header; /* of a large item */
    int64_t part_done;    /* bytes of the member that comes in parts */
    int64_t part_size;    /* all of them; equal to part_done between members */
};

static void free_sink(struct sb_sink *sink)
{
    struct tar_sink *tar = (struct tar_sink *)sink;

    sb_outfile_free(tar->file);
    sb_buf_release(&tar->header);
    free(tar);
}

/* Before its bytes come, which may be in parts. Later come the target of a link, and the size of a
 * file that is not open yet. */
static enum sb_code refuse_misfit(struct tar_sink *tar, const struct sb_member *member)
{
    bool link = member->entry.type == SB_LINK;
    CLEANUP(sb_buf_release) struct sb_buf header = {0};
    struct sb_member known = *member;
    enum sb_code code;

    known.entry.size = known.entry.size < 0 ? 0 : known.entry.size;
    code = sb_tar_add_header(&header, &known, link ? "x" : NULL, link);
    if (code != SB_INVALID)
        return code;
    sb_report(tar->notify, SB_PROBLEM, "unsupported", member->entry.path, "%s; left out",
              sb_error()->text);
    return SB_END;
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    struct tar_sink *tar = (struct tar_sink *)sink;

    (void)item;
    if (!member->special || S_ISFIFO(member->special_mode) || S_ISCHR(member->special_mode) ||
        S_ISBLK(member->special_mode))
        return sb_context_now->tar_format == SB_TAR_PAX ? SB_OK : refuse_misfit(tar, member);
    sb_report(tar->notify, SB_PROBLEM, "special", member->entry.path,
              "is a %s, which a tar cannot hold; left out", member->special);
    return SB_END;
}

static enum sb_code add_header(struct sb_buf *out, struct sb_batch *batch, struct sb_item *item)
{
    const char *target = NULL;
    size_t target_size = 0;
    enum sb_code code;

    if (item->member.entry.type == SB_LINK && item->state == SB_ITEM_READ) {
        target = batch->data + item->data_at;
        target_size = item->data_size;
    }
    code = sb_tar_add_header(out, &item->member, target, target_size);
    if (code == SB_INVALID)
        code = sb_item_fail(batch, item, "unsupported", sb_error()->text);
    return code;
}

/* A large one gets its header when its turn has come, for it may yet turn out to be damaged. */
static enum sb_code render_item(struct sb_batch *batch, struct sb_item *item)
{
    struct sb_buf *out = &batch->output;
    bool part = item->state == SB_ITEM_PART;
    int64_t body = sb_tar_body(&item->member);

    item->mark = (unsigned)out->size;
    if (item->state != SB_ITEM_READ && item->state != SB_ITEM_BARE && !part)
        return SB_OK;
    if (item->state == SB_ITEM_READ && body > 0 && body != (int64_t)item->data_size)
        return sb_fail(SB_DAMAGED, "%s: its bytes are not as many as its size",
                       item->member.entry.path);
    if (!part || item->part_offset == 0)
        TRY(add_header(out, batch, item));
    item->mark = (unsigned)out->size;
    if (item->state != SB_ITEM_FAILED && (!part || item->part_last) &&
        sb_buf_add(out, zeros, sb_tar_padding(body)))
        return sb_fail_memory();
    return SB_OK;
}

/* What goes out at once; output up to `done` is in it, or was written. */
struct pieces {
    struct iovec list[PIECES_MAX];
    size_t count;
    size_t done;
};

static void add_piece(struct pieces *pieces, const char *data, size_t size)
{
    if (size > 0)
        pieces->list[pieces->count++] = (struct iovec){(void *)data, size};
}

static void add_output(struct pieces *pieces, const struct sb_batch *batch, size_t end)
{
    if (end == pieces->done)
        return;
    add_piece(pieces, batch->output.data + pieces->done, end - pieces->done);
    pieces->done = end;
}

static enum sb_code write_pieces(struct tar_sink *tar, struct pieces *pieces)
{
    size_t count = pieces->count;

    pieces->count = 0;
    return sb_outfile_write_pieces(tar->file, pieces->list, count);
}

struct large {
    struct tar_sink *tar;
    const char *name;
    int64_t size; /* of what is written of it */
    int64_t done;
    bool begun;

    struct sb_tar_map map; /* of one with holes; else none */
    size_t next;
    int64_t at;
    bool changed; /* data came where the map has none */
};

static enum sb_code begin_large(struct large *large)
{
    struct sb_buf *header = &large->tar->header;

    if (large->begun)
        return SB_OK;
    large->begun = true;
    return sb_outfile_write(large->tar->file, header->data, header->size);
}

static enum sb_code write_zeros(struct sb_outfile *file, int64_t count)
{
    for (int64_t part; count > 0; count -= part) {
        part = count < SB_TAR_RECORD ? count : SB_TAR_RECORD;
        TRY(sb_outfile_write(file, zeros, (size_t)part));
    }
    return SB_OK;
}

/* data: NULL for zeros. */
static enum sb_code write_bytes(struct large *large, const void *data, int64_t size)
{
    if (size > large->size - large->done)
        return sb_fail(SB_CHANGED, "%s: has more bytes than the %lld of its header", large->name,
                       (long long)large->size);
    large->done += size;
    return data ? sb_outfile_write(large->tar->file, data, (size_t)size)
                : write_zeros(large->tar->file, size);
}

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct large *large = context;

    TRY(begin_large(large));
    return write_bytes(large, data, (int64_t)size);
}

/* Of one with holes: what the map has of the block. */
static enum sb_code write_mapped(void *context, const void *data, size_t size)
{
    struct large *large = context;
    const char *bytes = data;
    int64_t left, part;
    bool stored;

    TRY(begin_large(large));
    for (left = (int64_t)size; left > 0; left -= part) {
        part = sb_tar_map_run(&large->map, &large->next, large->at, left, &stored);
        if (stored)
            TRY(write_bytes(large, bytes, part));
        large->changed = large->changed || (bytes && !stored);
        large->at += part;
        bytes = bytes ? bytes + part : NULL;
    }
    return SB_OK;
}

static enum sb_code end_large(struct large *large, struct sb_batch *batch, struct sb_item *item)
{
    const char *name = item->member.entry.path;
    int64_t missing = large->size - large->done;

    item->state = SB_ITEM_STORED;
    TRY(begin_large(large));
    if (missing > 0)
        TRY(sb_events_add(&batch->events, SB_PROBLEM, "changed", name,
                          "has become shorter; zeros stand for what is missing"));
    if (large->changed)
        TRY(sb_events_add(&batch->events, SB_PROBLEM, "changed", name,
                          "was written to meanwhile; where it had holes it has them still"));
    return write_zeros(large->tar->file, missing + (int64_t)sb_tar_padding(large->size));
}

/* The header of one with holes, which are looked for first, and the map. */
static enum sb_code add_map(struct large *large, struct sb_batch *batch, struct sb_item *item)
{
    struct sb_buf *header = &large->tar->header;
    CLEANUP(sb_buf_release) struct sb_buf text = {0};
    enum sb_code code = sb_item_stream_sparse(batch, item, sb_tar_map_add, &large->map);

    item->member.entry.size = large->map.size;
    TRY(code);
    TRY(sb_tar_map_write(&large->map, &text));
    large->size = large->map.stored;
    TRY(sb_tar_add_sparse_header(header, &item->member, (int64_t)text.size + large->size));
    return sb_buf_add(header, text.data, text.size);
}

static enum sb_code stream_large(struct large *large, struct sb_batch *batch, struct sb_item *item)
{
    bool sparse = large->tar->sink.maps && (item->member.has & SB_KEEPS_SPARSE);
    enum sb_code code;

    sb_buf_clear(&large->tar->header);
    code = sparse ? add_map(large, batch, item) : add_header(&large->tar->header, batch, item);
    if (code || item->state == SB_ITEM_FAILED)
        return code;
    return sparse ? sb_item_stream_sparse(batch, item, write_mapped, large)
                  : sb_item_stream(batch, item, write_block, large);
}

static enum sb_code write_large(struct tar_sink *tar, struct sb_batch *batch, struct sb_item *item)
{
    struct large large = {
        .tar = tar, .name = item->member.entry.path, .size = sb_tar_body(&item->member)};
    int64_t start = sb_outfile_size(tar->file);
    enum sb_code code = stream_large(&large, batch, item);

    if (code == SB_END) {
        /* Its events say why it must be left out, but some of it may have gone out. */
        item->state = SB_ITEM_FAILED;
        code = SB_OK;
        if (large.begun && sb_outfile_cut(tar->file, start))
            code = sb_fail(SB_DAMAGED,
                           "%s: is damaged, and the output has its beginning already; leave it out",
                           item->member.entry.path);
    } else if (!code && item->state != SB_ITEM_FAILED) {
        code = end_large(&large, batch, item);
    }
    sb_tar_map_release(&large.map);
    return code;
}

/* Bytes of a member that is not whole cannot be followed by anything else. */
static enum sb_code check_parts(struct tar_sink *tar, const struct sb_batch *batch)
{
    const struct sb_item *item = batch->count ? &batch->items[0] : NULL;
    int64_t left = tar->part_size - tar->part_done;
    bool part = item && item->state == SB_ITEM_PART;

    if (part && item->part_offset == 0 && left == 0) {
        tar->part_done = 0;
        tar->part_size = left = sb_tar_body(&item->member);
    } else if (left == 0 ? part : !part || item->part_offset != tar->part_done) {
        return sb_fail(SB_DAMAGED, "a member ends before its size, %lld",
                       (long long)tar->part_size);
    }
    if (!part)
        return SB_OK;
    if ((int64_t)item->data_size > left || item->part_last != ((int64_t)item->data_size == left))
        return sb_fail(SB_DAMAGED, "%s: its bytes are not as many as its size",
                       item->member.entry.path);
    tar->part_done += (int64_t)item->data_size;
    return SB_OK;
}

static enum sb_code render(struct sb_sink *sink, struct sb_batch *batch)
{
    (void)sink;
    sb_buf_clear(&batch->output);
    for (size_t i = 0; i < batch->count; i++)
        TRY(render_item(batch, &batch->items[i]));
    return SB_OK;
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct tar_sink *tar = (struct tar_sink *)sink;
    struct pieces pieces = {.count = 0};

    TRY(check_parts(tar, batch));
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_LARGE) {
            add_output(&pieces, batch, item->mark);
            TRY(write_pieces(tar, &pieces));
            TRY(write_large(tar, batch, item));
        } else if ((item->state == SB_ITEM_READ || item->state == SB_ITEM_PART) &&
                   sb_tar_body(&item->member) > 0) {
            add_output(&pieces, batch, item->mark);
            add_piece(&pieces, batch->data + item->data_at, item->data_size);
        }
    }
    add_output(&pieces, batch, batch->output.size);
    return write_pieces(tar, &pieces);
}

static void count_item(struct sb_sink *sink, const struct sb_item *item)
{
    struct sb_sink_counts *counts = &sink->counts;
    const struct sb_entry *entry = &item->member.entry;
    int64_t body = sb_tar_body(&item->member);

    if (item->state == SB_ITEM_PART && !item->part_last)
        return;
    if (entry->type == SB_DIR) {
        counts->dirs++;
        return;
    }
    counts->files++;
    sb_count_up(&counts->bytes, body);
    if (body > 0 && !(entry->has & SB_HAS_CRC))
        counts->unchecked++;
}

/* Two blocks of zeros, and then zeros to the end of the record. */
static enum sb_code commit(struct sb_sink *sink)
{
    struct tar_sink *tar = (struct tar_sink *)sink;
    int64_t end = sb_outfile_size(tar->file) + 2 * (int64_t)SB_TAR_BLOCK;
    int64_t rest = (SB_TAR_RECORD - end % SB_TAR_RECORD) % SB_TAR_RECORD;

    if (tar->part_done < tar->part_size)
        return sb_fail(SB_DAMAGED, "the last member ends before its size, %lld",
                       (long long)tar->part_size);
    TRY(write_zeros(tar->file, 2 * (int64_t)SB_TAR_BLOCK + rest));
    return sb_outfile_commit(tar->file);
}

static const struct sb_sink_ops tar_ops = {
    .free = free_sink,
    .accept = accept,
    .render = render,
    .write = write_batch,
    .count = count_item,
    .commit = commit,
};

enum sb_code sb_sink_open_tar(struct sb_sink **out, const struct sb_stream_sink_options *options)
{
    CLEANUP(sb_freep) struct tar_sink *tar = NULL;

    *out = NULL;
    TRY(SB_NEW(&tar));
    TRY(sb_outfile_open(&tar->file, options));
    tar->notify = options->notify;
    tar->sink = (struct sb_sink){
        .ops = &tar_ops,
        .name = sb_outfile_name(tar->file),
        .holds = SB_KEEPS_OWNER | SB_KEEPS_OWNER_NAME | SB_KEEPS_NANOSECONDS | SB_KEEPS_HARD_LINKS |
                 SB_KEEPS_SPECIAL,
        .any_names = true,
        .maps = options->sparse,
    };
    if (sb_context_now->tar_format != SB_TAR_PAX)
        tar->sink.holds &= ~(unsigned)SB_KEEPS_NANOSECONDS;
    if (options->sparse)
        tar->sink.holds |= SB_KEEPS_SPARSE;
    *out = &TAKE(tar)->sink;
    return SB_OK;
}
