/*
 * An index that is being made: ARCHIVE.new-index, until it takes the archive's name.
 *
 * No program reads it before it is complete, and a killed run starts over, so nothing is synced
 * before the end. Belongs to one thread.
 */
#ifndef SB_ARCHIVE_OWN_NEW_INDEX_H
#define SB_ARCHIVE_OWN_NEW_INDEX_H

#include "archive/own/hold.h"

#include <stdbool.h>

struct sb_new_index {
    char *path; /* ARCHIVE.new-index */
    int fd;     /* locked as an existing index is; -1: none is being made */
    struct sb_identity identity;
    struct sqlite3 *db; /* in an exclusive transaction */
};

#define SB_NEW_INDEX_NONE ((struct sb_new_index){.fd = -1})

/*
 * Makes the file, records it in the note, which the caller has begun, and makes the tables.
 * SB_EXISTS if the file exists. To be released also after an error. journal_mode: MEMORY if a
 * statement may have to be undone, else OFF.
 */
enum sb_code sb_new_index_make(struct sb_new_index *index, struct sb_hold *hold,
                               const char *journal_mode) SB_CHECKED;

/*
 * Commits and syncs it. All files that it refers to must be on disk. The note records that it is
 * complete.
 */
enum sb_code sb_new_index_complete(struct sb_new_index *index, struct sb_hold *hold) SB_CHECKED;

/* Closes the connection; the file stays. */
void sb_new_index_close(struct sb_new_index *index);

/* The file stays; sb_settle_undo removes it. */
void sb_new_index_release(struct sb_new_index *index);

/*
 * The commit: the index at `from`, closed and synced, with the descriptor fd and this identity,
 * becomes the archive's. It replaces no index, or the one that the hold has locked, and no other:
 * SB_EXISTS, SB_LOCKED; SB_CHANGED if another file had appeared under either name, and was put
 * back. *committed says whether it succeeded, also after an error; from then on the hold has the
 * index, and owns fd. Synced.
 */
enum sb_code sb_new_index_place(struct sb_hold *hold, const char *from, int *fd,
                                const struct sb_identity *identity, bool *committed) SB_CHECKED;

#endif
