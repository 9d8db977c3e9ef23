/* lib/store/codec/record_codec.h */
#include "store/codec/record_codec.h"
#include "check.h"

#include <stdlib.h>

static enum sb_code add(void *context, const void *data, size_t size)
{
    return sb_buf_add(context, data, size);
}

/* Decodes piece by piece into out. */
static enum sb_code decode_pieces(struct sb_decoder *decoder, const char *frame, size_t size,
                                  size_t step, struct sb_buf *out)
{
    enum sb_code code = sb_decode_begin(decoder);

    sb_buf_clear(out);
    for (size_t at = 0; at < size && !code; at += step)
        code = sb_decode_more(decoder, frame + at, size - at < step ? size - at : step, add, out);
    return code ? code : sb_decode_end(decoder);
}

static enum sb_code encode_pieces(struct sb_encoder *encoder, const char *record, size_t size,
                                  size_t step, int64_t declared, struct sb_buf *out)
{
    enum sb_code code = sb_encode_begin(encoder, declared);

    sb_buf_clear(out);
    for (size_t at = 0; at < size && !code; at += step)
        code = sb_encode_more(encoder, record + at, size - at < step ? size - at : step, add, out);
    return code ? code : sb_encode_end(encoder, add, out);
}

/* Some 300 kB that are neither all alike nor noise. */
static void fill(struct sb_buf *out)
{
    sb_buf_clear(out);
    for (unsigned i = 0; i < 50000; i++)
        CHECK(sb_buf_add_format(out, "%u,", i * 2654435761u >> 20) == SB_OK);
}

static void suffixes(void)
{
    CHECK(sb_compression_of(SB_COMPRESSION_AUTO, "x/a.bagz") == SB_COMPRESSION_ZSTD);
    CHECK(sb_compression_of(SB_COMPRESSION_AUTO, "x.bagz/a.bag") == SB_COMPRESSION_NONE);
    CHECK(sb_compression_of(SB_COMPRESSION_AUTO, "bagz") == SB_COMPRESSION_NONE);
    CHECK(sb_compression_of(SB_COMPRESSION_NONE, "a.bagz") == SB_COMPRESSION_NONE);
    CHECK(sb_compression_of(SB_COMPRESSION_ZSTD, "a") == SB_COMPRESSION_ZSTD);
}

static void whole_and_in_pieces(void)
{
    struct sb_buf record = {0}, whole = {0}, pieces = {0}, out = {0};
    struct sb_encoder *encoder;
    struct sb_decoder *decoder;
    char *room = malloc(400000);
    int64_t declared;
    size_t size;

    fill(&record);
    CHECK(sb_encoder_new(&encoder, NULL, 0) == SB_OK);
    CHECK(sb_decoder_new(&decoder, NULL) == SB_OK);
    CHECK(sb_encode(encoder, record.data, record.size, &whole) == SB_OK);
    CHECK(sb_frame_size(whole.data, whole.size, (int64_t)whole.size, &declared) == SB_OK);
    CHECK(declared == (int64_t)record.size);
    CHECK(sb_decode(decoder, whole.data, whole.size, room, 400000, &size) == SB_OK);
    CHECK(size == record.size && memcmp(room, record.data, size) == 0);
    CHECK(sb_decode(decoder, whole.data, whole.size, room, size - 1, &size) == SB_LIMIT);
    for (size_t step = 1; step < 1000000; step *= 7) {
        CHECK(decode_pieces(decoder, whole.data, whole.size, step, &out) == SB_OK);
        CHECK(out.size == record.size && memcmp(out.data, record.data, out.size) == 0);
    }
    for (int64_t said = -1; said <= (int64_t)record.size; said += (int64_t)record.size + 1) {
        CHECK(encode_pieces(encoder, record.data, record.size, 999, said, &pieces) == SB_OK);
        CHECK(sb_frame_size(pieces.data, pieces.size, (int64_t)pieces.size, &declared) == SB_OK);
        CHECK(declared == said);
        CHECK(sb_decode(decoder, pieces.data, pieces.size, room, 400000, &size) == SB_OK);
        CHECK(size == record.size && memcmp(room, record.data, size) == 0);
        CHECK(sb_decode(decoder, pieces.data, pieces.size, room, 1, &size) == SB_LIMIT);
    }
    CHECK(encode_pieces(encoder, "abc", 3, 1, 4, &pieces) == SB_CHANGED);
    sb_encoder_free(encoder);
    sb_decoder_free(decoder);
    sb_buf_release(&record);
    sb_buf_release(&whole);
    sb_buf_release(&pieces);
    sb_buf_release(&out);
    free(room);
}

