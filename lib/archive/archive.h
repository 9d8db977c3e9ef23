/*
 * Reading a Barecat archive: an SQLite index over shard files.
 *
 * Format facts are in man/shardbox-archive.5. Nothing in an archive is trusted: the schema is
 * checked against an allow-list before any query runs, types and ranges of every row are checked,
 * and triggers and views never run.
 *
 * A struct sb_archive and its cursors belong to one thread; struct sb_shards may be shared. No lock
 * is held between calls: cursors fetch rows in batches, by key.
 */
#ifndef SB_ARCHIVE_ARCHIVE_H
#define SB_ARCHIVE_ARCHIVE_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/error.h"

struct sqlite3;
struct sb_archive;
struct sb_bytes;
struct sb_index_found;
struct sb_shards;
struct stat;

enum sb_schema {
    SB_SCHEMA_OLD, /* files and directories, no config; before schema versions existed */
    SB_SCHEMA_02,  /* 0.1 and 0.2: faulty triggers; the index is in a file of its own */
    SB_SCHEMA_03,
    SB_SCHEMA_NEWER, /* a minor version that can be read but is never written */
};

/* Is path (or path-sqlite-index) an SQLite file? Its schema is not checked. */
bool sb_archive_looks_like(const char *path);

/* Does this file, also through links, begin as an index does? It is not opened with SQLite. */
bool sb_begins_like_index(const char *path);

/*
 * Opens for reading. Errors: SB_NOENT (the message says if an interrupted pack left PATH.new),
 * SB_FORMAT (not an archive, or a schema that must not be trusted), SB_LOCKED, SB_DAMAGED,
 * SB_SYSTEM. A hot journal is rolled back if the index can be written, else the open fails. A
 * WAL-mode index is read in place, also from a read-only directory if it has no left-over WAL. On a
 * file system without locks it is read without them.
 */
enum sb_code sb_archive_open(struct sb_archive **out, const char *path) SB_CHECKED;

/*
 * The same, if a descriptor of the index is open already (index_file.h; NULL: none): in fewer
 * calls, where that is possible. once: no command waits between this and its first look-up, which
 * then shares the read transaction of the opening, and its lock.
 */
enum sb_code sb_archive_open_found(struct sb_archive **out, const char *path,
                                   const struct sb_index_found *found, bool once) SB_CHECKED;

void sb_archive_free(struct sb_archive *archive);
FREEP(sb_archive_free, struct sb_archive)

/*
 * A second connection to the same index, for another thread; it is freed before the archive, which
 * may not be adopted. SB_CHANGED when another index was renamed over it.
 */
enum sb_code sb_archive_open_twin(struct sb_archive **out,
                                  const struct sb_archive *archive) SB_CHECKED;

/*
 * An archive over a connection that the caller has made, with bytes from `bytes` (shards.h). The
 * connection has tables files and dirs with the columns of schema 0.3 that are in sb_entry, an
 * index SB_ADOPTED_FILES on files (path) and SB_ADOPTED_DIRS on dirs (path). Its schema is not
 * vetted; rows are checked as always. name replaces the path in messages. Takes over db and bytes,
 * also on failure.
 */
#define SB_ADOPTED_FILES "idx_files_path"
#define SB_ADOPTED_DIRS  "idx_dirs_path"
enum sb_code sb_archive_adopt(struct sb_archive **out, struct sqlite3 *db, const char *name,
                              struct sb_bytes *bytes) SB_CHECKED;
bool sb_archive_is_adopted(const struct sb_archive *archive);

/*
 * An archive over such a connection, whose rows are some of those of `whole`, read at this
 * generation (see below) or later: so code that reads an archive can read a part of one. Bytes,
 * path, generation and sb_archive_is_adopted are those of whole, which must be open as long. Takes
 * over db, also on failure.
 */
enum sb_code sb_archive_derive(struct sb_archive **out, struct sqlite3 *db,
                               struct sb_archive *whole, uint32_t generation) SB_CHECKED;

const char *sb_archive_path(const struct sb_archive *archive); /* as given */
/* The SQLite file, absolute; of an adopted archive its name. */
const char *sb_archive_index_path(const struct sb_archive *archive);

/* The index file, as of the opening; of an adopted archive, the file that is shard 0. */
const struct stat *sb_archive_index_stat(const struct sb_archive *archive);

enum sb_schema sb_archive_schema(const struct sb_archive *archive);
void sb_archive_version(const struct sb_archive *archive, int *major, int *minor);

/* Is it read without locks, because they do not work there? And the words for the user. */
bool sb_archive_is_unlocked(const struct sb_archive *archive);
#define SB_UNLOCKED_NOTE "read without locks, which do not work here"

/* The SQLite connection, for queries of the layers above (read-only). */
struct sqlite3 *sb_archive_database(struct sb_archive *archive);

/* The time of its state, in seconds since 1970, if the index was lost and made again as it was
 * before, and may not know all files (own/state.h); else 0. */
int64_t sb_archive_remade(const struct sb_archive *archive);

/*
 * A number that changes with every commit to the index, by any program; any thread may call this. A
 * writer that moves files overwrites their old places only after the commit of the new ones: bytes
 * that were read belong to a row if this still equals its entry.generation. See content.h. Means
 * nothing for an index in WAL mode or an adopted archive.
 */
uint32_t sb_archive_generation(const struct sb_archive *archive);

/*
 * SB_CHANGED if another index was renamed over the open one. Call it before reporting bytes as
 * damaged; any thread may.
 */
