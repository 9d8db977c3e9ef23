/* lib/store/arrow/arrow.h and writer.h */
#include "check.h"
#include "core/buf.h"
#include "core/flatbuffer.h"
#include "core/little_endian.h"
#include "store/arrow/format.h"
#include "store/arrow/writer.h"

#include <stdlib.h>

#define ROWS 5

static const struct sb_arrow_column columns[] = {
    {.name = "key", .type = SB_ARROW_TEXT},
    {.name = "x_data", .type = SB_ARROW_LIST, .dtype = SB_DTYPE_FLOAT32},
    {.name = "x_shape", .type = SB_ARROW_LIST, .dtype = SB_DTYPE_INT64},
    {.name = "mask_data", .type = SB_ARROW_LIST, .dtype = SB_DTYPE_BOOL},
    {.name = "meta_blob", .type = SB_ARROW_BINARY},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

static const struct sb_arrow_pair pairs[] = {
    {.key = "tensor_keys", .value = "[\"x\", \"mask\"]", .value_size = 13},
    {.key = "empty", .value = "", .value_size = 0},
};

static enum sb_code collect(void *context, const void *data, size_t size)
{
    return sb_buf_add(context, data, size) ? sb_fail_memory() : SB_OK;
}

static struct sb_arrow_writer *new_writer(void)
{
    const struct sb_arrow_schema schema = {
        .columns = columns,
        .column_count = COLUMNS,
        .pairs = pairs,
        .pair_count = 2,
        .beside = "/tmp/x",
    };
    struct sb_arrow_writer *writer;

    if (!CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK))
        exit(1);
    return writer;
}

static void add(struct sb_arrow_writer *writer, size_t column, const void *data, size_t size)
{
    CHECK(sb_arrow_writer_add(writer, column, data, size) == SB_OK);
    CHECK(sb_arrow_writer_end_value(writer, column) == SB_OK);
}

/* Row r: key "key:r", r floats r, r + 1, ..., 3 * r bools of which each third is set, r bytes. */
static void add_row(struct sb_arrow_writer *writer, int r)
{
    unsigned char bools[3 * ROWS];
    int64_t shape = r;
    char key[16];
    float x[ROWS];

    snprintf(key, sizeof(key), "key:%d", r);
    for (int i = 0; i < r; i++)
        x[i] = (float)(r + i);
    for (int i = 0; i < 3 * r; i++)
        bools[i] = i % 3 == 0;
    add(writer, 0, key, strlen(key));
    for (size_t at = 0; at < (size_t)r * sizeof(*x); at += 2)
        CHECK(sb_arrow_writer_add(writer, 1, (const char *)x + at, 2) == SB_OK);
    CHECK(sb_arrow_writer_end_value(writer, 1) == SB_OK);
    add(writer, 2, &shape, sizeof(shape));
    add(writer, 3, bools, (size_t)r * 3);
    add(writer, 4, key, (size_t)r);
}

static void make_file(struct sb_buf *file, int rows)
{
    struct sb_arrow_writer *writer = new_writer();

    for (int r = 0; r < rows; r++) {
        add_row(writer, r);
        sb_arrow_writer_end_row(writer);
    }
    CHECK(sb_arrow_writer_rows(writer) == rows);
    CHECK(sb_arrow_writer_finish(writer, collect, file) == SB_OK);
    CHECK(sb_arrow_writer_rows(writer) == 0);
    sb_arrow_writer_free(writer);
}

static struct sb_arrow_value value_of(const struct sb_arrow *arrow, size_t column, int64_t row)
{
    struct sb_arrow_value value = {0};

    CHECK(sb_arrow_value(arrow, column, row, &value) == SB_OK);
    return value;
}

static void check_row(const struct sb_arrow *arrow, int r)
{
    struct sb_arrow_value value = value_of(arrow, 0, r);
    unsigned char bools[3 * ROWS];
    char key[16];

    snprintf(key, sizeof(key), "key:%d", r);
    CHECK(value.count == 5 && memcmp(value.data, key, 5) == 0 && !value.null);
    value = value_of(arrow, 1, r);
    CHECK(value.count == r && value.offset % 4 == 0);
    for (int i = 0; i < r; i++)
        CHECK(((const float *)value.data)[i] == (float)(r + i));
    value = value_of(arrow, 2, r);
    CHECK(value.count == 1 && (int)sb_get_u64(value.data) == r);
    value = value_of(arrow, 3, r);
    if (!CHECK(value.count == 3 * (int64_t)r))
        return;
    sb_arrow_unpack_bits(&value, bools);
    for (int i = 0; i < 3 * r; i++)
        CHECK(bools[i] == (i % 3 == 0));
    value = value_of(arrow, 4, r);
    CHECK(value.count == r && memcmp(value.data, key, (size_t)r) == 0);
}

