/*
 * Reading the files and links that a walk of a tree (tree.h) found, whatever happened to them
 * since.
 *
 * The member says where: openat(dir_fd, component), disk_path for messages. Its entry is completed
 * with the metadata of what was opened. What is wrong is reported to events by its disk_path, as
 * SB_PROBLEM: "unreadable", "vanished", "changed" (it is no file or no link any more: SB_END; it
 * grew while it was read: used as it was before; or it shrank: used up to its new end).
 * Thread-safe.
 */
#ifndef SB_STORE_TREE_READ_H
#define SB_STORE_TREE_READ_H

#include "store/own_files.h"
#include "store/source.h"

#include <sys/stat.h>

struct sb_tree_item;

struct sb_tree_read {
    bool dereference;               /* follow links */
    const struct sb_own_files *own; /* left out, reported as SB_WARNING ("self"); NULL: none */
};

/* What an object is, without its name; a time out of reach is the nearest that is in reach. */
struct sb_entry sb_tree_entry_of(const struct stat *st);

/* The metadata in the member's entry, as of st. */
void sb_tree_metadata(struct sb_member *member, const struct stat *st);

/* Sets all but entry.path of a member from an item of a walk. */
void sb_tree_member(const struct sb_tree_item *item, struct sb_member *member);

/* As sb_loader_load, of a loader that is sparse or not, and sb_loader_stream_sparse. */
enum sb_code sb_tree_load(const struct sb_tree_read *how, struct sb_member *member, char *data,
                          size_t capacity, bool sparse, struct sb_events *events) SB_CHECKED;
enum sb_code sb_tree_stream(const struct sb_tree_read *how, struct sb_member *member,
                            sb_each_block *each, void *context,
                            struct sb_events *events) SB_CHECKED;

#endif
