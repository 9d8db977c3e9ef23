#include "store/cache/writer_private.h"

#include "core/io.h"
#include "core/little_endian.h"
#include "core/name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEGMENT_SIZE ((int64_t)64 << 20)
#define SEGMENT_ROWS 65536
#define SEGMENT_MOST INT32_MAX /* bytes or values of a column: its offsets have 32 bits */

/* Segments */

static enum sb_code put_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    return sb_outbuf_write(context, data, size, err);
}

static enum sb_code write_segment(struct sb_cache_writer *writer, const char *path,
                                  struct sb_error *err)
{
    struct sb_outbuf out = {0};
    int fd;
    enum sb_code code = sb_cache_create_file(&fd, path, err);

    if (code)
        return code;
    writer->written++;
    writer->segment_bytes = 0;
    code = sb_outbuf_begin(&out, fd, path, true, 0, err);
    if (!code)
        code = sb_arrow_writer_finish(writer->segment, put_block, &out, err);
    if (!code)
        code = sb_outbuf_flush(&out, err);
    if (!code)
        code = sb_fsync(fd, path, err);
    sb_outbuf_release(&out);
    close(fd);
    return code;
}

enum sb_code sb_cache_finish_segment(struct sb_cache_writer *writer, struct sb_error *err)
{
    struct sb_buf path = {0};
    enum sb_code code;

    if (!writer->segment || sb_arrow_writer_rows(writer->segment) == 0)
        return SB_OK;
    code = sb_cache_new_segment_name(writer, writer->written, false, &path, err);
    if (!code)
        code = write_segment(writer, path.data, err);
    sb_buf_release(&path);
    return code;
}

static enum sb_code begin_segments(struct sb_cache_writer *writer, struct sb_error *err)
{
    const struct sb_cache_columns *layout = &writer->columns;
    struct sb_arrow_pair pair = {0};
    struct sb_arrow_schema schema = {
        .columns = layout->columns,
        .column_count = layout->column_count,
        .pairs = &pair,
        .beside = writer->path,
    };

    if (sb_cache_schema_pair(layout, &writer->tensor_keys, &pair, &schema.pair_count))
        return sb_fail_memory(err);
    return sb_arrow_writer_new(&writer->segment, &schema, err);
}

/* Does the row belong into another one? */
static bool is_full(const struct sb_cache_writer *writer, int64_t bytes)
{
    int64_t rows = sb_arrow_writer_rows(writer->segment);

    return rows >= writer->options.segment_rows ||
           (rows > 0 && bytes > writer->options.segment_size - writer->segment_bytes);
}

/* Rows */

static enum sb_code take_key(struct sb_cache_writer *writer, const struct sb_row_key *key,
                             struct sb_error *err)
{
    if (sb_buf_set(&writer->key, key->text, key->size))
        return sb_fail_memory(err);
    if (!sb_is_utf8(key->text, key->size))
        return sb_fail(err, SB_INVALID,
                       "%s: is not UTF-8, which a key of a cache must be; rename it",
                       writer->key.data);
    return SB_OK;
}

static enum sb_code fit_layout(struct sb_cache_writer *writer, const struct sb_cache_form *form,
                               struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (!writer->columns.known)
        code = sb_cache_columns_set(&writer->columns, form, writer->key.data, err);
    if (!code)
        code = sb_cache_columns_arrange(&writer->columns, form, writer->key.data, err);
    if (!code && !writer->segment)
        code = begin_segments(writer, err);
    return code;
}

enum sb_code sb_cache_writer_begin_row(struct sb_cache_writer *writer,
                                       const struct sb_cache_form *form,
                                       const struct sb_row_key *key, int64_t bytes,
                                       const size_t **order, struct sb_error *err)
{
    enum sb_code code = take_key(writer, key, err);

    if (!code)
        code = fit_layout(writer, form, err);
    if (!code && is_full(writer, bytes + (int64_t)key->size))
        code = sb_cache_finish_segment(writer, err);
    if (code)
        return code;
    writer->in_row = true;
    writer->in_value = false;
    writer->value = 0;
    writer->row_bytes = 0;
    *order = writer->columns.order;
    code = sb_arrow_writer_add(writer->segment, 0, key->text, key->size, err);
    return code ? code : sb_arrow_writer_end_value(writer->segment, 0, err);
}

static enum sb_code end_value(struct sb_cache_writer *writer, struct sb_error *err)
{
    if (!writer->in_value)
        return SB_OK;
    writer->in_value = false;
    if (writer->left != 0)
        return sb_fail(err, SB_CHANGED, "%s: '%s' has not as many bytes as its shape says",
                       writer->key.data, writer->columns.fields[writer->value - 1].name);
    return sb_arrow_writer_end_value(writer->segment,
                                     writer->columns.fields[writer->value - 1].data, err);
}

static enum sb_code add_shape(struct sb_cache_writer *writer, size_t column,
                              const struct sb_npy *array, struct sb_error *err)
{
    uint8_t number[sizeof(uint64_t)];
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < array->dims; i++) {
        sb_put_u64(number, (uint64_t)array->shape[i]);
        code = sb_arrow_writer_add(writer->segment, column, number, sizeof(number), err);
    }
    return code ? code : sb_arrow_writer_end_value(writer->segment, column, err);
}

static enum sb_code fail_too_large(const struct sb_cache_writer *writer,
                                   const struct sb_cache_field *field, struct sb_error *err)
{
    return sb_fail(err, SB_LIMIT,
                   "%s: '%s' has more than the %d %s that a cache can hold; cut it into pieces",
                   writer->key.data, field->name, SEGMENT_MOST, field->blob ? "bytes" : "values");
}

