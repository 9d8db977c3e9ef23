/*
 * What the files of this folder share: the numbers around framed records, how what comes in is
 * read, and a reader of frames.
 */
#ifndef SB_STORE_FRAMES_IMPL_H
#define SB_STORE_FRAMES_IMPL_H

#include "core/buf.h"
#include "core/little_endian.h"
#include "core/spool.h"
#include "store/feed/flow.h"
#include "store/frames/reader.h"

#include <stddef.h>

/*
 * Lengths are little-endian; varints as protobuf's encoding has them (seven bits a byte, the lowest
 * first, the top bit set on all but the last); the CRC32C of a TFRecord is masked as TensorFlow's
 * lib/hash/crc32c.h has it. Pure functions.
 */
#define SB_VARINT_MAX 10 /* bytes */

/* Returns how many bytes it takes, at most SB_VARINT_MAX. */
static inline size_t sb_put_varint(uint8_t *to, uint64_t value)
{
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

static inline uint32_t sb_masked_crc(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* What of the input is at hand, and how far it has come. Belongs to one thread. */
struct sb_frame_input {
    struct sb_flow *flow;
    const char *at; /* what is at hand, until the next call of sb_frame_input_fill */
    size_t size;
    int64_t position; /* of it */
};

/* SB_OK: at least one byte is at hand; SB_END after the last. */
enum sb_code sb_frame_input_fill(struct sb_frame_input *input) SB_CHECKED;

static inline void sb_frame_input_pass(struct sb_frame_input *input, size_t size)
{
    input->at += size;
    input->size -= size;
    input->position += (int64_t)size;
}

/* Copies `size` bytes, or fewer (*got) where the input ends. */
enum sb_code sb_frame_input_read(struct sb_frame_input *input, void *data, size_t size,
                                 size_t *got) SB_CHECKED;

#define SB_FRAME_TAIL 64

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
    size_t piece_size;        /* IN_PIECE; 0: it was given */
    char tail[SB_FRAME_TAIL]; /* its last bytes, when what follows them has to be read first */
    struct sb_spool spool;
    int64_t spooled; /* of it, so many bytes were given */
    struct sb_buf name;
};

/* SB_DAMAGED, about the record at hand. */
enum sb_code sb_frame_damaged(const struct sb_frame_reader *reader, const char *why) SB_CHECKED;
enum sb_code sb_frame_cut_short(const struct sb_frame_reader *reader) SB_CHECKED;

/*
 * Reads what comes before the next record, and so finds where the record is: sets reader->where,
 * and left, piece, spool or name. SB_END: nothing more comes.
 */
enum sb_code sb_frame_head(struct sb_frame_reader *reader) SB_CHECKED;

/*
 * frames/json.c: a record as a line of JSON, RFC 8259, one object a line, its bytes as base64 in
 * "data". What else the object holds is passed over, "key" excepted, which is the record's name.
 *
 * Replaces record by the bytes of the next line that is not blank, and name by its "key" (size 0:
 * it has none). SB_END: there is no further line. SB_INVALID, with a text that does not name the
 * input or the record: it is cut short or is no such object.
 */
enum sb_code sb_frame_json_next(struct sb_frame_input *input, struct sb_spool *record,
                                struct sb_buf *name) SB_CHECKED;

#endif
