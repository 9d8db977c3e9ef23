/*
 * Shared by the files of the writer only.
 */
#ifndef SB_ARCHIVE_WRITER_PRIVATE_H
#define SB_ARCHIVE_WRITER_PRIVATE_H

#include "archive/own/new_index.h"
#include "archive/own/pending.h"
#include "archive/writer/lookup.h"
#include "archive/writer/shardout.h"
#include "archive/writer/tally.h"
#include "archive/writer/writer.h"

#include <sqlite3.h>

struct sb_writer {
    enum sb_writer_mode mode;
    bool seal;
    bool in_place;
    bool index_only;
    bool removes;
    bool names_repeat;
    bool strict;
    bool continues; /* SB_APPEND: bytes are added to the last existing shard */
    bool left_out;  /* the commit left out files that were added */
    bool committed; /* or perhaps so: nothing may be undone */
    bool has_row;   /* shards of the new index get their names only after the commit */
    bool settled;   /* the note is this run's own */
    bool finished;  /* committed, and nothing is left for another writer to do */
    int64_t limit;  /* bytes in a shard */

    struct sb_hold hold;
    struct sb_hold *kept;     /* see the options */
    struct sb_new_index made; /* not for SB_APPEND */

    sqlite3 *db;       /* made.db, or for SB_APPEND the archive's */
    sqlite3 *replaced; /* SB_REPLACE: the old index, locked */
    sqlite3 *staging;  /* SB_APPEND: rows are kept here until the commit, so that their failures
                          cannot cost db's lock */
    sqlite3 *rows;     /* db or staging: the one whose table `files` rows go to */
    uint32_t counter;  /* SB_APPEND: the change counter of db */
    uint32_t shards_in_use; /* of an existing archive, see shardcount.h */

    struct sb_shard_out *shards;
    struct sb_tally *tally;
    const struct sb_notify *notify;
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

/*
 * Records in the note the shards of the archive that is replaced: they are removed with it.
 * SB_EXISTS if another file has the name of one of the `made` shards of the new one. Synced.
 */
enum sb_code sb_writer_note_gone(struct sb_writer *writer, uint32_t made) SB_CHECKED;

/* The commit, see sb_new_index_place; then shards get their final names. */
enum sb_code sb_writer_put_in_place(struct sb_writer *writer, const char *from, int *fd,
                                    const struct sb_identity *identity) SB_CHECKED;

/* Closes the index that is being made, with its statements; its file stays. */
void sb_writer_close_index(struct sb_writer *writer);

/* Completes an interrupted run that had only its renames left. */
enum sb_code sb_writer_roll_forward(struct sb_writer *writer) SB_CHECKED;

/* writer/copies.c: gives the added copies their bytes. Before the shards are finished. */
enum sb_code sb_writer_make_copies(struct sb_writer *writer) SB_CHECKED;

/*
 * writer/repeats.c: makes the unique index on the names in writer->rows. Before that, with
 * names_repeat, removes all but the last file of each name, and the files that have a directory's
 * name.
 */
enum sb_code sb_writer_index_names(struct sb_writer *writer) SB_CHECKED;

/* Takes an added file out of the counts; the caller deletes its row. */
enum sb_code sb_writer_uncount(struct sb_writer *writer, const char *path, size_t path_size,
                               int64_t size) SB_CHECKED;

/* After both: SB_INVALID if something was left out that may not be. */
enum sb_code sb_writer_heed_strict(const struct sb_writer *writer) SB_CHECKED;

/* writer/links.c: the number of existing shards; SB_NOENT for none. */
enum sb_code sb_writer_count_shards(struct sb_writer *writer, uint32_t *count) SB_CHECKED;

/* writer/append.c */
enum sb_code sb_writer_open_append(struct sb_writer *writer) SB_CHECKED;
enum sb_code sb_writer_commit_append(struct sb_writer *writer) SB_CHECKED;

/* writer.c */

/* Rows go to this connection's table `files` from now on. */
enum sb_code sb_writer_prepare_rows(struct sb_writer *writer, sqlite3 *rows) SB_CHECKED;

/* SB_INVALID for index_only, which cannot store bytes. */
enum sb_code sb_writer_refuse_bytes(const struct sb_writer *writer) SB_CHECKED;

/* Sets shards_in_use; SB_EXISTS for nonempty shards after those, whose owner is unknown. */
enum sb_code sb_writer_refuse_foreign(struct sb_writer *writer, sqlite3 *db) SB_CHECKED;

/* Inside the transaction that adds the rows. */
enum sb_code sb_writer_put_progress(struct sb_writer *writer) SB_CHECKED;

/*
 * Stores the limit, the number of shards if the files do not show it, and, with `pending`, the row
 * that names the prefix of shards not yet renamed.
 */
enum sb_code sb_writer_put_config(struct sb_writer *writer, uint32_t shard_count,
                                  bool pending) SB_CHECKED;

#endif
