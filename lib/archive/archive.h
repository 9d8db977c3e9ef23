/*
 * Reading a Barecat archive: an SQLite index over shard files.
 *
 * Format facts are in man/shardbox-archive.5. Nothing in an archive is trusted: the schema is held
 * against an allow-list before any query runs, every row's types and ranges are checked, triggers
 * and views never run.
 *
 * A struct sb_archive and its cursors belong to one thread; struct sb_shards may be shared.
 * No lock is held between calls: cursors fetch rows in batches, by key.
 */
#ifndef SB_ARCHIVE_ARCHIVE_H
#define SB_ARCHIVE_ARCHIVE_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/error.h"

struct sqlite3;
struct sb_archive;
struct sb_bytes;
struct sb_shards;
struct stat;

enum sb_schema {
    SB_SCHEMA_OLD, /* files and directories, no config, before versions */
    SB_SCHEMA_02,  /* 0.1 and 0.2: faulty triggers, index beside the name */
    SB_SCHEMA_03,
    SB_SCHEMA_NEWER, /* a minor version that we read but never write */
};

/* Looks whether path (or path-sqlite-index) is an SQLite file; says nothing of its schema. */
bool sb_archive_looks_like(const char *path);

/*
 * Opens for reading. Errors: SB_NOENT (says so when an interrupted pack left PATH.new), SB_FORMAT
 * (not an archive, or a schema that must not be trusted), SB_LOCKED, SB_DAMAGED, SB_SYSTEM. A hot
 * journal is rolled back where the index can be written, else the open fails. A WAL-mode index is
 * read in place, also from a read-only directory when it has no left-over WAL. Where locks do not
 * work it is read without.
 */
enum sb_code sb_archive_open(struct sb_archive **out, const char *path,
                             struct sb_error *err) SB_CHECKED;

void sb_archive_free(struct sb_archive *archive);

/* Gives back the memory that its rows were read through; they can still be read. */
void sb_archive_shrink(struct sb_archive *archive);

/*
 * An archive over a connection of the caller's own making, whose bytes come from `bytes` (bytes.h).
 * The connection has the tables files and dirs with the columns of schema 0.3 that sb_entry shows,
 * an index SB_ADOPTED_FILES on files (path) and SB_ADOPTED_DIRS on dirs (path). Its schema is not
 * vetted; rows are checked as ever. name stands for the path in messages. Takes db and bytes, also
 * when it fails.
 */
#define SB_ADOPTED_FILES "idx_files_path"
#define SB_ADOPTED_DIRS  "idx_dirs_path"
enum sb_code sb_archive_adopt(struct sb_archive **out, struct sqlite3 *db, const char *name,
                              struct sb_bytes *bytes, struct sb_error *err) SB_CHECKED;
bool sb_archive_is_adopted(const struct sb_archive *archive);

/*
 * An archive over such a connection whose rows were taken from `whole`, when its generation (see
 * below) was this or later: some of them, so that what reads an archive reads a part of one. Bytes,
 * path and generation are those of whole, and so is whether it counts as adopted. whole is open as
 * long. Takes db, also when it fails.
 */
enum sb_code sb_archive_derive(struct sb_archive **out, struct sqlite3 *db,
                               struct sb_archive *whole, uint32_t generation,
                               struct sb_error *err) SB_CHECKED;

const char *sb_archive_path(const struct sb_archive *archive); /* as given */
const char *
sb_archive_index_path(const struct sb_archive *archive); /* the SQLite file, absolute;
                                                            of an adopted one the name */

/* The index file as it was opened; of an adopted archive, the file that shard 0 is. */
const struct stat *sb_archive_index_stat(const struct sb_archive *archive);

enum sb_schema sb_archive_schema(const struct sb_archive *archive);
void sb_archive_version(const struct sb_archive *archive, int *major, int *minor);

/* Is it read without locks, as they do not work where it is? And the word for it to the user. */
bool sb_archive_is_unlocked(const struct sb_archive *archive);
#define SB_UNLOCKED_NOTE "read without locks, which do not work here"

/* The SQLite connection, for queries of the rooms above (read-only). */
struct sqlite3 *sb_archive_database(struct sb_archive *archive);

/*
 * A number that changes with every commit to the index, whoever makes it; any thread may ask. A
 * writer that moves files overwrites their old places only after the commit that gives them new
 * ones: bytes that were read are those of a row as long as this is still its entry.generation.
 * See content.h. Of an index in WAL mode, and an adopted archive, it tells nothing.
 */
