/*
 * The entries that were looked up last, by their inode number: a program that looks a file up opens
 * and reads it next. As many as fit, whatever is walked. Thread-safe.
 */
#ifndef SB_TASK_MOUNT_KNOWN_H
#define SB_TASK_MOUNT_KNOWN_H

#include "archive/entry.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_known;

/* lifetime: how long an entry is held to be true, in nanoseconds. */
enum sb_code sb_known_new(struct sb_known **out, int64_t lifetime) SB_CHECKED;
void sb_known_free(struct sb_known *known); /* NULL is allowed */

/* A long path is not kept. */
void sb_known_add(struct sb_known *known, uint64_t number, const struct sb_entry *entry);

/* It is looked up anew. */
void sb_known_drop(struct sb_known *known, uint64_t number);

/* False: not known, or for too long. entry->path is in `path`. */
bool sb_known_find(struct sb_known *known, uint64_t number, struct sb_entry *entry,
                   struct sb_buf *path);

#endif
