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

static enum sb_code put_block(void *context, const void *data, size_t size)
{
    return sb_outbuf_write(context, data, size);
}

enum sb_code sb_cache_finish_segment(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_closep) int fd = -1;
    CLEANUP(sb_outbuf_release) struct sb_outbuf out = {0};

    if (!writer->segment || sb_arrow_writer_rows(writer->segment) == 0)
        return SB_OK;
    TRY(sb_cache_new_segment_name(writer, writer->written, false, &path));
    TRY(sb_cache_create_file(&fd, path.data));
    writer->written++;
    writer->segment_bytes = 0;
    TRY(sb_outbuf_begin(&out, fd, path.data, true, 0));
    TRY(sb_arrow_writer_finish(writer->segment, put_block, &out));
    TRY(sb_outbuf_flush(&out));
    return sb_fsync(fd, path.data);
}

static enum sb_code begin_segments(struct sb_cache_writer *writer)
{
    const struct sb_cache_columns *layout = &writer->columns;
    struct sb_arrow_schema schema = {
        .columns = layout->columns,
        .column_count = layout->column_count,
        .pairs = &writer->pair,
        .beside = writer->path,
    };

    if (sb_cache_schema_pair(layout, &writer->tensor_keys, &writer->pair, &schema.pair_count))
        return sb_fail_memory();
    return sb_arrow_writer_new(&writer->segment, &schema);
}

/* Does the row belong into another one? */
static bool is_full(const struct sb_cache_writer *writer, int64_t bytes)
{
    int64_t rows = sb_arrow_writer_rows(writer->segment);

    return rows >= writer->options.segment_rows ||
           (rows > 0 && bytes > writer->options.segment_size - writer->segment_bytes);
}

/* Rows */

enum sb_code sb_cache_writer_begin_row(struct sb_cache_writer *writer,
                                       const struct sb_cache_form *form,
                                       const struct sb_row_key *key, int64_t bytes,
                                       const size_t **order)
{
    TRY(sb_buf_set(&writer->key, key->text, key->size));
    if (!sb_is_utf8(key->text, key->size))
        return sb_fail(SB_INVALID, "%s: is not UTF-8, which a key of a cache must be; rename it",
                       writer->key.data);
    if (!writer->columns.known)
        TRY(sb_cache_columns_set(&writer->columns, form, writer->key.data));
    TRY(sb_cache_columns_arrange(&writer->columns, form, writer->key.data));
    if (!writer->segment)
        TRY(begin_segments(writer));
    if (is_full(writer, bytes + (int64_t)key->size))
        TRY(sb_cache_finish_segment(writer));
    writer->in_row = true;
    writer->in_value = false;
    writer->value = 0;
    writer->row_bytes = 0;
    *order = writer->columns.order;
    TRY(sb_arrow_writer_add(writer->segment, 0, key->text, key->size));
    return sb_arrow_writer_end_value(writer->segment, 0);
}

static enum sb_code end_value(struct sb_cache_writer *writer)
{
    if (!writer->in_value)
        return SB_OK;
    writer->in_value = false;
    if (writer->left != 0)
        return sb_fail(SB_CHANGED, "%s: '%s' has not as many bytes as its shape says",
                       writer->key.data, writer->columns.fields[writer->value - 1].name);
    return sb_arrow_writer_end_value(writer->segment,
                                     writer->columns.fields[writer->value - 1].data);
}

static enum sb_code add_shape(struct sb_cache_writer *writer, size_t column,
                              const struct sb_npy *array)
{
    uint8_t number[sizeof(uint64_t)];

    for (size_t i = 0; i < array->dims; i++) {
        sb_put_u64(number, (uint64_t)array->shape[i]);
        TRY(sb_arrow_writer_add(writer->segment, column, number, sizeof(number)));
    }
    return sb_arrow_writer_end_value(writer->segment, column);
}

enum sb_code sb_cache_writer_value(struct sb_cache_writer *writer, const struct sb_npy *array)
{
    const struct sb_cache_field *field;
    int64_t size;

