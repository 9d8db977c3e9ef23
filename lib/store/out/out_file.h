/*
 * A file that appears whole or not at all, or standard output: where the streaming sinks write.
 *
 * Bytes go through the chosen filter (out/filter.h), in the order of the calls. A file has a
 * temporary name beside its own (out/lock.h), and is locked, until the commit has synced and
 * renamed it; free removes it, and after a kill the next run to the same output does. A FIFO or a
 * character device, such as /dev/stdout, is written directly, as standard output is. Belongs to one
 * thread at a time.
 */
#ifndef SB_STORE_OUT_OUT_FILE_H
#define SB_STORE_OUT_OUT_FILE_H

#include "store/sinks.h"

#include <sys/uio.h>

/*
 * Bytes on their way to a descriptor. Small writes are gathered; for a file the kernel is made to
 * begin writing large ones to disk, so that a final sync is short. The descriptor is the caller's,
 * and is written at its own position. Belongs to one thread.
 */
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

/* What is held is lost when this fails. */
enum sb_code sb_outbuf_flush(struct sb_outbuf *out) SB_CHECKED;

/* For a file: takes back what was written after the first `size` bytes. */
enum sb_code sb_outbuf_cut(struct sb_outbuf *out, int64_t size) SB_CHECKED;

/* Bytes that came, those of `written` at the beginning included. */
static inline int64_t sb_outbuf_size(const struct sb_outbuf *out)
{
    return out->written + (int64_t)out->held;
}

struct sb_outfile;

/*
 * SB_EXISTS when something is there and !force, or when it is not a regular file; SB_INVALID for a
 * terminal; SB_LOCKED: another process makes it. A symbolic link to a regular file stays, and the
 * file is replaced.
 */
enum sb_code sb_outfile_open(struct sb_outfile **out,
                             const struct sb_stream_sink_options *options) SB_CHECKED;
enum sb_code sb_outfile_write(struct sb_outfile *file, const void *data, size_t size) SB_CHECKED;

/* Writes the pieces one after the other, where possible without a copy. */
enum sb_code sb_outfile_write_pieces(struct sb_outfile *file, const struct iovec *pieces,
                                     size_t count) SB_CHECKED;

/* For messages: the path as given, or "standard output". */
const char *sb_outfile_name(const struct sb_outfile *file);

/* Bytes written so far, before the filter. */
int64_t sb_outfile_size(const struct sb_outfile *file);

/* Without a filter, of a file with a temporary name: reads back what was written. SB_INVALID
 * otherwise. */
enum sb_code sb_outfile_read(struct sb_outfile *file, int64_t offset, void *data,
                             size_t size) SB_CHECKED;

/* Likewise: puts other bytes in the place of what was written there. */
enum sb_code sb_outfile_patch(struct sb_outfile *file, int64_t offset, const void *data,
                              size_t size) SB_CHECKED;

/* Can the above be done? */
bool sb_outfile_goes_back(const struct sb_outfile *file);

/* Likewise: takes back what was written after the first `size` bytes. */
enum sb_code sb_outfile_cut(struct sb_outfile *file, int64_t size) SB_CHECKED;

/* Of a file with a temporary name: has it its own by now, also where the commit failed after that?
 * Its directory could not be synced then, and a power failure may bring back what was there. */
bool sb_outfile_is_done(const struct sb_outfile *file);

enum sb_code sb_outfile_commit(struct sb_outfile *file) SB_CHECKED;
void sb_outfile_free(struct sb_outfile *file); /* NULL is allowed */
FREEP(sb_outfile_free, struct sb_outfile)

/* A whole file at once: opened, written, and committed. */
enum sb_code sb_outfile_put(const struct sb_stream_sink_options *options, const void *data,
                            size_t size) SB_CHECKED;

#endif
