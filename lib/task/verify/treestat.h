/*
 * Tree statistics of an archive, computed in one pass over its rows.
 *
 * Rows of files and directories go in together, in bytewise order of path, as a cursor by path
 * yields them. For each directory, `closed` is told what the statistics should be, together with
 * what its row says. Directories come out after all below them, the root last. A directory that
 * has something below it but no row comes out too, and counts as a subdirectory of its parent.
 *
 * Memory follows the length of one path, not the number of rows. Names are untrusted: any bytes
 * will do. The parent of a name is what SQLite's expression for `parent` makes of it.
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
    int64_t size_tree; /* INT64_MAX where the sum would pass it */
};

struct sb_treestat_dir {
    const char *path; /* not NUL-terminated; lives during the call */
    size_t path_size;
    bool has_row;
    int64_t id;                 /* as given with the row */
    struct sb_tree_sums stored; /* as given with the row, zeros without one */
    struct sb_tree_sums computed;
};

typedef enum sb_code sb_treestat_closed(void *context, const struct sb_treestat_dir *dir,
                                        struct sb_error *err);

/* NULL: no memory. */
struct sb_treestat *sb_treestat_new(sb_treestat_closed *closed, void *context) SB_CHECKED;
void sb_treestat_free(struct sb_treestat *tree);

/*
 * The next row. A code from `closed` is passed on; SB_DAMAGED when rows do not come in order. A
 * directory given twice counts once.
 */
enum sb_code sb_treestat_file(struct sb_treestat *tree, const char *path, size_t path_size,
                              int64_t file_size, struct sb_error *err) SB_CHECKED;
enum sb_code sb_treestat_dir(struct sb_treestat *tree, const char *path, size_t path_size,
                             const struct sb_tree_sums *stored, int64_t id,
                             struct sb_error *err) SB_CHECKED;

/* After the last row: closes what is open, the root too. */
enum sb_code sb_treestat_end(struct sb_treestat *tree, struct sb_error *err) SB_CHECKED;

#endif
