/*
 * Deflate64: as zlib writes deflate, where both are the same; by hand, where they are not.
 */
#include "check.h"

#include "core/buf.h"
#include "store/zip/impl.h"

#include <stdlib.h>
#include <zlib.h>

#define TEXT_SIZE ((size_t)300000)
#define REACH     ((size_t)65536)

/* Packed bytes that come in pieces. */
struct packed {
    const uint8_t *data;
    size_t size;
    size_t piece;
};

static enum sb_code take(void *context, const uint8_t **data, size_t *size)
{
    struct packed *packed = context;

    *data = packed->data;
    *size = packed->piece < packed->size ? packed->piece : packed->size;
    packed->data += *size;
    packed->size -= *size;
    return SB_OK;
}

static enum sb_code unpack(const struct sb_buf *from, size_t piece, size_t capacity,
                           struct sb_buf *out)
{
    struct packed packed = {(const uint8_t *)from->data, from->size, piece};
    struct sb_zip_deflate64 *inflater;
    size_t got = capacity;
    enum sb_code code = sb_zip_deflate64_new(&inflater, take, &packed);

    sb_buf_clear(out);
    while (!code && got == capacity) {
        if (sb_buf_reserve(out, capacity))
            abort();
        code = sb_zip_deflate64_read(inflater, (uint8_t *)out->data + out->size, capacity, &got);
        out->size += code ? 0 : got;
    }
    sb_zip_deflate64_free(inflater);
    return code;
}

/* In pieces of several sizes, to buffers of several sizes. */
static void check_unpacks(const struct sb_buf *packed, const void *text, size_t size)
{
    static const size_t sizes[] = {1, 7, 8, 1000, (size_t)1 << 20};
    struct sb_buf out = {.size = 0};

    for (size_t i = 0; i < 5; i++) {
        CHECK(unpack(packed, sizes[i], sizes[4 - i], &out) == SB_OK);
        CHECK(out.size == size && memcmp(out.data, text, size) == 0);
    }
    sb_buf_release(&out);
}

static void check_fails(const struct sb_buf *packed, const char *text)
{
    struct sb_buf out = {.size = 0};

    CHECK(unpack(packed, packed->size, REACH, &out) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, text);
    sb_buf_release(&out);
}

#define ENDS_EARLY "its compressed bytes end early; left out"
#define DAMAGED    "its compressed bytes are damaged; left out"

static void deflate_text(struct sb_buf *out, const void *text, size_t size, int level, int strategy)
{
    z_stream z = {.next_in = (Bytef *)text, .avail_in = (uInt)size};

    sb_buf_clear(out);
    if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8, strategy) != Z_OK ||
        sb_buf_reserve(out, size + size / 8 + 100))
        abort();
    z.next_out = (Bytef *)out->data;
    z.avail_out = (uInt)(size + size / 8 + 100);
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    out->size = z.total_out;
    deflateEnd(&z);
}

/* Letters of which each comes half as often as the one before: long codes, and no long matches. */
static char *make_text(size_t size)
{
    char *text = malloc(size);
    uint32_t state = 1;

    if (!text)
        abort();
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        text[i] = (char)('a' + __builtin_clz(state >> 7 | 1) - 7);
    }
    return text;
}

static void as_deflate(void)
{
    static const struct {
        int level, strategy;
    } ways[] = {{9, Z_DEFAULT_STRATEGY}, {1, Z_HUFFMAN_ONLY}, {6, Z_FIXED}, {0, 0}};
    struct sb_buf packed = {.size = 0};
    char *text = make_text(TEXT_SIZE);

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        deflate_text(&packed, text, TEXT_SIZE, ways[i].level, ways[i].strategy);
        check_unpacks(&packed, text, TEXT_SIZE);
    }
    deflate_text(&packed, text, 0, 9, Z_DEFAULT_STRATEGY);
    check_unpacks(&packed, text, 0);
    free(text);
    sb_buf_release(&packed);
}

/* A stream under construction, of one block with the fixed codes. */
struct bits {
    struct sb_buf out;
    unsigned held;
    unsigned count;
};

static void put(struct bits *bits, unsigned value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        bits->held |= (value >> i & 1) << bits->count++;
        if (bits->count < 8)
            continue;
        if (sb_buf_add_char(&bits->out, (char)bits->held))
            abort();
        bits->held = bits->count = 0;
    }
}

static void put_code(struct bits *bits, unsigned code, unsigned size)
{
    for (unsigned i = size; i-- > 0;)
        put(bits, code >> i, 1);
}

