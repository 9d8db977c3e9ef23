/*
 * Names of files that an archive held before, and whose bytes a run found to be those of its own
 * members: a hard link to such a member may get the archive's bytes. In a temporary file once they
 * are many.
 *
 * Belongs to one thread.
 */
#ifndef SB_STORE_SAME_FILES_H
#define SB_STORE_SAME_FILES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_same_files;

/* beside: see sb_temp_directory. */
enum sb_code sb_same_files_new(struct sb_same_files **out, const char *beside,
                               struct sb_error *err) SB_CHECKED;
void sb_same_files_free(struct sb_same_files *files); /* NULL is allowed */

/* same: the latest member of this name has the archive's bytes. */
enum sb_code sb_same_files_set(struct sb_same_files *files, const char *name, size_t size,
                               bool same, struct sb_error *err) SB_CHECKED;
enum sb_code sb_same_files_has(struct sb_same_files *files, const char *name, size_t size,
                               bool *same, struct sb_error *err) SB_CHECKED;

#endif
