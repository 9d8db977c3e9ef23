/*
 * What SQLite keeps beside an index: INDEX-journal, INDEX-wal and INDEX-shm.
 *
 * Whatever has such a name SQLite takes for its own, plays into the index, and removes or empties
 * when it makes no sense. A stranger's file is kept from that here. The forms are those of
 * https://www.sqlite.org/fileformat2.html (sections 3 and 4) and
 * https://www.sqlite.org/walformat.html. Thread-safe.
 */
#ifndef SB_ARCHIVE_JOURNAL_H
#define SB_ARCHIVE_JOURNAL_H

#include "core/error.h"

#include <stdbool.h>

struct sqlite3;

/* Before the first connection. From here on SQLite opens no file under one of these names that is
 * not of its own form. */
void sb_journal_prepare(void);

/* The next files that this thread has SQLite open: the index `file`, which may have any name, and
 * what is beside it. NULL: none. */
void sb_journal_opens(const char *file);

/* Did the last call on db fail because of such a file? NULL is allowed. */
bool sb_journal_is_cause(struct sqlite3 *db);

/* SB_EXISTS, naming the one beside the index `file` that is none of SQLite's. */
enum sb_code sb_journal_fail(const char *file, struct sb_error *err) SB_CHECKED;

/*
 * SB_LOCKED, naming it, where a journal or WAL that says something stands beside the index `file`:
 * a change is under way, or was interrupted, and SQLite would play it into another index that is
 * made under that name, or renamed to it. It plays none that is empty or whose first byte is zero,
 * as a run leaves it that was killed early. SB_EXISTS for one that is none of SQLite's.
 */
enum sb_code sb_journal_refuse(const char *file, struct sb_error *err) SB_CHECKED;

/*
 * Before SQLite plays one into the index `file`: SB_EXISTS, naming it, where a note is there
 * (note.h) and is of another index, so that the journal is, too. SB_OK where none stands.
 */
enum sb_code sb_journal_vet(const char *file, struct sb_error *err) SB_CHECKED;

/* Would it be refused, or can that not be told? */
bool sb_journal_is_pending(const char *file);

#endif