/* One encoder, records of every size, each again after larger ones. */
static void every_size(void)
{
    static const size_t sizes[] = {
        1, 100, 16 << 10, (16 << 10) + 1, 100000, 128 << 10, (128 << 10) + 1, 300000, 20000, 3};
    struct sb_buf record = {0}, frame = {0};
    struct sb_encoder *encoder;
    struct sb_decoder *decoder;
    char *room = malloc(300000);
    size_t size;

    fill(&record);
    CHECK(sb_buf_reserve(&record, record.size) == SB_OK);
    CHECK(sb_buf_add(&record, record.data, record.size) == SB_OK && record.size >= 300000);
    CHECK(sb_encoder_new(&encoder, NULL, 0) == SB_OK);
    CHECK(sb_decoder_new(&decoder, NULL) == SB_OK);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        sb_buf_clear(&frame);
        CHECK(sb_encode(encoder, record.data, sizes[i], &frame) == SB_OK);
        CHECK(sizes[i] < 100 || frame.size < sizes[i]);
        CHECK(sb_decode(decoder, frame.data, frame.size, room, 300000, &size) == SB_OK);
        CHECK(size == sizes[i] && memcmp(room, record.data, size) == 0);
    }
    sb_encoder_free(encoder);
    sb_decoder_free(decoder);
    sb_buf_release(&record);
    sb_buf_release(&frame);
    free(room);
}

static void nothing_is_stored_as_nothing(void)
{
    struct sb_buf out = {0};
    struct sb_encoder *encoder;
    struct sb_decoder *decoder;
    size_t size = 1;

    CHECK(sb_encoder_new(&encoder, NULL, 1) == SB_OK);
    CHECK(sb_decoder_new(&decoder, NULL) == SB_OK);
    CHECK(sb_encode(encoder, "", 0, &out) == SB_OK && out.size == 0);
    CHECK(encode_pieces(encoder, "", 0, 1, -1, &out) == SB_OK && out.size == 0);
    CHECK(encode_pieces(encoder, "", 0, 1, 0, &out) == SB_OK && out.size == 0);
    CHECK(sb_decode(decoder, "", 0, NULL, 0, &size) == SB_OK && size == 0);
    CHECK(decode_pieces(decoder, "", 0, 1, &out) == SB_OK && out.size == 0);
    sb_encoder_free(encoder);
    sb_decoder_free(decoder);
    sb_buf_release(&out);
}

/* A frame of nothing (as zstd makes it) is one more form of an empty record. */
static void a_frame_that_holds_nothing(void)
{
    static const char frame[] = "\x28\xb5\x2f\xfd\x20\0\1\0";
    struct sb_buf out = {0};
    struct sb_decoder *decoder;
    size_t size = 1;

    CHECK(sb_decoder_new(&decoder, NULL) == SB_OK);
    CHECK(sb_decode(decoder, frame, sizeof(frame), NULL, 0, &size) == SB_OK && size == 0);
    CHECK(decode_pieces(decoder, frame, sizeof(frame), 1, &out) == SB_OK && out.size == 0);
    sb_decoder_free(decoder);
    sb_buf_release(&out);
}

/* Both ways to decode must refuse a frame, with the same words. */
static void refused(struct sb_decoder *decoder, const char *frame, size_t size, const char *text)
{
    struct sb_buf out = {0};
    char room[1000];
    size_t got;

    CHECK(sb_decode(decoder, frame, size, room, sizeof(room), &got) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, text);
    for (size_t step = 1; step <= size; step++) {
        CHECK(decode_pieces(decoder, frame, size, step, &out) == SB_DAMAGED);
        CHECK_TEXT(sb_error()->text, text);
    }
    sb_buf_release(&out);
}

static void what_is_no_frame_or_not_only_one(void)
{
    struct sb_buf frame = {0}, two = {0};
    struct sb_encoder *encoder;
    struct sb_decoder *decoder;

    CHECK(sb_encoder_new(&encoder, NULL, 0) == SB_OK);
    CHECK(sb_decoder_new(&decoder, NULL) == SB_OK);
    CHECK(sb_encode(encoder, "abcabcabcabc", 12, &frame) == SB_OK);
    refused(decoder, "abcdefgh", 8,
            "is not zstd data; if it is stored as it is: --compression=none");
    refused(decoder, "\x50\x2a\x4d\x18\0\0\0\0", 8,
            "is not zstd data; if it is stored as it is: --compression=none");
    for (size_t size = 4; size < frame.size; size++)
        refused(decoder, frame.data, size, "its zstd data are cut short");
    CHECK(sb_buf_set(&two, frame.data, frame.size) == SB_OK);
    CHECK(sb_buf_add_char(&two, 'x') == SB_OK);
    refused(decoder, two.data, two.size, "has junk after its zstd data");
    sb_buf_cut(&two, frame.size);
    CHECK(sb_buf_add(&two, frame.data, frame.size) == SB_OK);
    refused(decoder, two.data, two.size, "has junk after its zstd data");
    sb_encoder_free(encoder);
    sb_decoder_free(decoder);
    sb_buf_release(&frame);
    sb_buf_release(&two);
}

