#include "store/cache/index.h"

#include "core/interrupt.h"
#include "store/cache/names.h"
#include "store/cache/pickle_index.h"
#include "store/out/out_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 20) /* bytes of a pickle that are written at once */

struct index_writer {
    struct sb_cache *cache;
    const char *dir;
    struct sb_buf path;
    struct stat before; /* of what stands there */
    bool standing;
    struct sb_outfile *file;
    struct sb_pickle_writer pickle;
    struct sb_buf out;
    int64_t *numbers; /* of the segments, in the order of the cache */
    uint32_t segments;
};

static void release(struct index_writer *writer)
{
    sb_outfile_free(writer->file);
    sb_buf_release(&writer->path);
    sb_buf_release(&writer->out);
    free(writer->numbers);
}

/* What stands there is replaced if it is a regular file, with its mode. */
static enum sb_code look_at_standing(struct index_writer *writer, struct sb_error *err)
{
    if (sb_buf_add_format(&writer->path, "%s/index.pkl", writer->dir))
        return sb_fail_memory(err);
    writer->standing = stat(writer->path.data, &writer->before) == 0;
    if (!writer->standing && errno != ENOENT)
        return sb_fail_errno(err, errno, "%s", writer->path.data);
    if (writer->standing && !S_ISREG(writer->before.st_mode))
        return sb_fail(err, SB_EXISTS, "%s: is not a regular file; remove it", writer->path.data);
    return SB_OK;
}

static enum sb_code note_segments(struct index_writer *writer, struct sb_error *err)
{
    struct sb_cache_segment segment;
    enum sb_code code = SB_OK;

    writer->segments = sb_cache_segment_count(writer->cache);
    writer->numbers = calloc((size_t)writer->segments + 1, sizeof(*writer->numbers));
    if (!writer->numbers)
        return sb_fail_memory(err);
    for (uint32_t i = 0; !code && i < writer->segments; i++) {
        code = sb_cache_segment(writer->cache, i, &segment, err);
        writer->numbers[i] = segment.number;
        /* Who may not read it does not know that its keys are lost. */
        if (!code && segment.damaged && access(segment.path, R_OK))
            code = sb_fail_errno(err, errno,
                                 "%s: cannot be read, and index.pkl would be without its keys",
                                 segment.path);
    }
    return code;
}

static enum sb_code begin(struct index_writer *writer, struct sb_error *err)
{
    struct sb_stream_sink_options options = {.force = true};
    enum sb_code code = look_at_standing(writer, err);

    if (!code)
        code = note_segments(writer, err);
    if (code)
        return code;
    options.path = writer->path.data;
    options.mode = writer->standing ? writer->before.st_mode & 0777 : 0;
    code = sb_outfile_open(&writer->file, &options, err);
    if (!code && sb_pickle_index_begin(&writer->pickle, &writer->out))
        code = sb_fail_memory(err);
    return code;
}

static enum sb_code flush(struct index_writer *writer, size_t most, struct sb_error *err)
{
    enum sb_code code;

    if (writer->out.size <= most)
        return SB_OK;
    code = sb_outfile_write(writer->file, writer->out.data, writer->out.size, err);
    sb_buf_clear(&writer->out);
    return code;
}

static enum sb_code add_rows(struct index_writer *writer, struct sb_error *err)
{
    struct sb_pickle_entry entry;
    struct sb_cache_row row;
    enum sb_code code;

    sb_cache_rewind(writer->cache);
    while (!(code = sb_cache_next(writer->cache, &row, err))) {
        if (sb_interrupted())
            return sb_fail(err, SB_INTERRUPT, "interrupted");
        if (row.superseded)
            continue;
        entry = (struct sb_pickle_entry){.key = row.key.text,
                                         .key_size = row.key.size,
                                         .segment = writer->numbers[row.place.segment],
                                         .row = row.place.row};
        if (sb_pickle_index_add(&writer->pickle, &writer->out, &entry))
            return sb_fail_memory(err);
        code = flush(writer, PIECE, err);
        if (code)
            return code;
    }
    if (code != SB_END)
        return code;
    if (sb_pickle_index_end(&writer->pickle, &writer->out))
        return sb_fail_memory(err);
    return flush(writer, 0, err);
}

static enum sb_code changed(const struct index_writer *writer, struct sb_error *err)
{
    return sb_fail(err, SB_CHANGED,
                   "%s: is being written to, and its index.pkl was left alone; try again when its "
                   "job has ended",
                   writer->dir);
}

/* Are there as many segments as the cache has? Their numbers only grow. */
static enum sb_code count_segments(struct index_writer *writer, DIR *dir, struct sb_error *err)
{
    struct dirent *entry;
    uint32_t count = 0;
    int64_t number;

    while (errno = 0, (entry = readdir(dir)))
        count += sb_cache_segment_number(entry->d_name, &number);
    if (errno)
        return sb_fail_errno(err, errno, "%s/segments", writer->dir);
    return count == writer->segments ? SB_OK : changed(writer, err);
}

/* What a job has written since the cache was opened is newer than what would replace it. */
static enum sb_code look_again(struct index_writer *writer, struct sb_error *err)
{
    struct stat now;
    bool standing = stat(writer->path.data, &now) == 0;
    struct sb_buf path = {0};
    DIR *dir = NULL;
    enum sb_code code;

    if (standing != writer->standing ||
        (standing &&
         (now.st_ino != writer->before.st_ino || now.st_size != writer->before.st_size ||
          now.st_mtim.tv_sec != writer->before.st_mtim.tv_sec ||
          now.st_mtim.tv_nsec != writer->before.st_mtim.tv_nsec)))
        return changed(writer, err);
    if (sb_buf_add_format(&path, "%s/segments", writer->dir))
        return sb_fail_memory(err);
    dir = opendir(path.data);
    code = dir ? count_segments(writer, dir, err) : sb_fail_errno(err, errno, "%s", path.data);
    if (dir)
        closedir(dir);
    sb_buf_release(&path);
    return code;
}

/* The job that the cache belongs to reads it as its own user. */
static enum sb_code commit(struct index_writer *writer, struct sb_error *err)
{
    enum sb_code code = look_again(writer, err);

    if (!code)
        code = sb_outfile_commit(writer->file, err);
    if (!code && writer->standing && writer->before.st_uid != geteuid())
        (void)!chown(writer->path.data, writer->before.st_uid, writer->before.st_gid);
    return code;
}

enum sb_code sb_cache_write_index(struct sb_cache *cache, const char *dir, struct sb_error *err)
{
    struct index_writer writer = {.cache = cache, .dir = dir};
    enum sb_code code = begin(&writer, err);

    if (!code)
        code = add_rows(&writer, err);
    if (!code)
        code = commit(&writer, err);
    release(&writer);
    return code;
}
