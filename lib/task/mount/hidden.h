/* What a mount would hide, of what it is made of. */
#ifndef SB_TASK_MOUNT_HIDDEN_H
#define SB_TASK_MOUNT_HIDDEN_H

#include "core/error.h"

/*
 * SB_INVALID: a file of the container at `path` is below `dir`, an absolute path without links, or
 * is a link to one: an index, a shard, a bag; or the directory of temporary files is. They would be
 * used through the mount itself.
 */
enum sb_code sb_hidden_refuse(const char *path, const char *dir) SB_CHECKED;

#endif