static void put_symbol(struct bits *bits, unsigned symbol)
{
    if (symbol < 144)
        put_code(bits, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(bits, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(bits, symbol - 256, 7);
    else
        put_code(bits, 0xc0 + symbol - 280, 8);
}

static void begin_fixed(struct bits *bits)
{
    put(bits, 1, 1);
    put(bits, 1, 2);
}

static void finish(struct bits *bits)
{
    put_symbol(bits, 256);
    put(bits, 0, 7);
}

/* By length code 285, which deflate has for 258 alone. */
static void put_match(struct bits *bits, size_t length, unsigned distance_code, unsigned extra,
                      unsigned extra_size)
{
    put_symbol(bits, 285);
    put(bits, (unsigned)length - 3, 16);
    put_code(bits, distance_code, 5);
    put(bits, extra, extra_size);
}

static void long_lengths(void)
{
    struct bits bits = {.held = 0};
    size_t size = 2 + 65538 + 3 + 40000;
    char *text = malloc(size);

    begin_fixed(&bits);
    put_symbol(&bits, 'x');
    put_symbol(&bits, 'y');
    put_match(&bits, 65538, 0, 0, 0);
    put_match(&bits, 3, 1, 0, 0);
    put_match(&bits, 40000, 2, 0, 0);
    finish(&bits);
    if (!text)
        abort();
    memset(text, 'y', size);
    text[0] = 'x';
    check_unpacks(&bits.out, text, size);
    free(text);
    sb_buf_release(&bits.out);
}

static void far_distances(void)
{
    static const struct {
        unsigned code, extra;
        size_t distance;
    } far[] = {{31, 16383, 65536}, {30, 0, 32769}, {30, 16383, 49152}, {31, 0, 49153}};
    struct bits bits = {.held = 0};
    size_t size = REACH;
    char *text = malloc(REACH + 4 * 5000);

    if (!text)
        abort();
    begin_fixed(&bits);
    for (size_t i = 0; i < REACH; i++) {
        text[i] = (char)(i * i >> 5);
        put_symbol(&bits, (unsigned char)text[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        put_match(&bits, 5000, far[i].code, far[i].extra, 14);
        for (size_t end = size + 5000; size < end; size++)
            text[size] = text[size - far[i].distance];
    }
    finish(&bits);
    check_unpacks(&bits.out, text, size);
    free(text);
    sb_buf_release(&bits.out);
}

static void cut_short(void)
{
    struct sb_buf packed = {.size = 0}, cut;
    char *text = make_text(3000);

    for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy += Z_FIXED) {
        deflate_text(&packed, text, 3000, 9, strategy);
        cut = packed;
        for (cut.size = packed.size - 1; cut.size > 0 && !check_failed; cut.size--)
            check_fails(&cut, ENDS_EARLY);
    }
    deflate_text(&packed, text, 3000, 0, 0);
    packed.size -= 10;
    check_fails(&packed, ENDS_EARLY);
    free(text);
    sb_buf_release(&packed);
}

static void put_lengths(struct bits *bits, const char *lengths)
{
    put(bits, 1, 1);
    put(bits, 2, 2);
    put(bits, 0, 5 + 5);
    put(bits, (unsigned)strlen(lengths) - 4, 4);
    for (; *lengths; lengths++)
        put(bits, (unsigned)*lengths - '0', 3);
    put(bits, 0, 32);
    put(bits, 0, 32);
}

static void wrong_streams(void)
{
    static const char *const lengths[] = {"1110", "2220", "0000", "1000"};
    static const char stored[] = "\1\2\0\2\0ab", reserved[] = "\7";
    struct sb_buf packed = {.data = (char *)stored, .size = sizeof(stored) - 1};

    check_fails(&packed, DAMAGED);
    packed = (struct sb_buf){.data = (char *)reserved, .size = 1};
    check_fails(&packed, DAMAGED);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct bits bits = {.held = 0};

        put_lengths(&bits, lengths[i]);
        check_fails(&bits.out, DAMAGED);
        sb_buf_release(&bits.out);
    }
}

static void before_the_beginning(void)
{
    struct bits bits = {.held = 0};

    begin_fixed(&bits);
    put_symbol(&bits, 'x');
    put_match(&bits, 10, 1, 0, 0);
    finish(&bits);
    check_fails(&bits.out, DAMAGED);
    sb_buf_release(&bits.out);
}

static void symbols_of_no_use(void)
{
    for (unsigned symbol = 286; symbol < 288; symbol++) {
        struct bits bits = {.held = 0};

        begin_fixed(&bits);
        put_symbol(&bits, 'x');
        put_symbol(&bits, symbol);
        finish(&bits);
        check_fails(&bits.out, DAMAGED);
        sb_buf_release(&bits.out);
    }
}

int main(void)
{
    RUN(as_deflate);
    RUN(long_lengths);
    RUN(far_distances);
    RUN(cut_short);
    RUN(wrong_streams);
    RUN(before_the_beginning);
    RUN(symbols_of_no_use);
    return check_end();
}
