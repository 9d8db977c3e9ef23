/*
 * lib/store/frames/reader.h: records come out of their frames as they went in, wherever the blocks
 * of the input end; and what is cut short is damage.
 */
#include "store/frames/reader.h"
#include "check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct sb_buf framed;
static struct sb_buf got; /* records, each with its size before it */
static int64_t told;

static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context;
    (void)level;
    (void)kind;
    (void)subject;
    (void)text;
    told++;
}

static const struct sb_notify notify = {.call = hear};

static bool add_record(struct sb_buf *to, const void *data, size_t size)
{
    return sb_buf_add(to, &size, sizeof(size)) == SB_OK && sb_buf_add(to, data, size) == SB_OK;
}

/* Reads all records into `got`, but for the bytes of every `passed`th. */
static enum sb_code read_all(struct sb_input *input, enum sb_framing framing, int64_t passed)
{
    struct sb_frame_reader *reader;
    struct sb_buf record = {0};
    struct sb_frame frame;
    enum sb_code code =
        sb_frame_reader_open(&reader, input, framing, &(struct sb_feed_options){0}, &notify);

    sb_buf_clear(&got);
    while (!code && (code = sb_frame_reader_next(reader, &frame)) == SB_OK) {
        const void *data;
        size_t size;

        sb_buf_clear(&record);
        if (passed && frame.number % passed == passed - 1)
            continue;
        while ((code = sb_frame_reader_block(reader, &data, &size)) == SB_OK) {
            CHECK(size > 0);
            CHECK(sb_buf_add(&record, data, size) == SB_OK);
        }
        if (code != SB_END)
            break;
        CHECK((int64_t)record.size == frame.size);
        CHECK(add_record(&got, record.data, record.size));
        code = SB_OK;
    }
    sb_frame_reader_free(reader);
    sb_buf_release(&record);
    return code;
}

/* From a pipe, as two blocks of which the first has `head` bytes. */
static enum sb_code read_pipe(const char *data, size_t size, size_t head, enum sb_framing framing,
                              int64_t passed)
{
    struct sb_input input = {.name = "input", .type.kind = SB_FRAMES, .path = "-"};
    int ends[2];
    enum sb_code code;

    CHECK(pipe(ends) == 0);
    CHECK(size == head || write(ends[1], data + head, size - head) == (ssize_t)(size - head));
    close(ends[1]);
    CHECK(sb_file_take(&input.pipe, ends[0], "input") == SB_OK);
    CHECK(sb_buf_set(&input.head, data, head) == SB_OK);
    code = read_all(&input, framing, passed);
    sb_input_close(&input);
    return code;
}

static enum sb_code read_file(const char *data, size_t size, enum sb_framing framing,
                              int64_t passed)
{
    struct sb_input input = {.name = "input", .type.kind = SB_FRAMES, .path = "input"};
    int fd = memfd_create("frames", MFD_CLOEXEC);
    enum sb_code code;

    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    CHECK(sb_file_take(&input.file, fd, "input") == SB_OK);
    code = read_all(&input, framing, passed);
    sb_input_close(&input);
    return code;
}

static void frame(struct sb_framer *framer, int64_t index, const void *data, size_t size)
{
    struct sb_framed record = {.name = "name", .index = index, .size = (int64_t)size};

    CHECK(sb_framer_begin(framer, &record, &framed) == SB_OK);
    CHECK(sb_framer_data(framer, data, size, &framed) == SB_OK);
    CHECK(sb_framer_end(framer, &framed) == SB_OK);
}

static const char *const records[] = {"one", "", "three, and some more of it", "", "", "x"};
#define RECORDS (sizeof(records) / sizeof(*records))

