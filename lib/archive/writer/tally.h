/*
 * Tree statistics, which the writer sums while rows come in, instead of triggers.
 *
 * Counts of the directories on the path to the current one are kept on a stack; the counts of a
 * directory that is left are appended to a temporary table, which is sorted and summed when it is
 * applied. Rows in path order leave each directory once; in any other order the table has up to a
 * row for each file. Memory grows with the depth only. sqlite3_last_insert_rowid is unchanged until
 * sb_tally_apply: rows are counted right after they are inserted. Belongs to the thread of its
 * connection.
 */
#ifndef SB_ARCHIVE_WRITER_TALLY_H
#define SB_ARCHIVE_WRITER_TALLY_H

#include "archive/entry.h"
#include "core/error.h"

struct sqlite3;
struct sb_tally;

/* Makes its temporary table on db. */
enum sb_code sb_tally_new(struct sb_tally **out, struct sqlite3 *db) SB_CHECKED;
void sb_tally_free(struct sb_tally *tally);
FREEP(sb_tally_free, struct sb_tally)

/* Counts files (+1 or -1) of so many bytes (+ or -) below the directory of `path`. */
enum sb_code sb_tally_file(struct sb_tally *tally, const char *path, size_t path_size, int files,
                           int64_t bytes) SB_CHECKED;

/* A directory itself, with its metadata; "" is the root. */
enum sb_code sb_tally_dir(struct sb_tally *tally, const struct sb_entry *entry) SB_CHECKED;

/*
 * A directory that is dropped, with all that is below it: its row is removed unless something is
 * below it when all is applied. Not for one that was passed to sb_tally_dir.
 */
enum sb_code sb_tally_drop_dir(struct sb_tally *tally, const char *path, size_t size) SB_CHECKED;

typedef enum sb_code sb_tally_each(void *context, const char *path, size_t size);

/*
 * Calls `each` for every directory that something was added to or that was passed to sb_tally_dir,
 * and those above it, each once; "" is the root. `each` may not call the tally; a code from it
 * other than SB_OK is the result.
 */
enum sb_code sb_tally_each_dir(struct sb_tally *tally, sb_tally_each *each,
                               void *context) SB_CHECKED;

/*
 * Writes all of it to `dirs` of index (which may be the tally's own db): existing rows are added to
 * (and take over metadata that was given), missing ones are made, and counted by their parents.
 * fresh: `dirs` has only the tally's rows, so that nothing need be looked up. *removed (NULL is
 * allowed) is the number of removed directories. Inside the caller's transaction.
 */
enum sb_code sb_tally_apply(struct sb_tally *tally, struct sqlite3 *index, bool fresh,
                            int64_t *removed) SB_CHECKED;

#endif
