/*
 * Parts of a compressed stream that do not depend on each other, so that a stream is compressed,
 * and later decompressed, by many threads. The stream is its beginning, the parts one after the
 * other, and its end: what any tool of the format reads.
 *
 * gzip   one member, for readers that stop at the end of the first, as Python's tarfile does with
 *        streams; its parts end as blocks of pigz -i do, with a full flush that is marked twice
 * zstd   a frame for each part, after a skippable frame that holds its size, as pzstd writes it;
 *        one that is alone has none, since many recognise zstd by the first bytes of a frame
 *
 * The same bytes make the same part. A codec belongs to one thread at a time.
 */
#ifndef SB_STORE_CODEC_PART_H
#define SB_STORE_CODEC_PART_H

#include "core/error.h"
#include "store/container.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes at the beginning or end of a stream. */
#define SB_PART_EDGE 10

struct sb_part_codec;

struct sb_part_work {
    const void *data; /* at most sb_part_size bytes */
    size_t size;
    bool alone;   /* the stream has no other part */
    void *out;    /* space for sb_part_capacity bytes */
    size_t made;  /* bytes at out */
    uint32_t sum; /* gzip: the CRC-32 of data */
};

/* How many bytes of the stream make a part. 0: this kind is not written in parts. Level 0 is the
 * usual one. */
size_t sb_part_size(enum sb_filter_kind kind, int level);

/* What a part may need at most, never less than its size. */
size_t sb_part_capacity(enum sb_filter_kind kind, int level);

/* The level is one that sb_codec_check_level takes. */
enum sb_code sb_part_codec_new(struct sb_part_codec **out, enum sb_filter_kind kind,
                               int level) SB_CHECKED;
void sb_part_codec_free(struct sb_part_codec *codec); /* NULL is allowed */
FREEP(sb_part_codec_free, struct sb_part_codec)

/* Sets made and sum. */
enum sb_code sb_part_compress(struct sb_part_codec *codec, struct sb_part_work *work) SB_CHECKED;

/* What comes before the first part, and after the last of a stream of so many bytes whose CRC-32
 * is sum. */
size_t sb_part_begin(enum sb_filter_kind kind, uint8_t out[SB_PART_EDGE]);
size_t sb_part_end(enum sb_filter_kind kind, uint32_t sum, uint64_t size,
                   uint8_t out[SB_PART_EDGE]);

#endif
