#include "core/crc32c.h"
#include "store/frames/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_LINE_MAX ((size_t)64 << 10)

/* Puts in front of the text of what is damaged which record it is. */
enum sb_code sb_frame_damaged(const struct sb_frame_reader *reader, const char *why)
{
    return sb_fail(SB_DAMAGED, "%s: record %" PRId64 ", at byte %" PRId64 ": %s%s", reader->what,
                   reader->number, reader->begin, why,
                   reader->number == 0 ? "; is the framing right?" : "");
}

enum sb_code sb_frame_cut_short(const struct sb_frame_reader *reader)
{
    return sb_frame_damaged(reader, "is cut short");
}

/* What comes before a record. SB_END: nothing more comes. */

static enum sb_code read_head(struct sb_frame_reader *reader, void *head, size_t size)
{
    size_t got;

    TRY(sb_frame_input_read(&reader->in, head, size, &got));
    if (got == size)
        return SB_OK;
    return got == 0 ? SB_END : sb_frame_cut_short(reader);
}

static enum sb_code take_size(struct sb_frame_reader *reader, uint64_t size)
{
    if (size > INT64_MAX)
        return sb_frame_damaged(reader, "has a length of 2^63 bytes or more");
    reader->left = (int64_t)size;
    return SB_OK;
}

static enum sb_code head_of_u32(struct sb_frame_reader *reader)
{
    uint8_t head[4];

    TRY(read_head(reader, head, sizeof(head)));
    return take_size(reader, sb_get_u32(head));
}

static enum sb_code head_of_u64(struct sb_frame_reader *reader)
{
    uint8_t head[8];

    TRY(read_head(reader, head, sizeof(head)));
    return take_size(reader, sb_get_u64(head));
}

static enum sb_code head_of_varint(struct sb_frame_reader *reader)
{
    uint64_t size = 0;

    for (unsigned shift = 0; shift < 7 * SB_VARINT_MAX; shift += 7) {
        uint8_t byte;
        enum sb_code code = read_head(reader, &byte, 1);

        if (code)
            return code == SB_END && shift > 0 ? sb_frame_cut_short(reader) : code;
        if (shift == 63 && byte > 1)
            break;
        size |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return take_size(reader, size);
    }
    return sb_frame_damaged(reader, "has a length that is no varint of 64 bits");
}

static enum sb_code head_of_tfrecord(struct sb_frame_reader *reader)
{
    uint8_t head[12];

    TRY(read_head(reader, head, sizeof(head)));
    if (sb_get_u32(head + 8) != sb_masked_crc(sb_crc32c(0, head, 8)))
        return sb_frame_damaged(reader, "its length does not match the checksum of it");
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
            return code == SB_END && line->size > 0 ? sb_frame_cut_short(reader) : code;
        end = memchr(in->at, '\n', in->size);
        size = end ? (size_t)(end - in->at) : in->size;
        if (size > BATCH_LINE_MAX - line->size)
            return sb_frame_damaged(reader, "has no line NAME SIZE before it");
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
            return sb_frame_damaged(reader, "has no line NAME SIZE before it");
        *space = '\0';
        line->size = (size_t)(space - line->data);
        word = space + 1;
        if (parse_size(word, &reader->left))
            return SB_OK;
        /* What the writer of the frames could not write. */
        if (strcmp(word, "missing") != 0 && strcmp(word, "damaged") != 0)
            return sb_frame_damaged(reader, "has no size after its name");
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
    return code == SB_INVALID ? sb_frame_damaged(reader, sb_error()->text) : code;
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

enum sb_code sb_frame_head(struct sb_frame_reader *reader)
{
    switch (reader->framing) {
    case SB_FRAMING_LINE:
        return head_of_separated(reader, '\n');
    case SB_FRAMING_NUL:
        return head_of_separated(reader, '\0');
    case SB_FRAMING_U32:
        return head_of_u32(reader);
    case SB_FRAMING_U64:
        return head_of_u64(reader);
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
