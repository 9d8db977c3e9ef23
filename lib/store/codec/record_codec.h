/*
 * One record of a bag to its stored form and back: a zstd frame, or as it is.
 *
 * An empty record is stored as nothing. A stored record is one frame. SB_DAMAGED: anything follows
 * the frame, or the frame is cut short, or does not hold what it declares. A frame need not declare
 * its size. No memory is taken on a frame's word: windows are at most 128 MiB, and decoded bytes go
 * to the caller's memory, or in blocks to a callback. Texts of errors do not name the record.
 *
 * A dictionary is shared by any number of threads; coders belong to one thread each.
 */
#ifndef SB_STORE_CODEC_RECORD_CODEC_H
#define SB_STORE_CODEC_RECORD_CODEC_H

#include "core/buf.h"
#include "core/io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_compression {
    SB_COMPRESSION_AUTO, /* zstd for *.bagz, none for others: each file by its own name */
    SB_COMPRESSION_NONE,
    SB_COMPRESSION_ZSTD,
};

/* What AUTO means for a file. */
enum sb_compression sb_compression_of(enum sb_compression wanted, const char *path);

/* The dictionary of a bag: zstd's own format, or raw content, as zstd recognises them. */
struct sb_dictionary;
enum sb_code sb_dictionary_read(struct sb_dictionary **out, const char *path) SB_CHECKED;
enum sb_code sb_dictionary_new(struct sb_dictionary **out, const void *data,
                               size_t size) SB_CHECKED;
/* One more holder, of it or of NULL; each frees it once. */
struct sb_dictionary *sb_dictionary_ref(struct sb_dictionary *dictionary);
void sb_dictionary_free(struct sb_dictionary *dictionary); /* NULL is allowed */
FREEP(sb_dictionary_free, struct sb_dictionary)

/* Are frames of the one frames of the other? NULL, that is none, is as itself only. */
bool sb_dictionary_same(const struct sb_dictionary *a, const struct sb_dictionary *b);

struct sb_decoder;
enum sb_code sb_decoder_new(struct sb_decoder **out, struct sb_dictionary *dictionary)
    SB_CHECKED;                                   /* dictionary: NULL, or kept */
void sb_decoder_free(struct sb_decoder *decoder); /* NULL is allowed */
FREEP(sb_decoder_free, struct sb_decoder)

/* At most as many bytes of a frame are looked at for its size. */
#define SB_FRAME_HEADER_MAX 18

/*
 * The size that a frame declares, from its first `size` bytes: -1 where it does not. SB_DAMAGED
 * where no frame begins there, or where one of `stored` bytes in all cannot hold so much.
 */
enum sb_code sb_frame_size(const void *frame, size_t size, int64_t stored,
                           int64_t *content) SB_CHECKED;

/* The whole record into `data`. SB_LIMIT, without text: it has more than `capacity` bytes. */
enum sb_code sb_decode(struct sb_decoder *decoder, const void *frame, size_t frame_size, void *data,
                       size_t capacity, size_t *size) SB_CHECKED;

/* The same, in pieces: begin, then the frame piece by piece; each block that comes out is fed to
 * `each`. */
enum sb_code sb_decode_begin(struct sb_decoder *decoder) SB_CHECKED;
enum sb_code sb_decode_more(struct sb_decoder *decoder, const void *piece, size_t size,
                            sb_each_block *each, void *context) SB_CHECKED;
enum sb_code sb_decode_end(struct sb_decoder *decoder) SB_CHECKED;

struct sb_encoder;
enum sb_code sb_encoder_new(struct sb_encoder **out, struct sb_dictionary *dictionary,
                            int level) SB_CHECKED; /* dictionary: NULL, or kept;
      level 0: 3, as Bagz has it */
void sb_encoder_free(struct sb_encoder *encoder);  /* NULL is allowed */
FREEP(sb_encoder_free, struct sb_encoder)

/* Appends the frame of a record; nothing for an empty one. */
enum sb_code sb_encode(struct sb_encoder *encoder, const void *record, size_t size,
                       struct sb_buf *out) SB_CHECKED;

/* The same, in pieces; record_size: -1 where it is not known (the frame does not declare it then).
 * What comes out is fed to `each`. */
enum sb_code sb_encode_begin(struct sb_encoder *encoder, int64_t record_size) SB_CHECKED;
enum sb_code sb_encode_more(struct sb_encoder *encoder, const void *piece, size_t size,
                            sb_each_block *each, void *context) SB_CHECKED;
enum sb_code sb_encode_end(struct sb_encoder *encoder, sb_each_block *each,
                           void *context) SB_CHECKED;

#endif