enum sb_code sb_cache_writer_value(struct sb_cache_writer *writer, const struct sb_npy *array,
                                   struct sb_error *err)
{
    const struct sb_cache_field *field;
    int64_t size;
    enum sb_code code = end_value(writer, err);

    if (code)
        return code;
    field = &writer->columns.fields[writer->value++];
    size = field->blob ? 1 : (int64_t)sb_dtype_size(field->dtype);
    if (array->data_size / size > SEGMENT_MOST)
        return fail_too_large(writer, field, err);
    if (!field->blob)
        code = add_shape(writer, field->shape, array, err);
    writer->in_value = true;
    writer->left = array->data_size;
    return code;
}

enum sb_code sb_cache_writer_write(struct sb_cache_writer *writer, const void *data, size_t size,
                                   struct sb_error *err)
{
    const struct sb_cache_field *field = &writer->columns.fields[writer->value - 1];

    writer->left -= (int64_t)size;
    writer->row_bytes += (int64_t)size;
    return sb_arrow_writer_add(writer->segment, field->data, data, size, err);
}

static bool is_foreign(const struct sb_cache_writer *writer)
{
    size_t title = strlen(writer->title);

    return writer->key.size <= title || memcmp(writer->key.data, writer->title, title) != 0 ||
           writer->key.data[title] != ':';
}

enum sb_code sb_cache_writer_end_row(struct sb_cache_writer *writer, struct sb_error *err)
{
    struct sb_pickle_entry entry = {
        .key = writer->key.data,
        .key_size = writer->key.size,
        .segment = writer->base + writer->written,
        .row = sb_arrow_writer_rows(writer->segment),
    };
    enum sb_code code = end_value(writer, err);

    if (code)
        return code;
    sb_arrow_writer_end_row(writer->segment);
    writer->in_row = false;
    writer->segment_bytes += writer->row_bytes + (int64_t)writer->key.size;
    writer->counts.rows++;
    writer->counts.foreign_keys += is_foreign(writer);
    writer->counts.bytes += writer->row_bytes;
    return sb_pickle_index_add(&writer->index, &entry, err);
}

void sb_cache_writer_drop_row(struct sb_cache_writer *writer)
{
    if (writer->in_row)
        sb_arrow_writer_cut(writer->segment);
    writer->in_row = writer->in_value = false;
}

/* The whole */

static enum sb_code begin_index(struct sb_cache_writer *writer, struct sb_error *err)
{
    struct sb_buf path = {0};
    enum sb_code code;

    if (writer->existing) {
        code = sb_temp_file(&writer->index_fd, writer->path, err);
    } else {
        code = sb_cache_join(&path, writer->work.data, "index.pkl", err);
        if (!code)
            code = sb_cache_create_file(&writer->index_fd, path.data, err);
    }
    sb_buf_release(&path);
    if (!code)
        code = sb_outbuf_begin(&writer->index_out, writer->index_fd, writer->name, true, 0, err);
    return code ? code : sb_pickle_index_begin(&writer->index, put_block, &writer->index_out, err);
}

static void set_options(struct sb_cache_writer *writer,
                        const struct sb_cache_writer_options *options)
{
    writer->options = *options;
    if (options->segment_size <= 0)
        writer->options.segment_size = SEGMENT_SIZE;
    if (options->segment_size > SEGMENT_MOST)
        writer->options.segment_size = SEGMENT_MOST;
    if (options->segment_rows <= 0)
        writer->options.segment_rows = SEGMENT_ROWS;
}

enum sb_code sb_cache_writer_open(struct sb_cache_writer **out,
                                  const struct sb_cache_writer_options *options,
                                  struct sb_error *err)
{
    struct sb_cache_writer *writer = calloc(1, sizeof(*writer));
    enum sb_code code;

    *out = NULL;
    if (!writer)
        return sb_fail_memory(err);
    writer->index_fd = writer->lock.fd = -1;
    set_options(writer, options);
    writer->name = strdup(options->path);
    code = writer->name ? sb_cache_writer_prepare(writer, err) : sb_fail_memory(err);
    if (!code)
        code = begin_index(writer, err);
    if (code)
        sb_cache_writer_free(writer);
    else
        *out = writer;
    return code;
}

struct sb_cache_writer_counts sb_cache_writer_counts(const struct sb_cache_writer *writer)
{
    struct sb_cache_writer_counts counts = writer->counts;
    bool open = writer->segment && sb_arrow_writer_rows(writer->segment) > 0;

    counts.segments = writer->written + open;
    return counts;
}

/* Segments that were to be added, by the names that they have. */
static void remove_segments(const struct sb_cache_writer *writer)
{
    struct sb_buf path = {0};
    struct sb_error ignored;

    for (int64_t i = writer->written; i > 0; i--) {
        if (sb_cache_new_segment_name(writer, i - 1, i <= writer->renamed, &path, &ignored) ==
            SB_OK)
            unlink(path.data);
    }
    sb_buf_release(&path);
}

static void undo(struct sb_cache_writer *writer)
{
    struct sb_error ignored;

    if (writer->done)
        return;
    if (writer->existing)
        remove_segments(writer);
    else if (writer->made) /* What is left the next run removes. */
        (void)!sb_cache_remove_all(writer->work.data, &ignored);
}

void sb_cache_writer_free(struct sb_cache_writer *writer)
{
    if (!writer)
        return;
    undo(writer);
    sb_arrow_writer_free(writer->segment);
    sb_outbuf_release(&writer->index_out);
    if (writer->index_fd >= 0)
        close(writer->index_fd);
    sb_cache_columns_release(&writer->columns);
    sb_out_lock_drop(&writer->lock);
    sb_buf_release(&writer->work);
    sb_buf_release(&writer->tensor_keys);
    sb_buf_release(&writer->key);
    free(writer->numbers);
    free(writer->path);
    free(writer->name);
    free(writer);
}
