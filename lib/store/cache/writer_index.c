#include "store/cache/writer_private.h"

#include "core/file.h"
#include "core/io.h"
#include "core/mapping.h"
#include "store/cache/index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_BYTES ((size_t)32 << 10)

static enum sb_code write_text(struct sb_cache_pickle *index, struct sb_error *err)
{
    enum sb_code code = sb_outbuf_write(&index->out, index->text.data, index->text.size, err);

    sb_buf_clear(&index->text);
    return code;
}

enum sb_code sb_cache_pickle_begin(struct sb_cache_pickle *index, int fd, const char *name,
                                   struct sb_error *err)
{
    enum sb_code code;

    index->fd = fd;
    code = sb_outbuf_begin(&index->out, fd, name, true, 0, err);
    if (code)
        return code;
    return sb_pickle_index_begin(&index->pickle, &index->text) ? sb_fail_memory(err) : SB_OK;
}

enum sb_code sb_cache_pickle_add(struct sb_cache_pickle *index, const struct sb_pickle_entry *entry,
                                 struct sb_error *err)
{
    if (sb_pickle_index_add(&index->pickle, &index->text, entry))
        return sb_fail_memory(err);
    return index->text.size < TEXT_BYTES ? SB_OK : write_text(index, err);
}

enum sb_code sb_cache_pickle_end(struct sb_cache_pickle *index, struct sb_error *err)
{
    enum sb_code code;

    if (sb_pickle_index_end(&index->pickle, &index->text))
        return sb_fail_memory(err);
    code = write_text(index, err);
    return code ? code : sb_outbuf_flush(&index->out, err);
}

void sb_cache_pickle_release(struct sb_cache_pickle *index)
{
    if (index->fd >= 0)
        close(index->fd);
    sb_outbuf_release(&index->out);
    sb_buf_release(&index->text);
    *index = (struct sb_cache_pickle){.fd = -1};
}

/* A file that replaces index.pkl */

struct replacement {
    struct sb_cache_pickle index;
    struct sb_buf path;
    struct sb_buf temporary;
};

static enum sb_code begin_replacement(struct replacement *new, const char *dir,
                                      struct sb_error *err)
{
    enum sb_code code;
    int fd;

    *new = (struct replacement){.index.fd = -1};
    code = sb_cache_join(&new->path, dir, "index.pkl", err);
    if (!code)
        code = sb_cache_join(&new->temporary, dir, "index.pkl" SB_CACHE_TEMPORARY, err);
    if (!code)
        code = sb_cache_create_file(&fd, new->temporary.data, err);
    return code ? code : sb_cache_pickle_begin(&new->index, fd, new->temporary.data, err);
}

/* The job that the cache belongs to reads it as its own user. */
static void take_owner_and_mode(const struct replacement *new)
{
    int fd = new->index.fd;
    struct stat st;

    if (stat(new->path.data, &st) || !S_ISREG(st.st_mode))
        return;
    if (st.st_uid != geteuid())
        (void)!fchown(fd, st.st_uid, st.st_gid);
    (void)!fchmod(fd, st.st_mode & 0777);
}

static enum sb_code commit_replacement(struct replacement *new, struct sb_error *err)
{
    enum sb_code code = sb_cache_pickle_end(&new->index, err);

    take_owner_and_mode(new);
    if (!code)
        code = sb_fsync(new->index.fd, new->temporary.data, err);
    if (!code)
        code = sb_rename(new->temporary.data, new->path.data, err);
    return code;
}

static enum sb_code end_replacement(struct replacement *new, enum sb_code code)
{
    if (code && new->index.fd >= 0)
        unlink(new->temporary.data);
    sb_cache_pickle_release(&new->index);
    sb_buf_release(&new->path);
    sb_buf_release(&new->temporary);
    return code;
}

/* From the segments, all of which it maps. */
static enum sb_code rebuild(const struct sb_cache_writer *writer, struct sb_error *err)
{
    const char *path = writer->path;
    struct sb_cache *cache = NULL;
    enum sb_code code = sb_cache_open(&cache, &path, 1, writer->options.notify, err);

    if (!code)
        code = sb_cache_write_index(cache, path, err);
    sb_cache_free(cache);
    return code;
}

/* From the index that stands, and that of the new rows */

struct merge {
    const struct sb_cache_writer *writer;
    struct sb_cache_pickle *index;
    bool *seen; /* of writer->numbers; NULL: of new rows, which are not looked at */
    size_t last;
};

static bool find_number(struct merge *merge, int64_t number)
{
    const int64_t *numbers = merge->writer->numbers;
    size_t low = 0, high = merge->writer->number_count;

    if (merge->last < high && numbers[merge->last] == number)
        return true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    merge->last = low;
    return low < merge->writer->number_count && numbers[low] == number;
}

static enum sb_code merge_entry(void *context, const struct sb_pickle_entry *entry,
                                struct sb_error *err)
{
    struct merge *merge = context;

    if (merge->seen) {
        if (!find_number(merge, entry->segment))
            return sb_fail(err, SB_FORMAT, "names a segment that is not there");
        merge->seen[merge->last] = true;
    }
    return sb_cache_pickle_add(merge->index, entry, err);
}

/* Which is freed. */
static enum sb_code merge_mapped(struct merge *merge, struct sb_mapping *mapping,
                                 struct sb_error *err)
{
    enum sb_code code =
        sb_pickle_index_read(mapping->data, (size_t)mapping->size, merge_entry, merge, err);

    if (!code)
        code = sb_mapping_check(mapping, err);
    sb_mapping_free(mapping);
    return code;
}

static enum sb_code merge_old(struct merge *merge, const char *path, struct sb_error *err)
{
    size_t count = merge->writer->number_count;
    struct sb_mapping *mapping;
    enum sb_code code = sb_file_map_path(&mapping, path, err);

    if (code)
        return code == SB_NOENT && count == 0 ? SB_OK : code;
    merge->seen = calloc(count + 1, sizeof(*merge->seen));
    if (!merge->seen) {
        sb_mapping_free(mapping);
        return sb_fail_memory(err);
    }
    code = merge_mapped(merge, mapping, err);
    for (size_t i = 0; !code && i < count; i++) {
        if (!merge->seen[i])
            code = sb_fail(err, SB_FORMAT, "%s: does not know every segment", path);
    }
    free(merge->seen);
    merge->seen = NULL;
    return code;
}

/* Does it not suit the segments, or cannot be read? */
static bool is_useless(enum sb_code code, const struct sb_error *err)
{
    return code == SB_FORMAT || code == SB_DAMAGED || code == SB_NOENT || code == SB_LIMIT ||
           (code == SB_SYSTEM && err->sys_errno == EACCES);
}

enum sb_code sb_cache_extend_index(struct sb_cache_writer *writer, struct sb_error *err)
{
    struct replacement new;
    struct merge merge = {.writer = writer, .index = &new.index};
    struct sb_mapping *mapping;
    bool useless = false;
    enum sb_code code = begin_replacement(&new, writer->path, err);

    if (!code) {
        code = merge_old(&merge, new.path.data, err);
        useless = is_useless(code, err);
    }
    if (!code)
        code = sb_cache_pickle_end(&writer->index, err);
    if (!code)
        code = sb_mapping_open(&mapping, writer->index.fd, writer->name, err);
    if (!code)
        code = merge_mapped(&merge, mapping, err);
    if (!code)
        code = commit_replacement(&new, err);
    code = end_replacement(&new, code);
    return useless ? rebuild(writer, err) : code;
}
