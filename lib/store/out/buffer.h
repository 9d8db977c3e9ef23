/*
 * Bytes on their way to a descriptor. Small writes are gathered; for a file the kernel is made to
 * begin writing large ones to disk, so that a final sync is short.
 *
 * The descriptor is the caller's, and is written at its own position. Belongs to one thread.
 */
#ifndef SB_STORE_OUT_BUFFER_H
#define SB_STORE_OUT_BUFFER_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct sb_outbuf {
    int fd;
    const char *name; /* for messages; kept */
    bool to_file;
    int64_t written; /* to fd: in a file, the place of what is held */
    char *data;
    size_t held;
};

/*
 * Goes on with this descriptor, at `written` of it; what is held must have been flushed. Memory is
 * taken the first time. SB_NOMEM.
 */
enum sb_code sb_outbuf_begin(struct sb_outbuf *out, int fd, const char *name, bool to_file,
                             int64_t written) SB_CHECKED;
void sb_outbuf_release(struct sb_outbuf *out); /* {0} and a released one are allowed */

enum sb_code sb_outbuf_write(struct sb_outbuf *out, const void *data, size_t size) SB_CHECKED;

/* Writes the pieces one after the other, without a copy. */
enum sb_code sb_outbuf_write_pieces(struct sb_outbuf *out, const struct iovec *pieces,
                                    size_t count) SB_CHECKED;

/* What is held is lost when this fails. */
enum sb_code sb_outbuf_flush(struct sb_outbuf *out) SB_CHECKED;

/* For a file: takes back what was written after the first `size` bytes. */
enum sb_code sb_outbuf_cut(struct sb_outbuf *out, int64_t size) SB_CHECKED;

/* Bytes that came, those of `written` at the beginning included. */
static inline int64_t sb_outbuf_size(const struct sb_outbuf *out)
{
    return out->written + (int64_t)out->held;
}

#endif
