/*
 * What 'shardbox protect' keeps in a parity file: that it made it, size and time of the protected
 * file, and whether a repair writes to that. By the note a parity file is known as one that may be
 * replaced, and removed with its file. Thread-safe.
 */
#ifndef SB_ARCHIVE_PARITY_NOTE_H
#define SB_ARCHIVE_PARITY_NOTE_H

#include "archive/parity/format.h"

#include <sys/stat.h>

/* Of the name of a parity file, after that of its file. */
#define SB_PROTECT_SUFFIX "-parity"

/* What the parity file notes of a file: SB_PARITY_USER bytes. */
void sb_protect_note(unsigned char *user, const struct stat *st);

/* Adds to it the absolute path of the file, for a parity file that is elsewhere. */
void sb_protect_note_origin(unsigned char *user, const char *path);

/* Has it this path? */
bool sb_protect_has_origin(const struct sb_parity_super *super, const char *path);

/* Adds to it whether a repair writes to the file. */
void sb_protect_note_repair(unsigned char *user, bool writes);
bool sb_protect_notes_repair(const struct sb_parity_super *super);
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
