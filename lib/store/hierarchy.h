/*
 * A container as directories: their children, sorted by name, and the bytes of files. diff compares
 * two of them. (source.h gives a container as a sequence, for conversion.)
 *
 * A hierarchy is an archive, a catalog (catalog.h), or a tree of files. Opening and listing belong
 * to one thread; several threads may call sb_hierarchy_read at once, each with its own reader.
 */
#ifndef SB_STORE_HIERARCHY_H
#define SB_STORE_HIERARCHY_H

#include "archive/entry.h"
#include "core/io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
struct sb_own_files;
struct sb_shards;

struct sb_child {
    /*
     * entry.path is the whole stored name. entry.has lacks the fields that the container does not
     * have. The size of a directory means nothing. entry.defect is set as in an archive.
     */
    struct sb_entry entry;
    const char *special; /* "FIFO", "socket", ...: a type that no entry has; else NULL */
    uint64_t device;     /* with inode: identity of the file, in a tree of files; else 0 */
    uint64_t inode;
};

struct sb_hierarchy;
struct sb_listing;
struct sb_reader;

struct sb_hierarchy_ops {
    void (*free)(struct sb_hierarchy *hierarchy);
    enum sb_code (*list)(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                         struct sb_listing **out);
    enum sb_code (*next)(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                         struct sb_child *child);
    void (*close_listing)(struct sb_listing *listing);
    enum sb_code (*open_reader)(struct sb_hierarchy *hierarchy, struct sb_reader **out);
    void (*close_reader)(struct sb_reader *reader);
    enum sb_code (*read)(struct sb_reader *reader, const struct sb_entry *entry,
                         sb_each_block *each, void *context);
};

/* What each kind of hierarchy begins with. */
struct sb_hierarchy {
    const struct sb_hierarchy_ops *ops;
};

/* The caller owns the archive and the shards, and keeps them open as long as the hierarchy. */
enum sb_code sb_hierarchy_open_archive(struct sb_hierarchy **out, struct sb_archive *archive,
                                       struct sb_shards *shards) SB_CHECKED;

/*
 * The tree below a directory. Links below it are not followed. Files that vanish during the listing
 * are left out, and so are those of `own`, which is kept.
 */
enum sb_code sb_hierarchy_open_tree(struct sb_hierarchy **out, const char *dir,
                                    const struct sb_own_files *own) SB_CHECKED;

void sb_hierarchy_free(struct sb_hierarchy *hierarchy); /* NULL is allowed */

/* The direct children of a directory; "" is the root. SB_NOENT: it does not exist; SB_INVALID: it
 * is not a directory. */
enum sb_code sb_hierarchy_list(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                               struct sb_listing **out) SB_CHECKED;
void sb_listing_free(struct sb_hierarchy *hierarchy, struct sb_listing *listing);

/* Children in bytewise order of name; SB_END after the last. The child's strings live until the
 * next call. */
enum sb_code sb_listing_next(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                             struct sb_child *child) SB_CHECKED;

/* For one thread; freed before the hierarchy. */
enum sb_code sb_reader_open(struct sb_hierarchy *hierarchy, struct sb_reader **out) SB_CHECKED;
void sb_reader_free(struct sb_hierarchy *hierarchy, struct sb_reader *reader);

/*
 * Feeds the bytes of a file, or the target of a link, to `each`; passes holes (core/io.h).
 * SB_DAMAGED: bytes are missing, or
 * they do not match their checksum (then all were fed). SB_CHANGED: the file no longer exists, or
 * its size is not entry->size.
 */
enum sb_code sb_hierarchy_read(struct sb_hierarchy *hierarchy, struct sb_reader *reader,
                               const struct sb_entry *entry, sb_each_block *each,
                               void *context) SB_CHECKED;

#endif
