/*
 * Fetches files by name from what can only be read in sequence: a compressed tar, a pipe.
 *
 * One pass, which keeps nothing of a file: each is written when it is read, in the container's
 * order; a member whose name occurs twice is written twice, as by tar.
 */
#ifndef SB_TASK_FETCH_STREAM_H
#define SB_TASK_FETCH_STREAM_H

#include "store/source.h"
#include "task/fetch/fetch.h"

/*
 * All names are read first. NULL means every file; then directories and members without bytes are
 * not reported. Of the options, decompress and framing apply (not batch). Members that cannot be
 * written are reported as SB_PROBLEM: "directory", "special", "link" (a hard link, whose target was
 * before it), "damaged" (cannot be decompressed), and at the end, in the order of the names,
 * "missing"; for samples "late": a file that comes after another sample began, which is left out.
 * Errors are those of the source, the output, and of temporary files.
 */
enum sb_code sb_fetch_stream(struct sb_source *source, const struct sb_fetch_names *names,
                             const struct sb_fetch_options *options,
                             const struct sb_fetch_output *output, const struct sb_notify *notify,
                             struct sb_fetch_counts *counts) SB_CHECKED;

#endif