static void what_is_written_is_read(void)
{
    struct sb_buf file = {0};
    struct sb_arrow *arrow;

    make_file(&file, ROWS);
    if (!CHECK(sb_arrow_open(&arrow, file.data, (int64_t)file.size) == SB_OK))
        return;
    CHECK(arrow->rows == ROWS);
    CHECK(arrow->column_count == COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        CHECK_TEXT(arrow->columns[i].name, columns[i].name);
        CHECK(arrow->columns[i].type == columns[i].type);
        CHECK(arrow->columns[i].dtype == columns[i].dtype);
    }
    CHECK(arrow->pair_count == 2);
    CHECK_TEXT(arrow->pairs[0].key, "tensor_keys");
    CHECK_TEXT(arrow->pairs[0].value, "[\"x\", \"mask\"]");
    CHECK(arrow->pairs[1].value_size == 0);
    for (int r = 0; r < ROWS; r++)
        check_row(arrow, r);
    sb_arrow_free(arrow);
    sb_buf_release(&file);
}

static void every_type_of_value_is_written_and_read(void)
{
    for (enum sb_dtype dtype = SB_DTYPE_BOOL; dtype <= SB_DTYPE_FLOAT64; dtype++) {
        const struct sb_arrow_column column = {.name = "x", .type = SB_ARROW_LIST, .dtype = dtype};
        const struct sb_arrow_schema schema = {
            .columns = &column, .column_count = 1, .beside = "/tmp/x"};
        static const char bytes[32] = {1, 1, 0, 1};
        struct sb_buf file = {0};
        struct sb_arrow_writer *writer;
        struct sb_arrow *arrow;

        CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK);
        add(writer, 0, bytes, sizeof(bytes));
        sb_arrow_writer_end_row(writer);
        CHECK(sb_arrow_writer_finish(writer, collect, &file) == SB_OK);
        sb_arrow_writer_free(writer);
        if (!CHECK(sb_arrow_open(&arrow, file.data, (int64_t)file.size) == SB_OK))
            continue;
        CHECK(arrow->columns[0].dtype == dtype && arrow->pair_count == 0);
        CHECK(value_of(arrow, 0, 0).count == (int64_t)(sizeof(bytes) / sb_dtype_size(dtype)));
        sb_arrow_free(arrow);
        sb_buf_release(&file);
    }
}

static void types_that_arrow_has_not_are_refused(void)
{
    const struct sb_arrow_column column = {
        .name = "x", .type = SB_ARROW_LIST, .dtype = SB_DTYPE_FLOAT128};
    const struct sb_arrow_schema schema = {
        .columns = &column, .column_count = 1, .beside = "/tmp/x"};
    struct sb_arrow_writer *writer;

    CHECK(sb_arrow_writer_new(&writer, &schema) == SB_INVALID && !writer);
    CHECK_TEXT(sb_error()->text, "column 'x': a list of float128 cannot be written");
}

static void a_file_without_rows_is_one(void)
{
    struct sb_buf file = {0};
    struct sb_arrow *arrow;

    make_file(&file, 0);
    CHECK(sb_arrow_open(&arrow, file.data, (int64_t)file.size) == SB_OK);
    CHECK(arrow && arrow->rows == 0 && arrow->column_count == COLUMNS);
    sb_arrow_free(arrow);
    sb_buf_release(&file);
}

static void a_row_that_is_cut_leaves_nothing(void)
{
    struct sb_arrow_writer *writer = new_writer();
    struct sb_buf plain = {0}, cut = {0};

    make_file(&plain, ROWS);
    for (int r = 0; r < ROWS; r++) {
        add_row(writer, ROWS - 1);
        sb_arrow_writer_cut(writer);
        CHECK(sb_arrow_writer_add(writer, 3, "\1\1\1", 3) == SB_OK);
        sb_arrow_writer_cut(writer);
        add_row(writer, r);
        sb_arrow_writer_end_row(writer);
    }
    CHECK(sb_arrow_writer_add(writer, 0, "lost", 4) == SB_OK);
    CHECK(sb_arrow_writer_finish(writer, collect, &cut) == SB_OK);
    CHECK(cut.size == plain.size && memcmp(cut.data, plain.data, cut.size) == 0);
    sb_arrow_writer_free(writer);
    sb_buf_release(&plain);
    sb_buf_release(&cut);
}

static void a_writer_writes_one_file_after_the_other(void)
{
    struct sb_arrow_writer *writer = new_writer();
    struct sb_buf first = {0}, second = {0};

    for (int file = 0; file < 2; file++) {
        for (int r = 0; r < ROWS; r++) {
            add_row(writer, r);
            sb_arrow_writer_end_row(writer);
        }
        CHECK(sb_arrow_writer_finish(writer, collect, file ? &second : &first) == SB_OK);
    }
    CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    sb_arrow_writer_free(writer);
    sb_buf_release(&first);
    sb_buf_release(&second);
}

