/*
 * The metadata of directories, kept until everything is in them. Not for others than the tree's
 * sink.
 *
 * Any number of them; belongs to one thread.
 */
#ifndef SB_STORE_TREE_SINK_DIRS_H
#define SB_STORE_TREE_SINK_DIRS_H

#include "archive/entry.h"
#include "core/error.h"

struct sqlite3;
struct sb_tree_dirs;

/* db: a private database (archive/database.h), within a transaction, open as long. */
enum sb_code sb_tree_dirs_new(struct sb_tree_dirs **out, struct sqlite3 *db) SB_CHECKED;
void sb_tree_dirs_free(struct sb_tree_dirs *dirs); /* NULL is allowed */
FREEP(sb_tree_dirs_free, struct sb_tree_dirs)

/* In place of what was added under the same name. closed: its owner may not search it. change: how
 * it differs, before anything in it changes; SB_CHANGE_NEW: this run made it. */
enum sb_code sb_tree_dirs_add(struct sb_tree_dirs *dirs, const struct sb_entry *entry, bool closed,
                              unsigned change) SB_CHECKED;

/*
 * The next of all of them: first those that are not closed, by path; then the closed ones, the
 * deepest first; last the root. entry->row is its change. SB_END, and then anew.
 * The entry's strings live until the next call. Nothing is added meanwhile.
 */
enum sb_code sb_tree_dirs_next(struct sb_tree_dirs *dirs, struct sb_entry *entry,
                               bool *closed) SB_CHECKED;

#endif
