#include "store/cache/writer_private.h"

#include "core/array.h"
#include "core/file.h"
#include "core/io.h"
#include "core/little_endian.h"
#include "core/mapping.h"
#include "core/name.h"
#include "store/out/lock.h"
#include "store/out/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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

/* The rows so far become a segment, if there are any. */
static enum sb_code finish_segment(struct sb_cache_writer *writer)
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

    TRY(sb_cache_schema_pair(layout, &writer->tensor_keys, &writer->pair, &schema.pair_count));
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
        TRY(finish_segment(writer));
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
    CLEANUP(sb_cache_writer_freep) struct sb_cache_writer *writer = NULL;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    *out = NULL;
    TRY(SB_NEW(&writer));
    writer->index_fd = writer->lock.fd = -1;
    writer->options = *options;
    if (options->segment_size <= 0)
        writer->options.segment_size = SEGMENT_SIZE;
    if (options->segment_size > SEGMENT_MOST)
        writer->options.segment_size = SEGMENT_MOST;
    if (options->segment_rows <= 0)
        writer->options.segment_rows = SEGMENT_ROWS;
    TRY(sb_copy_text(&writer->name, options->path));
    TRY(sb_cache_writer_prepare(writer));
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

/* The commit: schema.json */

/* Of a cache that is added to, where it has none. */
static enum sb_code write_schema(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0}, text = {0};

    TRY(sb_cache_join(&path, writer->work.data, "schema.json"));
    if (!writer->columns.known || access(path.data, F_OK) == 0)
        return SB_OK;
    TRY(sb_cache_schema_text(&writer->columns, &text));
    return sb_outfile_put(&(struct sb_stream_sink_options){.path = path.data, .force = true},
                          text.data, text.size);
}

/* The directories of what is written in: of its segments, and its own. */
static enum sb_code sync_directories(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    TRY(sb_cache_new_segment_name(writer, 0, true, &path));
    TRY(sb_sync_directory_of(path.data));
    TRY(sb_cache_join(&path, writer->work.data, "index.pkl"));
    return sb_sync_directory_of(path.data);
}

/* All entries have come: they are in the file. */
static enum sb_code end_index(struct sb_cache_writer *writer)
{
    TRY(sb_pickle_index_end(&writer->index));
    return sb_outbuf_flush(&writer->index_out);
}

/* The index of a cache that was added to */

/* From the segments; it maps all of them. */
static enum sb_code rebuild(struct sb_cache_writer *writer)
{
    const char *path = writer->path;
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;

    TRY(sb_cache_open(&cache, &path, 1, writer->options.notify));
    return sb_cache_write_index(cache, path, &writer->done);
}

/* From the existing index, and that of the new rows */

struct merge {
    const struct sb_cache_writer *writer;
    struct sb_pickle_writer *index;
    bool *seen; /* of writer->numbers; NULL: of new rows, which are not looked at */
    size_t last;
};

static enum sb_code merge_entry(void *context, const struct sb_pickle_entry *entry)
{
    struct merge *merge = context;
    const int64_t *numbers = merge->writer->numbers;
    size_t count = merge->writer->number_count;

    if (merge->seen) {
        if (merge->last == count || numbers[merge->last] != entry->segment)
            merge->last = FIRST_WHERE(i, count, numbers[i] >= entry->segment);
        if (merge->last == count || numbers[merge->last] != entry->segment)
            return sb_fail(SB_FORMAT, "names a segment that is not there");
        merge->seen[merge->last] = true;
    }
    return sb_pickle_index_add(merge->index, entry);
}

static enum sb_code merge_mapped(struct merge *merge, const struct sb_mapping *mapping)
{
    TRY(sb_pickle_index_read(mapping->data, (size_t)mapping->size, merge_entry, merge));
    return sb_mapping_check(mapping);
}

static enum sb_code merge_old(struct merge *merge, const char *path)
{
    size_t count = merge->writer->number_count;
    CLEANUP(sb_freep) bool *seen = NULL;
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    enum sb_code code = sb_file_map_path(&mapping, path);

    if (code)
        return code == SB_NOENT && count == 0 ? SB_OK : code;
    TRY(SB_NEW_ARRAY(&seen, count + 1));
    merge->seen = seen;
    code = merge_mapped(merge, mapping);
    merge->seen = NULL;
    TRY(code);
    for (size_t i = 0; i < count; i++) {
        if (!seen[i])
            return sb_fail(SB_FORMAT, "%s: does not know every segment", path);
    }
    return SB_OK;
}