enum sb_code sb_archive_still_current(struct sb_archive *archive) SB_CHECKED;

/*
 * May bytes without a checksum belong to something else than a row of this generation? To be called
 * after reading them. True if the index was written since, or replaced by another index, whose
 * shards take the names of the old ones. Any thread may call it.
 */
bool sb_archive_has_moved(const struct sb_archive *archive, uint32_t generation);

/*
 * Looks up one name: a file or else a directory. A directory that has no row but has something
 * below it is found too (has = 0, statistics 0). SB_NOENT without text if there is none. An
 * unusable row is SB_OK with entry->defect. The entry's strings live until the next call on this
 * archive.
 */
enum sb_code sb_archive_lookup(struct sb_archive *archive, const char *path, size_t size,
                               struct sb_entry *entry) SB_CHECKED;

/*
 * Looks up a row by its number, in the table of files or of directories, as sb_archive_lookup does
 * a name. SB_NOENT without text if there is none.
 */
enum sb_code sb_archive_lookup_row(struct sb_archive *archive, bool is_dir, int64_t row,
                                   struct sb_entry *entry) SB_CHECKED;

/*
 * The first row below a directory that has none itself: of a file, or else of a directory. Only its
 * path and row are set, and its type, SB_FILE or SB_DIR. SB_NOENT without text: nothing is below.
 */
enum sb_code sb_archive_first_below(struct sb_archive *archive, const char *dir, size_t size,
                                    struct sb_entry *entry) SB_CHECKED;

/*
 * Look-ups between these calls share one read transaction (and its lock): for a batch of look-ups
 * without waiting in between. Each begin that returned SB_OK needs an end, which takes the code and
 * error of the work, and returns the code. It returns SB_CHANGED instead if the index is read
 * without locks and another process was writing meanwhile: then what was read must not be used.
 */
enum sb_code sb_archive_begin(struct sb_archive *archive) SB_CHECKED;
enum sb_code sb_archive_end(struct sb_archive *archive, enum sb_code code) SB_CHECKED;

enum sb_order {
    SB_BY_PATH,    /* bytewise by whole path; a directory comes before what is below it */
    SB_BY_ADDRESS, /* by shard, offset; files and links only */
};

/* What is read of each row; less is faster. */
enum sb_columns {
    SB_WHOLE_ROWS,
    SB_NAMES_AND_MODES, /* path, row, type and mode: half the time */
    SB_NAMES,           /* path, row and type (SB_FILE for a link): a quarter of the time */
};

struct sb_query {
    enum sb_order order;
    enum sb_columns columns; /* SB_BY_PATH only */
    bool files;              /* files and links */
    bool dirs;               /* directories; SB_BY_PATH only */
    bool shallow; /* SB_BY_PATH only: only direct children of `under`, including directories without
                     a row. Takes time proportional to the children. */
    const char *prefix; /* SB_BY_PATH, not shallow: names that begin with these bytes, instead of
                           `under`; NULL for none */
    bool recorded;      /* shallow only: omit directories without a row, so that files need not be
                           scanned for them */
    const char *after;  /* SB_BY_PATH only, not with `under` or `prefix` unless shallow: names after
                           this one (shallow: of children); NULL for all */
    const char *under; /* SB_BY_PATH only: what is below this directory, without itself; "" or NULL:
                          everything but the root row */
    uint32_t shard_first; /* SB_BY_ADDRESS only: from this shard ... */
    uint32_t shard_last;  /* ... to this one; both ignored with all_shards */
    bool all_shards;
    int64_t offset_first; /* SB_BY_ADDRESS only, if sb_archive_is_addressed and shard_first is
                             shard_last: extents that begin here or later, ... */
    int64_t
        offset_end; /* ... and before this; 0: all. Files that are moved meanwhile are not searched
                       for, so that it takes time proportional to the rows of the range */
    bool extents;   /* SB_BY_ADDRESS only: mode, owner and time are not looked at, nor set, nor a
                       defect; a quarter faster */
    bool steady;    /* SB_BY_ADDRESS only: SB_CHANGED as soon as the index changes. Otherwise files
                       that were moved meanwhile come last, unordered, so that each comes once; but a
                       file that was replaced by another of its name may come as both. */
};

/* Has it an index by address? Otherwise each cursor by address begins by sorting all files. */
bool sb_archive_is_addressed(const struct sb_archive *archive);

struct sb_cursor;

/* Copies what it needs of the query. */
enum sb_code sb_cursor_open(struct sb_cursor **out, struct sb_archive *archive,
                            const struct sb_query *query) SB_CHECKED;
void sb_cursor_free(struct sb_cursor *cursor);
FREEP(sb_cursor_free, struct sb_cursor)

/* Is there anything below this directory? "": in the archive. */
enum sb_code sb_archive_has_below(struct sb_archive *archive, const char *dir,
                                  bool *found) SB_CHECKED;

/* SB_END after the last; SB_INTERRUPT. The entry's strings live until the next call on this cursor.
 */
enum sb_code sb_cursor_next(struct sb_cursor *cursor, struct sb_entry *entry) SB_CHECKED;

/* Has the cursor fetched the next entry already? Then sb_cursor_next does not use the archive, and
 * another thread may do so meanwhile. */
bool sb_cursor_is_ahead(struct sb_cursor *cursor);

/* The number of the archive's own shards (own/state.h), by the usable rows; 0 without files. */
enum sb_code sb_archive_shard_count(struct sb_archive *archive, uint32_t *out) SB_CHECKED;

#endif
