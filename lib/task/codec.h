/*
 * One format of compressed files, in one direction, as a stream: zlib, libbz2, liblzma or libzstd.
 *
 * A decompressor takes several members or frames one behind the other, as the tools of the formats
 * do, and the padding that these allow (zeros behind gzip members, in fours behind xz streams).
 * What it needs is bounded: windows and dictionaries of up to 128 MiB. The same bytes in, with the
 * same size told at the start, give the same compressed bytes. Texts of errors do not name the
 * file. A codec belongs to one thread, and may be begun again.
 */
#ifndef SB_TASK_CODEC_H
#define SB_TASK_CODEC_H

#include "task/recode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_codec;

/* The bytes that wait for a step, and where it puts what becomes of them. */
struct sb_codec_io {
    const char *in; /* moved on as bytes are taken */
    size_t in_size;
    bool end; /* nothing will come behind them */
    char *out;
    size_t room;
    size_t made; /* of room; set by each step */
    bool more;   /* set by each step: another one is needed even if nothing waits */
};

/* SB_INVALID for a level that the format does not have; 0 is the usual one. */
enum sb_code sb_codec_check_level(enum sb_coding coding, int level,
                                  struct sb_error *err) SB_CHECKED;

enum sb_code sb_codec_new(struct sb_codec **out, enum sb_coding coding, bool compress, int level,
                          struct sb_error *err) SB_CHECKED;
void sb_codec_free(struct sb_codec *codec); /* NULL is allowed */

/* size: how many bytes will come in, -1 where that is not known. */
enum sb_code sb_codec_begin(struct sb_codec *codec, int64_t size, struct sb_error *err) SB_CHECKED;

/*
 * SB_DAMAGED: the bytes are not what they should be, are cut short (told at the end), or something
 * else is behind them. SB_LIMIT: they need a larger window.
 */
enum sb_code sb_codec_step(struct sb_codec *codec, struct sb_codec_io *io,
                           struct sb_error *err) SB_CHECKED;

#endif
