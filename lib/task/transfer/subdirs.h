/*
 * --as-subdirs: a directory for each merged container, with its name.
 */
#ifndef SB_TASK_TRANSFER_SUBDIRS_H
#define SB_TASK_TRANSFER_SUBDIRS_H

#include "core/error.h"

#include <stddef.h>

/*
 * The prefixes, one for each path in order: the last component of the path, without a suffix for
 * the kind of container ("x" of "in/x.tar.gz"), below `prefix` (NULL: none). "." and ".." get the
 * name of that directory. The caller frees them. SB_INVALID for two with the same name, and for
 * what has no name: standard input ("-"), "/".
 */
enum sb_code sb_subdirs_new(char ***out, char *const *paths, size_t count,
                            const char *prefix) SB_CHECKED;
void sb_subdirs_free(char **subdirs, size_t count); /* NULL is allowed */

#endif
