/*
 * Walking a directory tree of the file system, streaming, in the order in which it is packed.
 *
 * Files come sorted bytewise by their whole stored name; a directory comes before its contents
 * (within a directory names are sorted with directories compared as "name/"). The names of a
 * directory being walked, and of those above it, are held (about 30 bytes a name), but nothing else
 * of them; at most SB_TREE_OPEN_MAX directories are kept open whatever the depth. With threads,
 * directories that come next are opened and listed ahead where that takes its time: a few dozen, of
 * at most a few MB of names.
 *
 * What is wrong with single things is said through notify, as SB_PROBLEM, and the walk goes on:
 * "unreadable" (a directory that cannot be opened or read: it comes itself, its contents do not),
 * "vanished", "dangling" and "loop" (links under dereference), "changed". A tree belongs to one
 * thread; the directory handles of its items may be used, referenced and dropped in any.
 */
#ifndef SB_STORE_TREE_TREE_H
#define SB_STORE_TREE_TREE_H

#include "store/own_files.h"
#include "store/source.h"

#include <sys/stat.h>

#define SB_TREE_OPEN_MAX 16

/* Nanoseconds: about ten times what it costs to hand a directory to a thread and back. */
#define SB_TREE_SLOW 50000

struct sb_filter;
struct sb_tree;

/*
 * An open directory, counted by atomic references. Its descriptor is open while it is referenced,
 * so that a caller who keeps items for later should keep them in batches of few directories.
 */
struct sb_tree_dir;

struct sb_tree_dir *sb_tree_dir_ref(struct sb_tree_dir *dir);
void sb_tree_dir_unref(struct sb_tree_dir *dir); /* NULL is allowed */
int sb_tree_dir_fd(const struct sb_tree_dir *dir);

/* How many each of these batches may keep open: all of them an eighth of the descriptors. */
unsigned sb_tree_dirs_each(unsigned batches);

enum sb_node {
    SB_NODE_FILE,
    SB_NODE_DIR,
    SB_NODE_LINK,  /* never under dereference */
    SB_NODE_OTHER, /* a FIFO, a socket, a device: see mode */
};

struct sb_tree_options {
    bool dereference;     /* follow links; a link to a directory above itself is a "loop" */
    bool one_file_system; /* a directory on another file system comes without its contents */
    bool no_recursion;    /* a directory comes alone */
    unsigned threads;     /* that read the files: half as many list directories ahead; 0, 1: none */
    long ahead_from;      /* nanoseconds that listing one takes: ahead from there on; 0: always */

    /* Not taken: not given. Pruned: not even looked into. NULL takes everything. */
    const struct sb_filter *filter;

    /* Passed over by their names, reported as SB_WARNING ("self"); NULL: none. */
    const struct sb_own_files *own;

    /* Of what is no directory, before anything else is done with it or said of it: SB_OK to give
     * it, SB_END to pass it over in silence; another code ends the walk. NULL gives everything. */
    enum sb_code (*takes)(void *context, const char *name, size_t name_size, const char *disk_path);
    void *context;

    const struct sb_notify *notify;
};

/* The strings, and dir unless referenced, live until the next call on this tree. */
struct sb_tree_item {
    const char *name; /* stored name; "" when the tree was started with "" */
    size_t name_size;
    enum sb_node node;
    mode_t mode; /* SB_NODE_OTHER: S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK */

    /* Where it is: openat(sb_tree_dir_fd(dir), component). For the start "." of a tree, ".". */
    struct sb_tree_dir *dir;
    const char *component;

    const char *disk_path; /* as the caller would write it, for messages */
    struct stat stat;      /* SB_NODE_DIR only */
};

/* Keeps a pointer to filter and notify. */
enum sb_code sb_tree_new(struct sb_tree **out, const struct sb_tree_options *options) SB_CHECKED;
void sb_tree_free(struct sb_tree *tree); /* NULL is allowed */
FREEP(sb_tree_free, struct sb_tree)

/*
 * Begins a walk at path, relative to base_fd (AT_FDCWD, or a descriptor that stays open as long as
 * the tree is used), stored as `name`, which is path itself or what the caller made of it, and ""
 * for a directory whose contents go to the top. A link at path is itself the item unless path ends
 * in '/'. A walk that was under way is given up. Starting anew in the directory of the last start
 * costs no call to open it. A path that cannot be looked up is said ("missing", "unreadable"), and
 * there is no item then. found: what lstat returned for it, or NULL; unless that is a directory, or
 * a link to be followed, this makes no call.
 */
enum sb_code sb_tree_start(struct sb_tree *tree, int base_fd, const char *path, const char *name,
                           size_t name_size, const struct stat *found) SB_CHECKED;

/* SB_END after the last. */
enum sb_code sb_tree_next(struct sb_tree *tree, struct sb_tree_item *item) SB_CHECKED;

/*
 * Reading the files and links that a walk found, whatever happened to them since.
 *
 * The member says where: openat(dir_fd, component), disk_path for messages. Its entry is completed
 * with the metadata of what was opened. What is wrong is reported to events by its disk_path, as
 * SB_PROBLEM: "unreadable", "vanished", "changed" (it is no file or no link any more: SB_END; it
 * grew while it was read: used as it was before; or it shrank: used up to its new end).
 * Thread-safe.
 */

struct sb_tree_read {
    bool dereference;               /* follow links */
    const struct sb_own_files *own; /* left out, reported as SB_WARNING ("self"); NULL: none */
};

/* What an object is, without its name; a time out of reach is the nearest that is in reach. */
struct sb_entry sb_tree_entry_of(const struct stat *st);

/* The metadata in the member's entry, as of st. */
void sb_tree_metadata(struct sb_member *member, const struct stat *st);

/* As sb_loader_load, of a loader that is sparse or not, and sb_loader_stream_sparse. */
enum sb_code sb_tree_load(const struct sb_tree_read *how, struct sb_member *member, char *data,
                          size_t capacity, bool sparse, struct sb_events *events) SB_CHECKED;
enum sb_code sb_tree_stream(const struct sb_tree_read *how, struct sb_member *member,
                            sb_each_block *each, void *context,
                            struct sb_events *events) SB_CHECKED;

#endif
