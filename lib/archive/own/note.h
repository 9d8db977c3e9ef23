/*
 * ARCHIVE.new: the lock of the writer of an archive, and a note of what it does.
 *
 * The lock is one of the open file, on its first byte, and is gone with the process. The note is a
 * text of lines, valid once they end with a newline:
 *
 *   shardbox 1 by PID HOST  the first
 *   self FILE               the note itself: if it is another file, it is a copy
 *   make                    an archive where none exists
 *   replace INDEX           another archive in place of the one with this index
 *   change INDEX            the archive with this index, in place
 *   grows NUMBER SIZE       what is after so many bytes of this shard is the run's
 *   index INDEX             the index that is made, as ARCHIVE.new-index (or ARCHIVE.part); the
 *                           last such line is valid
 *   whole                   that index is complete and synced
 *   made NUMBER FILE        a shard that the run made, as ARCHIVE.new-shard-NUMBER
 *   links NUMBER            ARCHIVE.new-shard-* from here on may be links to other files
 *   gone NUMBER FILE        a shard to remove after the run's commit, or when the run ends without
 *                           a commit, unless the existing index counts it
 *   empty NUMBER FILE       an empty file that has the name of a shard which is made
 *
 * INDEX and FILE are identities (own_names.h): INODE.BORN. A line is written, and synced if it must
 * survive a power failure, before the file that it names has content. By the note the next writer
 * distinguishes the files of a killed run from foreign files of the same names (settle.h). Nothing
 * else about such a file is trusted. Belongs to one thread.
 *
 * The claims of an append end with its commit, in one act: its journal takes the name of the note
 * (journal.h). As long as the note has them, no index has counted those files and bytes, whatever
 * index is put back.
 */
#ifndef SB_ARCHIVE_OWN_NOTE_H
#define SB_ARCHIVE_OWN_NOTE_H

#include "archive/own/own_names.h"

#include <stddef.h>

enum sb_note_aim { SB_AIM_NONE, SB_AIM_MAKE, SB_AIM_REPLACE, SB_AIM_CHANGE };

enum sb_claim_kind { SB_CLAIM_MADE, SB_CLAIM_GONE, SB_CLAIM_EMPTY, SB_CLAIM_KINDS };

#define SB_NOTE_UNSYNCED 500 /* bytes, including the NUL: of one sector */

/* Files by the number of their shard. */
struct sb_claims {
    struct sb_identity *at; /* {0}: none of this number */
    uint32_t count;
};

/* A shard that a run adds to. */
struct sb_growth {
    bool there;
    uint32_t shard;
    int64_t from; /* its size before */
};

/* The content of a note. {.links_from = UINT32_MAX} is empty. */
struct sb_note_text {
    enum sb_note_aim aim;
    struct sb_identity self;
    struct sb_identity subject; /* the index that is replaced or changed */
    struct sb_identity index;   /* the one that is made */
    bool whole;
    struct sb_growth grows;
    uint32_t links_from; /* UINT32_MAX: none */
    struct sb_claims claims[SB_CLAIM_KINDS];
};

struct sb_note {
    int fd;                          /* -1: not held */
    bool was_left;                   /* it existed before, and was not begun anew */
    struct sb_identity identity;     /* of the file */
    char *path;                      /* ARCHIVE.new */
    off_t size;                      /* of the file */
    off_t whole_at;                  /* where the line `whole` begins, if there is one */
    char unsynced[SB_NOTE_UNSYNCED]; /* its last lines */
    struct sb_note_text text;
};

/*
 * Makes the file or takes over an existing one, and locks it; reads its text. SB_LOCKED names the
 * process that holds it. SB_EXISTS for a file that is not ours: not empty (or a page of zeros, as
 * after a power failure), and not beginning as a note. SB_SYSTEM also where the file system has no
 * locks; then a file that was made is removed. In a directory where all users may make files, but
 * remove only their own (as /tmp), SB_EXISTS also for a file of another user, which could have our
 * files removed.
 */
enum sb_code sb_note_take(struct sb_note *note, const char *archive) SB_CHECKED;

/*
 * SB_LOCKED if the note is no longer the file of its name: it, or its directory, was moved, and
 * files under the archive's names may now be another's. To be called before any of them is removed
 * or renamed.
 */
enum sb_code sb_note_confirm(const struct sb_note *note) SB_CHECKED;

/*
 * *knows: false if the note beside the archive, whoever holds it, is about another index than this
 * one.
 */
enum sb_code sb_note_knows(const char *archive, const struct sb_identity *index,
                           bool *knows) SB_CHECKED;

/*
 * Releases the lock. `keep`: the file stays for the next writer, unless it cannot name any other
 * file.
 */
void sb_note_drop(struct sb_note *note, bool keep);

/*
 * The journal of a commit has replaced the note (journal.h), which ended with it: takes that file
 * as the note, and locks it. It is emptied when a text begins.
 */
enum sb_code sb_note_renew(struct sb_note *note) SB_CHECKED;

/* All that the note recorded is settled: empties the file, which stays locked. */
enum sb_code sb_note_clear(struct sb_note *note) SB_CHECKED;

/*
 * Begins the text anew; subject: NULL for SB_AIM_MAKE. All that it recorded before must be settled.
 */
enum sb_code sb_note_begin(struct sb_note *note, enum sb_note_aim aim,
                           const struct sb_identity *subject) SB_CHECKED;

/* Each adds a line, which is on disk after sb_note_sync. */
enum sb_code sb_note_index(struct sb_note *note, const struct sb_identity *index) SB_CHECKED;
enum sb_code sb_note_whole(struct sb_note *note) SB_CHECKED;
enum sb_code sb_note_grows(struct sb_note *note, uint32_t shard, int64_t from) SB_CHECKED;
enum sb_code sb_note_links(struct sb_note *note, uint32_t number) SB_CHECKED;

/*
 * Removes the line `whole`, and those after it, before the files that they name are removed. Synced
 * if that works.
 */
enum sb_code sb_note_unsay_whole(struct sb_note *note) SB_CHECKED;
enum sb_code sb_note_claim(struct sb_note *note, enum sb_claim_kind kind, uint32_t number,
                           const struct sb_identity *file) SB_CHECKED;
enum sb_code sb_note_sync(struct sb_note *note) SB_CHECKED;

/* Has the note a claim of this kind for this number and file? */
bool sb_note_claims(const struct sb_note *note, enum sb_claim_kind kind, uint32_t number,
                    const struct sb_identity *file);

/* SB_EXISTS for a file in the way of one that is to be made. */
enum sb_code sb_note_fail_not_ours(const char *path) SB_CHECKED;

/*
 * SB_LOCKED for `path`, which another process is writing: the message names the process of the
 * archive's note, if any.
 */
enum sb_code sb_note_fail_locked(const char *note_path, const char *path) SB_CHECKED;

#endif
