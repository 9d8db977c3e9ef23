/*
 * All containers of a mount: one as the whole, each in a directory of its name, or all of them as
 * one tree. Thread-safe, but for opening and freeing.
 *
 * When another archive takes the place of one, that is opened, and the epoch of its numbers goes
 * on: what is known by the former ones is gone.
 */
#ifndef SB_TASK_MOUNT_ROOTS_H
#define SB_TASK_MOUNT_ROOTS_H

#include "task/mount/mount.h"
#include "task/mount/tree.h"

struct sb_log;
struct sb_roots;
struct sb_roots_dir;

/* options and log are kept. */
enum sb_code sb_roots_open(struct sb_roots **out, const struct sb_mount_options *options,
                           struct sb_log *log) SB_CHECKED;
void sb_roots_free(struct sb_roots *roots); /* NULL is allowed */
FREEP(sb_roots_free, struct sb_roots)

/*
 * SB_INVALID: a file of a container is below `dir`, an absolute path without links, or is a link to
 * one: an index, a shard, a bag; or the directory of temporary files is. They would be used through
 * the mount itself.
 */
enum sb_code sb_roots_refuse_hidden(const struct sb_roots *roots, const char *dir) SB_CHECKED;

/* The node of a number; as sb_tree_node. */
enum sb_code sb_roots_node(struct sb_roots *roots, uint64_t number,
                           struct sb_node *node) SB_CHECKED;

/* The child of that name; as sb_tree_find. SB_CHANGED: the parent is gone. */
enum sb_code sb_roots_find(struct sb_roots *roots, uint64_t parent, const char *name,
                           struct sb_node *node) SB_CHECKED;

/* As the statistics of archives say. */
void sb_roots_count(struct sb_roots *roots, int64_t *files, int64_t *bytes);

/* An entry of a directory. */
struct sb_roots_item {
    const char *name;             /* lives until the next call, as does entry */
    struct sb_tree *tree;         /* the directory is a holder of it */
    struct sb_inode inode;        /* of names alone, only its place can be used */
    const struct sb_entry *entry; /* with a defect: only its type is set */
    uint64_t place;               /* to go on after it */
};

/* Where a listing goes on: after the entry at a place, or from the beginning if that is 0. */
struct sb_roots_from {
    uint64_t place;
    const char *name; /* of that entry; NULL: it is looked up, and must be there still */
};

/*
 * What is in a directory. Belongs to one thread at a time. names: of each entry only what
 * sb_tree_dir_open sets. SB_CHANGED: the directory is gone, or the entry to go on after.
 */
enum sb_code sb_roots_dir_open(struct sb_roots_dir **out, struct sb_roots *roots, uint64_t number,
                               const struct sb_roots_from *from, bool names) SB_CHECKED;
void sb_roots_dir_free(struct sb_roots_dir *dir); /* NULL is allowed */
FREEP(sb_roots_dir_free, struct sb_roots_dir)

/* SB_END after the last. Names that no directory can have are left out, and logged. After another
 * failure it fails so again, until the directory is opened anew. */
enum sb_code sb_roots_dir_next(struct sb_roots_dir *dir, struct sb_roots_item *item) SB_CHECKED;

#endif
