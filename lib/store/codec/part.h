/*
 * Parts of a compressed stream that do not depend on each other, so that a stream is compressed,
 * and later decompressed, by many threads. One after the other they are what any tool of the format
 * reads, and:
 *
 * gzip   a member each, as bgzip writes it: its size is in its header (SAM specification, section
 *        "The BGZF compression format"), and the last one is empty
 * zstd   a frame each, after a skippable frame that holds its size, as pzstd writes it
 * bzip2  a stream each, as pbzip2 writes it
 *
 * The same bytes make the same part. A codec belongs to one thread at a time.
 */
#ifndef SB_STORE_CODEC_PART_H
#define SB_STORE_CODEC_PART_H

#include "core/error.h"
#include "store/container.h"

#include <stddef.h>

struct sb_part_codec;

/* How many bytes of the stream make a part. 0: this kind is not written in parts. Level 0 is the
 * usual one. */
size_t sb_part_size(enum sb_filter_kind kind, int level);

/* What a part may need at most, never less than its size. */
size_t sb_part_capacity(enum sb_filter_kind kind, int level);

/* The level is one that sb_codec_check_level takes. */
enum sb_code sb_part_codec_new(struct sb_part_codec **out, enum sb_filter_kind kind, int level,
                               struct sb_error *err) SB_CHECKED;
void sb_part_codec_free(struct sb_part_codec *codec); /* NULL is allowed */

/* At most sb_part_size bytes become *made bytes at out, where sb_part_capacity bytes have space. */
enum sb_code sb_part_compress(struct sb_part_codec *codec, const void *data, size_t size, void *out,
                              size_t *made, struct sb_error *err) SB_CHECKED;

#endif
