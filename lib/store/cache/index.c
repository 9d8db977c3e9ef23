#include "store/cache/index.h"

#include "core/io.h"
#include "store/cache/names.h"
#include "store/out/out_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct index_writer {
    struct sb_cache *cache;
    const char *dir;
    struct sb_cache_index index;
    int64_t *numbers; /* of the segments, in the order of the cache */
    uint32_t segments;
};

void sb_cache_index_release(struct sb_cache_index *index)
{
    sb_outfile_free(index->file);
    free(index->path);
}

static enum sb_code put(void *file, const void *data, size_t size)
{
    return sb_outfile_write(file, data, size);
}

enum sb_code sb_cache_index_begin(struct sb_cache_index *index, const char *dir)
{
    struct sb_stream_sink_options options = {.force = true};

    *index = (struct sb_cache_index){0};
    if (asprintf(&index->path, "%s/index.pkl", dir) < 0) {
        index->path = NULL;
        return sb_fail_memory();
    }
    index->existing = stat(index->path, &index->before) == 0;
    if (!index->existing && errno != ENOENT)
        return sb_fail_errno(errno, "%s", index->path);
    if (index->existing && !S_ISREG(index->before.st_mode))
        return sb_fail(SB_EXISTS, "%s: is not a regular file; remove it", index->path);
    options.path = index->path;
    options.like = index->existing ? &index->before : NULL;
    TRY(sb_outfile_open(&index->file, &options));
    return sb_pickle_index_begin(&index->entries, put, index->file);
}

enum sb_code sb_cache_index_commit(struct sb_cache_index *index, bool *done)
{
    enum sb_code code = sb_pickle_index_end(&index->entries);

    if (!code)
        code = sb_outfile_commit(index->file);
    *done = sb_outfile_is_done(index->file);
    return code;
}

static enum sb_code note_segments(struct index_writer *writer)
{
    struct sb_cache_segment segment;

    writer->segments = sb_cache_segment_count(writer->cache);
    TRY(SB_NEW_ARRAY(&writer->numbers, (size_t)writer->segments + 1));
    for (uint32_t i = 0; i < writer->segments; i++) {
        TRY(sb_cache_segment(writer->cache, i, &segment));
        writer->numbers[i] = segment.number;
        /* Who may not read it does not know that its keys are lost. */
        if (segment.damaged && access(segment.path, R_OK))
            return sb_fail_errno(
                errno, "%s: cannot be read, and index.pkl would be without its keys", segment.path);
    }
    return SB_OK;
}

static enum sb_code add_rows(struct index_writer *writer)
{
    struct sb_pickle_entry entry;
    struct sb_cache_row row;
    enum sb_code code = SB_OK;

    sb_cache_rewind(writer->cache);
    while (!(code = sb_cache_next(writer->cache, &row))) {
        if (row.superseded)
            continue;
        entry = (struct sb_pickle_entry){.key = row.key.text,
                                         .key_size = row.key.size,
                                         .segment = writer->numbers[row.place.segment],
                                         .row = row.place.row};
        TRY(sb_pickle_index_add(&writer->index.entries, &entry));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code changed(const struct index_writer *writer)
{
    return sb_fail(SB_CHANGED,
                   "%s: is being written to, and its index.pkl was left alone; try again when its "
                   "job has ended",
                   writer->dir);
}

/* What a job has written since the cache was opened is newer than what would replace it. */
static enum sb_code look_again(struct index_writer *writer)
{
    const struct stat *before = &writer->index.before;
    struct stat now;
    bool existing = stat(writer->index.path, &now) == 0;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(closedirp) DIR *dir = NULL;
    struct dirent *entry;
    uint32_t count = 0;
    int64_t number;

    if (existing != writer->index.existing ||
        (existing && (now.st_ino != before->st_ino || now.st_size != before->st_size ||
                      now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
                      now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)))
        return changed(writer);
    /* Are there as many segments as the cache has? Their numbers only grow. */
    TRY(sb_buf_add_format(&path, "%s/segments", writer->dir));
    dir = opendir(path.data);
    if (!dir)
        return sb_fail_errno(errno, "%s", path.data);
    while (errno = 0, (entry = readdir(dir)))
        count += sb_cache_segment_number(entry->d_name, &number);
    if (errno)
        return sb_fail_errno(errno, "%s", path.data);
    return count == writer->segments ? SB_OK : changed(writer);
}

static void release_writer(struct index_writer *writer)
{
    sb_cache_index_release(&writer->index);
    free(writer->numbers);
}

enum sb_code sb_cache_write_index(struct sb_cache *cache, const char *dir, bool *done)
{
    CLEANUP(release_writer) struct index_writer writer = {.cache = cache, .dir = dir};

    *done = false;
    TRY(sb_cache_index_begin(&writer.index, dir));
    TRY(note_segments(&writer));
    TRY(add_rows(&writer));
    TRY(look_again(&writer));
    return sb_cache_index_commit(&writer.index, done);
}