/* Leaves the small records in `framed`, and in `wanted` what is to come of the first `count`. */
static void frame_records(enum sb_framing framing, struct sb_buf *wanted, size_t count,
                          int64_t passed)
{
    struct sb_framer *framer;

    sb_buf_clear(&framed);
    sb_buf_clear(wanted);
    CHECK(sb_framer_new(&framer, framing) == SB_OK);
    for (size_t i = 0; i < RECORDS; i++) {
        frame(framer, (int64_t)i, records[i], strlen(records[i]));
        if (i < count && !(passed && (int64_t)i % passed == passed - 1))
            CHECK(add_record(wanted, records[i], strlen(records[i])));
    }
    sb_framer_free(framer);
}

static bool same(const struct sb_buf *wanted)
{
    return got.size == wanted->size && memcmp(got.data, wanted->data, got.size) == 0;
}

static void records_come_back_wherever_blocks_end(void)
{
    struct sb_buf wanted = {0};

    for (int framing = SB_FRAMING_LINE; framing < SB_FRAMING_TAR; framing++) {
        for (int64_t passed = 0; passed <= 2; passed++) {
            frame_records((enum sb_framing)framing, &wanted, RECORDS, passed);
            for (size_t head = 0; head <= framed.size; head++) {
                CHECK(read_pipe(framed.data, framed.size, head, (enum sb_framing)framing, passed) ==
                      SB_END);
                if (!CHECK(same(&wanted)))
                    printf("# %s, block of %zu\n", sb_framing_words[framing], head);
            }
            CHECK(read_file(framed.data, framed.size, (enum sb_framing)framing, passed) == SB_END);
            CHECK(same(&wanted));
        }
    }
    sb_buf_release(&wanted);
}

/* Is what came the first of the records, each of them whole? */
static bool is_prefix(const struct sb_buf *all)
{
    return got.size <= all->size && (got.size == 0 || memcmp(got.data, all->data, got.size) == 0);
}

static void what_is_cut_short_is_damage(void)
{
    struct sb_buf all = {0};

    for (int framing = SB_FRAMING_U32; framing < SB_FRAMING_TAR; framing++) {
        bool json = framing == SB_FRAMING_JSONL;

        frame_records((enum sb_framing)framing, &all, RECORDS, 0);
        for (size_t size = 0; size < framed.size; size++) {
            enum sb_code code = read_pipe(framed.data, size, size / 2, (enum sb_framing)framing, 0);

            CHECK(is_prefix(&all));
            CHECK(code == SB_DAMAGED || code == SB_END);
            /* Of lines, the end of the last may be missing. */
            if (code == SB_END && !json && size > 0)
                CHECK(got.size > 0);
            if (json && size > 0 && framed.data[size - 1] != '\n' && framed.data[size - 1] != '}')
                CHECK(code == SB_DAMAGED);
        }
    }
    sb_buf_release(&all);
}

static void each_flipped_bit_of_a_tfrecord_is_found(void)
{
    struct sb_buf all = {0};

    frame_records(SB_FRAMING_TFRECORD, &all, RECORDS, 0);
    for (size_t bit = 0; bit < 8 * framed.size; bit++) {
        framed.data[bit / 8] ^= (char)(1 << bit % 8);
        CHECK(read_pipe(framed.data, framed.size, 0, SB_FRAMING_TFRECORD, 0) == SB_DAMAGED);
        CHECK(is_prefix(&all));
        CHECK(read_pipe(framed.data, framed.size, 0, SB_FRAMING_TFRECORD, 1) == SB_DAMAGED);
        framed.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    sb_buf_release(&all);
}

/* Larger than a block of the input, and than what is held in memory of a record. */
static void large_records_come_back(void)
{
    const size_t sizes[] = {262144 - 40, 3 << 20, 0, 262144 - 12, 262144 + 1, 5};
    struct sb_buf wanted = {0};
    char *data = malloc(3 << 20);

    CHECK(data != NULL);
    for (size_t i = 0; data && i < 3 << 20; i++)
        data[i] = (char)(i * i % 251 + 11);
    for (size_t i = 0; data && i < 3 << 20; i++)
        data[i] = data[i] == '\n' || !data[i] ? 'x' : data[i];
    for (int framing = SB_FRAMING_LINE; data && framing < SB_FRAMING_TAR; framing++) {
        struct sb_framer *framer;

        sb_buf_clear(&framed);
        sb_buf_clear(&wanted);
        CHECK(sb_framer_new(&framer, (enum sb_framing)framing) == SB_OK);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            frame(framer, (int64_t)i, data, sizes[i]);
            CHECK(add_record(&wanted, data, sizes[i]));
        }
        sb_framer_free(framer);
        CHECK(read_file(framed.data, framed.size, (enum sb_framing)framing, 0) == SB_END);
        CHECK(same(&wanted));
        CHECK(read_file(framed.data, framed.size - 3, (enum sb_framing)framing, 0) ==
              (framing <= SB_FRAMING_NUL ? SB_END : SB_DAMAGED));
    }
    sb_buf_release(&wanted);
    free(data);
}

