/*
 * Other names for files and directories of an archive, as mv gives them; the index alone changes.
 */
#ifndef SB_TASK_CHANGE_MOVE_H
#define SB_TASK_CHANGE_MOVE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What to do about a file that has the new name. An empty directory always makes room for one. */
enum sb_overwrite { SB_OVERWRITE_REFUSE, SB_OVERWRITE_KEEP, SB_OVERWRITE_REPLACE };

struct sb_move_options {
    char *const *sources; /* taken literally */
    size_t source_count;
    const char *destination; /* a directory, for them to go into, or with one source its new name */
    bool no_target_directory; /* always the new name */
    enum sb_overwrite overwrite;
    bool dry_run; /* nothing is changed or locked; each source is looked at by itself */

    /* SB_NOTE "kept": stays where it is, for a file has the new name (SB_OVERWRITE_KEEP). */
    const struct sb_notify *notify;

    /* Optional: each source that gets a new name. Stored names. */
    void (*moved)(void *context, const char *from, const char *to);
    void *context;
};

/*
 * One transaction: at SB_OK all have their new names, else everything is as it was. SB_NOENT for a
 * source or the destination's directory; SB_EXISTS for what is in the way; SB_INVALID for a
 * directory that is to go into itself, the root, names that cannot be stored; SB_LIMIT for what
 * would be too deep.
 */
enum sb_code sb_move(const char *archive, const struct sb_move_options *options,
                     struct sb_error *err) SB_CHECKED;

#endif