/* The index, and that of the new rows, become one, or it is made from the segments where it does
 * not suit them. Atomically: the writer is `done` at that moment. */
static enum sb_code extend_index(struct sb_cache_writer *writer)
{
    struct sb_cache_index new;
    struct merge merge = {.writer = writer, .index = &new.entries};
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    bool useless = false;
    enum sb_code code = sb_cache_index_begin(&new, writer->path);

    if (!code) {
        code = merge_old(&merge, new.path.data);
        /* It does not suit the segments, or cannot be read. */
        useless = code == SB_FORMAT || code == SB_DAMAGED || code == SB_NOENT || code == SB_LIMIT ||
                  (code == SB_SYSTEM && sb_error()->sys_errno == EACCES);
    }
    if (!code)
        code = end_index(writer);
    if (!code)
        code = sb_mapping_open(&mapping, writer->index_fd, writer->name);
    if (!code)
        code = merge_mapped(&merge, mapping);
    if (!code)
        code = sb_cache_index_commit(&new, &writer->done);
    sb_cache_index_release(&new);
    return useless ? rebuild(writer) : code;
}

/* Adding */

static enum sb_code rename_segments(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf from = {0}, to = {0};

    for (; writer->renamed < writer->written; writer->renamed++) {
        TRY(sb_cache_new_segment_name(writer, writer->renamed, false, &from));
        TRY(sb_cache_new_segment_name(writer, writer->renamed, true, &to));
        TRY(sb_rename_new(from.data, to.data));
    }
    return SB_OK;
}

/* Once index.pkl is there nothing is undone, whatever fails: it names the segments. */
static enum sb_code commit_existing(struct sb_cache_writer *writer)
{
    TRY(write_schema(writer));
    TRY(rename_segments(writer));
    if (writer->written > 0) {
        TRY(sync_directories(writer));
        TRY(extend_index(writer));
    }
    writer->done = true;
    return sync_directories(writer);
}

/* A new one */

static enum sb_code exchange_in_steps(const struct sb_cache_writer *writer, const char *old)
{
    enum sb_code code;

    TRY(sb_rename_new(writer->path, old));
    code = sb_rename_new(writer->work.data, writer->path);
    /* Where it cannot be put back, the next run does it. */
    if (code)
        (void)!IGNORED(sb_rename_new(old, writer->path));
    return code;
}

/* Replaces old by the name that the old one then has. */
static enum sb_code exchange(const struct sb_cache_writer *writer, struct sb_buf *old)
{
    TRY(sb_buf_set(old, writer->work.data, writer->work.size));
    if (renameat2(AT_FDCWD, writer->work.data, AT_FDCWD, writer->path, RENAME_EXCHANGE) == 0)
        return SB_OK;
    if (errno != EINVAL && errno != ENOSYS)
        return sb_fail_errno(errno, "%s: cannot be replaced", writer->name);
    TRY(sb_out_hide(writer->path, SB_CACHE_OLD_SUFFIX, old));
    return exchange_in_steps(writer, old->data);
}

static enum sb_code replace(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf old = {0};
    struct sb_error why;

    TRY(sb_cache_vet(writer)); /* something may have come meanwhile */
    TRY(exchange(writer, &old));
    writer->done = true;
    TRY(sb_sync_directory_of(writer->path));
    if (INTO(&why, sb_cache_remove_all(old.data)))
        sb_report(writer->options.notify, SB_WARNING, "left", writer->name,
                  "is replaced, but what it was is still there: %s", why.text);
    return SB_OK;
}

static enum sb_code commit_new(struct sb_cache_writer *writer)
{
    TRY(write_schema(writer));
    TRY(end_index(writer));
    TRY(sb_fsync(writer->index_fd, writer->name));
    TRY(sync_directories(writer));
    if (writer->replaces)
        return replace(writer);
    TRY(sb_rename_new(writer->work.data, writer->path));
    writer->done = true;
    return sb_sync_directory_of(writer->path);
}

enum sb_code sb_cache_writer_commit(struct sb_cache_writer *writer)
{
    TRY(finish_segment(writer));
    if (writer->counts.foreign_keys > 0)
        sb_report(writer->options.notify, SB_WARNING, "key", writer->name,
                  "keys that do not begin with '%s:', and which a cache of that name does not look "
                  "for: %" PRId64 "; 'convert --key-prefix=%s:' puts it before all",
                  writer->title, writer->counts.foreign_keys, writer->title);
    return writer->existing ? commit_existing(writer) : commit_new(writer);
}
