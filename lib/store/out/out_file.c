#include "store/out/out_file.h"

#include "archive/remote.h"
#include "core/context.h"
#include "core/io.h"
#include "core/throttle.h"
#include "store/container.h"
#include "store/out/filter.h"
#include "store/out/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES         (1 << 20)
#define BUFFER_BYTES       ((size_t)64 << 10)
#define WRITE_BEHIND_BYTES ((size_t)256 << 10)

enum sb_code sb_outbuf_begin(struct sb_outbuf *out, int fd, const char *name, bool to_file,
                             int64_t written)
{
    if (!out->data)
        TRY(sb_alloc(&out->data, BUFFER_BYTES));
    out->fd = fd;
    out->name = name;
    out->to_file = to_file;
    out->written = written;
    out->held = 0;
    return SB_OK;
}

void sb_outbuf_release(struct sb_outbuf *out)
{
    free(out->data);
    *out = (struct sb_outbuf){0};
}

static void note_written(struct sb_outbuf *out, size_t size)
{
    if (out->to_file && size >= WRITE_BEHIND_BYTES)
        sync_file_range(out->fd, out->written, (off_t)size, SYNC_FILE_RANGE_WRITE);
    out->written += (int64_t)size;
}

static enum sb_code write_out(struct sb_outbuf *out, const void *data, size_t size)
{
    TRY(sb_write_full(out->fd, data, size, out->name));
    note_written(out, size);
    return SB_OK;
}

enum sb_code sb_outbuf_flush(struct sb_outbuf *out)
{
    size_t size = out->held;

    out->held = 0;
    return size ? write_out(out, out->data, size) : SB_OK;
}

enum sb_code sb_outbuf_write(struct sb_outbuf *out, const void *data, size_t size)
{
    if (size > BUFFER_BYTES - out->held)
        TRY(sb_outbuf_flush(out));
    if (size >= BUFFER_BYTES)
        return write_out(out, data, size);
    if (size == 0)
        return SB_OK;
    memcpy(out->data + out->held, data, size);
    out->held += size;
    return SB_OK;
}

/* What one call does not take, or may not at once, goes out piece by piece. */
static enum sb_code write_vector(struct sb_outbuf *out, const struct iovec *pieces, size_t count)
{
    ssize_t written = sb_throttle_limits() ? 0 : writev(out->fd, pieces, (int)count);
    size_t done = written > 0 ? (size_t)written : 0;

    note_written(out, done);
    for (size_t i = 0; i < count; i++) {
        size_t skip = done < pieces[i].iov_len ? done : pieces[i].iov_len;

        done -= skip;
        if (skip < pieces[i].iov_len)
            TRY(sb_outbuf_write(out, (const char *)pieces[i].iov_base + skip,
                                pieces[i].iov_len - skip));
    }
    return SB_OK;
}

static enum sb_code write_pieces(struct sb_outbuf *out, const struct iovec *pieces, size_t count)
{
    TRY(sb_outbuf_flush(out));
    while (count > 0) {
        size_t part = count < IOV_MAX ? count : IOV_MAX;

        TRY(write_vector(out, pieces, part));
        pieces += part;
        count -= part;
    }
    return SB_OK;
}

enum sb_code sb_outbuf_cut(struct sb_outbuf *out, int64_t size)
{
    TRY(sb_outbuf_flush(out));
    if (ftruncate(out->fd, size) || lseek(out->fd, size, SEEK_SET) < 0)
        return sb_fail_errno(errno, "%s: cannot be cut", out->name);
    out->written = size;
    return SB_OK;
}

struct sb_outfile {
    char *name;                   /* for messages */
    char *path;                   /* with links followed; NULL where fd is written directly */
    struct sb_out_lock temporary; /* path NULL: it is renamed, or there is none */
    int fd;                       /* of the temporary file that one */
    bool borrowed;                /* fd is standard output */
    bool force;
    bool dry_run; /* fd is /dev/null */
    int64_t size;
    struct sb_outfilter *filter; /* NULL: none */

    struct sb_outbuf out; /* after the filter; with one, its thread owns it */
};

static enum sb_code refuse_remote(const char *path)
{
    const char *suffix = path + sb_container_base_size(path);
    char option[32] = "";

    if (*suffix == '.')
        snprintf(option, sizeof(option), "--to=%s ", suffix + 1);
    return sb_remote_refuse(path, SB_REMOTE_WRITE, option);
}