static void bytes_that_are_no_whole_values_are_refused(void)
{
    struct sb_arrow_writer *writer = new_writer();

    CHECK(sb_arrow_writer_add(writer, 1, "12345", 5) == SB_OK);
    CHECK(sb_arrow_writer_end_value(writer, 1) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "column 'x_data': 5 bytes are no whole values");
    sb_arrow_writer_free(writer);
}

static void a_column_has_at_most_2_to_the_31_bytes(void)
{
    const struct sb_arrow_column column = {.name = "blob", .type = SB_ARROW_BINARY};
    const struct sb_arrow_schema schema = {
        .columns = &column, .column_count = 1, .beside = "/tmp/x"};
    struct sb_arrow_writer *writer;

    CHECK(sb_arrow_writer_new(&writer, &schema) == SB_OK);
    CHECK(sb_arrow_writer_add(writer, 0, "", (size_t)1 << 31) == SB_LIMIT);
    CHECK_TEXT(sb_error()->text,
               "column 'blob' would have more than 2147483647 bytes or values in one file");
    sb_arrow_writer_free(writer);
}

/* A copy of its exact size, so that a read behind it shows under the address sanitizer; all that it
 * says is asked for. */
static enum sb_code read_all(const char *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    struct sb_arrow_value value;
    unsigned char first[64];
    struct sb_arrow *arrow;
    enum sb_code code;

    memcpy(copy, data, size);
    code = sb_arrow_open(&arrow, copy, (int64_t)size);
    for (size_t c = 0; code == SB_OK && c < arrow->column_count; c++) {
        const struct sb_arrow_column *column = &arrow->columns[c];
        bool list = column->type == SB_ARROW_LIST, bits = list && column->dtype == SB_DTYPE_BOOL;

        for (int64_t r = 0; r < arrow->rows && r < 2 * ROWS; r++) {
            size_t bytes;

            if (sb_arrow_value(arrow, c, r, &value))
                continue;
            bytes = (size_t)value.count * (list ? sb_dtype_size(column->dtype) : 1);
            CHECK(value.offset >= 0 && value.offset <= (int64_t)size);
            CHECK(bits || bytes <= size - (size_t)value.offset);
            if (bits && value.count <= (int64_t)sizeof(first))
                sb_arrow_unpack_bits(&value, first);
        }
    }
    sb_arrow_free(arrow);
    free(copy);
    return code;
}

static void a_file_that_is_cut_is_refused(void)
{
    struct sb_buf file = {0};

    make_file(&file, ROWS);
    for (size_t size = 0; size < file.size; size++)
        CHECK(read_all(file.data, size) != SB_OK);
    CHECK(read_all("ARROW1\0\0 and then something else", 32) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "is an Arrow file without an end");
    CHECK(read_all("something else, long enough", 27) == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "is not an Arrow file");
    sb_buf_release(&file);
}

/* Where words of any value stand, values of rows apart: whatever they say, nothing beyond the file
 * is read. */
static void words_that_are_spoiled_lead_nowhere(void)
{
    static const uint32_t words[] = {0,          1,          8,          0xff,      0xffff,
                                     0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff8};
    struct sb_buf file = {0};
    uint32_t chosen = 1;

    make_file(&file, ROWS);
    for (size_t at = 0; at + 4 <= file.size; at += 2) {
        uint32_t was = sb_get_u32(file.data + at);

        for (size_t i = 0; i < sizeof(words) / sizeof(*words) + 4; i++) {
            chosen = chosen * 1664525 + 1013904223;
            sb_put_u32((uint8_t *)file.data + at,
                       i < sizeof(words) / sizeof(*words) ? words[i] : chosen);
            (void)read_all(file.data, file.size);
        }
        sb_put_u32((uint8_t *)file.data + at, was);
    }
    CHECK(read_all(file.data, file.size) == SB_OK);
    sb_buf_release(&file);
}

/* Offsets of a column that decrease, or lead beyond it, concern that value alone. */
static void values_that_lead_out_of_their_column_are_damaged(void)
{
    struct sb_buf file = {0};
    struct sb_arrow_value value;
    struct sb_arrow *arrow;
    uint8_t *offsets;

    make_file(&file, ROWS);
    CHECK(sb_arrow_open(&arrow, file.data, (int64_t)file.size) == SB_OK);
    offsets = (uint8_t *)file.data + value_of(arrow, 0, 0).offset - 24;
    CHECK(sb_get_u32(offsets + 4) == 5 && sb_get_u32(offsets + 20) == 25);
    sb_put_u32(offsets + 4, 11);
    sb_put_u32(offsets + 20, 26);
    CHECK(value_of(arrow, 0, 0).count == 11);
    CHECK(sb_arrow_value(arrow, 0, 1, &value) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "row 1 of column 'key' leads out of it");
    CHECK(value_of(arrow, 0, 2).count == 5);
    CHECK(sb_arrow_value(arrow, 0, 4, &value) == SB_DAMAGED);
    sb_arrow_free(arrow);
    sb_buf_release(&file);
}

