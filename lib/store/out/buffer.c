#include "store/out/buffer.h"

#include "core/io.h"
#include "core/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum sb_code sb_outbuf_write_pieces(struct sb_outbuf *out, const struct iovec *pieces, size_t count)
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
