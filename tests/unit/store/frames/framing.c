/* lib/store/frames/framing.h: what is written around records. */
#include "store/frames/framing.h"
#include "check.h"

static struct sb_buf out;

/* In pieces of `step` bytes. */
static enum sb_code frame(struct sb_framer *framer, const char *name, int64_t index,
                          const char *data, size_t size, size_t step)
{
    struct sb_framed record = {.name = name, .index = index, .size = (int64_t)size};
    enum sb_code code = sb_framer_begin(framer, &record, &out);

    for (size_t at = 0; !code && at < size; at += step)
        code = sb_framer_data(framer, data + at, size - at < step ? size - at : step, &out);
    return code ? code : sb_framer_end(framer, &out);
}

/* "first" as 7, then an empty one as 8. */
static bool frames_as(enum sb_framing framing, const char *wanted, size_t size)
{
    bool same = true;

    for (size_t step = 1; step <= 5; step++) {
        struct sb_framer *framer;

        sb_buf_clear(&out);
        if (!CHECK(sb_framer_new(&framer, framing) == SB_OK))
            return false;
        CHECK(frame(framer, "a/b", 7, "first", 5, step) == SB_OK);
        CHECK(frame(framer, NULL, 8, "", 0, step) == SB_OK);
        CHECK(sb_framer_finish(framer, &out) == SB_OK);
        sb_framer_free(framer);
        same = same && CHECK(out.size == size) && CHECK(memcmp(out.data, wanted, size) == 0);
    }
    return same;
}

#define FRAMES_AS(framing, text) frames_as(framing, text, sizeof(text) - 1)

static void words_are_in_the_order_of_the_enum(void)
{
    CHECK_TEXT(sb_framing_words[SB_FRAMING_NONE], "none");
    CHECK_TEXT(sb_framing_words[SB_FRAMING_VARINT], "varint");
    CHECK_TEXT(sb_framing_words[SB_FRAMING_TAR], "tar");
    CHECK(sb_framing_words[SB_FRAMING_TAR + 1] == NULL);
}

static void separators_and_lengths(void)
{
    FRAMES_AS(SB_FRAMING_NONE, "first");
    FRAMES_AS(SB_FRAMING_LINE, "first\n\n");
    FRAMES_AS(SB_FRAMING_NUL, "first\0\0");
    FRAMES_AS(SB_FRAMING_U32, "\5\0\0\0first\0\0\0\0");
    FRAMES_AS(SB_FRAMING_U64, "\5\0\0\0\0\0\0\0first\0\0\0\0\0\0\0\0");
    FRAMES_AS(SB_FRAMING_VARINT, "\5first\0");
    FRAMES_AS(SB_FRAMING_BATCH, "a/b 5\nfirst\n 0\n\n");
}

/* The checksums by TensorFlow's definition, computed with another program. */
static void tfrecords(void)
{
    FRAMES_AS(SB_FRAMING_TFRECORD, "\5\0\0\0\0\0\0\0\352\262\004\076"
                                   "first"
                                   "\125\377\043\345"
                                   "\0\0\0\0\0\0\0\0\051\003\230\007"
                                   "\330\352\202\242");
}

static void json_lines(void)
{
    FRAMES_AS(SB_FRAMING_JSONL, "{\"index\":7,\"key\":\"a/b\",\"data\":\"Zmlyc3Q=\"}\n"
                                "{\"index\":8,\"data\":\"\"}\n");
}

static enum sb_code frame_once(enum sb_framing framing, const char *name, const char *data,
                               size_t size)
{
    struct sb_framer *framer;
    enum sb_code code = sb_framer_new(&framer, framing);

    sb_buf_clear(&out);
    if (!code)
        code = frame(framer, name, 0, data, size, size);
    sb_framer_free(framer);
    return code;
}

static void a_varint_has_seven_bits_a_byte(void)
{
    static char data[300];

    CHECK(frame_once(SB_FRAMING_VARINT, NULL, data, 127) == SB_OK && out.size == 128);
    CHECK(memcmp(out.data, "\x7f", 1) == 0);
    CHECK(frame_once(SB_FRAMING_VARINT, NULL, data, 300) == SB_OK && out.size == 302);
    CHECK(memcmp(out.data, "\xac\x02", 2) == 0);
}

