/*
 * One format of compressed bytes, in one direction, as a stream: zlib, libbz2, liblzma, libzstd, or
 * liblz4. Single files are compressed by it, and whole tars of formats that part.h does not have.
 *
 * A decompressor takes several members or frames one after the other, as the tools of the formats
 * do, and the padding that these allow (zeros after gzip members, in fours after xz streams). Its
 * needs are bounded: windows and dictionaries of up to 128 MiB. The same bytes, with the same size
 * given at the start, are compressed to the same bytes. Texts of errors do not name the file. A
 * codec belongs to one thread, and may be begun again.
 */
#ifndef SB_STORE_CODEC_CODEC_H
#define SB_STORE_CODEC_CODEC_H

#include "core/error.h"
#include "store/container.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The least capacity for a step. */
#define SB_CODEC_CAPACITY ((size_t)257 << 10)

struct sb_codec;

/* The bytes that wait for a step, and where it puts what becomes of them. */
struct sb_codec_io {
    const char *in; /* moved on as bytes are taken */
    size_t in_size;
    bool end; /* nothing will come after them */
    char *out;
    size_t capacity;
    size_t made; /* bytes at out; set by each step */
    bool more;   /* set by each step: another one is needed even if nothing waits */
};

struct sb_codec_options {
    enum sb_filter_kind kind;
    bool compress;    /* else decompress: not LZMA and LZ4 */
    int level;        /* 0: the usual one */
    unsigned threads; /* xz: 0 for a single file; else those of a large stream, whose bytes are
                         others, but the same for any number. Without effect elsewhere. */
};

/* SB_INVALID for what is never written, and for a level that the format does not have. */
enum sb_code sb_codec_check_level(enum sb_filter_kind kind, int level) SB_CHECKED;

/* Of a kind that is written. */
int sb_codec_usual_level(enum sb_filter_kind kind);

enum sb_code sb_codec_new(struct sb_codec **out, const struct sb_codec_options *options) SB_CHECKED;
void sb_codec_free(struct sb_codec *codec); /* NULL is allowed */

/* size: how many bytes will come in, -1 where that is not known. */
enum sb_code sb_codec_begin(struct sb_codec *codec, int64_t size) SB_CHECKED;

/*
 * SB_DAMAGED: the bytes are not what they should be, are cut short (reported at the end), or
 * something else comes after them. SB_LIMIT: they need a larger window.
 */
enum sb_code sb_codec_step(struct sb_codec *codec, struct sb_codec_io *io) SB_CHECKED;

#endif