static enum sb_code read_text(enum sb_framing framing, const char *text, size_t size)
{
    return read_pipe(text, size, 0, framing, 0);
}

#define READ(framing, text) read_text(framing, text, sizeof(text) - 1)

static bool refuses(enum sb_framing framing, const char *text, size_t size, const char *why)
{
    return CHECK(read_text(framing, text, size) == SB_DAMAGED) && CHECK_TEXT(sb_error()->text, why);
}

#define REFUSES(framing, text, why) refuses(framing, text, sizeof(text) - 1, why)

static void lengths_are_not_believed(void)
{
    REFUSES(SB_FRAMING_U64, "\0\0\0\0\0\0\0\x10xyz",
            "input: record 0, at byte 0: is cut short; is the framing right?");
    REFUSES(
        SB_FRAMING_U64, "\0\0\0\0\0\0\0\x80xyz",
        "input: record 0, at byte 0: has a length of 2^63 bytes or more; is the framing right?");
    REFUSES(SB_FRAMING_VARINT, "\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2x",
            "input: record 1, at byte 1: has a length that is no varint of 64 bits");
    REFUSES(SB_FRAMING_BATCH, "a 1\nx\nb 99999999999999999999\n",
            "input: record 1, at byte 6: has no size after its name");
    REFUSES(SB_FRAMING_BATCH, "a 1\nxy\n",
            "input: record 0, at byte 0: no newline follows it; "
            "is the framing right?");
}

static void a_last_line_needs_no_end(void)
{
    CHECK(READ(SB_FRAMING_LINE, "a\nb") == SB_END && got.size == 2 * (sizeof(size_t) + 1));
    CHECK(READ(SB_FRAMING_LINE, "a\nb\n") == SB_END && got.size == 2 * (sizeof(size_t) + 1));
    CHECK(READ(SB_FRAMING_LINE, "\n") == SB_END && got.size == sizeof(size_t));
    CHECK(READ(SB_FRAMING_LINE, "") == SB_END && got.size == 0);
    CHECK(READ(SB_FRAMING_NUL, "a\n\0b") == SB_END && got.size == 2 * sizeof(size_t) + 3);
}

static void without_frames_all_is_one_record(void)
{
    CHECK(READ(SB_FRAMING_NONE, "a\nb") == SB_END && got.size == sizeof(size_t) + 3);
    CHECK(READ(SB_FRAMING_NONE, "") == SB_END && got.size == sizeof(size_t));
    CHECK(read_file("abc", 3, SB_FRAMING_NONE, 0) == SB_END && got.size == sizeof(size_t) + 3);
    CHECK(read_file("", 0, SB_FRAMING_NONE, 0) == SB_END && got.size == sizeof(size_t));
}

static void answers_of_a_batch_that_are_none_are_told(void)
{
    told = 0;
    CHECK(READ(SB_FRAMING_BATCH, "a b 1\nx\nc missing\nd damaged\ne 0\n\n") == SB_END);
    CHECK(told == 2 && got.size == 2 * sizeof(size_t) + 1);
}

