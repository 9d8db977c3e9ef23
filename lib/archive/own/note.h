/*
 * ARCHIVE.new: the lock of who writes an archive, and a note of what he is about.
 *
 * The lock is one of the open file, on its first byte, and is gone with the process. The note is a
 * text of lines, each of which counts once its newline is there:
 *
 *   shardbox 1 by PID HOST  the first
 *   self FILE               the note itself: one that is another file is a copy
 *   make                    an archive where none is
 *   replace INDEX           another one in place of the archive with this index
 *   change INDEX            the archive with this index, in place
 *   index INDEX             the index that is made, as ARCHIVE.new-index (or ARCHIVE.part); of two
 *                           such lines the last counts
 *   whole                   that index is complete and synced
 *   made NUMBER FILE        a shard that the run made, as ARCHIVE.new-shard-NUMBER
 *   links NUMBER            ARCHIVE.new-shard-* from here on may be links to other files
 *   gone NUMBER FILE        a shard that goes once the run has committed, or when the run ends
 *                           without, unless the index that stands counts it
 *   empty NUMBER FILE       a file without a byte that has the name of a shard which is made
 *
 * INDEX and FILE are identities (core/look.h): INODE.BORN. A line is there, and synced where it
 * must survive a power failure, before what it speaks of holds anything. By it the next writer
 * tells what a killed run left from a stranger's file of the same name (settle.h). Nothing else
 * about such a file is believed. Belongs to one thread.
 */
#ifndef SB_ARCHIVE_OWN_NOTE_H
#define SB_ARCHIVE_OWN_NOTE_H

#include "core/look.h"

#include <stddef.h>

enum sb_note_aim { SB_AIM_NONE, SB_AIM_MAKE, SB_AIM_REPLACE, SB_AIM_CHANGE };

enum sb_claim_kind { SB_CLAIM_MADE, SB_CLAIM_GONE, SB_CLAIM_EMPTY, SB_CLAIM_KINDS };

#define SB_NOTE_OPENING 240 /* bytes, with the zero at the end */

/* Files by the number of their shard. */
struct sb_claims {
    struct sb_identity *at; /* {0}: none of this number */
    uint32_t count;
};

/* What a note says. {.links_from = UINT32_MAX} says nothing. */
struct sb_note_text {
    enum sb_note_aim aim;
    struct sb_identity self;
    struct sb_identity subject; /* the index that is replaced or changed */
    struct sb_identity index;   /* the one that is made */
    bool whole;
    uint32_t links_from; /* UINT32_MAX: none */
    struct sb_claims claims[SB_CLAIM_KINDS];
};

struct sb_note {
    int fd;                        /* -1: not held */
    bool was_left;                 /* it was there, and is not begun anew */
    struct sb_identity identity;   /* of the file */
    char *path;                    /* ARCHIVE.new */
    off_t size;                    /* of the file */
    char opening[SB_NOTE_OPENING]; /* its first lines, as long as no other is there */
    off_t whole_at;                /* where the line `whole` begins, if it says that */
    struct sb_note_text text;
};

/*
 * Makes the file or takes over one that is left, and locks it: the text is what it says then.
 * SB_LOCKED names the process that holds it. SB_EXISTS for a file that no run of ours left: one
 * that neither is empty (or a page of zeros, as after a power failure) nor begins as a note.
 * SB_SYSTEM also where the file system has no locks; then no file is left that was not there.
 * In a directory where everybody may make files, but only remove his own (as in /tmp), SB_EXISTS
 * for one of another user, too: it could have our files removed.
 */
enum sb_code sb_note_take(struct sb_note *note, const char *archive,
                          struct sb_error *err) SB_CHECKED;

/*
 * SB_LOCKED where the note is no more the file of its name: its directory was moved, or it was, and
 * what stands under the archive's names now may be another's. To be asked before anything there is
 * removed or renamed.
 */
enum sb_code sb_note_confirm(const struct sb_note *note, struct sb_error *err) SB_CHECKED;

/* False where the note beside the archive, whoever holds it, is of another index than this one. */
enum sb_code sb_note_knows(const char *archive, const struct sb_identity *index, bool *knows,
                           struct sb_error *err) SB_CHECKED;

/* Lets go of the lock. `keep`: the file stays for the next writer, if it may tell of any other. */
void sb_note_drop(struct sb_note *note, bool keep);

/* What was said is settled: the file is empty, and still locked. */
enum sb_code sb_note_clear(struct sb_note *note, struct sb_error *err) SB_CHECKED;

/* Begins the text anew; subject: NULL for SB_AIM_MAKE. What was said before is settled. */
enum sb_code sb_note_begin(struct sb_note *note, enum sb_note_aim aim,
                           const struct sb_identity *subject, struct sb_error *err) SB_CHECKED;

/* Lines; on disk after sb_note_sync. */
enum sb_code sb_note_index(struct sb_note *note, const struct sb_identity *index,
                           struct sb_error *err) SB_CHECKED;
enum sb_code sb_note_whole(struct sb_note *note, struct sb_error *err) SB_CHECKED;
enum sb_code sb_note_links(struct sb_note *note, uint32_t number, struct sb_error *err) SB_CHECKED;

/* Takes `whole` back, and what was said after it, before what it speaks of is removed. Synced
 * where that works. */
enum sb_code sb_note_unsay_whole(struct sb_note *note, struct sb_error *err) SB_CHECKED;
enum sb_code sb_note_claim(struct sb_note *note, enum sb_claim_kind kind, uint32_t number,
                           const struct sb_identity *file, struct sb_error *err) SB_CHECKED;
enum sb_code sb_note_sync(struct sb_note *note, struct sb_error *err) SB_CHECKED;

/* Is the file of this number claimed so, and this one? */
bool sb_note_claims(const struct sb_note *note, enum sb_claim_kind kind, uint32_t number,
                    const struct sb_identity *file);

/* SB_LOCKED for `path`, which another process writes: whom the note of the archive names, if any.
 */
enum sb_code sb_note_fail_locked(const char *note_path, const char *path,
                                 struct sb_error *err) SB_CHECKED;

#endif