    TRY(end_value(writer));
    field = &writer->columns.fields[writer->value++];
    size = field->blob ? 1 : (int64_t)sb_dtype_size(field->dtype);
    if (array->data_size / size > SEGMENT_MOST)
        return sb_fail(
            SB_LIMIT, "%s: '%s' has more than the %d %s that a cache can hold; cut it into pieces",
            writer->key.data, field->name, SEGMENT_MOST, field->blob ? "bytes" : "values");
    writer->in_value = true;
    writer->left = array->data_size;
    return field->blob ? SB_OK : add_shape(writer, field->shape, array);
}

enum sb_code sb_cache_writer_write(struct sb_cache_writer *writer, const void *data, size_t size)
{
    const struct sb_cache_field *field = &writer->columns.fields[writer->value - 1];

    writer->left -= (int64_t)size;
    writer->row_bytes += (int64_t)size;
    return sb_arrow_writer_add(writer->segment, field->data, data, size);
}

static bool is_foreign(const struct sb_cache_writer *writer)
{
    size_t title = strlen(writer->title);

    return writer->key.size <= title || memcmp(writer->key.data, writer->title, title) != 0 ||
           writer->key.data[title] != ':';
}

enum sb_code sb_cache_writer_end_row(struct sb_cache_writer *writer)
{
    struct sb_pickle_entry entry = {
        .key = writer->key.data,
        .key_size = writer->key.size,
        .segment = writer->base + writer->written,
        .row = sb_arrow_writer_rows(writer->segment),
    };

    TRY(end_value(writer));
    sb_arrow_writer_end_row(writer->segment);
    writer->in_row = false;
    writer->segment_bytes += writer->row_bytes + (int64_t)writer->key.size;
    writer->counts.rows++;
    writer->counts.foreign_keys += is_foreign(writer);
    writer->counts.bytes += writer->row_bytes;
    return sb_pickle_index_add(&writer->index, &entry);
}

void sb_cache_writer_drop_row(struct sb_cache_writer *writer)
{
    if (writer->in_row)
        sb_arrow_writer_cut(writer->segment);
    writer->in_row = writer->in_value = false;
}

/* The whole */

enum sb_code sb_cache_writer_open(struct sb_cache_writer **out,
                                  const struct sb_cache_writer_options *options)
{
    CLEANUP(sb_cache_writer_freep) struct sb_cache_writer *writer = calloc(1, sizeof(*writer));
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    *out = NULL;
    if (!writer)
        return sb_fail_memory();
    writer->index_fd = writer->lock.fd = -1;
    writer->options = *options;
    if (options->segment_size <= 0)
        writer->options.segment_size = SEGMENT_SIZE;
    if (options->segment_size > SEGMENT_MOST)
        writer->options.segment_size = SEGMENT_MOST;
    if (options->segment_rows <= 0)
        writer->options.segment_rows = SEGMENT_ROWS;
    writer->name = strdup(options->path);
    TRY(writer->name ? sb_cache_writer_prepare(writer) : sb_fail_memory());
    if (writer->existing) {
        TRY(sb_temp_file(&writer->index_fd, writer->path));
    } else {
        TRY(sb_cache_join(&path, writer->work.data, "index.pkl"));
        TRY(sb_cache_create_file(&writer->index_fd, path.data));
    }
    TRY(sb_outbuf_begin(&writer->index_out, writer->index_fd, writer->name, true, 0));
    TRY(sb_pickle_index_begin(&writer->index, put_block, &writer->index_out));
    *out = TAKE(writer);
    return SB_OK;
}

struct sb_cache_writer_counts sb_cache_writer_counts(const struct sb_cache_writer *writer)
{
    struct sb_cache_writer_counts counts = writer->counts;
    bool open = writer->segment && sb_arrow_writer_rows(writer->segment) > 0;

    counts.segments = writer->written + open;
    return counts;
}

static void undo(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    if (writer->done)
        return;
    if (!writer->existing && writer->made) /* What is left the next run removes. */
        (void)!IGNORED(sb_cache_remove_all(writer->work.data));
    /* Segments that were to be added, by the names that they have. */
    for (int64_t i = writer->existing ? writer->written : 0; i > 0; i--) {
        if (IGNORED(sb_cache_new_segment_name(writer, i - 1, i <= writer->renamed, &path)) == SB_OK)
            unlink(path.data);
    }
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
