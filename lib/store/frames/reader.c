#include "store/frames/reader.h"

#include "core/crc32c.h"
#include "core/little_endian.h"
#include "store/frames/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FOOT_MAX     4                 /* bytes after a record */
#define SPOOLED_MOST ((size_t)1 << 20) /* of one in memory */
#define TAIL         64

#define BATCH_LINE_MAX ((size_t)64 << 10)

struct sb_frame_reader {
    enum sb_framing framing;
    const char *what; /* the input, for messages */
    const struct sb_notify *notify;
    struct sb_frame_input in;
    int64_t total;       /* bytes of a file that is not compressed; else 0 */
    enum sb_code broken; /* why nothing more can be read; SB_END: there is nothing */
    struct sb_error broken_err;

    int64_t number; /* of the record at hand; -1 before the first */
    int64_t begin;  /* where its frame begins, decompressed */
    enum { IN_INPUT, IN_PIECE, IN_SPOOL } where;
    int64_t left; /* IN_INPUT: bytes not given yet */
    uint32_t crc; /* of those given */
    const char *piece;
    size_t piece_size; /* IN_PIECE; 0: it was given */
    char tail[TAIL];   /* its last bytes, when what follows them has to be read first */
    struct sb_spool spool;
    int64_t spooled; /* of it, so many bytes were given */
    struct sb_buf name;
};

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

/* Copies `size` bytes, or fewer (*got) where the input ends. */
static enum sb_code read_input(struct sb_frame_input *input, void *data, size_t size, size_t *got)
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

/* Puts in front of the text of what is damaged which record it is. */
static enum sb_code damaged(const struct sb_frame_reader *reader, const char *why)
{
    return sb_fail(SB_DAMAGED, "%s: record %" PRId64 ", at byte %" PRId64 ": %s%s", reader->what,
                   reader->number, reader->begin, why,
                   reader->number == 0 ? "; is the framing right?" : "");
}

static enum sb_code cut_short(const struct sb_frame_reader *reader)
{
    return damaged(reader, "is cut short");
}

/* What comes before a record */

static enum sb_code read_head(struct sb_frame_reader *reader, void *head, size_t size)
{
    size_t got;

    TRY(read_input(&reader->in, head, size, &got));
    if (got == size)
        return SB_OK;
    return got == 0 ? SB_END : cut_short(reader);
}

static enum sb_code take_size(struct sb_frame_reader *reader, uint64_t size)
{
    if (size > INT64_MAX)
        return damaged(reader, "has a length of 2^63 bytes or more");
    reader->left = (int64_t)size;
    return SB_OK;
}

/* bytes: 4 or 8 */
static enum sb_code head_of_length(struct sb_frame_reader *reader, size_t bytes)
{
    uint8_t head[8] = {0};

    TRY(read_head(reader, head, bytes));
    return take_size(reader, sb_get_u64(head));
}

static enum sb_code head_of_varint(struct sb_frame_reader *reader)
{
    uint64_t size = 0;

    for (unsigned shift = 0; shift < 7 * SB_VARINT_MAX; shift += 7) {
        uint8_t byte;
        enum sb_code code = read_head(reader, &byte, 1);

        if (code)
            return code == SB_END && shift > 0 ? cut_short(reader) : code;
        if (shift == 63 && byte > 1)
            break;
        size |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return take_size(reader, size);
    }
    return damaged(reader, "has a length that is no varint of 64 bits");
}

static enum sb_code head_of_tfrecord(struct sb_frame_reader *reader)
{
    uint8_t head[12];

    TRY(read_head(reader, head, sizeof(head)));
    if (sb_get_u32(head + 8) != sb_masked_crc(sb_crc32c(0, head, 8)))
        return damaged(reader, "its length does not match the checksum of it");
    return take_size(reader, sb_get_u64(head));
}

static enum sb_code read_line(struct sb_frame_reader *reader, struct sb_buf *line)
{
    struct sb_frame_input *in = &reader->in;
    const char *end = NULL;

    sb_buf_clear(line);
    while (!end) {
        enum sb_code code = sb_frame_input_fill(in);
        size_t size;

        if (code)
            return code == SB_END && line->size > 0 ? cut_short(reader) : code;
        end = memchr(in->at, '\n', in->size);
        size = end ? (size_t)(end - in->at) : in->size;
        if (size > BATCH_LINE_MAX - line->size)
            return damaged(reader, "has no line NAME SIZE before it");
        TRY(sb_buf_add(line, in->at, size));
        sb_frame_input_pass(in, size + (end != NULL));
    }
    return SB_OK;
}

