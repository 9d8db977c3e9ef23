/*
 * What the files of this folder share: the numbers around framed records, and how what comes in is
 * read.
 */
#ifndef SB_STORE_FRAMES_IMPL_H
#define SB_STORE_FRAMES_IMPL_H

#include "core/buf.h"
#include "core/spool.h"
#include "store/feed/feed.h"

#include <stddef.h>

/*
 * Lengths are little-endian; varints as protobuf's encoding has them (seven bits a byte, the lowest
 * first, the top bit set on all but the last); the CRC32C of a TFRecord is masked as TensorFlow's
 * lib/hash/crc32c.h has it. Pure functions.
 */
#define SB_VARINT_MAX 10 /* bytes */

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
