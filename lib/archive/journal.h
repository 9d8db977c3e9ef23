/*
 * SQLite's files beside an index: INDEX-journal, INDEX-wal and INDEX-shm.
 *
 * SQLite treats any file of such a name as its own: it plays it into the index, and removes or
 * empties it if it makes no sense. This protects files of other programs from that. The formats are
 * those of https://www.sqlite.org/fileformat2.html (sections 3 and 4) and
 * https://www.sqlite.org/walformat.html. Thread-safe.
 */
#ifndef SB_ARCHIVE_JOURNAL_H
#define SB_ARCHIVE_JOURNAL_H

#include "core/error.h"

#include <stdbool.h>

struct sb_note;
struct sqlite3;

/* The beginning of a file, by which its kind is recognised; zeros after its end. */
#define SB_JOURNAL_START 8

/*
 * Once, before the first connection. From then on SQLite opens a file of one of these names only if
 * its content has SQLite's format.
 */
void sb_journal_prepare(void);

/*
 * The next files that this thread has SQLite open: the index `file`, under any name, and those
 * beside it. NULL: none.
 */
void sb_journal_opens(const char *file);

/*
 * Commits the transaction of db. Its journal is not removed, but replaces the note: both end in one
 * act, which is the commit. A rollback, by whatever program, leaves the note. *became: it was
 * replaced, perhaps also after an error. SB_LOCKED, and no commit, if the note was moved.
 */
enum sb_code sb_journal_commit(struct sqlite3 *db, const struct sb_note *note,
                               bool *became) SB_CHECKED;

/* Does a file begin as a rollback journal, perhaps with as much of it as a kill leaves? */
bool sb_journal_is(const unsigned char start[SB_JOURNAL_START]);

/* Did the last call on db fail because of such a file? NULL is allowed. */
bool sb_journal_is_cause(struct sqlite3 *db);

/* SB_EXISTS, naming the file beside the index `file` that is not SQLite's. */
enum sb_code sb_journal_fail(const char *file) SB_CHECKED;

/*
 * SB_LOCKED, naming it, if a nonempty journal or WAL exists beside the index `file`: a change is in
 * progress, or was interrupted, and SQLite would play it into another index that is made under that
 * name, or renamed to it. SQLite ignores a journal that is empty or whose first byte is zero, as an
 * early kill leaves it. SB_EXISTS for a file that is not SQLite's.
 */
enum sb_code sb_journal_refuse(const char *file) SB_CHECKED;

/*
 * Before SQLite plays a journal into the index `file`: SB_EXISTS, naming it, if there is a note
 * (note.h) about another index, because the journal then is of that one too. SB_OK without a
 * journal.
 */
enum sb_code sb_journal_vet(const char *file) SB_CHECKED;

/* Would sb_journal_refuse refuse it, or can that not be determined? */
bool sb_journal_is_pending(const char *file);

#endif
