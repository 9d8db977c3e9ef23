/*
 * One container that is mounted, as it was when it was opened: names, rows and directories.
 *
 * Any number of threads may use it: an archive is read through several connections, and a thread
 * takes one that is free. Nothing holds a lock of the index between two calls.
 */
#ifndef SB_TASK_MOUNT_TREE_H
#define SB_TASK_MOUNT_TREE_H

#include "core/buf.h"
#include "store/store.h"

#include <stdint.h>

/*
 * The numbers by which the system knows what is mounted: 64 bits that say where a row is, so that
 * no table of them is needed.
 *
 * A number has the container and its epoch, which counts how often another archive took its place;
 * the row, and some bits of what the row holds, so that another file in a row that is used again
 * has another number. A directory without a row has the first row below it, and bits of its depth
 * and its path. Pure functions.
 */
enum sb_inode_kind {
    SB_INODE_FILE,       /* a row of files */
    SB_INODE_DIR,        /* a row of directories; row 0: the root of the container */
    SB_INODE_ABOVE_FILE, /* a directory without a row, above the file of that row */
    SB_INODE_ABOVE_DIR,  /* the same above a directory */
};

#define SB_INODE_TOP        1    /* the number of the directory that is mounted */
#define SB_INODE_CONTAINERS 1023 /* their numbers are from 1 */
#define SB_INODE_ROWS       (((int64_t)1 << 34) - 1)
#define SB_INODE_TAILS      (1U << 15)
#define SB_INODE_EPOCHS     (1U << 3)

struct sb_inode {
    unsigned container;
    unsigned epoch; /* modulo SB_INODE_EPOCHS */
    enum sb_inode_kind kind;
    int64_t row;   /* at most SB_INODE_ROWS */
    unsigned tail; /* bits of what the row holds; of a directory without a row, of its path */
};

uint64_t sb_inode_pack(const struct sb_inode *inode);
struct sb_inode sb_inode_unpack(uint64_t number);

/* The place of an entry in the listing of its directory: where its row is, and no more. Above 2,
 * and below 2^61. sb_inode_unpack knows it, too. */
uint64_t sb_inode_place(const struct sb_inode *inode);

/* Which of some slots a number is kept in, or looked for. */
static inline size_t sb_inode_slot(uint64_t number, size_t slots)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) % slots;
}

/* Has it a row of its own? */
bool sb_inode_has_row(const struct sb_inode *inode);

/* The tail of an entry that has a row. epoch: all of it; a number has some bits of
 * it. */
unsigned sb_inode_tail(const struct sb_entry *entry, unsigned epoch);

/* That of a directory without one; depth: components of its path. */
unsigned sb_inode_tail_above(const char *path, size_t size, size_t depth, unsigned epoch);

/* More bits of what the row holds and of the epoch, beside the number: the system keeps no bytes of
 * one number for another generation of it. */
uint32_t sb_inode_generation(const struct sb_entry *entry, unsigned epoch);

#define SB_TREE_IMMUTABLE INT64_MAX

struct sb_content;
struct sb_mount_container;
struct sb_tree;
struct sb_tree_dir;

/* What a number or a name leads to. {0} is empty. */
struct sb_node {
    struct sb_tree *tree; /* the node is one of its holders; NULL: the directory of containers */
    struct sb_inode inode;
    struct sb_entry entry; /* its path is in `path` */
    struct sb_buf path;
    size_t noted; /* by sb_tree_note; 0: nothing */
};

/* Is the entry, which may have been looked up again by its path, still that of the number? */
bool sb_node_is_same(const struct sb_node *node);

/* Forgets it all, and is no holder of the tree any more. */
void sb_node_release(struct sb_node *node);

/*
 * Opens a container (mount.h), which is read to its end unless it has an index. lifetime: how long
 * rows are held to be true, in nanoseconds; SB_TREE_IMMUTABLE: for ever, and an archive is locked
 * against writers. The caller is its first holder; the last one frees it.
 */
enum sb_code sb_tree_open(struct sb_tree **out, const struct sb_mount_container *container,
                          unsigned number, unsigned epoch, int64_t lifetime) SB_CHECKED;
struct sb_tree *sb_tree_ref(struct sb_tree *tree);
void sb_tree_unref(struct sb_tree *tree); /* NULL is allowed */
FREEP(sb_tree_unref, struct sb_tree)

unsigned sb_tree_epoch(const struct sb_tree *tree); /* that of numbers is a part of it */
struct sb_content *sb_tree_content(const struct sb_tree *tree);
const struct sb_archive *sb_tree_archive(const struct sb_tree *tree);

/* Is there another archive, or another file, now at its path, or was it written to (below)? */
bool sb_tree_is_replaced(const struct sb_tree *tree);

/* Was a file that is no archive written to since it was opened? Then its bytes are not those that
 * are known of it. Of containers of several files this is not known. */
bool sb_tree_is_overwritten(const struct sb_tree *tree);

/* Fills in an empty node, also after a failure. SB_NOENT: no such name; SB_DAMAGED: its row cannot
 * be used. */
enum sb_code sb_tree_find(struct sb_tree *tree, const char *path, size_t size,
                          struct sb_node *node) SB_CHECKED;

/* Likewise, by its number. SB_CHANGED: that is no longer there. */
enum sb_code sb_tree_node(struct sb_tree *tree, const struct sb_inode *inode,
                          struct sb_node *node) SB_CHECKED;

/* Likewise, by its place in a listing (sb_inode_place): any row there will do. */
enum sb_code sb_tree_at_place(struct sb_tree *tree, const struct sb_inode *inode,
                              struct sb_node *node) SB_CHECKED;

/* Keeps a number of the caller's with what is known of the node, as long as that is. */
void sb_tree_note(const struct sb_node *node, size_t note);

/* What is known of a number is out of date: it is looked up anew. */
void sb_tree_drop(struct sb_tree *tree, const struct sb_inode *inode);

/*
 * The number of an entry of a listing. SB_LIMIT: its row number is too large for one, or not a row
 * number at all. SB_NOENT: it has no row, and nothing is below it any more.
 */
enum sb_code sb_tree_number(struct sb_tree *tree, const struct sb_entry *entry,
                            struct sb_inode *out) SB_CHECKED;

/*
 * What is in a directory, in order of name, which need not exist; after the child `after` (NULL:
 * all). names: only path, row, type and mode of each entry are set. Belongs to one thread at a
 * time, and is freed before the tree.
 */
enum sb_code sb_tree_dir_open(struct sb_tree_dir **out, struct sb_tree *tree, const char *path,
                              const char *after, bool names) SB_CHECKED;
void sb_tree_dir_free(struct sb_tree_dir *dir); /* NULL is allowed */
FREEP(sb_tree_dir_free, struct sb_tree_dir)

/*
 * SB_END after the last. The entry's strings live until the next call. Where a file and a directory
 * have one name, the file counts, as in sb_tree_find.
 */
enum sb_code sb_tree_dir_next(struct sb_tree_dir *dir, struct sb_entry *entry) SB_CHECKED;

#endif
