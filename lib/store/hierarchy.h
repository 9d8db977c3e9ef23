/*
 * A container as directories: their children, sorted by name, and the bytes of files; what diff
 * compares. (As a sequence, the way that conversion takes it, a container is a source: source.h.)
 *
 * An archive, or a catalog, which is one too (catalog.h); or a tree of files. Opening and listing
 * belong to one thread; sb_hierarchy_read may be called from several at once, each with a reader of
 * its own.
 */
#ifndef SB_STORE_HIERARCHY_H
#define SB_STORE_HIERARCHY_H

#include "archive/entry.h"
#include "core/io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
struct sb_shards;

struct sb_child {
    /*
     * entry.path is the whole stored name. Fields that the container does not have are not in
     * entry.has. Sizes of directories mean nothing. defect as in an archive.
     */
    struct sb_entry entry;
    const char *special; /* "FIFO", "socket", ...: none of the entry's types; else NULL */
    uint64_t device;     /* in a tree of files: which file it is; else 0 */
    uint64_t inode;
};

struct sb_hierarchy;
struct sb_listing;
struct sb_reader;

struct sb_hierarchy_ops {
    void (*free)(struct sb_hierarchy *hierarchy);
    enum sb_code (*list)(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                         struct sb_listing **out, struct sb_error *err);
    enum sb_code (*next)(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                         struct sb_child *child, struct sb_error *err);
    void (*close_listing)(struct sb_listing *listing);
    enum sb_code (*open_reader)(struct sb_hierarchy *hierarchy, struct sb_reader **out,
                                struct sb_error *err);
    void (*close_reader)(struct sb_reader *reader);
    enum sb_code (*read)(struct sb_reader *reader, const struct sb_entry *entry,
                         sb_each_block *each, void *context, struct sb_error *err);
};

/* What each kind of hierarchy begins with. */
struct sb_hierarchy {
    const struct sb_hierarchy_ops *ops;
};

/* The archive and shards are of the caller, open as long as the hierarchy. */
enum sb_code sb_hierarchy_open_archive(struct sb_hierarchy **out, struct sb_archive *archive,
                                       struct sb_shards *shards, struct sb_error *err) SB_CHECKED;

/*
 * The tree below a directory. No link below it is followed. What vanishes while it is listed is
 * left out.
 */
enum sb_code sb_hierarchy_open_tree(struct sb_hierarchy **out, const char *dir,
                                    struct sb_error *err) SB_CHECKED;

void sb_hierarchy_free(struct sb_hierarchy *hierarchy); /* NULL is allowed */

/* The direct children of a directory, "" for the top. SB_NOENT; SB_INVALID when it is none. */
enum sb_code sb_hierarchy_list(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                               struct sb_listing **out, struct sb_error *err) SB_CHECKED;
void sb_listing_free(struct sb_hierarchy *hierarchy, struct sb_listing *listing);

/* Bytewise by name; SB_END after the last. The child's strings live until the next call. */
enum sb_code sb_listing_next(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                             struct sb_child *child, struct sb_error *err) SB_CHECKED;

/* For one thread; freed before the hierarchy. */
enum sb_code sb_reader_open(struct sb_hierarchy *hierarchy, struct sb_reader **out,
                            struct sb_error *err) SB_CHECKED;
void sb_reader_free(struct sb_hierarchy *hierarchy, struct sb_reader *reader);

/*
 * Feeds the bytes of a file, or the target of a link, to `each`. SB_DAMAGED: they are not all
 * there, or do not match their checksum (then all were fed). SB_CHANGED: there is no such file any
 * more, or it is not entry->size bytes long.
 */
enum sb_code sb_hierarchy_read(struct sb_hierarchy *hierarchy, struct sb_reader *reader,
                               const struct sb_entry *entry, sb_each_block *each, void *context,
                               struct sb_error *err) SB_CHECKED;

#endif
