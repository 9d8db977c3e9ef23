/*
 * A directory of a walk: one whose contents are being walked, or one that was listed before the
 * walk came to it. Not for others than the tree and its tree_ahead.
 */
#ifndef SB_STORE_TREE_LEVEL_H
#define SB_STORE_TREE_LEVEL_H

#include "core/buf.h"
#include "store/tree/names.h"
#include "store/tree/tree.h"

enum sb_tree_listing {
    SB_TREE_WAITS, /* for a thread that lists it */
    SB_TREE_BEING_LISTED,
    SB_TREE_LISTED,
    SB_TREE_NOT_LISTED, /* the walk has to find out why */
};

struct sb_tree_level {
    struct sb_tree_level *parent; /* NULL: of the start */
    size_t depth;
    struct sb_buf name;      /* stored name */
    struct sb_tree_dir *dir; /* NULL while closed to save descriptors */
    struct stat stat;
    struct sb_names names;
    size_t next;      /* place in names that the walk has come to */
    size_t disk_size; /* of its disk path */

    /* Of tree_ahead. */
    enum sb_tree_listing listing;
    size_t place;           /* among the names of parent */
    struct sb_tree_dir *at; /* that of parent, until it is listed */
    size_t looked;          /* place in names up to which directories are known to tree_ahead */
    unsigned below;         /* how many of them the walk has not come to */
};

/* Takes over fd, also when there is no memory: then NULL. */
struct sb_tree_dir *sb_tree_dir_new(int fd);

/* A descriptor for reading the directory, or -1 with errno. */
int sb_tree_open_directory(int at, const char *path, bool follow);

/* An empty one. NULL: no memory. */
struct sb_tree_level *sb_tree_level_new(struct sb_tree_level *parent, const char *name,
                                        size_t name_size);
void sb_tree_level_free(struct sb_tree_level *level); /* NULL is allowed */

#endif
