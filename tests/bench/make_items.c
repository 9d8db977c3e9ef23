/*
 * make_items cache DIR KEYS VALUES
 * make_items syrah FILE ITEMS VALUES
 *
 * Writes a torchcachex cache, or a Syrah file, by our own writers. Of a cache the keys are NAME:0,
 * NAME:1, ... for the name of DIR, each with a tensor of VALUES float32, 2,048 to a segment, as the
 * original makes them by default, and with an index.pkl. An item of a Syrah file has an array x of
 * VALUES float32 and an array label of one int64. The same arguments give the same bytes.
 */
#include "core/number.h"
#include "store/cache/writer.h"
#include "store/syrah/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 1000000

static int fail(void)
{
    fprintf(stderr, "make_items: %s\n", sb_error()->text);
    return 1;
}

/* Values that do not compress, and are numbers: from 1 to 2. */
static void draw(uint32_t *values, int64_t count)
{
    static uint64_t state = 88172645463325252U;

    for (int64_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values[i] = 0x3f800000U | (uint32_t)(state >> 41);
    }
}

static enum sb_code write_row(struct sb_cache_writer *writer, const char *name, int64_t row,
                              const uint32_t *values, int64_t count)
{
    static const struct sb_cache_field field = {.name = "", .dtype = SB_DTYPE_FLOAT32};
    static const struct sb_cache_form form = {
        .structure = SB_CACHE_TENSOR, .fields = &field, .field_count = 1};
    struct sb_npy array = {.dtype = SB_DTYPE_FLOAT32, .dims = 1, .shape = {count}};
    const size_t *order;
    char text[256];
    struct sb_row_key key = {.text = text};

    array.data_size = count * (int64_t)sizeof(*values);
    key.size = (size_t)snprintf(text, sizeof(text), "%s:%lld", name, (long long)row);
    if (sb_cache_writer_begin_row(writer, &form, &key, array.data_size, &order) ||
        sb_cache_writer_value(writer, &array) ||
        sb_cache_writer_write(writer, values, (size_t)array.data_size))
        return sb_error()->code;
    return sb_cache_writer_end_row(writer);
}

static int make_cache(const char *path, int64_t keys, int64_t count, uint32_t *values)
{
    const char *slash = strrchr(path, '/');
    struct sb_cache_writer_options options = {.path = path, .segment_rows = 2048};
    struct sb_cache_writer *writer;
    enum sb_code code;

    if (sb_cache_writer_open(&writer, &options))
        return fail();
    code = SB_OK;
    for (int64_t i = 0; code == SB_OK && i < keys; i++) {
        draw(values, count);
        code = write_row(writer, slash ? slash + 1 : path, i, values, count);
    }
    if (code == SB_OK)
        code = sb_cache_writer_commit(writer);
    sb_cache_writer_free(writer);
    return code ? fail() : 0;
}

static enum sb_code write_item(struct sb_syrah_writer *writer, int64_t item, const uint32_t *values,
                               int64_t count)
{
    int64_t size = count * (int64_t)sizeof(*values);

    if (sb_syrah_writer_array(writer, "x", 1, SB_DTYPE_FLOAT32, size) ||
        sb_syrah_writer_write(writer, values, (size_t)size) ||
        sb_syrah_writer_array(writer, "label", 5, SB_DTYPE_INT64, sizeof(item)) ||
        sb_syrah_writer_write(writer, &item, sizeof(item)))
        return sb_error()->code;
    return sb_syrah_writer_end_item(writer);
}

static int make_syrah(const char *path, int64_t items, int64_t count, uint32_t *values)
{
    struct sb_stream_sink_options options = {.path = path};
    struct sb_syrah_writer *writer;
    enum sb_code code = SB_OK;

    if (sb_syrah_writer_open(&writer, &options))
        return fail();
    for (int64_t i = 0; code == SB_OK && i < items; i++) {
        draw(values, count);
        code = write_item(writer, i, values, count);
    }
    if (code == SB_OK)
        code = sb_syrah_writer_commit(writer);
    sb_syrah_writer_free(writer);
    return code ? fail() : 0;
}

int main(int argc, char **argv)
{
    int64_t items, count;
    uint32_t *values;
    int status;

    if (argc != 5 || !sb_parse_integer(argv[3], 0, INT64_MAX, &items) ||
        !sb_parse_integer(argv[4], 0, VALUES_MAX, &count)) {
        fprintf(stderr, "usage: make_items cache|syrah PATH ITEMS VALUES\n");
        return 2;
    }
    values = calloc((size_t)count + 1, sizeof(*values));
    if (!values)
        return 1;
    if (strcmp(argv[1], "cache") == 0)
        status = make_cache(argv[2], items, count, values);
    else
        status = make_syrah(argv[2], items, count, values);
    free(values);
    return status;
}