static bool parse_size(const char *text, int64_t *size)
{
    char *end;

    errno = 0;
    *size = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

/* The name is in reader->name; the space after it is a NUL there. */
static enum sb_code head_of_batch(struct sb_frame_reader *reader)
{
    struct sb_buf *line = &reader->name;

    for (;;) {
        const char *word;
        char *space;

        TRY(read_line(reader, line));
        space = line->size > 0 ? memrchr(line->data, ' ', line->size) : NULL;
        if (!space || memchr(line->data, '\0', line->size))
            return damaged(reader, "has no line NAME SIZE before it");
        *space = '\0';
        line->size = (size_t)(space - line->data);
        word = space + 1;
        if (parse_size(word, &reader->left))
            return SB_OK;
        /* What the writer of the frames could not write. */
        if (strcmp(word, "missing") != 0 && strcmp(word, "damaged") != 0)
            return damaged(reader, "has no size after its name");
        sb_report(reader->notify, SB_PROBLEM, word, line->data, "%s: said to be %s; left out",
                  reader->what, word);
        reader->begin = reader->in.position;
    }
}

static enum sb_code head_of_json(struct sb_frame_reader *reader)
{
    enum sb_code code = sb_frame_json_next(&reader->in, &reader->spool, &reader->name);

    reader->where = IN_SPOOL;
    reader->spooled = 0;
    return code == SB_INVALID ? damaged(reader, sb_error()->text) : code;
}

/* A record whose beginning alone is at hand. */
static enum sb_code spool_record(struct sb_frame_reader *reader, bool to_end, char separator)
{
    struct sb_frame_input *in = &reader->in;
    const char *end = NULL;
    enum sb_code code = SB_OK;

    reader->where = IN_SPOOL;
    sb_spool_clear(&reader->spool);
    reader->spooled = 0;
    while (!end && (code = sb_frame_input_fill(in)) == SB_OK) {
        size_t size;

        end = to_end ? NULL : memchr(in->at, separator, in->size);
        size = end ? (size_t)(end - in->at) : in->size;
        TRY(sb_spool_add(&reader->spool, in->at, size));
        sb_frame_input_pass(in, size + (end != NULL));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code head_of_separated(struct sb_frame_reader *reader, char separator)
{
    struct sb_frame_input *in = &reader->in;
    const char *end;

    TRY(sb_frame_input_fill(in));
    end = memchr(in->at, separator, in->size);
    if (!end)
        return spool_record(reader, false, separator);
    reader->where = IN_PIECE;
    reader->piece = in->at;
    reader->piece_size = (size_t)(end - in->at);
    sb_frame_input_pass(in, reader->piece_size + 1);
    return SB_OK;
}

static enum sb_code head_of_all(struct sb_frame_reader *reader)
{
    if (reader->number > 0)
        return SB_END;
    if (reader->total == 0)
        return spool_record(reader, true, '\0');
    reader->left = reader->total;
    return SB_OK;
}

/*
 * Reads what comes before the next record, and so finds where the record is: sets reader->where,
 * and left, piece, spool or name. SB_END: nothing more comes.
 */
static enum sb_code read_next_head(struct sb_frame_reader *reader)
{
    switch (reader->framing) {
    case SB_FRAMING_LINE:
        return head_of_separated(reader, '\n');
    case SB_FRAMING_NUL:
        return head_of_separated(reader, '\0');
    case SB_FRAMING_U32:
        return head_of_length(reader, sizeof(uint32_t));
    case SB_FRAMING_U64:
        return head_of_length(reader, sizeof(uint64_t));
    case SB_FRAMING_VARINT:
        return head_of_varint(reader);
    case SB_FRAMING_TFRECORD:
        return head_of_tfrecord(reader);
    case SB_FRAMING_JSONL:
        return head_of_json(reader);
    case SB_FRAMING_BATCH:
        return head_of_batch(reader);
    default:
        return head_of_all(reader);
    }
}

/* The record */

static size_t foot_size(const struct sb_frame_reader *reader)
{
    return reader->framing == SB_FRAMING_TFRECORD ? 4 : reader->framing == SB_FRAMING_BATCH;
}

static enum sb_code take_foot(struct sb_frame_reader *reader)
{
    char foot[FOOT_MAX];
    size_t size = foot_size(reader), got;

    TRY(read_input(&reader->in, foot, size, &got));
    if (got < size)
        return cut_short(reader);
    if (reader->framing == SB_FRAMING_TFRECORD && sb_get_u32(foot) != sb_masked_crc(reader->crc))
        return damaged(reader, "its bytes do not match the checksum after them");
    if (reader->framing == SB_FRAMING_BATCH && foot[0] != '\n')
        return damaged(reader, "no newline follows it");
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
        return code == SB_END ? cut_short(reader) : code;
    *data = in->at;
    *size = (int64_t)in->size < reader->left ? in->size : (size_t)reader->left;
    waits = (int64_t)*size == reader->left && in->size - *size < foot_size(reader);
    if (waits && *size > TAIL) {
        *size -= TAIL;
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
    TRY(read_next_head(reader));
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
    CLEANUP(sb_frame_reader_freep) struct sb_frame_reader *reader = NULL;

    *out = NULL;
    TRY(SB_NEW(&reader));
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
