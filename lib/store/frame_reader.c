#include "store/frame_reader.h"

#include "core/crc32c.h"
#include "store/frame_input.h"
#include "store/frame_json.h"
#include "store/frame_numbers.h"
#include "store/record_spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOOT_MAX       4 /* bytes behind a record */
#define TAIL_BYTES     64
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
    size_t piece_size;     /* IN_PIECE; 0: it was given */
    char tail[TAIL_BYTES]; /* its last bytes, when what is behind them has to be read first */
    struct sb_record_spool spool;
    struct sb_buf name;
};

/* What is wrong */

/* Puts in front of the text of what is damaged which record it is. */
static enum sb_code damaged(const struct sb_frame_reader *reader, const char *why,
                            struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED, "%s: record %" PRId64 ", at byte %" PRId64 ": %s%s",
                   reader->what, reader->number, reader->begin, why,
                   reader->number == 0 ? "; is the framing right?" : "");
}

static enum sb_code cut_short(const struct sb_frame_reader *reader, struct sb_error *err)
{
    return damaged(reader, "is cut short", err);
}

/* What stands before a record. SB_END: nothing more comes. */

static enum sb_code read_head(struct sb_frame_reader *reader, void *head, size_t size,
                              struct sb_error *err)
{
    size_t got;
    enum sb_code code = sb_frame_input_read(&reader->in, head, size, &got, err);

    if (code || got == size)
        return code;
    return got == 0 ? SB_END : cut_short(reader, err);
}

static enum sb_code take_size(struct sb_frame_reader *reader, uint64_t size, struct sb_error *err)
{
    if (size > INT64_MAX)
        return damaged(reader, "has a length of 2^63 bytes or more", err);
    reader->left = (int64_t)size;
    return SB_OK;
}

static enum sb_code head_of_u32(struct sb_frame_reader *reader, struct sb_error *err)
{
    uint8_t head[4];
    enum sb_code code = read_head(reader, head, sizeof(head), err);

    return code ? code : take_size(reader, sb_get_u32(head), err);
}

static enum sb_code head_of_u64(struct sb_frame_reader *reader, struct sb_error *err)
{
    uint8_t head[8];
    enum sb_code code = read_head(reader, head, sizeof(head), err);

    return code ? code : take_size(reader, sb_get_u64(head), err);
}

static enum sb_code head_of_varint(struct sb_frame_reader *reader, struct sb_error *err)
{
    uint64_t size = 0;

    for (unsigned shift = 0; shift < 7 * SB_VARINT_MAX; shift += 7) {
        uint8_t byte;
        enum sb_code code = read_head(reader, &byte, 1, err);

        if (code)
            return code == SB_END && shift > 0 ? cut_short(reader, err) : code;
        if (shift == 63 && byte > 1)
            break;
        size |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return take_size(reader, size, err);
    }
    return damaged(reader, "has a length that is no varint of 64 bits", err);
}

static enum sb_code head_of_tfrecord(struct sb_frame_reader *reader, struct sb_error *err)
{
    uint8_t head[12];
    enum sb_code code = read_head(reader, head, sizeof(head), err);

    if (code)
        return code;
    if (sb_get_u32(head + 8) != sb_masked_crc(sb_crc32c(0, head, 8)))
        return damaged(reader, "its length does not match the checksum of it", err);
    return take_size(reader, sb_get_u64(head), err);
}

static enum sb_code read_line(struct sb_frame_reader *reader, struct sb_buf *line,
                              struct sb_error *err)
{
    struct sb_frame_input *in = &reader->in;
    const char *end = NULL;

