/*
 * The first steps of whoever writes an archive: which index it is, the locks, and the connection.
 *
 * Everybody who writes goes this way. The locks are one of the open file on the first byte of the
 * index, which SQLite never locks, and one on ARCHIVE.new (note.h). Both are held from before the
 * first look at the archive until after the last sync, whatever is closed meanwhile. SQLite's own
 * lock, which is all that Barecat sees, comes with the write transaction of sb_hold_open.
 *
 * Order of calls: find, take, open (where an index stands); close the connection; drop. Belongs to
 * one thread.
 */
#ifndef SB_ARCHIVE_OWN_HOLD_H
#define SB_ARCHIVE_OWN_HOLD_H

#include "archive/own/note.h"

#include <stdbool.h>

struct sqlite3;

struct sb_hold {
    char *path; /* of the archive: its directory resolved, its own name as given */
    char *file; /* the index that stands: path, or its old name; NULL where there is none */
    int fd;     /* of that index; -1: not locked */
    struct sb_identity index; /* of it */
    bool half_named; /* a run that was killed left it under the name that it had while it was made,
                        too */
    struct sqlite3 *bridge; /* see sb_hold_bridge; NULL: none */
    struct sb_note note;
};

/* {.fd = -1, .note.fd = -1} */
#define SB_HOLD_NONE ((struct sb_hold){.fd = -1, .note.fd = -1})

/*
 * Finds the index under the archive's name, and looks at what it is: SB_INVALID for a symbolic link
 * or, unless `follow`, a file of several hard links: what is written would show under the other
 * names too. SB_OK also where there is none. SB_INVALID for what is no archive's name. Nothing is
 * locked. The strings are for sb_hold_drop to free, after an error too.
 */
enum sb_code sb_hold_find(struct sb_hold *hold, const char *archive, bool follow,
                          struct sb_error *err) SB_CHECKED;

/* The same refusal of several hard links, of an index that was found with `follow`. */
enum sb_code sb_hold_refuse_links(const struct sb_hold *hold, struct sb_error *err) SB_CHECKED;

/*
 * Takes the locks, after sb_hold_find. SB_LOCKED names the process in the way, or says that
 * the index was replaced since. note.text is what a killed run left: to be settled (settle.h)
 * before anything else.
 */
enum sb_code sb_hold_take(struct sb_hold *hold, struct sb_error *err) SB_CHECKED;

/* The path as sb_hold_find has it; caller frees; NULL with err set for what is no archive's name.
 */
char *sb_hold_path(const char *archive, struct sb_error *err);

struct sb_hold_options {
    bool to_change;  /* only a schema that we write; else any that we read, to be replaced */
    bool keeps_mode; /* the index stays in the journal mode that it has: its rows do not change */
};

/*
 * Opens the index that stands, in DELETE mode, settles what a killed run left (settle.h), and
 * starts the write transaction. SB_LOCKED where it is not the file that is locked. *db is the
 * caller's to close, before the hold is dropped, also after an error.
 */
enum sb_code sb_hold_open(struct sb_hold *hold, struct sqlite3 **db,
                          const struct sb_hold_options *options, struct sb_error *err) SB_CHECKED;

/*
 * Before an index, at `from` and with the descriptor fd, takes the place of the one that is held:
 * takes SQLite's lock of a writer on it, which lasts until the transaction of the next
 * sb_hold_open, so that Barecat does not write between the two.
 */
enum sb_code sb_hold_bridge(struct sb_hold *hold, const char *from, int fd,
                            struct sb_error *err) SB_CHECKED;

/* Starts a write transaction again, as sb_hold_open does. */
enum sb_code sb_hold_begin(struct sb_hold *hold, struct sqlite3 *db,
                           struct sb_error *err) SB_CHECKED;

/* Is db of the schema that we write? Else SB_FORMAT, and what to do. */
enum sb_code sb_hold_vet(struct sqlite3 *db, const char *path, const char *file,
                         struct sb_error *err) SB_CHECKED;

/* An index that came to stand under the archive's name since sb_hold_take, and has this identity:
 * it is locked, too. */
enum sb_code sb_hold_take_index(struct sb_hold *hold, const struct sb_identity *index,
                                struct sb_error *err) SB_CHECKED;

/* Another index has taken the place of the one that is locked: its descriptor, with its lock, is
 * the hold's from now on. */
void sb_hold_adopt(struct sb_hold *hold, int fd, const struct sb_identity *index);

/* Gives the hold, with its locks, to another owner: `from` has none any more. */
void sb_hold_move(struct sb_hold *to, struct sb_hold *from);

/*
 * Lets go of all, with every connection to the index closed. `keep` leaves the note to the next
 * writer: what is on disk is not known, or not settled.
 */
void sb_hold_drop(struct sb_hold *hold, bool keep);

/* All of it: takes the locks, settles what a killed run left, lets go. SB_OK also where there was
 * nothing to do; SB_NOENT without an archive. */
enum sb_code sb_hold_settle(const char *archive, struct sb_error *err) SB_CHECKED;

/*
 * Makes an empty file under one of the names in .new. An empty one that is there already is what a
 * killed run left, and goes; SB_EXISTS for any other. *fd is open for writing, and the caller's.
 */
enum sb_code sb_hold_make_file(const char *path, int *fd, struct sb_error *err) SB_CHECKED;

/*
 * In a write transaction, before anything is changed: takes the exclusive lock once and for all. A
 * transaction that outgrows its cache would else ask for it again and again, and keep new readers
 * out meanwhile. Waits a minute for readers to let go, then SB_LOCKED.
 */
enum sb_code sb_exclude_readers(struct sqlite3 *db, const char *file,
                                struct sb_error *err) SB_CHECKED;

#endif
