/*
 * What 'shardbox protect' keeps in a parity file: that it made it, size and time of the protected
 * file, whether a repair writes to that, and whether it was lost. By the note a parity file is
 * known as one that may be replaced, and removed with its file. Thread-safe.
 */
#ifndef SB_ARCHIVE_PARITY_NOTE_H
#define SB_ARCHIVE_PARITY_NOTE_H

#include "archive/parity/format.h"

#include <sys/stat.h>

/* Of the name of a parity file, after that of its file. */
#define SB_PROTECT_SUFFIX "-parity"

/* Of the file, from which its head is read. */
#define SB_PROTECT_HEAD 100

/* What the parity file notes of a file: SB_PARITY_USER bytes. head: its first bytes, zeros after
 * the last. */
void sb_protect_note(unsigned char *user, const struct stat *st, const unsigned char *head);

/* Is it the head that is noted? */
bool sb_protect_has_head(const struct sb_parity_super *super, const unsigned char *head);

/* How many commits an index had, by SQLite's counter in its head, and had when it was protected. */
uint32_t sb_protect_commits(const unsigned char *head);
uint32_t sb_protect_noted_commits(const struct sb_parity_super *super);

/* Adds to it the absolute path of the file, for a parity file that is elsewhere. */
void sb_protect_note_origin(unsigned char *user, const char *path);

/* Has it this path? */
bool sb_protect_has_origin(const struct sb_parity_super *super, const char *path);

/* Adds that the file was lost, and made again as it was then: until it is protected anew, others
 * may be newer than it. */
void sb_protect_note_old(unsigned char *user);
bool sb_protect_noted_old(const struct sb_parity_super *super);

/* What a run that was killed was doing to the file. */
enum sb_protect_repairing {
    SB_REPAIRING_NOTHING,
    SB_REPAIRING,         /* what the parity file protects */
    SB_REPAIRING_CHANGED, /* a file that had changed since, by what an index says of it */
};

/* By which it is known later that nobody else wrote meanwhile; what it is, the repair knows. */
struct sb_protect_evidence {
    uint64_t numbers[4];
};

/* Adds both to it. */
void sb_protect_note_repair(unsigned char *user, enum sb_protect_repairing repairing,
                            const struct sb_protect_evidence *evidence);
enum sb_protect_repairing sb_protect_noted_repair(const struct sb_parity_super *super);
void sb_protect_noted_evidence(const struct sb_parity_super *super,
                               struct sb_protect_evidence *out);

/* The time of the file that is noted. */
struct timespec sb_protect_noted_time(const struct sb_parity_super *super);

/* And one whose time is one. */
bool sb_protect_has_note(const struct sb_parity_super *super);

/* Is the parity file that of the file as it is, apart from damage? */
bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st);

/* The superblock of a parity file with such a note, by its first or its last block: false where
 * both are damaged. The newest one may be another, if a run was killed. */
bool sb_protect_find_super(const char *parity, struct sb_parity_super *super);

/* Is it a parity file with such a note? One whose first and last blocks are both damaged is not
 * recognised. */
bool sb_protect_made(const char *parity);

/*
 * Before the file at `path` is removed or replaced: removes its parity file, if there is one that
 * sb_protect_made recognises; anything else of that name stays. Not synced.
 */
enum sb_code sb_protect_drop(const char *path, struct sb_error *err) SB_CHECKED;

/* The same after the file was replaced, unless it was protected since. */
enum sb_code sb_protect_drop_old(const char *path, struct sb_error *err) SB_CHECKED;

#endif
