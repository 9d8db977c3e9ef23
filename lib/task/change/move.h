/*
 * Renames files and directories of an archive, as mv does; only the index changes.
 */
#ifndef SB_TASK_CHANGE_MOVE_H
#define SB_TASK_CHANGE_MOVE_H

#include "core/error.h"
#include "core/existing.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_move_options {
    char *const *sources; /* taken literally */
    size_t source_count;
    const char *destination;  /* a directory to move them into or, for one source, its new name */
    bool into_directory;      /* never a new name */
    bool no_target_directory; /* always the new name */
    bool parents;             /* directories on the way that are missing are made */

    /* What to do if the new name is a file's. An empty directory is always replaced by a directory.
     */
    enum sb_existing existing;
    bool dry_run; /* nothing is changed or locked; each source is checked by itself */

    /* SB_NOTE "kept": not renamed, because a file has the new name (skip, newer). */
    const struct sb_notify *notify;

    /* Optional; called for each source that gets a new name. Stored names. */
    void (*moved)(void *context, const char *from, const char *to);
    void *context;
};

/*
 * One transaction: at SB_OK all have their new names, else nothing has changed. SB_NOENT for a
 * source or the destination's directory; SB_EXISTS if a name is in use; SB_INVALID for a directory
 * that would go into itself, the root, names that cannot be stored; SB_LIMIT for names that would
 * be too deep.
 */
enum sb_code sb_move(const char *archive, const struct sb_move_options *options) SB_CHECKED;

#endif