static void a_tar_has_whole_blocks(void)
{
    struct sb_framer *framer;

    sb_buf_clear(&out);
    CHECK(sb_framer_new(&framer, SB_FRAMING_TAR) == SB_OK);
    CHECK(frame(framer, "a", 0, "first", 5, 2) == SB_OK && out.size == 1024);
    CHECK(memcmp(out.data, "a\0", 2) == 0 && memcmp(out.data + 512, "first\0", 6) == 0);
    CHECK(sb_framer_finish(framer, &out) == SB_OK && out.size == 2048);
    sb_framer_free(framer);
    CHECK(frame_once(SB_FRAMING_TAR, "/a//./b", "", 0) == SB_OK);
    CHECK(memcmp(out.data, "a/b\0", 4) == 0);
    CHECK(frame_once(SB_FRAMING_TAR, "a/../b", "", 0) == SB_INVALID && out.size == 0);
}

static void what_would_end_a_record_is_refused(void)
{
    CHECK(frame_once(SB_FRAMING_LINE, NULL, "a\nb", 3) == SB_INVALID);
    CHECK_TEXT(sb_error()->text,
               "holds a newline, which would end it too early; choose a framing with "
               "lengths, such as u32");
    CHECK(frame_once(SB_FRAMING_NUL, NULL, "a\0b", 3) == SB_INVALID);
    CHECK(frame_once(SB_FRAMING_LINE, NULL, "a\0b", 3) == SB_OK);
    CHECK(frame_once(SB_FRAMING_NUL, NULL, "a\nb", 3) == SB_OK);
    CHECK(frame_once(SB_FRAMING_BATCH, "a\nb", "", 0) == SB_INVALID);
}

static void names_in_json_are_escaped(void)
{
    CHECK(frame_once(SB_FRAMING_JSONL, "\"\\\n\xc3\xa4", "", 0) == SB_OK);
    CHECK_TEXT(out.data, "{\"index\":0,\"key\":\"\\\"\\\\\\u000a\xc3\xa4\",\"data\":\"\"}\n");
    CHECK(frame_once(SB_FRAMING_JSONL, "\xff", "", 0) == SB_INVALID);
}

static void u32_has_an_end(void)
{
    struct sb_framed record = {.size = (int64_t)1 << 32};
    struct sb_framer *framer;

    CHECK(sb_framer_new(&framer, SB_FRAMING_U32) == SB_OK);
    CHECK(sb_framer_begin(framer, &record, &out) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "has 4294967296 bytes, too many for u32; choose u64");
    record.size--;
    CHECK(sb_framer_begin(framer, &record, &out) == SB_OK);
    sb_framer_free(framer);
}

static void bytes_are_as_many_as_the_frame_tells(void)
{
    struct sb_framed record = {.size = 3};
    struct sb_framer *framer;

    CHECK(sb_framer_new(&framer, SB_FRAMING_U64) == SB_OK);
    CHECK(sb_framer_begin(framer, &record, &out) == SB_OK);
    CHECK(sb_framer_data(framer, "ab", 2, &out) == SB_OK);
    CHECK(sb_framer_end(framer, &out) == SB_CHANGED);
    CHECK(sb_framer_data(framer, "cd", 2, &out) == SB_CHANGED);
    sb_framer_free(framer);
}

static void a_line_of_batch_may_end_in_nul(void)
{
    struct sb_framer *framer;

    sb_buf_clear(&out);
    CHECK(sb_framer_new(&framer, SB_FRAMING_BATCH) == SB_OK);
    sb_framer_set_line_end(framer, '\0');
    CHECK(frame(framer, "a\nb", 0, "x", 1, 1) == SB_OK);
    CHECK(out.size == 8 && memcmp(out.data, "a\nb 1\0x\n", 8) == 0);
    sb_framer_free(framer);
}

int main(void)
{
    RUN(words_are_in_the_order_of_the_enum);
    RUN(separators_and_lengths);
    RUN(a_varint_has_seven_bits_a_byte);
    RUN(tfrecords);
    RUN(json_lines);
    RUN(names_in_json_are_escaped);
    RUN(a_tar_has_whole_blocks);
    RUN(what_would_end_a_record_is_refused);
    RUN(u32_has_an_end);
    RUN(bytes_are_as_many_as_the_frame_tells);
    RUN(a_line_of_batch_may_end_in_nul);
    sb_buf_release(&out);
    return check_end();
}
