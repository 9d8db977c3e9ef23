#include "store/outfile.h"

#include "core/io.h"
#include "store/outbuf.h"
#include "store/outfilter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES      (1 << 20)
#define TEMPORARY_TRIES 100

struct sb_outfile {
    char *name;      /* for messages */
    char *path;      /* with links followed; NULL where fd is written directly */
    char *temporary; /* NULL once it is renamed, and where there is none */
    int fd;
    bool borrowed; /* fd is standard output */
    bool force;
    int64_t size;
    struct sb_outfilter *filter; /* NULL: none */

    struct sb_outbuf out; /* behind the filter, and with one, of its thread */
};

static enum sb_code exists(const char *path, const struct stat *st, bool force,
                           struct sb_error *err)
{
    if (!S_ISREG(st->st_mode))
        return sb_fail(err, SB_EXISTS, "%s: is there, and not a regular file; choose another name",
                       path);
    if (!force)
        return sb_fail(err, SB_EXISTS, "%s: exists already; use --force to replace it", path);
    return SB_OK;
}

static bool is_written_directly(const struct stat *st)
{
    return S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode);
}

/* *direct: it is no file to be made. Else file->path is set. */
static enum sb_code look_at_target(struct sb_outfile *file, const char *path, bool *direct,
                                   struct sb_error *err)
{
    struct stat st;
    enum sb_code code;

    *direct = false;
    if (!*path)
        return sb_fail(err, SB_INVALID, "the output has an empty name");
    if (stat(path, &st) == 0) {
        *direct = is_written_directly(&st);
        if (*direct)
            return SB_OK;
        code = exists(path, &st, file->force, err);
        if (code)
            return code;
        file->path = realpath(path, NULL);
        return file->path ? SB_OK : sb_fail_errno(err, errno, "%s", path);
    }
    if (errno != ENOENT)
        return sb_fail_errno(err, errno, "%s", path);
    if (lstat(path, &st) == 0)
        return sb_fail(err, SB_EXISTS, "%s: is a link to what is not there; remove it", path);
    file->path = strdup(path);
    return file->path ? SB_OK : sb_fail_memory(err);
}

static enum sb_code set_mode(struct sb_outfile *file, unsigned mode, struct sb_error *err)
{
    if (mode != 0 && fchmod(file->fd, mode))
        return sb_fail_errno(err, errno, "%s: cannot set the mode", file->name);
    return SB_OK;
}

static enum sb_code create_temporary(struct sb_outfile *file, unsigned mode, struct sb_error *err)
{
    const char *slash = strrchr(file->path, '/');
    int directory = slash ? (int)(slash + 1 - file->path) : 0;
    uint64_t random;

    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return sb_fail_errno(err, errno, "random number");
        if (asprintf(&file->temporary, "%.*s.shardbox-%016" PRIx64, directory, file->path, random) <
            0) {
            file->temporary = NULL;
            return sb_fail_memory(err);
        }
        file->fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file->fd >= 0)
            return set_mode(file, mode, err);
        free(file->temporary);
        file->temporary = NULL;
        if (errno != EEXIST)
            break;
    }
    return sb_fail_errno(err, errno, "%s: cannot be created", file->name);
}

static enum sb_code open_target(struct sb_outfile *file,
                                const struct sb_stream_sink_options *options, struct sb_error *err)
{
    const char *path = options->path;
    enum sb_code code;
    bool direct;

    if (strcmp(path, "-") == 0) {
        file->fd = STDOUT_FILENO;
        file->borrowed = true;
    } else {
        code = look_at_target(file, path, &direct, err);
        if (code)
            return code;
        if (!direct)
            return create_temporary(file, options->mode, err);
        file->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (file->fd < 0)
            return sb_fail_errno(err, errno, "%s", path);
    }
    if (isatty(file->fd))
        return sb_fail(err, SB_INVALID, "%s: is a terminal; give it a file or a pipe", file->name);
    /* Best effort: what is no pipe, or has reached the user's limit, stays as it is. */
    fcntl(file->fd, F_SETPIPE_SZ, PIPE_BYTES);
    return SB_OK;
}

/* Behind the filter: a sb_each_block. */
static enum sb_code put(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct sb_outfile *file = context;

    return sb_outbuf_write(&file->out, data, size, err);
}

static enum sb_code open_filter(struct sb_outfile *file,
                                const struct sb_stream_sink_options *options, struct sb_error *err)
{
    struct sb_outfilter_options filter = {
        .kind = options->filter,
        .level = options->level,
        .threads = options->threads,
        .each = put,
        .context = file,
    };

    if (options->filter == SB_FILTER_NONE)
        return SB_OK;
    return sb_outfilter_open(&file->filter, &filter, err);
}

enum sb_code sb_outfile_open(struct sb_outfile **out, const struct sb_stream_sink_options *options,
                             struct sb_error *err)
{
    bool standard = strcmp(options->path, "-") == 0;
    struct sb_outfile *file = calloc(1, sizeof(*file));
    enum sb_code code;

