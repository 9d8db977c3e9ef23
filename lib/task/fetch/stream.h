/*
 * Fetching files by name from what can only be read in sequence: a compressed tar, a pipe.
 *
 * One pass, in which nothing of a file is held: each comes when it comes, in the container's order,
 * and one of a name that stands twice comes twice, as tar has it.
 */
#ifndef SB_TASK_FETCH_STREAM_H
#define SB_TASK_FETCH_STREAM_H

#include "store/source.h"
#include "task/fetch/fetch.h"

/*
 * All names are read first; NULL stands for every file, and tells nothing of directories and of
 * what has no bytes. Of the options, decompress and framing count (not batch). What cannot be given
 * out is told as SB_PROBLEM: "directory", "special", "link" (a hard link, whose bytes have passed
 * by), "damaged" (what cannot be decompressed), and at the end, in the order of the names,
 * "missing"; of samples a file that comes "late", after another sample began, and is left out.
 * Errors are those of the source, the output, and of temporary files.
 */
enum sb_code sb_fetch_stream(struct sb_source *source, const struct sb_fetch_names *names,
                             const struct sb_fetch_options *options,
                             const struct sb_fetch_output *output, const struct sb_notify *notify,
                             struct sb_fetch_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
