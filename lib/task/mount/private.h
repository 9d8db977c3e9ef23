/* Shared by the files of roots.h. Only for lib/task/mount. */
#ifndef SB_TASK_MOUNT_PRIVATE_H
#define SB_TASK_MOUNT_PRIVATE_H

#include "core/name.h"
#include "core/number.h"
#include "task/mount/roots.h"

size_t sb_roots_size(const struct sb_roots *roots);
bool sb_roots_has_directories(const struct sb_roots *roots); /* one for each container */
bool sb_roots_is_united(const struct sb_roots *roots);
struct sb_log *sb_roots_log(const struct sb_roots *roots);
const char *sb_roots_name(const struct sb_roots *roots, size_t i);

/* The current tree of container number i, from 0; the caller becomes a holder. */
struct sb_tree *sb_roots_enter(struct sb_roots *roots, size_t i);

/* Of a directory of a united tree, the number of the first container whose part of it is seen: what
 * is no directory in a later one, at its path or above it, hides those before. */
enum sb_code sb_roots_lowest(struct sb_roots *roots, const struct sb_node *dir,
                             size_t *container) SB_CHECKED;

#endif
