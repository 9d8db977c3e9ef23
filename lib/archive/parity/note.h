/*
 * What 'shardbox protect' keeps in a parity file: that it made it, the time of the protected file,
 * of an index how many commits it had, of a shard which state its index had, and of a parity file
 * that is elsewhere the path of its file.
 * By the note a parity file is known as one that may be replaced, and removed with its file.
 * Thread-safe.
 */
#ifndef SB_ARCHIVE_PARITY_NOTE_H
#define SB_ARCHIVE_PARITY_NOTE_H

#include "archive/parity/parity.h"

#include <sys/stat.h>

/* Of the name of a parity file, after that of its file. */
#define SB_PROTECT_SUFFIX "-parity"

struct sb_file;

/* What is looked at of the beginning of a file. */
#define SB_PROTECT_HEAD 100

/* Zeros after the file's last byte, also after a failure. */
enum sb_code sb_protect_read_head(const struct sb_file *file, unsigned char *head) SB_CHECKED;

/* SB_PARITY_USER bytes. head: the first bytes of the file, zeros after the last. */
void sb_protect_note(unsigned char *user, const struct stat *st, const unsigned char *head);

/* Adds to it, of a shard, the parity file of its index, which is in the state that is protected. */
void sb_protect_note_index(unsigned char *user, const struct sb_parity_super *index);

/* Was the shard protected with that state of its index? While the index is in that nothing was
 * committed since. */
bool sb_protect_is_of_index(const struct sb_parity_super *shard,
                            const struct sb_parity_super *index);

/* Adds to it the absolute path of the file, for a parity file that is elsewhere. */
void sb_protect_note_origin(unsigned char *user, const char *path);
bool sb_protect_has_origin(const struct sb_parity_super *super, const char *path);

bool sb_protect_has_note(const struct sb_parity_super *super);
struct timespec sb_protect_noted_time(const struct sb_parity_super *super);

/* Does nothing say that the file changed? Its end may be missing. */
bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st);

/* Is this file the one that is protected? Of an SQLite file its commits decide, of others size and
 * time. Set also after a failure, by what it has got. */
enum sb_code sb_protect_is_same(const struct sb_parity_super *super, const struct sb_file *file,
                                bool *same) SB_CHECKED;

/* Which state of an SQLite file this is, by the counter of its commits. */
enum sb_protect_commit {
    SB_COMMIT_NONE,  /* none was noted: it is no such file, or one that does not count them */
    SB_COMMIT_SAME,  /* the one that is protected: what differs is damage */
    SB_COMMIT_OTHER, /* another one */
    SB_COMMIT_LOST,  /* its first bytes are damaged */
};

enum sb_protect_commit sb_protect_commit(const struct sb_parity_super *super,
                                         const unsigned char *head);

/* The same of an open file; where it cannot be read, by what it has got. */
enum sb_code sb_protect_commit_of(const struct sb_parity_super *super, const struct sb_file *file,
                                  enum sb_protect_commit *commit) SB_CHECKED;

/* How many commits an SQLite file counts, by its head, and how many are noted. */
uint32_t sb_protect_commits(const unsigned char *head);
uint32_t sb_protect_noted_commits(const struct sb_parity_super *super);

/* Of SB_COMMIT_OTHER: has it fewer commits than what is protected? */
bool sb_protect_is_earlier(const struct sb_parity_super *super, const unsigned char *head);

/* The superblock of a parity file with such a note, by its first or its last block: false where
 * both are damaged. */
bool sb_protect_find_super(const char *parity, struct sb_parity_super *super);

/*
 * Before the file at `path` is removed or replaced: removes its parity file, if it has a note;
 * anything else of that name stays. Not synced.
 */
enum sb_code sb_protect_drop(const char *path) SB_CHECKED;

/*
 * The same after an index was replaced with all its shards, unless it was protected since; and
 * removes what repairs of the former have replaced, which could go back into the new ones.
 */
enum sb_code sb_protect_drop_old(const char *path) SB_CHECKED;

#endif
