/*
 * Tree statistics of an archive, computed in one pass over its rows.
 *
 * Rows of files and directories are added together, in bytewise order of path, as a cursor by path
 * yields them. `closed` is called for each directory with the correct statistics, and those of its
 * row. Directories come after all below them, the root last. A directory that has something below
 * it but no row comes too, and counts as a subdirectory of its parent.
 *
 * Memory depends on the length of one path, not on the number of rows. Names are untrusted: any
 * bytes are allowed. The parent of a name is as SQLite's expression for `parent` computes it.
 */
#ifndef SB_TASK_VERIFY_TREESTAT_H
#define SB_TASK_VERIFY_TREESTAT_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_treestat;

struct sb_tree_sums {
    int64_t num_subdirs;
    int64_t num_files;
    int64_t num_files_tree;
    int64_t size_tree; /* INT64_MAX if the sum would exceed it */
};

struct sb_treestat_dir {
    const char *path; /* not NUL-terminated; lives during the call */
    size_t path_size;
    bool has_row;
    int64_t id;                 /* as passed with the row */
    struct sb_tree_sums stored; /* as passed with the row, zeros without one */
    struct sb_tree_sums computed;
};

typedef enum sb_code sb_treestat_closed(void *context, const struct sb_treestat_dir *dir);

/* NULL: no memory. */
struct sb_treestat *sb_treestat_new(sb_treestat_closed *closed, void *context) SB_CHECKED;
void sb_treestat_free(struct sb_treestat *tree);

/*
 * The next row. Returns a code from `closed`; SB_DAMAGED if rows are not in order. A directory that
 * comes twice counts once.
 */
enum sb_code sb_treestat_file(struct sb_treestat *tree, const char *path, size_t path_size,
                              int64_t file_size) SB_CHECKED;
enum sb_code sb_treestat_dir(struct sb_treestat *tree, const char *path, size_t path_size,
                             const struct sb_tree_sums *stored, int64_t id) SB_CHECKED;

/* After the last row: closes all open directories, including the root. */
enum sb_code sb_treestat_end(struct sb_treestat *tree) SB_CHECKED;

#endif