uint32_t sb_archive_generation(const struct sb_archive *archive);

/* SB_CHANGED when another index was renamed over the one that is open. Ask before calling bytes
 * damaged; any thread may. */
enum sb_code sb_archive_still_current(struct sb_archive *archive, struct sb_error *err) SB_CHECKED;

/*
 * May bytes that no checksum vouches for be others than those of a row of this generation? To be
 * asked after they were read: the index was written since, or another one stands in its place,
 * whose shards take the names of the old ones. Any thread may.
 */
bool sb_archive_has_moved(const struct sb_archive *archive, uint32_t generation);

/*
 * Looks up one name, a file or else a directory. A directory that has no row but has something
 * below it is found too (has = 0, statistics 0). SB_NOENT without text when it is not there. A row
 * that cannot be used is SB_OK with entry->defect. The entry's strings live until the next call on
 * this archive.
 */
enum sb_code sb_archive_lookup(struct sb_archive *archive, const char *path, size_t size,
                               struct sb_entry *entry, struct sb_error *err) SB_CHECKED;

/*
 * Between these, look-ups share one read transaction (and its lock): for a batch of look-ups
 * without waiting in between. Each call of begin that was SB_OK needs its end, which takes how it
 * went, and the error of that, and gives it back: or SB_CHANGED where the index is read without
 * locks and another process was writing it meanwhile. What was read then is not to be used.
 */
enum sb_code sb_archive_begin(struct sb_archive *archive, struct sb_error *err) SB_CHECKED;
enum sb_code sb_archive_end(struct sb_archive *archive, enum sb_code code,
                            struct sb_error *err) SB_CHECKED;

enum sb_order {
    SB_BY_PATH,    /* bytewise by whole path; a directory comes before what is below it */
    SB_BY_ADDRESS, /* by shard, offset; files and links only */
};

struct sb_query {
    enum sb_order order;
    bool files;   /* files and links */
    bool dirs;    /* directories; SB_BY_PATH only */
    bool shallow; /* SB_BY_PATH only: just the direct children of `under`; directories without a row
                     are found too. Takes time proportional to the children. */
    bool names_only;    /* SB_BY_PATH only: just path and type, a link's being SB_FILE; much faster
                           where nothing else is wanted */
    const char *prefix; /* SB_BY_PATH, not shallow: names that begin with these bytes, instead of
                           `under`; NULL for none */
    bool recorded;      /* shallow only: leave out directories that have no row, so that files need
                           not be looked through for them */
    const char *after;  /* SB_BY_PATH only, not with `under` or `prefix` unless shallow: names that
                           come after this one (shallow: of children); NULL for all */
    const char *under;  /* SB_BY_PATH only: what is below this directory, itself excluded; "" or
                           NULL: everything, the root row excluded */
    uint32_t shard_first; /* SB_BY_ADDRESS only: this shard ... */
    uint32_t shard_last;  /* ... to this one; 0, 0 is read as "all" when all_shards is set */
    bool all_shards;
    int64_t offset_first; /* SB_BY_ADDRESS only, where the index has one by address (see below) and
                             shard_first is shard_last: extents that begin here or behind, ... */
    int64_t offset_end;   /* ... and before this; 0: read as "all". Files that are moved meanwhile
                             are not looked for, so that it takes time by what is there alone */
    bool steady; /* SB_BY_ADDRESS only: SB_CHANGED as soon as the index does. Else files that were
                    moved meanwhile come last, in no order, so that each comes once; but one that
                    was replaced by another of its name may come as both. */
};

/* Has the index one by address? Else each cursor by address begins by sorting all files. */
bool sb_archive_is_addressed(const struct sb_archive *archive);

struct sb_cursor;

/* Copies what it needs of the query. */
enum sb_code sb_cursor_open(struct sb_cursor **out, struct sb_archive *archive,
                            const struct sb_query *query, struct sb_error *err) SB_CHECKED;
void sb_cursor_free(struct sb_cursor *cursor);

/* SB_END after the last; SB_INTERRUPT. The entry's strings live until the next call on this cursor.
 */
enum sb_code sb_cursor_next(struct sb_cursor *cursor, struct sb_entry *entry,
                            struct sb_error *err) SB_CHECKED;

/* How many shards are its own (shardcount.h), by the rows that can be used; 0 without files. */
enum sb_code sb_archive_shard_count(struct sb_archive *archive, uint32_t *out,
                                    struct sb_error *err) SB_CHECKED;

#endif
