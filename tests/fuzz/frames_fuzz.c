/*
 * Framed records: the first byte says which framing, the second where the first block of the input
 * ends, the rest is the input. Whatever it says, reading ends in bounded memory, and makes of it
 * the same records wherever blocks end, read or passed over. Records that were found come back when
 * they are framed and read again.
 */
#include "require.h"
#include "store/frames/reader.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context;
    (void)level;
    (void)subject;
    REQUIRE(*kind && *text);
}

static const struct sb_notify notify = {.call = hear};

/* What came of an input. */
struct outcome {
    enum sb_code code;
    int64_t records;
    struct sb_buf sizes; /* an int64_t each */
    struct sb_buf bytes; /* all records, and their names */
    struct sb_error err;
};

static void release(struct outcome *outcome)
{
    sb_buf_release(&outcome->sizes);
    sb_buf_release(&outcome->bytes);
}

static void keep(struct sb_buf *buf, const void *data, size_t size)
{
    REQUIRE(sb_buf_add(buf, data, size) == SB_OK);
}

static enum sb_code read_record(struct sb_frame_reader *reader, const struct sb_frame *frame,
                                struct outcome *outcome)
{
    const void *data;
    size_t size;
    int64_t seen = 0;
    enum sb_code code;

    while ((code = INTO(&outcome->err, sb_frame_reader_block(reader, &data, &size))) == SB_OK) {
        REQUIRE(size > 0);
        keep(&outcome->bytes, data, size);
        seen += (int64_t)size;
        REQUIRE(seen <= frame->size);
    }
    REQUIRE(code != SB_END || seen == frame->size);
    return code == SB_END ? SB_OK : code;
}

static void read_all(struct sb_input *input, enum sb_framing framing, bool pass,
                     struct outcome *outcome)
{
    struct sb_frame_reader *reader;
    struct sb_frame frame;

    *outcome = (struct outcome){.code = SB_OK};
    REQUIRE(INTO(&outcome->err, sb_frame_reader_open(&reader, input, framing,
                                                     &(struct sb_feed_options){0}, &notify)) ==
            SB_OK);
    while (!outcome->code) {
        outcome->code = INTO(&outcome->err, sb_frame_reader_next(reader, &frame));
        if (outcome->code)
            break;
        REQUIRE(frame.number == outcome->records && frame.size >= 0);
        REQUIRE(!frame.name || frame.name[frame.name_size] == '\0');
        if (!pass)
            outcome->code = read_record(reader, &frame, outcome);
        if (outcome->code)
            break;
        outcome->records++;
        keep(&outcome->sizes, &frame.size, sizeof(frame.size));
    }
    REQUIRE(outcome->code == SB_END || outcome->code == SB_DAMAGED);
    REQUIRE(outcome->code == SB_END || *outcome->err.text);
    sb_frame_reader_free(reader);
}

/* An input of libFuzzer's 64 KiB fits into a pipe. */
static void read_pipe(const void *data, size_t size, size_t head, enum sb_framing framing,
                      bool pass, struct outcome *outcome)
{
    struct sb_input input = {.name = "input", .path = "-", .type.kind = SB_FRAMES};
    int ends[2];

    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    REQUIRE(write(ends[1], (const char *)data + head, size - head) == (ssize_t)(size - head));
    close(ends[1]);
    REQUIRE(sb_file_take(&input.pipe, ends[0], "input") == SB_OK);
    keep(&input.head, data, head);
    read_all(&input, framing, pass, outcome);
    sb_input_close(&input);
}

static bool same(const struct sb_buf *a, const struct sb_buf *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* In u64, which can hold them all. */
static void frame_again(const struct outcome *outcome)
{
    const char *at = outcome->bytes.data ? outcome->bytes.data : "";
    struct sb_framer *framer;
    struct sb_buf framed = {0};
    struct outcome again;

    if (outcome->bytes.size > 60000 || outcome->records > 500)
        return;
    REQUIRE(sb_framer_new(&framer, SB_FRAMING_U64) == SB_OK);
    for (int64_t i = 0; i < outcome->records; i++) {
        struct sb_framed record = {.index = i};

        memcpy(&record.size, outcome->sizes.data + (size_t)i * sizeof(record.size),
               sizeof(record.size));
        REQUIRE(sb_framer_begin(framer, &record, &framed) == SB_OK);
        REQUIRE(sb_framer_data(framer, at, (size_t)record.size, &framed) == SB_OK);
        REQUIRE(sb_framer_end(framer, &framed) == SB_OK);
        at += record.size;
    }
    sb_framer_free(framer);
    read_pipe(framed.data ? framed.data : "", framed.size, 0, SB_FRAMING_U64, false, &again);
    REQUIRE(again.code == SB_END && same(&again.sizes, &outcome->sizes) &&
            same(&again.bytes, &outcome->bytes));
    release(&again);
    sb_buf_release(&framed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, split, passed;
    enum sb_framing framing;
    size_t head;

    if (size < 2 || size > 65536)
        return 0;
    framing = (enum sb_framing)(data[0] % SB_FRAMING_TAR);
    head = data[1];
    data += 2;
    size -= 2;
    head = head < size ? head : size;
    read_pipe(data, size, 0, framing, false, &whole);
    read_pipe(data, size, head, framing, false, &split);
    read_pipe(data, size, head, framing, true, &passed);
    REQUIRE(whole.code == split.code && same(&whole.sizes, &split.sizes));
    REQUIRE(whole.code == SB_DAMAGED || same(&whole.bytes, &split.bytes));
    REQUIRE(passed.code == whole.code);
    REQUIRE(whole.code == SB_DAMAGED || same(&passed.sizes, &whole.sizes));
    if (whole.code == SB_END)
        frame_again(&whole);
    release(&whole);
    release(&split);
    release(&passed);
    return 0;
}
