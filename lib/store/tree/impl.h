/*
 * What the parts of the walk have in common. Not for others.
 */
#ifndef SB_STORE_TREE_IMPL_H
#define SB_STORE_TREE_IMPL_H

#include "core/buf.h"
#include "store/tree/ahead.h"
#include "store/tree/level.h"
#include "store/tree/tree.h"

struct sb_tree {
    struct sb_tree_options options;
    struct sb_tree_level **levels; /* directories whose contents are being walked */
    size_t depth;
    size_t capacity;
    struct sb_tree_ahead *ahead; /* NULL: everything is done when the walk comes to it */
    bool entered;                /* the innermost level is new to it */
    struct sb_buf name;          /* of the current item */
    struct sb_buf disk;

    struct sb_tree_dir *base; /* the directory that holds the start, opened from base_fd */
    int base_fd;
    struct sb_buf base_path;
    struct sb_buf component; /* the start within it */
    bool follow_start;
    bool start_waits;
    unsigned start_type; /* S_IFMT bits, where they are known; else 0 */
    dev_t start_dev;
};

/* Leaves the innermost directory; there is one. */
void sb_tree_leave(struct sb_tree *tree);

/* Says what is wrong with what is at hand, and the error's text unless that is 0. */
void sb_tree_problem(const struct sb_tree *tree, const char *kind, const char *text,
                     int error_number);

/* tree/start.c: why the walk cannot begin. */
void sb_tree_start_problem(const struct sb_tree *tree, int error_number);

#endif
