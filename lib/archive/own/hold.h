/*
 * The first steps of every writer of an archive: finding its index, the locks, the connection.
 *
 * The locks are one of the open file on the first byte of the index, which SQLite never locks, and
 * one on ARCHIVE.new (note.h). Both are held from before the first check of the archive until after
 * the last sync, whatever is closed meanwhile. SQLite's own lock, the only one that Barecat sees,
 * comes with the write transaction of sb_hold_open.
 *
 * Order of calls: find, take, open (if an index exists); close the connection; drop. Belongs to one
 * thread.
 */
#ifndef SB_ARCHIVE_OWN_HOLD_H
#define SB_ARCHIVE_OWN_HOLD_H

#include "archive/own/note.h"

#include <stdbool.h>

struct sqlite3;

struct sb_hold {
    char *path;               /* of the archive: its directory resolved, its own name as given */
    char *file;               /* the existing index: path, or its old name; NULL if there is none */
    int fd;                   /* of that index; -1: not locked */
    struct sb_identity index; /* of that index */
    bool half_named;          /* a killed run also left it under the temporary name of its making */
    bool follow;              /* the argument of sb_hold_find */
    unsigned waited;          /* how many waits for another process, see sb_lock_await */
    struct sqlite3 *bridge;   /* see sb_hold_bridge; NULL: none */
    struct sb_growth left; /* by a killed run that was settled: its bytes after the last extent */
    struct sb_note note;
};

/* {.fd = -1, .note.fd = -1} */
#define SB_HOLD_NONE ((struct sb_hold){.fd = -1, .note.fd = -1})

/*
 * Finds the index under the archive's name, and checks what it is: SB_INVALID for a symbolic link
 * or, unless `follow`, a file of several hard links, because the other names would show what is
 * written too. SB_OK also if there is none. SB_INVALID for a name that no archive may have. Nothing
 * is locked. sb_hold_drop frees the strings, to be called after an error too.
 */
enum sb_code sb_hold_find(struct sb_hold *hold, const char *archive, bool follow) SB_CHECKED;

/* The same refusal of several hard links, for an index that was found with `follow`. */
enum sb_code sb_hold_refuse_links(const struct sb_hold *hold) SB_CHECKED;

/*
 * Takes the locks, after sb_hold_find. While another process holds one, waits as the context
 * allows (lock_wait), also if that process replaces the index: then `index` is that of the new one.
 * SB_LOCKED names the process that holds a lock, or says that the index was replaced, made or
 * removed since. note.text is what a killed run left: to be settled (settle.h) before anything
 * else.
 */
enum sb_code sb_hold_take(struct sb_hold *hold) SB_CHECKED;

/*
 * The path as sb_hold_find has it; the caller frees it; NULL: it failed, as for a name that no
 * archive may have.
 */
char *sb_hold_path(const char *archive);

struct sb_hold_options {
    bool to_change;  /* only a schema that we write; else any that we read, to be replaced */
    bool keeps_mode; /* the index keeps its journal mode: its rows do not change */
};

/*
 * Opens the existing index, in DELETE mode, settles what a killed run left (settle.h), and starts
 * the write transaction. SB_LOCKED if it is not the locked file. The caller closes *db before it
 * drops the hold, also after an error.
 */
enum sb_code sb_hold_open(struct sb_hold *hold, struct sqlite3 **db,
                          const struct sb_hold_options *options) SB_CHECKED;

/*
 * Called before an index, at `from` with the descriptor fd, replaces the one that is held: takes
 * SQLite's lock of a writer on it, which lasts until the transaction of the next sb_hold_open, so
 * that Barecat does not write between the two.
 */
enum sb_code sb_hold_bridge(struct sb_hold *hold, const char *from, int fd) SB_CHECKED;

/* Starts a write transaction again, as sb_hold_open does. */
enum sb_code sb_hold_begin(struct sb_hold *hold, struct sqlite3 *db) SB_CHECKED;

/* Is db of the schema that we write? Else SB_FORMAT, and what to do. */
enum sb_code sb_hold_vet(struct sqlite3 *db, const char *path, const char *file) SB_CHECKED;

/*
 * Locks an index that has appeared under the archive's name since sb_hold_take, and has this
 * identity.
 */
enum sb_code sb_hold_take_index(struct sb_hold *hold, const struct sb_identity *index) SB_CHECKED;

/* Another index has replaced the locked one: the hold takes over its descriptor, with its lock. */
void sb_hold_adopt(struct sb_hold *hold, int fd, const struct sb_identity *index);

/* Moves the hold, with its locks, to another owner: `from` is empty afterwards. */
void sb_hold_move(struct sb_hold *to, struct sb_hold *from);

/*
 * Releases all locks; every connection to the index must be closed. `keep` leaves the note to the
 * next writer: the state on disk is unknown, or not settled.
 */
void sb_hold_drop(struct sb_hold *hold, bool keep);

/* All steps, for an archive that exists: find, take, open to change it. SB_NOENT without one. */
enum sb_code sb_hold_existing(struct sb_hold *hold, struct sqlite3 **db,
                              const char *archive) SB_CHECKED;

/*
 * All steps: takes the locks, settles what a killed run left, releases them. SB_OK also if there
 * was nothing to do; SB_NOENT without an archive.
 */
enum sb_code sb_hold_settle(const char *archive) SB_CHECKED;

/*
 * Makes an empty file under one of the names in .new. An existing empty file is a killed run's, and
 * is replaced; SB_EXISTS for any other. *fd is open for writing, and the caller closes it.
 */
enum sb_code sb_hold_make_file(const char *path, int *fd) SB_CHECKED;

/*
 * In a write transaction, before the first change: takes the exclusive lock once and for all.
 * Otherwise a transaction that outgrows its cache would request it again and again, and keep new
 * readers out meanwhile. Waits a minute for readers to finish, then SB_LOCKED.
 */
enum sb_code sb_exclude_readers(struct sqlite3 *db, const char *file) SB_CHECKED;

#endif
