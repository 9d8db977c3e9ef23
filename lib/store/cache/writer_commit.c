#include "store/cache/writer_private.h"

#include "core/array.h"
#include "core/file.h"
#include "core/io.h"
#include "core/mapping.h"
#include "store/cache/index.h"
#include "store/out/out_file.h"
#include "store/out/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* schema.json */

/* Of a cache that is added to, where it has none. */
static enum sb_code write_schema(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0}, text = {0};

    TRY(sb_cache_join(&path, writer->work.data, "schema.json"));
    if (!writer->columns.known || access(path.data, F_OK) == 0)
        return SB_OK;
    if (sb_cache_schema_text(&writer->columns, &text))
        return sb_fail_memory();
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
    merge->seen = seen = calloc(count + 1, sizeof(*seen));
    if (!seen)
        return sb_fail_memory();
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
        code = merge_old(&merge, new.path);
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
    TRY(sb_cache_finish_segment(writer));
    if (writer->counts.foreign_keys > 0)
        sb_report(writer->options.notify, SB_WARNING, "key", writer->name,
                  "keys that do not begin with '%s:', and which a cache of that name does not look "
                  "for: %" PRId64 "; 'convert --key-prefix=%s:' puts it before all",
                  writer->title, writer->counts.foreign_keys, writer->title);
    return writer->existing ? commit_existing(writer) : commit_new(writer);
}