/* *direct: it is no file to be made. Else file->path is set. */
static enum sb_code look_at_target(struct sb_outfile *file, const char *path, bool *direct)
{
    struct stat st;

    *direct = false;
    if (!*path)
        return sb_fail(SB_INVALID, "the output has an empty name");
    if (stat(path, &st) == 0) {
        *direct = S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode);
        if (*direct)
            return SB_OK;
        file->path = realpath(path, NULL);
        if (!file->path)
            return sb_fail_errno(errno, "%s", path);
        sb_context_resolves(path, file->path);
        if (!file->dry_run)
            sb_out_temporary_finish(file->path);
        return sb_out_refuse(path, &st, file->force);
    }
    if (errno != ENOENT)
        return sb_fail_errno(errno, "%s", path);
    TRY(refuse_remote(path));
    if (lstat(path, &st) == 0)
        return sb_fail(SB_EXISTS, "%s: is a link to what is not there; remove it", path);
    return sb_copy_text(&file->path, path);
}

static enum sb_code create_temporary(struct sb_outfile *file, const struct stat *like)
{
    enum sb_code code = sb_out_temporary_make(&file->temporary, file->path, file->name);

    file->fd = file->temporary.fd;
    if (code == SB_SYSTEM || code == SB_NOENT)
        return sb_fail_errno(sb_error()->sys_errno, "%s: cannot be created", file->name);
    TRY(code);
    /* Who may not give it away keeps it. */
    if (like && like->st_uid != geteuid())
        (void)!fchown(file->fd, like->st_uid, like->st_gid);
    if (like && fchmod(file->fd, like->st_mode & 0777))
        return sb_fail_errno(errno, "%s: cannot set the mode", file->name);
    return SB_OK;
}

static enum sb_code open_target(struct sb_outfile *file,
                                const struct sb_stream_sink_options *options)
{
    const char *path = options->path;
    bool standard = strcmp(path, "-") == 0, direct = false;

    /* What a real run would refuse is refused in a dry one. */
    if (!standard)
        TRY(look_at_target(file, path, &direct));
    if (file->dry_run) {
        file->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        return file->fd < 0 ? sb_fail_errno(errno, "/dev/null") : SB_OK;
    }
    if (!standard && !direct)
        return create_temporary(file, options->like);
    file->fd = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    file->borrowed = standard;
    if (file->fd < 0)
        return sb_fail_errno(errno, "%s", path);
    if (isatty(file->fd))
        return sb_fail(SB_INVALID, "%s: is a terminal; give it a file or a pipe", file->name);
    /* Best effort: what is no pipe, or has reached the user's limit, stays as it is. */
    fcntl(file->fd, F_SETPIPE_SZ, PIPE_BYTES);
    return SB_OK;
}

/* After the filter: a sb_each_block. */
static enum sb_code put(void *context, const void *data, size_t size)
{
    struct sb_outfile *file = context;

    return sb_outbuf_write(&file->out, data, size);
}

enum sb_code sb_outfile_open(struct sb_outfile **out, const struct sb_stream_sink_options *options)
{
    bool standard = strcmp(options->path, "-") == 0;
    CLEANUP(sb_outfile_freep) struct sb_outfile *file = NULL;

    *out = NULL;
    TRY(SB_NEW(&file));
    file->fd = file->temporary.fd = -1;
    file->force = options->force;
    file->dry_run = options->dry_run;
    TRY(sb_copy_text(&file->name, standard ? "standard output" : options->path));
    TRY(open_target(file, options));
    TRY(sb_outbuf_begin(&file->out, file->fd, file->name, file->temporary.path, 0));
    if (options->filter != SB_FILTER_NONE) {
        const struct sb_outfilter_options filter = {options->filter, options->level,
                                                    options->threads, put, file};

        TRY(sb_outfilter_open(&file->filter, &filter));
    }
    *out = TAKE(file);
    return SB_OK;
}

enum sb_code sb_outfile_write(struct sb_outfile *file, const void *data, size_t size)
{
    file->size += (int64_t)size;
    if (file->filter)
        return sb_outfilter_write(file->filter, data, size);
    return sb_outbuf_write(&file->out, data, size);
}

