/*
 * Reaching directories below a root, one component at a time and through no link, so that no name
 * and no other process can lead outside of it.
 *
 * A walk remembers the way to where it was last, as a few open directories; neighbouring names are
 * therefore reached with one call or none. It belongs to one thread; several walks may share a
 * root.
 */
#ifndef SB_STORE_TREE_WALK_H
#define SB_STORE_TREE_WALK_H

#include "core/buf.h"

#include <sys/types.h>

#define SB_WALK_KEPT 5

struct sb_own_files;

struct sb_walk {
    int root;                       /* of the caller, open as long as the walk is used */
    const struct sb_own_files *own; /* no directory is made in their place; to be set, or NULL */
    struct sb_buf path;
    struct sb_walk_level {
        size_t size; /* of its name, the beginning of path */
        int fd;
        mode_t note;
    } levels[SB_WALK_KEPT]; /* the innermost directories of path */
    unsigned count;
    mode_t root_note;
};

#define SB_WALK_NO_MAKING ((mode_t)-1)

void sb_walk_init(struct sb_walk *walk, int root);
void sb_walk_release(struct sb_walk *walk);

/*
 * The directory called dir ("" is the root), as an O_PATH descriptor that lives until the next call
 * on this walk. What is missing on the way is made with mode make, unless that is
 * SB_WALK_NO_MAKING. SB_NOENT when it is not there; SB_INVALID when something on the way is a link
 * or no directory; also where something missing would take the place of an own file; SB_SYSTEM. The
 * text does not name dir.
 */
enum sb_code sb_walk_to(struct sb_walk *walk, const char *dir, size_t size, mode_t make,
                        int *fd) SB_CHECKED;

/*
 * The directory that holds `name`, as above, and the last component of name.
 */
enum sb_code sb_walk_to_parent(struct sb_walk *walk, const char *name, size_t size, mode_t make,
                               int *fd, const char **component) SB_CHECKED;

/*
 * A word of the caller's about the directory that the walk is in; 0 when it has come there anew.
 * Lives until the next call on this walk.
 */
mode_t *sb_walk_note(struct sb_walk *walk);

#endif
