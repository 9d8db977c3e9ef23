/*
 * A file that appears whole or not at all, or standard output: where the streaming sinks write.
 *
 * Bytes go through the filter that was asked for (libarchive's), in the order of the calls. A file
 * stands under a temporary name beside its own until the commit has synced and renamed it; free
 * removes it. Belongs to one thread at a time.
 */
#ifndef SB_STORE_OUTFILE_H
#define SB_STORE_OUTFILE_H

#include "store/sinks.h"

struct sb_outfile;

/* SB_EXISTS when something is there and !force; SB_INVALID for a terminal. */
enum sb_code sb_outfile_open(struct sb_outfile **out, const struct sb_stream_sink_options *options,
                             struct sb_error *err) SB_CHECKED;
enum sb_code sb_outfile_write(struct sb_outfile *file, const void *data, size_t size,
                              struct sb_error *err) SB_CHECKED;

/* Bytes written so far, before the filter. */
int64_t sb_outfile_size(const struct sb_outfile *file);

/* Without a filter, of a regular file: reads back what was written. SB_INVALID otherwise. */
enum sb_code sb_outfile_read(struct sb_outfile *file, int64_t offset, void *data, size_t size,
                             struct sb_error *err) SB_CHECKED;

enum sb_code sb_outfile_commit(struct sb_outfile *file, struct sb_error *err) SB_CHECKED;
void sb_outfile_free(struct sb_outfile *file); /* NULL is allowed */

#endif
