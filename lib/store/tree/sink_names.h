/*
 * The names that a run has put into a tree: which members have to wait for what came before, and
 * what became of each. Not for others than the tree's sink.
 *
 * Names are claimed in the order of the members, long before they are written by several threads;
 * a member that is `late` must be done only when all before it are. Belongs to one thread.
 */
#ifndef SB_STORE_TREE_SINK_NAMES_H
#define SB_STORE_TREE_SINK_NAMES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sqlite3;
struct sb_tree_names;

enum sb_name_state {
    SB_NAME_FREE,    /* no member has it, or is below it */
    SB_NAME_DIR,     /* of a directory, or of what is above a member */
    SB_NAME_WRITTEN, /* of a file or link that this run has written, or is going to write */
    SB_NAME_LEFT,    /* what was there before stays, and is the same */
    SB_NAME_FAILED,
};

/* db: a private database (archive/database.h), within a transaction, open as long. */
enum sb_code sb_tree_names_new(struct sb_tree_names **out, struct sqlite3 *db) SB_CHECKED;
void sb_tree_names_free(struct sb_tree_names *names); /* NULL is allowed */
FREEP(sb_tree_names_free, struct sb_tree_names)

/*
 * The next member has this name. *late: it must wait, as another one had the name (of a file
 * or link: then *again is set too), something is below it though it is no directory, or a name
 * above it is no directory's. A free name becomes SB_NAME_DIR or SB_NAME_WRITTEN.
 */
enum sb_code sb_tree_names_claim(struct sb_tree_names *names, const char *name, size_t size,
                                 bool is_dir, bool *again, bool *late) SB_CHECKED;

enum sb_code sb_tree_names_get(struct sb_tree_names *names, const char *name, size_t size,
                               enum sb_name_state *state) SB_CHECKED;
enum sb_code sb_tree_names_set(struct sb_tree_names *names, const char *name, size_t size,
                               enum sb_name_state state) SB_CHECKED;

#endif
