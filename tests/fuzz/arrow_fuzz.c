/*
 * The bytes of an Arrow file. Whatever they say, nothing beyond them is read, values lie within the
 * file, and a file that our writer makes of what was read has the same columns and values again.
 */
#include "core/buf.h"
#include "require.h"
#include "store/arrow/writer.h"

#include <string.h>

#define ROWS_MAX 500

/* Bytes of values that one input may make: overlaps must not take the time of others. */
#define OUTPUT_MAX ((int64_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_bits(const struct sb_arrow_column *column)
{
    return column->type == SB_ARROW_LIST && column->dtype == SB_DTYPE_BOOL;
}

/* The bytes of a value, bits as bytes; false: it is damaged. */
static bool take(struct sb_buf *out, const struct sb_arrow *arrow, size_t column, int64_t row,
                 int64_t file_size)
{
    const struct sb_arrow_column *of = &arrow->columns[column];
    struct sb_arrow_value value;
    int64_t size;

    sb_buf_clear(out);
    if (sb_arrow_value(arrow, column, row, &value))
        return false;
    REQUIRE(value.count >= 0 && value.offset >= 0 && value.offset <= file_size);
    if (is_bits(of)) {
        REQUIRE((value.count + value.bit + 7) / 8 <= file_size - value.offset);
        REQUIRE(value.count <= OUTPUT_MAX * 8);
        REQUIRE(sb_buf_reserve(out, (size_t)value.count) == SB_OK);
        sb_arrow_unpack_bits(&value, (unsigned char *)out->data);
        out->size = (size_t)value.count;
        return true;
    }
    size = value.count * (int64_t)(of->type == SB_ARROW_LIST ? sb_dtype_size(of->dtype) : 1);
    REQUIRE(size <= file_size - value.offset);
    REQUIRE(sb_buf_add(out, value.data, (size_t)size) == SB_OK);
    return true;
}

static enum sb_code collect(void *context, const void *data, size_t size)
{
    return sb_buf_add(context, data, size) ? sb_fail_memory() : SB_OK;
}

/* Rows that are whole go into a file of their own; how many. */
static int64_t rewrite(const struct sb_arrow *arrow, struct sb_arrow_writer *writer,
                       int64_t file_size, int64_t *rows)
{
    int64_t kept = 0, output = 0;
    struct sb_buf value = {0};

    for (int64_t row = 0; row < arrow->rows && row < ROWS_MAX; row++) {
        bool whole = true;

        for (size_t column = 0; whole && column < arrow->column_count; column++) {
            whole = take(&value, arrow, column, row, file_size);
            output += (int64_t)value.size + 1;
            if (!whole || output > OUTPUT_MAX)
                break;
            REQUIRE(!sb_arrow_writer_add(writer, column, value.data, value.size));
            REQUIRE(!sb_arrow_writer_end_value(writer, column));
        }
        if (output > OUTPUT_MAX)
            break;
        if (whole) {
            sb_arrow_writer_end_row(writer);
            rows[kept++] = row;
        } else {
            sb_arrow_writer_cut(writer);
        }
    }
    sb_buf_release(&value);
    return kept;
}

static void compare(const struct sb_arrow *one, int64_t one_size, const struct sb_arrow *two,
                    int64_t two_size, const int64_t *rows)
{
    struct sb_buf first = {0}, second = {0};

    REQUIRE(one->column_count == two->column_count);
    REQUIRE(one->pair_count == two->pair_count);
    for (size_t column = 0; column < one->column_count; column++) {
        const struct sb_arrow_column *a = &one->columns[column];
        const struct sb_arrow_column *b = &two->columns[column];

        REQUIRE(strcmp(a->name, b->name) == 0 && a->type == b->type && a->dtype == b->dtype);
        for (int64_t row = 0; row < two->rows; row++) {
            REQUIRE(take(&first, one, column, rows[row], one_size));
            REQUIRE(take(&second, two, column, row, two_size));
            REQUIRE(first.size == second.size);
            REQUIRE(first.size == 0 || memcmp(first.data, second.data, first.size) == 0);
        }
    }
    sb_buf_release(&first);
    sb_buf_release(&second);
}

static void write_and_read(const struct sb_arrow *arrow, int64_t size)
{
    struct sb_arrow_schema schema = {
        .column_count = arrow->column_count,
        .pair_count = arrow->pair_count,
        .beside = "/dev/shm/x",
    };
    struct sb_buf file = {0};
    int64_t rows[ROWS_MAX] = {0};
    struct sb_arrow_writer *writer;
    struct sb_arrow *again;
    int64_t kept;

    if (schema.column_count == 0)
        return;
    schema.columns = arrow->columns;
    schema.pairs = schema.pair_count ? arrow->pairs : NULL;
    REQUIRE(sb_arrow_writer_new(&writer, &schema) == SB_OK);
    kept = rewrite(arrow, writer, size, rows);
    REQUIRE(sb_arrow_writer_finish(writer, collect, &file) == SB_OK);
    sb_arrow_writer_free(writer);
    REQUIRE(sb_arrow_open(&again, file.data, (int64_t)file.size) == SB_OK);
    REQUIRE(again->rows == kept);
    compare(arrow, size, again, (int64_t)file.size, rows);
    sb_arrow_free(again);
    sb_buf_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sb_arrow *arrow;

    if (sb_arrow_open(&arrow, data, (int64_t)size))
        return 0;
    write_and_read(arrow, (int64_t)size);
    sb_arrow_free(arrow);
    return 0;
}