    *out = NULL;
    if (!file)
        return sb_fail_memory(err);
    file->fd = -1;
    file->force = options->force;
    file->name = strdup(standard ? "standard output" : options->path);
    code = file->name ? open_target(file, options, err) : sb_fail_memory(err);
    if (code == SB_OK)
        code = sb_outbuf_begin(&file->out, file->fd, file->name, file->temporary, 0, err);
    if (code == SB_OK)
        code = open_filter(file, options, err);
    if (code) {
        sb_outfile_free(file);
        return code;
    }
    *out = file;
    return SB_OK;
}

enum sb_code sb_outfile_write(struct sb_outfile *file, const void *data, size_t size,
                              struct sb_error *err)
{
    file->size += (int64_t)size;
    if (file->filter)
        return sb_outfilter_write(file->filter, data, size, err);
    return sb_outbuf_write(&file->out, data, size, err);
}

enum sb_code sb_outfile_write_pieces(struct sb_outfile *file, const struct iovec *pieces,
                                     size_t count, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < count; i++)
        file->size += (int64_t)pieces[i].iov_len;
    if (!file->filter)
        return sb_outbuf_write_pieces(&file->out, pieces, count, err);
    for (size_t i = 0; code == SB_OK && i < count; i++)
        code = sb_outfilter_write(file->filter, pieces[i].iov_base, pieces[i].iov_len, err);
    return code;
}

const char *sb_outfile_name(const struct sb_outfile *file)
{
    return file->name;
}

int64_t sb_outfile_size(const struct sb_outfile *file)
{
    return file->size;
}

bool sb_outfile_goes_back(const struct sb_outfile *file)
{
    return !file->filter && file->temporary;
}

static enum sb_code check_seekable(const struct sb_outfile *file, struct sb_error *err)
{
    if (!sb_outfile_goes_back(file))
        return sb_fail(err, SB_INVALID, "%s: what was written cannot be had back", file->name);
    return SB_OK;
}

enum sb_code sb_outfile_read(struct sb_outfile *file, int64_t offset, void *data, size_t size,
                             struct sb_error *err)
{
    enum sb_code code = check_seekable(file, err);
    size_t got;

    if (code == SB_OK)
        code = sb_outbuf_flush(&file->out, err);
    if (code == SB_OK)
        code = sb_pread_full(file->fd, data, size, offset, &got, file->name, err);
    if (code == SB_OK && got < size)
        code = sb_fail(err, SB_INVALID, "%s: ends before what is read back", file->name);
    return code;
}

enum sb_code sb_outfile_patch(struct sb_outfile *file, int64_t offset, const void *data,
                              size_t size, struct sb_error *err)
{
    enum sb_code code = check_seekable(file, err);

    if (code == SB_OK)
        code = sb_outbuf_flush(&file->out, err);
    return code ? code : sb_pwrite_full(file->fd, data, size, offset, file->name, err);
}

enum sb_code sb_outfile_cut(struct sb_outfile *file, int64_t size, struct sb_error *err)
{
    enum sb_code code = check_seekable(file, err);

    if (code == SB_OK)
        code = sb_outbuf_cut(&file->out, size, err);
    if (code == SB_OK)
        file->size = size;
    return code;
}

static enum sb_code close_file(struct sb_outfile *file, struct sb_error *err)
{
    int fd = file->fd;

    if (file->borrowed || fd < 0)
        return SB_OK;
    file->fd = -1;
    return close(fd) ? sb_fail_errno(err, errno, "%s: cannot close", file->name) : SB_OK;
}

static enum sb_code give_name(struct sb_outfile *file, struct sb_error *err)
{
    enum sb_code code;

    if (file->force)
        code = sb_rename(file->temporary, file->path, err);
    else
        code = sb_rename_new(file->temporary, file->path, err);
    if (code)
        return code;
    free(file->temporary);
    file->temporary = NULL;
    return sb_sync_directory_of(file->path, err);
}

enum sb_code sb_outfile_commit(struct sb_outfile *file, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (file->filter)
        code = sb_outfilter_finish(file->filter, err);
    if (code == SB_OK)
        code = sb_outbuf_flush(&file->out, err);
    if (code == SB_OK && file->temporary)
        code = sb_fsync(file->fd, file->name, err);
    if (code == SB_OK)
        code = close_file(file, err);
    if (code == SB_OK && file->temporary)
        code = give_name(file, err);
    return code;
}

void sb_outfile_free(struct sb_outfile *file)
{
    struct sb_error ignored;

    if (!file)
        return;
    if (file->temporary)
        unlink(file->temporary);
    /* Its thread uses the rest. */
    sb_outfilter_free(file->filter);
    (void)!close_file(file, &ignored);
    free(file->temporary);
    sb_outbuf_release(&file->out);
    free(file->path);
    free(file->name);
    free(file);
}
