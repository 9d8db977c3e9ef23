/*
 * What the parts of a walk (tree.h) have in common. Not for others.
 */
#ifndef SB_STORE_TREE_IMPL_H
#define SB_STORE_TREE_IMPL_H

#include "core/buf.h"
#include "store/tree/tree.h"

#include <stdint.h>

/*
 * The names in one directory of the file system, sorted.
 *
 * {0} is an empty list; its memory is kept from one read to the next until sb_names_release. About
 * 16 bytes a name are held beside the name itself. Not thread-safe.
 */

struct sb_names_key;

struct sb_names {
    struct sb_buf arena;
    struct sb_names_key *keys;
    size_t count;
    size_t capacity;
    size_t most; /* bytes of names: SB_LIMIT beyond; 0: 4 GiB */
};

enum sb_names_order {
    SB_NAMES_PLAIN,  /* bytewise by name */
    SB_NAMES_AS_PATH /* bytewise, directories as "name/": so that all paths below come sorted */
};

void sb_names_release(struct sb_names *names);

/*
 * Reads all names in the directory but "." and "..". With follow, the type of a link is that of
 * what it leads to. A name that vanishes before its type could be read, where that takes a call, is
 * left out. Errors: SB_SYSTEM, SB_NOENT (the directory was removed), SB_NOMEM, SB_LIMIT (more bytes
 * of names than names->most).
 */
enum sb_code sb_names_read(struct sb_names *names, int dir_fd, enum sb_names_order order,
                           bool follow) SB_CHECKED;

/*
 * The name at a place, NUL-terminated, and its type as S_IFMT bits; S_IFLNK under follow is a link
 * that leads nowhere.
 */
const char *sb_names_at(const struct sb_names *names, size_t place, unsigned *type);

enum sb_tree_listing {
    SB_TREE_WAITS, /* for a thread that lists it */
    SB_TREE_BEING_LISTED,
    SB_TREE_LISTED,
    SB_TREE_NOT_LISTED, /* the walk has to find out why */
};

/* A directory: one whose contents are being walked, or one that was listed before the walk came to
 * it. */
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
FREEP(sb_tree_level_free, struct sb_tree_level)

/* Is it the same as the level, or one above it? NULL is allowed. */
bool sb_tree_is_within(const struct sb_tree_level *level, const struct stat *st);

/*
 * Directories opened and listed by threads before a walk comes to them, for file systems where each
 * call takes its time.
 *
 * The directories that the walk comes to next are known in its order, a few below each that was
 * listed; their number is bounded, and the names of each (a larger one is left to the walk). What
 * cannot be listed ahead, for whatever reason, the walk does itself and so finds out why: what it
 * says does not depend on the threads.
 *
 * Where a directory is listed sooner than it is handed to a thread and back, the walk does it all.
 *
 * All functions are for the thread of the walk.
 */
struct sb_tree_ahead;

/* How many threads are worth their while beside `threads` that read files; 0: none. */
unsigned sb_tree_ahead_threads(unsigned threads);

/* Keeps the pointer to the options, and starts its threads when there is something for them. */
enum sb_code sb_tree_ahead_new(struct sb_tree_ahead **out, const struct sb_tree_options *options,
                               unsigned threads) SB_CHECKED;
void sb_tree_ahead_free(struct sb_tree_ahead *ahead); /* NULL is allowed */

/* The walk itself listed a directory, from `began` (sb_clock_ns) until now. */
void sb_tree_ahead_took(struct sb_tree_ahead *ahead, int64_t began);

/*
 * Finds directories to be listed, now that the walk is in the directory `innermost`. Costs next to
 * nothing when there is no news since the last call: entered is set where the walk has just come
 * to it.
 */
void sb_tree_ahead_look(struct sb_tree_ahead *ahead, struct sb_tree_level *innermost, bool entered);

/*
 * The directory at this place among the names of parent, the innermost one, listed: the caller's
 * from now on, with disk_size to be set. NULL when the walk has to do it.
 */
struct sb_tree_level *sb_tree_ahead_take(struct sb_tree_ahead *ahead, struct sb_tree_level *parent,
                                         size_t place);

/* The walk comes to nothing in this directory any more; to be called before it is freed. */
void sb_tree_ahead_leave(struct sb_tree_ahead *ahead, const struct sb_tree_level *level);

#endif
