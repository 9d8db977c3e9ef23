/*
 * The locks of one who writes an archive: ARCHIVE.new, and those on its index.
 *
 * Both keep other writers out, the first one also between two transactions. When they are taken is
 * in shardbox-archive(5). A lock on ARCHIVE.new belongs to whoever holds the struct, those on an
 * index to its connection; nothing here is thread-safe.
 */
#ifndef SB_ARCHIVE_LOCK_H
#define SB_ARCHIVE_LOCK_H

#include "core/error.h"

#include <stdbool.h>

struct sqlite3;

/* ARCHIVE.new as a lock: one on its first byte, gone with the process that holds it. */
struct sb_new_lock {
    int fd;         /* -1: not held */
    bool was_there; /* a run that was killed had left the file */
};

/*
 * Makes path or takes over a left-over one, and locks it. SB_LOCKED names the process that holds
 * it. SB_EXISTS for a file that no run of ours left: one that is neither empty (or a page of
 * zeros) nor bears the mark that sb_new_index_begin makes. SB_SYSTEM also where the file system has
 * no locks; then no file is left that was not there.
 */
enum sb_code sb_new_lock_take(struct sb_new_lock *lock, const char *path,
                              struct sb_error *err) SB_CHECKED;
void sb_new_lock_drop(struct sb_new_lock *lock);

/* Removes path where no living run has it as its lock; it is no part of an archive that stands. */
void sb_new_lock_clear(const char *path);

/*
 * Begins an index that is being made in path: a mark in the file's header (SQLite's application_id)
 * by which a left-over is known, in whatever state it is, is synced before anything else is
 * written; then the tables. From here on nothing is synced, and an exclusive transaction is open.
 * sb_pending_finish takes the mark off.
 */
enum sb_code sb_new_index_begin(struct sqlite3 *db, struct sb_error *err) SB_CHECKED;

/* Does an index bear the mark? */
enum sb_code sb_new_index_is_marked(struct sqlite3 *db, bool *marked,
                                    struct sb_error *err) SB_CHECKED;

/*
 * Starts a write transaction on db (index file `file`), so that no other writer can; SB_LOCKED
 * names the process in the way, SB_CHANGED says that another index was renamed over this one.
 */
enum sb_code sb_lock_index(struct sqlite3 *db, const char *file, struct sb_error *err) SB_CHECKED;

/*
 * In the transaction of sb_lock_index, before anything is changed: takes the exclusive lock once
 * and for all. A transaction that outgrows its cache would else ask for it again and again, and
 * keep new readers out meanwhile. Waits a minute for readers to let go, then SB_LOCKED.
 */
enum sb_code sb_exclude_readers(struct sqlite3 *db, const char *file,
                                struct sb_error *err) SB_CHECKED;

#endif
