#include "store/frames/reader.h"

#include "core/crc32c.h"
#include "store/frames/impl.h"

#include <stdlib.h>
#include <string.h>

#define FOOT_MAX     4                 /* bytes after a record */
#define SPOOLED_MOST ((size_t)1 << 20) /* of one in memory */

enum sb_code sb_frame_input_fill(struct sb_frame_input *input)
{
    const void *data;
    size_t size = 0;

    if (input->size > 0)
        return SB_OK;
    TRY(sb_flow_next(input->flow, &data, &size));
    input->at = data;
    input->size = size;
    return SB_OK;
}

enum sb_code sb_frame_input_read(struct sb_frame_input *input, void *data, size_t size, size_t *got)
{
    char *to = data;

    for (*got = 0; *got < size;) {
        enum sb_code code = sb_frame_input_fill(input);
        size_t part = size - *got;

        if (code)
            return code == SB_END ? SB_OK : code;
        if (part > input->size)
            part = input->size;
        memcpy(to + *got, input->at, part);
        sb_frame_input_pass(input, part);
        *got += part;
    }
    return SB_OK;
}

static size_t foot_size(const struct sb_frame_reader *reader)
{
    return reader->framing == SB_FRAMING_TFRECORD ? 4 : reader->framing == SB_FRAMING_BATCH;
}

static enum sb_code take_foot(struct sb_frame_reader *reader)
{
    char foot[FOOT_MAX];
    size_t size = foot_size(reader), got;

    TRY(sb_frame_input_read(&reader->in, foot, size, &got));
    if (got < size)
        return sb_frame_cut_short(reader);
    if (reader->framing == SB_FRAMING_TFRECORD && sb_get_u32(foot) != sb_masked_crc(reader->crc))
        return sb_frame_damaged(reader, "its bytes do not match the checksum after them");
    if (reader->framing == SB_FRAMING_BATCH && foot[0] != '\n')
        return sb_frame_damaged(reader, "no newline follows it");
    return SB_OK;
}

/*
 * The next bytes of a record that lies in the input. Its last bytes are not given before what
 * follows them was found to be sound: where that comes only with the next block, they wait in tail.
 */
static enum sb_code next_piece(struct sb_frame_reader *reader, const void **data, size_t *size)
{
    struct sb_frame_input *in = &reader->in;
    enum sb_code code = sb_frame_input_fill(in);
    bool waits;

    if (code)
        return code == SB_END ? sb_frame_cut_short(reader) : code;
    *data = in->at;
    *size = (int64_t)in->size < reader->left ? in->size : (size_t)reader->left;
    waits = (int64_t)*size == reader->left && in->size - *size < foot_size(reader);
    if (waits && *size > SB_FRAME_TAIL) {
        *size -= SB_FRAME_TAIL;
        waits = false;
    }
    if (waits) {
        memcpy(reader->tail, in->at, *size);
        *data = reader->tail;
    }
    if (reader->framing == SB_FRAMING_TFRECORD)
        reader->crc = sb_crc32c(reader->crc, *data, *size);
    sb_frame_input_pass(in, *size);
    reader->left -= (int64_t)*size;
    return reader->left == 0 ? take_foot(reader) : SB_OK;
}

static enum sb_code give(struct sb_frame_reader *reader, const void **data, size_t *size)
{
    switch (reader->where) {
    case IN_INPUT:
        return reader->left == 0 ? SB_END : next_piece(reader, data, size);
    case IN_PIECE:
        *data = reader->piece;
        *size = reader->piece_size;
        reader->piece_size = 0;
        return *size > 0 ? SB_OK : SB_END;
    default:
        TRY(sb_spool_piece(&reader->spool, reader->spooled, data, size));
        reader->spooled += (int64_t)*size;
        return SB_OK;
    }
}

/* Passes over what is left of the last record, and reads the head of the next. */
static enum sb_code begin_record(struct sb_frame_reader *reader)
{
    const void *data;
    size_t size;

    while (reader->where == IN_INPUT && reader->left > 0)
        TRY(next_piece(reader, &data, &size));
    reader->number++;
    reader->begin = reader->in.position;
    reader->where = IN_INPUT;
    reader->left = 0;
    reader->crc = 0;
    TRY(sb_frame_head(reader));
    if (reader->where == IN_INPUT && reader->left == 0)
        TRY(take_foot(reader));
    return SB_OK;
}

static int64_t size_of(const struct sb_frame_reader *reader)
{
    switch (reader->where) {
    case IN_INPUT:
        return reader->left;
    case IN_PIECE:
        return (int64_t)reader->piece_size;
    default:
        return sb_spool_size(&reader->spool);
    }
}

static enum sb_code break_off(struct sb_frame_reader *reader, enum sb_code code)
{
    reader->broken = code;
    if (code != SB_END)
        reader->broken_err = *sb_error();
    return code;
}

static enum sb_code say_again(const struct sb_frame_reader *reader)
{
    if (reader->broken != SB_END)
        *sb_error() = reader->broken_err;
    return reader->broken;
}

enum sb_code sb_frame_reader_next(struct sb_frame_reader *reader, struct sb_frame *frame)
{
    enum sb_code code;

    if (reader->broken)
        return say_again(reader);
    code = begin_record(reader);
    if (code == SB_END)
        sb_flow_report_tail(reader->in.flow, reader->what, reader->notify);
    if (code)
        return break_off(reader, code);
    *frame = (struct sb_frame){
        .number = reader->number,
        .size = size_of(reader),
        .name = reader->name.size > 0 ? reader->name.data : NULL,
        .name_size = reader->name.size,
    };
    return SB_OK;
}

enum sb_code sb_frame_reader_block(struct sb_frame_reader *reader, const void **data, size_t *size)
{
    enum sb_code code;

    if (reader->broken)
        return say_again(reader);
    code = give(reader, data, size);
    return code && code != SB_END ? break_off(reader, code) : code;
}

int64_t sb_frame_reader_taken(const struct sb_frame_reader *reader)
{
    return sb_flow_taken(reader->in.flow);
}

void sb_frame_reader_free(struct sb_frame_reader *reader)
{
    if (!reader)
        return;
    sb_flow_free(reader->in.flow);
    sb_spool_release(&reader->spool);
    sb_buf_release(&reader->name);
    free(reader);
}

enum sb_code sb_frame_reader_open(struct sb_frame_reader **out, struct sb_input *input,
                                  enum sb_framing framing, const struct sb_feed_options *options,
                                  const struct sb_notify *notify)
{
    CLEANUP(sb_frame_reader_freep) struct sb_frame_reader *reader = calloc(1, sizeof(*reader));

    *out = NULL;
    if (!reader)
        return sb_fail_memory();
    reader->framing = framing;
    reader->what = input->name;
    reader->notify = notify;
    reader->number = -1;
    reader->spool = (struct sb_spool){.fd = -1, .memory_most = SPOOLED_MOST};
    if (!input->pipe && input->type.filter == SB_FILTER_NONE)
        reader->total = input->st.st_size;
    TRY(sb_flow_open(&reader->in.flow, input, options));
    *out = TAKE(reader);
    return SB_OK;
}