    sb_buf_clear(line);
    while (!end) {
        enum sb_code code = sb_frame_input_fill(in, err);
        size_t size;

        if (code)
            return code == SB_END && line->size > 0 ? cut_short(reader, err) : code;
        end = memchr(in->at, '\n', in->size);
        size = end ? (size_t)(end - in->at) : in->size;
        if (size > BATCH_LINE_MAX - line->size)
            return damaged(reader, "has no line NAME SIZE before it", err);
        if (sb_buf_add(line, in->at, size))
            return sb_fail_memory(err);
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

/* What the writer of the frames could not give out. */
static void tell_answer(const struct sb_frame_reader *reader, const char *word)
{
    if (strcmp(word, "missing") == 0)
        sb_tell(reader->notify, SB_PROBLEM, "missing", reader->name.data,
                "%s: said to be missing; left out", reader->what);
    else
        sb_tell(reader->notify, SB_PROBLEM, "damaged", reader->name.data,
                "%s: said to be damaged; left out", reader->what);
}

/* The name is in reader->name, the space behind it a NUL. */
static enum sb_code head_of_batch(struct sb_frame_reader *reader, struct sb_error *err)
{
    struct sb_buf *line = &reader->name;

    for (;;) {
        enum sb_code code = read_line(reader, line, err);
        char *space;

        if (code)
            return code;
        space = line->size > 0 ? memrchr(line->data, ' ', line->size) : NULL;
        if (!space || memchr(line->data, '\0', line->size))
            return damaged(reader, "has no line NAME SIZE before it", err);
        *space = '\0';
        line->size = (size_t)(space - line->data);
        if (parse_size(space + 1, &reader->left))
            return SB_OK;
        if (strcmp(space + 1, "missing") != 0 && strcmp(space + 1, "damaged") != 0)
            return damaged(reader, "has no size behind its name", err);
        tell_answer(reader, space + 1);
        reader->begin = reader->in.position;
    }
}

static enum sb_code head_of_json(struct sb_frame_reader *reader, struct sb_error *err)
{
    struct sb_error cause;
    enum sb_code code = sb_frame_json_next(&reader->in, &reader->spool, &reader->name, &cause);

    reader->where = IN_SPOOL;
    if (code == SB_INVALID)
        return damaged(reader, cause.text, err);
    if (code && code != SB_END)
        *err = cause;
    return code;
}

/* A record of which no more than its beginning is at hand. */
static enum sb_code spool_record(struct sb_frame_reader *reader, bool to_end, char separator,
                                 struct sb_error *err)
{
    struct sb_frame_input *in = &reader->in;
    const char *end = NULL;
    enum sb_code code = SB_OK;

    reader->where = IN_SPOOL;
    sb_record_spool_clear(&reader->spool);
    while (!end && (code = sb_frame_input_fill(in, err)) == SB_OK) {
        size_t size;

        end = to_end ? NULL : memchr(in->at, separator, in->size);
        size = end ? (size_t)(end - in->at) : in->size;
        code = sb_record_spool_add(&reader->spool, in->at, size, err);
        if (code)
            return code;
        sb_frame_input_pass(in, size + (end != NULL));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code head_of_separated(struct sb_frame_reader *reader, char separator,
                                      struct sb_error *err)
{
    struct sb_frame_input *in = &reader->in;
    enum sb_code code = sb_frame_input_fill(in, err);
    const char *end;

    if (code)
        return code;
    end = memchr(in->at, separator, in->size);
    if (!end)
        return spool_record(reader, false, separator, err);
    reader->where = IN_PIECE;
    reader->piece = in->at;
    reader->piece_size = (size_t)(end - in->at);
    sb_frame_input_pass(in, reader->piece_size + 1);
    return SB_OK;
}

static enum sb_code head_of_all(struct sb_frame_reader *reader, struct sb_error *err)
{
    if (reader->number > 0)
        return SB_END;
    if (reader->total == 0)
        return spool_record(reader, true, '\0', err);
    reader->left = reader->total;
    return SB_OK;
}

static enum sb_code take_head(struct sb_frame_reader *reader, struct sb_error *err)
{
    switch (reader->framing) {
    case SB_FRAMING_LINE:
        return head_of_separated(reader, '\n', err);
    case SB_FRAMING_NUL:
        return head_of_separated(reader, '\0', err);
    case SB_FRAMING_U32:
        return head_of_u32(reader, err);
    case SB_FRAMING_U64:
        return head_of_u64(reader, err);
    case SB_FRAMING_VARINT:
        return head_of_varint(reader, err);
    case SB_FRAMING_TFRECORD:
        return head_of_tfrecord(reader, err);
    case SB_FRAMING_JSONL:
        return head_of_json(reader, err);
    case SB_FRAMING_BATCH:
        return head_of_batch(reader, err);
    default:
        return head_of_all(reader, err);
    }
}

/* Its bytes, and what stands behind them */

static size_t foot_size(const struct sb_frame_reader *reader)
{
    return reader->framing == SB_FRAMING_TFRECORD ? 4 : reader->framing == SB_FRAMING_BATCH;
}

static enum sb_code take_foot(struct sb_frame_reader *reader, struct sb_error *err)
{
    char foot[FOOT_MAX];
    size_t size = foot_size(reader), got;
    enum sb_code code = sb_frame_input_read(&reader->in, foot, size, &got, err);

    if (code || size == 0)
        return code;
    if (got < size)
        return cut_short(reader, err);
    if (reader->framing == SB_FRAMING_TFRECORD && sb_get_u32(foot) != sb_masked_crc(reader->crc))
        return damaged(reader, "its bytes do not match the checksum behind them", err);
    if (reader->framing == SB_FRAMING_BATCH && foot[0] != '\n')
        return damaged(reader, "no newline is behind it", err);
    return SB_OK;
}

/*
 * The next bytes of a record that lies in the input. Its last ones are not given before what is
 * behind them was found to be sound: where that comes only with the next block, they wait in tail.
 */
static enum sb_code next_piece(struct sb_frame_reader *reader, const void **data, size_t *size,
                               struct sb_error *err)
{
    struct sb_frame_input *in = &reader->in;
    enum sb_code code = sb_frame_input_fill(in, err);
    bool waits;

    if (code)
        return code == SB_END ? cut_short(reader, err) : code;
    *data = in->at;
    *size = (int64_t)in->size < reader->left ? in->size : (size_t)reader->left;
    waits = (int64_t)*size == reader->left && in->size - *size < foot_size(reader);
    if (waits && *size > TAIL_BYTES) {
        *size -= TAIL_BYTES;
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
    return reader->left == 0 ? take_foot(reader, err) : SB_OK;
}

static enum sb_code give(struct sb_frame_reader *reader, const void **data, size_t *size,
                         struct sb_error *err)
{
    switch (reader->where) {
    case IN_INPUT:
        return reader->left == 0 ? SB_END : next_piece(reader, data, size, err);
    case IN_PIECE:
        *data = reader->piece;
        *size = reader->piece_size;
        reader->piece_size = 0;
        return *size > 0 ? SB_OK : SB_END;
    default:
        return sb_record_spool_next(&reader->spool, data, size, err);
    }
}

/* Passes over what is left of the last record, and reads the head of the next. */
static enum sb_code begin_record(struct sb_frame_reader *reader, struct sb_error *err)
{
    const void *data;
    size_t size;
    enum sb_code code = SB_OK;

    while (!code && reader->where == IN_INPUT && reader->left > 0)
        code = next_piece(reader, &data, &size, err);
    if (code)
        return code;
    reader->number++;
    reader->begin = reader->in.position;
    reader->where = IN_INPUT;
    reader->left = 0;
    reader->crc = 0;
    code = take_head(reader, err);
    if (!code && reader->where == IN_INPUT && reader->left == 0)
        code = take_foot(reader, err);
    return code;
}

static int64_t size_of(const struct sb_frame_reader *reader)
{
    switch (reader->where) {
    case IN_INPUT:
        return reader->left;
    case IN_PIECE:
        return (int64_t)reader->piece_size;
    default:
        return reader->spool.size;
    }
}

static void tell_junk(const struct sb_frame_reader *reader)
{
    if (sb_flow_junk(reader->in.flow))
        sb_tell(reader->notify, SB_PROBLEM, "damaged", NULL,
                "%s: junk follows the compressed data, and is ignored", reader->what);
}

static enum sb_code break_off(struct sb_frame_reader *reader, enum sb_code code,
                              const struct sb_error *err)
{
    reader->broken = code;
    if (code != SB_END)
        reader->broken_err = *err;
    return code;
}

static enum sb_code say_again(const struct sb_frame_reader *reader, struct sb_error *err)
{
    if (reader->broken != SB_END)
        *err = reader->broken_err;
    return reader->broken;
}

enum sb_code sb_frame_reader_next(struct sb_frame_reader *reader, struct sb_frame *frame,
                                  struct sb_error *err)
{
    enum sb_code code;

    if (reader->broken)
        return say_again(reader, err);
    code = begin_record(reader, err);
    if (code == SB_END)
        tell_junk(reader);
    if (code)
        return break_off(reader, code, err);
    *frame = (struct sb_frame){
        .number = reader->number,
        .size = size_of(reader),
        .name = reader->name.size > 0 ? reader->name.data : NULL,
        .name_size = reader->name.size,
    };
    return SB_OK;
}

enum sb_code sb_frame_reader_block(struct sb_frame_reader *reader, const void **data, size_t *size,
                                   struct sb_error *err)
{
    enum sb_code code;

    if (reader->broken)
        return say_again(reader, err);
    code = give(reader, data, size, err);
    return code && code != SB_END ? break_off(reader, code, err) : code;
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
    sb_record_spool_release(&reader->spool);
    sb_buf_release(&reader->name);
    free(reader);
}

enum sb_code sb_frame_reader_open(struct sb_frame_reader **out, struct sb_input *input,
                                  enum sb_framing framing, int64_t max_size,
                                  const struct sb_notify *notify, struct sb_error *err)
{
    struct sb_frame_reader *reader;
    enum sb_code code;
    struct stat st;

    *out = NULL;
    reader = calloc(1, sizeof(*reader));
    if (!reader)
        return sb_fail_memory(err);
    reader->framing = framing;
    reader->what = input->name;
    reader->notify = notify;
    reader->number = -1;
    reader->spool.fd = -1;
    if (input->seekable && input->type.filter == SB_FILTER_NONE && fstat(input->fd, &st) == 0)
        reader->total = st.st_size;
    code = sb_flow_open(&reader->in.flow, input, max_size, err);
    if (code) {
        sb_frame_reader_free(reader);
        return code;
    }
    *out = reader;
    return SB_OK;
}