/* The one record that a line holds. */
static bool reads_json(const char *line, const char *record)
{
    struct sb_buf wanted = {0};
    bool good = CHECK(read_text(SB_FRAMING_JSONL, line, strlen(line)) == SB_END) &&
                CHECK(add_record(&wanted, record, strlen(record))) && CHECK(same(&wanted));

    sb_buf_release(&wanted);
    return good;
}

static void any_json_object_with_data_will_do(void)
{
    reads_json("{\"data\":\"Zmlyc3Q=\"}", "first");
    reads_json("\n {\t\"data\" : \"Zmlyc3Q\" } \r\n\n", "first");
    reads_json("{\"data\":\"Pz8\\/\\u0050w==\"}", "\?\?\?\?");
    reads_json("{\"x\":{\"data\":[1,-2.5e3,true,{}],\"y\":[]},\"data\":\"eA==\",\"z\":null}", "x");
    reads_json("{\"index\":7,\"key\":\"\\ud83d\\ude00\\\"\",\"data\":\"\"}", "");
    reads_json("{\"key\":null,\"data\":\"\",\"d\":\"\\\\\\n\"}", "");
}

static void other_json_is_refused(void)
{
    static const char *const wrong[] = {
        "{}",
        "[]",
        "\"data\"",
        "{\"data\":\"\"",
        "{\"data\":\"\"}}",
        "{\"data\":\"\"} {\"data\":\"\"}",
        "{\"data\":\"eA==\",\"data\":\"eA==\"}",
        "{\"data\":7}",
        "{\"data\":null}",
        "{\"data\":\"eA=\"}",
        "{\"data\":\"e\nA==\"}",
        "{\"data\"\n:\"eA==\"}",
        "{\"data\":\"eA==\",}",
        "{,\"data\":\"eA==\"}",
        "{\"data\":\"eA==\" \"x\":1}",
        "{\"x\":\"\\x\",\"data\":\"\"}",
        "{\"x\":\"\\u12g4\",\"data\":\"\"}",
        "{\"x\":\"\\ud800\",\"data\":\"\"}",
        "{\"x\":\"\\udc00\\ud800\",\"data\":\"\"}",
        "{\"x\":nul,\"data\":\"\"}",
        "{\"x\":--,\"data\":\"\"}",
        "{\"x\":,\"data\":\"\"}",
        "{\"x\":[1,],\"data\":\"\"}",
        "{\"x\":[1},\"data\":\"\"}",
        "{x:1,\"data\":\"\"}",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        if (!CHECK(read_text(SB_FRAMING_JSONL, wrong[i], strlen(wrong[i])) == SB_DAMAGED))
            printf("# %s\n", wrong[i]);
    }
    REFUSES(SB_FRAMING_JSONL, "{\"data\":\"\"}\n{\"data\":\"\"} x\n",
            "input: record 1, at byte 12: is followed by something else on its line");
}

static void depth_of_json_is_bounded(void)
{
    char line[200000] = "{\"x\":";

    memset(line + 5, '[', sizeof(line) - 6);
    CHECK(read_text(SB_FRAMING_JSONL, line, 60000) == SB_DAMAGED);
    CHECK(strstr(sb_error()->text, "more than 64 values within each other") != NULL);
}

int main(void)
{
    RUN(records_come_back_wherever_blocks_end);
    RUN(what_is_cut_short_is_damage);
    RUN(each_flipped_bit_of_a_tfrecord_is_found);
    RUN(large_records_come_back);
    RUN(lengths_are_not_believed);
    RUN(a_last_line_needs_no_end);
    RUN(without_frames_all_is_one_record);
    RUN(answers_of_a_batch_that_are_none_are_told);
    RUN(any_json_object_with_data_will_do);
    RUN(other_json_is_refused);
    RUN(depth_of_json_is_bounded);
    sb_buf_release(&framed);
    sb_buf_release(&got);
    return check_end();
}