static void bits_are_unpacked_from_any_to_any(void)
{
    unsigned char bits[16], out[100];

    for (size_t i = 0; i < sizeof(bits); i++)
        bits[i] = (unsigned char)(i * 37 + 11);
    for (unsigned bit = 0; bit < 8; bit++) {
        for (int64_t count = 0; count < 99; count++) {
            const struct sb_arrow_value value = {.data = bits, .bit = bit, .count = count};

            out[count] = 7;
            sb_arrow_unpack_bits(&value, out);
            for (size_t i = 0; i < (size_t)count; i++)
                CHECK(out[i] == (bits[(bit + i) / 8] >> (bit + i) % 8 & 1));
            CHECK(out[count] == 7);
        }
    }
}

/* Where the batch of a file has its nodes and buffers: two int64 each. */
static void find_batch(struct sb_buf *file, uint8_t **nodes, uint8_t **buffers)
{
    uint8_t *data = (uint8_t *)file->data, *end = data + file->size - 10;
    size_t footer_size = sb_get_u32(end);
    struct sb_flat footer = {.data = end - footer_size, .size = footer_size};
    struct sb_flat_table root = sb_flat_root(&footer), header;
    struct sb_flat_vector blocks =
        sb_flat_vector_in(&root, SB_FLAT_FOOTER_BATCHES, SB_ARROW_BLOCK_SIZE);
    uint8_t *start = data + sb_flat_item_number(&blocks, 0, 0, 8) + SB_ARROW_PREFIX;
    struct sb_flat message = {.data = start, .size = sb_get_u32(start - 4)};
    struct sb_flat_vector vector;

    root = sb_flat_root(&message);
    header = sb_flat_table_in(&root, SB_FLAT_MESSAGE_HEADER);
    vector = sb_flat_vector_in(&header, SB_FLAT_BATCH_NODES, 16);
    *nodes = start + vector.at;
    vector = sb_flat_vector_in(&header, SB_FLAT_BATCH_BUFFERS, 16);
    *buffers = start + vector.at;
    CHECK(!footer.bad && !message.bad);
}

/* Which values are null is in bits of their own, where a column has any: here those are the bits
 * of the offsets, of which the lowest of 0, 5, 10 and so on say 0 0 0 0 0. */
static void values_may_be_null(void)
{
    struct sb_buf file = {0};
    uint8_t *nodes, *buffers;
    struct sb_arrow *arrow;

    make_file(&file, ROWS);
    find_batch(&file, &nodes, &buffers);
    sb_put_u64(nodes + 8, ROWS);
    sb_put_u64(buffers + 8, 1);
    CHECK(sb_arrow_open(&arrow, file.data, (int64_t)file.size) == SB_OK);
    for (int row = 0; arrow && row < ROWS; row++) {
        struct sb_arrow_value value = value_of(arrow, 0, row);

        CHECK(value.null && value.count == 0);
        CHECK(!value_of(arrow, 1, row).null);
    }
    sb_arrow_free(arrow);
    sb_put_u64(buffers + 8, 0);
    CHECK(read_all(file.data, file.size) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "its batch leads out of the file");
    sb_buf_release(&file);
}

/* The values of x_data, which are the third node, with a byte that says which are null. */
static void lists_have_no_nulls(void)
{
    struct sb_buf file = {0};
    uint8_t *nodes, *buffers;

    make_file(&file, ROWS);
    find_batch(&file, &nodes, &buffers);
    sb_put_u64(nodes + 2 * 16 + 8, 1);
    sb_put_u64(buffers + 5 * 16 + 8, 8);
    CHECK(read_all(file.data, file.size) == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "a list of column 'x_data' has nulls");
    sb_buf_release(&file);
}

int main(void)
{
    RUN(what_is_written_is_read);
    RUN(every_type_of_value_is_written_and_read);
    RUN(types_that_arrow_has_not_are_refused);
    RUN(a_file_without_rows_is_one);
    RUN(a_row_that_is_cut_leaves_nothing);
    RUN(a_writer_writes_one_file_after_the_other);
    RUN(bytes_that_are_no_whole_values_are_refused);
    RUN(a_column_has_at_most_2_to_the_31_bytes);
    RUN(a_file_that_is_cut_is_refused);
    RUN(words_that_are_spoiled_lead_nowhere);
    RUN(bits_are_unpacked_from_any_to_any);
    RUN(values_may_be_null);
    RUN(lists_have_no_nulls);
    RUN(values_that_lead_out_of_their_column_are_damaged);
    return check_end();
}
