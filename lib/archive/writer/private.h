/*
 * Shared by the files of the writer only.
 */
#ifndef SB_ARCHIVE_WRITER_PRIVATE_H
#define SB_ARCHIVE_WRITER_PRIVATE_H

#include "archive/own/new_index.h"
#include "archive/own/state.h"
#include "archive/reader.h"
#include "archive/writer/tally.h"
#include "archive/writer/writer.h"

#include <sqlite3.h>

/*
 * shardout.c: the shards that a writer fills: extents are reserved in order, and their bytes come
 * in any order.
 *
 * New shards are made as ARCHIVE.new-shard-NNNNN, and the note (note.h) records each before it
 * holds anything; the writer gives them their final names. A shard that is full and completely
 * written is synced and closed at once, so that few are open whatever their number.
 * sb_writer_place, sb_writer_write and those beside them in writer.h are there.
 */
struct sb_shard_out;

/*
 * limit: bytes in a shard before the next begins. first: number of the first shard to be made. The
 * caller owns the hold, whose note this writes, and keeps it longer.
 */
enum sb_code sb_shard_out_new(struct sb_shard_out **out, struct sb_hold *hold, uint32_t first,
                              int64_t limit) SB_CHECKED;

/* Closes; new shards stay where they are. */
void sb_shard_out_free(struct sb_shard_out *out);

/*
 * Begins with an existing shard, which must be this file: bytes are added after `end`. What is
 * after `end` must be unused; it is cut off. Its number must be first - 1.
 */
enum sb_code sb_shard_out_continue(struct sb_shard_out *out, const char *path,
                                   const struct sb_identity *file, int64_t end) SB_CHECKED;

/*
 * Makes the next shard a link to `target`, which is the text of a symbolic link, or else the path
 * of the file. No extents are placed in it.
 */
enum sb_code sb_shard_out_link(struct sb_shard_out *out, enum sb_link_kind kind, const char *target,
                               uint32_t *shard) SB_CHECKED;

/* Extends a shard, for reading, to the end of its extents: the last may end in a hole. */
enum sb_code sb_shard_out_reach(struct sb_shard_out *out, uint32_t shard) SB_CHECKED;

/* One more than the number of the last shard. */
uint32_t sb_shard_out_count(const struct sb_shard_out *out);

/* Number of shards made under the temporary prefix. */
uint32_t sb_shard_out_made(const struct sb_shard_out *out);

/* Cuts unused ends, syncs and closes all of them. At least one shard exists afterwards. */
enum sb_code sb_shard_out_finish(struct sb_shard_out *out) SB_CHECKED;

/*
 * Restores the length of a shard that existed before. sb_settle_undo removes those that were made.
 */
void sb_shard_out_undo(struct sb_shard_out *out);

/*
 * writer.c: names of an index that is about to be changed, looked up on the connection of its
 * writer. Where the names come in order, the rows of files that come next are read ahead: one step
 * in the index for each, no search.
 */
struct sb_lookups { /* {0}: there is no index */
    sqlite3_stmt *dir, *file;
    sqlite3_stmt *files;   /* from a name on; NULL: none are read ahead */
    struct sb_rows ahead;  /* all before `at` are of lesser names than the last one */
    size_t found;          /* of these */
    bool ahead_to_the_end; /* there are some, and no file of the index comes after them */
};

struct sb_writer {
    struct sb_writer_options options;
    bool continues; /* SB_APPEND: bytes are added to the last existing shard */
    bool left_out;  /* the commit left out files that were added */
    bool committed; /* or perhaps so: nothing may be undone */
    bool has_row;   /* shards of the new index get their names only after the commit */
    bool settled;   /* the note is this run's own */
    bool finished;  /* committed, and nothing is left for another writer to do */
    int64_t limit;  /* bytes in a shard */

    struct sb_hold hold;
    struct sb_new_index made; /* not for SB_APPEND */

    sqlite3 *db;       /* made.db, or for SB_APPEND the archive's */
    sqlite3 *replaced; /* SB_REPLACE: the old index, locked */
    sqlite3 *staging;  /* SB_APPEND: rows are kept here until the commit, so that their failures
                          cannot cost db's lock */
    sqlite3 *rows;     /* db or staging: the one whose table `files` rows go to */
    uint32_t counter;  /* SB_APPEND: the change counter of db */
    uint32_t shards_in_use; /* of an existing archive, see state.h */

    struct sb_shard_out *shards;
    struct sb_tally *tally;
    struct sb_writer_counts counts;
    const struct sb_progress *progress;
    struct sb_owner_names
        owners; /* loaded before the first is added: includes those of the archive */
    bool owners_loaded;
    bool sets_progress;
    sqlite3_stmt *add_file;
    sqlite3_stmt *add_copy; /* NULL until there is a copy */
    sqlite3_stmt *drop_file;
    struct sb_lookups lookups; /* SB_APPEND */
};

/* writer/new.c: SB_CREATE and SB_REPLACE */
enum sb_code sb_writer_open_new(struct sb_writer *writer) SB_CHECKED;
enum sb_code sb_writer_commit_new(struct sb_writer *writer) SB_CHECKED;

/* writer/copies.c: gives the added copies their bytes. Before the shards are finished. */
enum sb_code sb_writer_make_copies(struct sb_writer *writer) SB_CHECKED;

/*
 * Makes the unique index on the names in writer->rows. Before that, with
 * names_repeat, removes all but the last file of each name, and the files that have a directory's
 * name.
 */
enum sb_code sb_writer_index_names(struct sb_writer *writer) SB_CHECKED;

/* Takes an added file out of the counts; the caller deletes its row. */
enum sb_code sb_writer_uncount(struct sb_writer *writer, const char *path, size_t path_size,
                               int64_t size) SB_CHECKED;

/* After both: SB_INVALID if something was left out that may not be. */
enum sb_code sb_writer_heed_strict(const struct sb_writer *writer) SB_CHECKED;

/* writer.c */

/* Rows go to this connection's table `files` from now on. */
enum sb_code sb_writer_prepare_rows(struct sb_writer *writer, sqlite3 *rows) SB_CHECKED;

/* SB_INVALID for index_only, which cannot store bytes. */
enum sb_code sb_writer_refuse_bytes(const struct sb_writer *writer) SB_CHECKED;

/* Sets shards_in_use; SB_EXISTS for nonempty shards after those, whose owner is unknown. */
enum sb_code sb_writer_refuse_foreign(struct sb_writer *writer, sqlite3 *db) SB_CHECKED;

/*
 * Stores, inside the transaction that adds the rows, the progress, the limit, the names of owners,
 * the number of shards if the files do not show it, and, with has_row, the row that names the
 * prefix of shards not yet renamed.
 */
enum sb_code sb_writer_put_config(struct sb_writer *writer, uint32_t shard_count) SB_CHECKED;

#endif
