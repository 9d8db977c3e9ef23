/*
 * Reading ahead across files: where a program reads small files in the order in which they are
 * stored, a large part of a shard is read at once, and the next files are taken out of it.
 *
 * The bytes of a file are only taken if they match its checksum, so it matters not that writers may
 * change the archive meanwhile. Memory is a few times the size of a part. Thread-safe.
 */
#ifndef SB_TASK_MOUNT_AHEAD_H
#define SB_TASK_MOUNT_AHEAD_H

#include "task/mount/tree.h"

struct sb_ahead;

/* bytes: how much is read at once. */
enum sb_code sb_ahead_new(struct sb_ahead **out, size_t bytes) SB_CHECKED;
void sb_ahead_free(struct sb_ahead *ahead); /* NULL is allowed */

/* Copies all bytes of a file; false: they are not there, and must be read. */
bool sb_ahead_read(struct sb_ahead *ahead, const struct sb_node *node, void *data);

#endif
