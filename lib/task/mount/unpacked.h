/*
 * Members that have no bytes of their own in their container, as those of a zip that are
 * compressed: a program reads them in pieces, and a decompressor only from the beginning.
 *
 * The last few that were read are kept whole, in unnamed temporary files. Thread-safe.
 */
#ifndef SB_TASK_MOUNT_UNPACKED_H
#define SB_TASK_MOUNT_UNPACKED_H

#include "task/mount/tree.h"

struct sb_unpacked;

/* Where temporary files go without TMPDIR: beside the container there may be nothing to write to.
 */
#define SB_MOUNT_TEMPORARY "/tmp/"

enum sb_code sb_unpacked_new(struct sb_unpacked **out) SB_CHECKED;
void sb_unpacked_free(struct sb_unpacked *unpacked); /* NULL is allowed */

/* Reads bytes of the member, which must exist. Errors as sb_content_stream; SB_SYSTEM also for
 * temporary files. */
enum sb_code sb_unpacked_read(struct sb_unpacked *unpacked, struct sb_node *node, int64_t offset,
                              void *data, size_t size) SB_CHECKED;

#endif