/* A raw block of three bytes behind a header that says something else. */
static void declarations_that_are_not_true(void)
{
    static const char four[] = "\x28\xb5\x2f\xfd\x20\4\x19\0\0abc";
    static const char huge[] = "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\x19\0\0abc";
    static const char negative[] = "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x90\x19\0\0abc";
    static const char window[] = "\x28\xb5\x2f\xfd\0\xa8\x19\0\0abc"; /* 2^31 */
    struct sb_buf out = {0};
    struct sb_decoder *decoder;
    char room[100];
    int64_t declared;
    size_t size;

    CHECK(sb_decoder_new(&decoder, NULL) == SB_OK);
    CHECK(sb_decode(decoder, four, sizeof(four) - 1, room, 100, &size) == SB_DAMAGED);
    CHECK(decode_pieces(decoder, four, sizeof(four) - 1, 1, &out) == SB_DAMAGED);
    CHECK(sb_frame_size(huge, sizeof(huge) - 1, INT64_C(1) << 45, &declared) == SB_OK);
    CHECK(declared == INT64_C(1) << 60);
    CHECK(sb_frame_size(huge, sizeof(huge) - 1, (INT64_C(1) << 45) - 1, &declared) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "declares a size that cannot be");
    CHECK(sb_decode(decoder, huge, sizeof(huge) - 1, room, 100, &size) == SB_DAMAGED);
    CHECK(decode_pieces(decoder, huge, sizeof(huge) - 1, 1, &out) == SB_DAMAGED);
    CHECK(sb_frame_size(negative, sizeof(negative) - 1, sizeof(negative) - 1, &declared) ==
          SB_DAMAGED);
    CHECK(sb_decode(decoder, window, sizeof(window) - 1, room, 100, &size) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "its zstd data need a window of more than 128 MiB");
    CHECK(decode_pieces(decoder, window, sizeof(window) - 1, 1, &out) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "its zstd data need a window of more than 128 MiB");
    sb_decoder_free(decoder);
    sb_buf_release(&out);
}

static void dictionaries(void)
{
    static const char words[] = "the quick brown fox jumps over the lazy dog, again and again";
    struct sb_dictionary *dictionary;
    struct sb_buf frame = {0}, bare = {0};
    struct sb_encoder *encoder;
    struct sb_decoder *decoder, *without;
    char room[200];
    size_t size;

    CHECK(sb_dictionary_new(&dictionary, words, sizeof(words) - 1) == SB_OK);
    CHECK(sb_encoder_new(&encoder, dictionary, 0) == SB_OK);
    CHECK(sb_decoder_new(&decoder, dictionary) == SB_OK);
    CHECK(sb_decoder_new(&without, NULL) == SB_OK);
    for (int i = 0; i < 3; i++) {
        sb_buf_clear(&frame);
        CHECK(sb_encode(encoder, words, sizeof(words) - 2, &frame) == SB_OK);
        CHECK(frame.size < 30);
        CHECK(sb_decode(decoder, frame.data, frame.size, room, 200, &size) == SB_OK);
        CHECK(size == sizeof(words) - 2 && memcmp(room, words, size) == 0);
        CHECK(decode_pieces(decoder, frame.data, frame.size, 3, &bare) == SB_OK);
        CHECK(bare.size == size);
        CHECK(sb_decode(without, frame.data, frame.size, room, 200, &size) == SB_DAMAGED);
    }
    sb_encoder_free(encoder);
    sb_decoder_free(decoder);
    sb_decoder_free(without);
    sb_dictionary_free(dictionary);
    sb_buf_release(&frame);
    sb_buf_release(&bare);
    CHECK(sb_dictionary_new(&dictionary, "\x37\xa4\x30\xec and then junk", 18) == SB_FORMAT);
    CHECK(sb_dictionary_read(&dictionary, "/no/such") == SB_NOENT);
    CHECK(sb_dictionary_read(&dictionary, "/dev/zero") == SB_LIMIT);
    CHECK(sb_dictionary_read(&dictionary, "/") == SB_SYSTEM);
}

static void levels(void)
{
    struct sb_encoder *encoder;

    CHECK(sb_encoder_new(&encoder, NULL, 23) == SB_INVALID);
    CHECK(sb_encoder_new(&encoder, NULL, 22) == SB_OK);
    sb_encoder_free(encoder);
    CHECK(sb_encoder_new(&encoder, NULL, -7) == SB_OK);
    sb_encoder_free(encoder);
}

int main(void)
{
    RUN(suffixes);
    RUN(whole_and_in_pieces);
    RUN(every_size);
    RUN(nothing_is_stored_as_nothing);
    RUN(a_frame_that_holds_nothing);
    RUN(what_is_no_frame_or_not_only_one);
    RUN(declarations_that_are_not_true);
    RUN(dictionaries);
    RUN(levels);
    return check_end();
}
