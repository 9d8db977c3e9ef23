#include "store/cache/writer_private.h"

#include "core/array.h"
#include "core/file.h"
#include "core/mapping.h"
#include "store/cache/index.h"

#include <errno.h>
#include <stdlib.h>

enum sb_code sb_cache_end_index(struct sb_cache_writer *writer)
{
    TRY(sb_pickle_index_end(&writer->index));
    return sb_outbuf_flush(&writer->index_out);
}

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

static bool find_number(struct merge *merge, int64_t number)
{
    const int64_t *numbers = merge->writer->numbers;
    size_t count = merge->writer->number_count;

    if (merge->last < count && numbers[merge->last] == number)
        return true;
    merge->last = FIRST_WHERE(i, count, numbers[i] >= number);
    return merge->last < count && numbers[merge->last] == number;
}

static enum sb_code merge_entry(void *context, const struct sb_pickle_entry *entry)
{
    struct merge *merge = context;

    if (merge->seen) {
        if (!find_number(merge, entry->segment))
            return sb_fail(SB_FORMAT, "names a segment that is not there");
        merge->seen[merge->last] = true;
    }
    return sb_pickle_index_add(merge->index, entry);
}

/* Which is freed. */
static enum sb_code merge_mapped(struct merge *merge, struct sb_mapping *mapping)
{
    enum sb_code code =
        sb_pickle_index_read(mapping->data, (size_t)mapping->size, merge_entry, merge);

    if (!code)
        code = sb_mapping_check(mapping);
    sb_mapping_free(mapping);
    return code;
}

static enum sb_code merge_old(struct merge *merge, const char *path)
{
    size_t count = merge->writer->number_count;
    struct sb_mapping *mapping;
    enum sb_code code = sb_file_map_path(&mapping, path);

    if (code)
        return code == SB_NOENT && count == 0 ? SB_OK : code;
    merge->seen = calloc(count + 1, sizeof(*merge->seen));
    if (!merge->seen) {
        sb_mapping_free(mapping);
        return sb_fail_memory();
    }
    code = merge_mapped(merge, mapping);
    for (size_t i = 0; !code && i < count; i++) {
        if (!merge->seen[i])
            code = sb_fail(SB_FORMAT, "%s: does not know every segment", path);
    }
    free(merge->seen);
    merge->seen = NULL;
    return code;
}

/* Does it not suit the segments, or cannot be read? */
static bool is_useless(enum sb_code code)
{
    return code == SB_FORMAT || code == SB_DAMAGED || code == SB_NOENT || code == SB_LIMIT ||
           (code == SB_SYSTEM && sb_error()->sys_errno == EACCES);
}

enum sb_code sb_cache_extend_index(struct sb_cache_writer *writer)
{
    struct sb_cache_index new;
    struct merge merge = {.writer = writer, .index = &new.entries};
    struct sb_mapping *mapping;
    bool useless = false;
    enum sb_code code = sb_cache_index_begin(&new, writer->path);

    if (!code) {
        code = merge_old(&merge, new.path);
        useless = is_useless(code);
    }
    if (!code)
        code = sb_cache_end_index(writer);
    if (!code)
        code = sb_mapping_open(&mapping, writer->index_fd, writer->name);
    if (!code)
        code = merge_mapped(&merge, mapping);
    if (!code)
        code = sb_cache_index_commit(&new, &writer->done);
    sb_cache_index_release(&new);
    return useless ? rebuild(writer) : code;
}
