/*
 * An index that is being made: ARCHIVE.new-index, until it takes the archive's name.
 *
 * Nobody reads it before it is whole, and a killed run starts over, so nothing is synced before
 * the end. Belongs to one thread.
 */
#ifndef SB_ARCHIVE_OWN_NEW_INDEX_H
#define SB_ARCHIVE_OWN_NEW_INDEX_H

#include "archive/own/hold.h"

#include <stdbool.h>

struct sb_new_index {
    char *path; /* ARCHIVE.new-index */
    int fd;     /* locked as a standing index is; -1: none is being made */
    struct sb_identity identity;
    struct sqlite3 *db; /* in an exclusive transaction */
};

#define SB_NEW_INDEX_NONE ((struct sb_new_index){.fd = -1})

/*
 * Makes the file, names it in the note, which the caller has begun, and makes the tables. SB_EXISTS
 * for a file that is there. To be released also after an error. journal_mode: MEMORY where a
 * statement may have to be undone, else OFF.
 */
enum sb_code sb_new_index_make(struct sb_new_index *index, struct sb_hold *hold,
                               const char *journal_mode, struct sb_error *err) SB_CHECKED;

/* Commits and syncs it; all that it speaks of is on disk. The note says that it is whole. */
enum sb_code sb_new_index_complete(struct sb_new_index *index, struct sb_hold *hold,
                                   struct sb_error *err) SB_CHECKED;

/* Closes the connection; the file stays. */
void sb_new_index_close(struct sb_new_index *index);

/* The file stays, for sb_settle_undo to remove. */
void sb_new_index_release(struct sb_new_index *index);

/*
 * The commit: the index at `from`, closed and synced, with the descriptor fd and this identity,
 * becomes the archive's, in place of none or of the one that the hold has locked, and of no other:
 * SB_EXISTS, SB_LOCKED; SB_CHANGED where another file had come to either name, and has it again.
 * *committed says whether it did, also after an error. The hold has it from
 * then on, and fd with it. Synced.
 */
enum sb_code sb_new_index_place(struct sb_hold *hold, const char *from, int *fd,
                                const struct sb_identity *identity, bool *committed,
                                struct sb_error *err) SB_CHECKED;

#endif