enum sb_code sb_outfile_write_pieces(struct sb_outfile *file, const struct iovec *pieces,
                                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        file->size += (int64_t)pieces[i].iov_len;
    if (!file->filter)
        return write_pieces(&file->out, pieces, count);
    for (size_t i = 0; i < count; i++)
        TRY(sb_outfilter_write(file->filter, pieces[i].iov_base, pieces[i].iov_len));
    return SB_OK;
}

const char *sb_outfile_name(const struct sb_outfile *file)
{
    return file->name;
}

bool sb_outfile_is_done(const struct sb_outfile *file)
{
    return !file->temporary.path;
}

int64_t sb_outfile_size(const struct sb_outfile *file)
{
    return file->size;
}

bool sb_outfile_goes_back(const struct sb_outfile *file)
{
    return !file->filter && file->temporary.path;
}

static enum sb_code check_seekable(const struct sb_outfile *file)
{
    if (!sb_outfile_goes_back(file))
        return sb_fail(SB_INVALID, "%s: what was written cannot be had back", file->name);
    return SB_OK;
}

enum sb_code sb_outfile_read(struct sb_outfile *file, int64_t offset, void *data, size_t size)
{
    size_t got;

    TRY(check_seekable(file));
    TRY(sb_outbuf_flush(&file->out));
    TRY(sb_pread_full(file->fd, data, size, offset, &got, file->name));
    if (got < size)
        return sb_fail(SB_INVALID, "%s: ends before what is read back", file->name);
    return SB_OK;
}

enum sb_code sb_outfile_patch(struct sb_outfile *file, int64_t offset, const void *data,
                              size_t size)
{
    TRY(check_seekable(file));
    TRY(sb_outbuf_flush(&file->out));
    return sb_pwrite_full(file->fd, data, size, offset, file->name);
}

enum sb_code sb_outfile_cut(struct sb_outfile *file, int64_t size)
{
    TRY(check_seekable(file));
    TRY(sb_outbuf_cut(&file->out, size));
    file->size = size;
    return SB_OK;
}

static enum sb_code close_file(struct sb_outfile *file)
{
    int fd = file->fd;

    if (file->borrowed || fd < 0)
        return SB_OK;
    file->fd = -1;
    return close(fd) ? sb_fail_errno(errno, "%s: cannot close", file->name) : SB_OK;
}

/* A network file system reports a failing write as late as this; the lock stays. */
static enum sb_code close_temporary(struct sb_outfile *file)
{
    int lock = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

    if (lock < 0)
        return sb_fail_errno(errno, "%s", file->name);
    file->temporary.fd = lock;
    return close_file(file);
}

static enum sb_code give_name(struct sb_outfile *file)
{
    bool named;

    /* Where locks do not work, a user may have taken it for what a killed run left. */
    TRY(sb_is_named(file->temporary.fd, file->temporary.path, &named));
    if (!named)
        return sb_fail(SB_CHANGED, "%s: somebody removed %s, in which it was made; run again",
                       file->name, file->temporary.path);
    TRY(file->force ? sb_rename(file->temporary.path, file->path)
                    : sb_rename_new(file->temporary.path, file->path));
    sb_out_lock_leave(&file->temporary);
    return sb_sync_directory_of(file->path);
}

enum sb_code sb_outfile_commit(struct sb_outfile *file)
{
    if (file->filter)
        TRY(sb_outfilter_finish(file->filter));
    TRY(sb_outbuf_flush(&file->out));
    if (!file->temporary.path)
        return close_file(file);
    TRY(sb_fsync(file->fd, file->name));
    TRY(close_temporary(file));
    return give_name(file);
}

void sb_outfile_free(struct sb_outfile *file)
{
    if (!file)
        return;
    /* Its thread uses the rest. */
    sb_outfilter_free(file->filter);
    if (file->fd == file->temporary.fd)
        file->fd = -1;
    sb_out_lock_drop(&file->temporary);
    (void)!IGNORED(close_file(file));
    sb_outbuf_release(&file->out);
    free(file->path);
    free(file->name);
    free(file);
}

enum sb_code sb_outfile_put(const struct sb_stream_sink_options *options, const void *data,
                            size_t size)
{
    CLEANUP(sb_outfile_freep) struct sb_outfile *file = NULL;

    TRY(sb_outfile_open(&file, options));
    TRY(sb_outfile_write(file, data, size));
    return sb_outfile_commit(file);
}
