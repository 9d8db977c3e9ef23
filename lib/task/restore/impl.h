/*
 * Shared by the parts of restore.h only.
 */
#ifndef SB_TASK_RESTORE_IMPL_H
#define SB_TASK_RESTORE_IMPL_H

#include "archive/entry.h"
#include "archive/own/hold.h"
#include "core/buf.h"
#include "core/spool.h"
#include "store/source.h"
#include "task/protect/protect.h"
#include "task/restore/restore.h"
#include "task/verify/verify.h"

struct sb_archive;
struct sqlite3;

/*
 * restore/list.c: the files to restore, any number of them, and the progress of each: they are kept
 * in a temporary database, so memory is bounded. Belongs to one thread.
 */

enum sb_restore_state {
    SB_RESTORE_WANTED,  /* no file of this name was found in the copy */
    SB_RESTORE_OTHER,   /* one was found, but with other bytes */
    SB_RESTORE_WRITTEN, /* under a dry run: could be written */
};

/* The place of a file in its shard, and its expected content. */
struct sb_restore_item {
    int64_t id; /* ascending in the order of sb_restore_list_add; from 1 */
    const char *path;
    size_t path_size;
    bool is_link;
    uint32_t shard;
    int64_t offset;
    int64_t size;
    uint32_t crc32c;
    enum sb_restore_state state;
};

struct sb_restore_list;

/* beside: see sb_temp_directory; must live as long. */
enum sb_code sb_restore_list_new(struct sb_restore_list **out, const char *beside) SB_CHECKED;
void sb_restore_list_free(struct sb_restore_list *list); /* NULL is allowed */
FREEP(sb_restore_list_free, struct sb_restore_list)

/* A name that verify found damaged; a duplicate is fine. */
enum sb_code sb_restore_list_damage(struct sb_restore_list *list, const char *path,
                                    size_t size) SB_CHECKED;
enum sb_code sb_restore_list_is_damaged(struct sb_restore_list *list, const char *path, size_t size,
                                        bool *damaged) SB_CHECKED;

/*
 * Those names, in order. Meanwhile names may be queried, but not added. SB_END after the last; the
 * string lives until the next call.
 */
enum sb_code sb_restore_list_next_damaged(struct sb_restore_list *list, const char **path,
                                          size_t *size) SB_CHECKED;

/* Adds an item, for an entry with a checksum, as SB_RESTORE_WANTED. */
enum sb_code sb_restore_list_add(struct sb_restore_list *list,
                                 const struct sb_entry *entry) SB_CHECKED;

/*
 * The first item after the id `after` whose state is from `least` to `most`. SB_END: none. The path
 * lives until the next call.
 */
enum sb_code sb_restore_list_next(struct sb_restore_list *list, int64_t after,
                                  enum sb_restore_state least, enum sb_restore_state most,
                                  struct sb_restore_item *item) SB_CHECKED;

/*
 * The first item after `after`, not written yet, that has this name or, with by_target, is a hard
 * link to this name in the copy. SB_END: none. The path lives until the next call.
 */
enum sb_code sb_restore_list_find(struct sb_restore_list *list, const char *name, size_t size,
                                  bool by_target, int64_t after,
                                  struct sb_restore_item *item) SB_CHECKED;

enum sb_code sb_restore_list_set(struct sb_restore_list *list, int64_t id,
                                 enum sb_restore_state state) SB_CHECKED;

/* The copy has the item as a hard link to the file `target`. */
enum sb_code sb_restore_list_link(struct sb_restore_list *list, int64_t id, const char *target,
                                  size_t size) SB_CHECKED;

/* Items that are not written. */
int64_t sb_restore_list_open(const struct sb_restore_list *list);

/* restore/copy.c: the copy that damaged files of an archive are restored from. */

/*
 * The bytes of one file on the way from a copy: they are kept, in memory or, for a large file, in a
 * temporary one, until they are known to be right. SB_RESTORE_PIECE is empty. Belongs to one thread
 * at a time.
 */

/* Larger files are kept in a temporary file. The fault tests are built with a few bytes. */
#ifndef SB_RESTORE_WHOLE
#define SB_RESTORE_WHOLE ((int64_t)4 << 20)
#endif

struct sb_restore_piece {
    struct sb_spool bytes;
    int64_t expected; /* -1: no file; all bytes are ignored */
    uint32_t crc;     /* of the bytes so far */
    bool lost; /* the bytes could not be kept: not the copy's fault, and the end of the work */
};

/* beside: see sb_temp_directory; the caller's. */
#define SB_RESTORE_PIECE(where)                                                                    \
    ((struct sb_restore_piece){                                                                    \
        .bytes = {.fd = -1, .beside = (where), .memory_most = (size_t)SB_RESTORE_WHOLE}})

void sb_restore_piece_release(struct sb_restore_piece *piece);

/* Begins anew, for a file of `size` bytes. */
void sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size);

/* The next bytes, or a hole: an sb_each_block, whose context is the piece. SB_LIMIT: more than
 * expected. */
enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size) SB_CHECKED;

/* Are they complete, with this CRC32C? */
bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c);

struct sb_restore_copy;

/*
 * Opens it, and checks that it can be read at all. SB_INVALID for bags, which have no names, and
 * for the archive itself. The caller keeps the strings as long. Events of its source are reported
 * to notify as SB_NOTE, damage as SB_WARNING: it is not a problem of the archive.
 */
enum sb_code sb_restore_copy_open(struct sb_restore_copy **out, const char *path,
                                  const char *prefix, const struct sb_archive *archive,
                                  const struct sb_notify *notify) SB_CHECKED;
void sb_restore_copy_free(struct sb_restore_copy *copy); /* NULL is allowed */
FREEP(sb_restore_copy_free, struct sb_restore_copy)

/* Is it read from beginning to end? Otherwise any file of it can be read directly. */
bool sb_restore_copy_in_sequence(const struct sb_restore_copy *copy);

/* Else: reads a file by its name. SB_NOENT: it is missing; codes that do not end the work
 * (sb_ends_work): its bytes cannot be read. */
enum sb_code sb_restore_copy_read(struct sb_restore_copy *copy, const struct sb_restore_item *item,
                                  struct sb_restore_piece *piece) SB_CHECKED;

/*
 * For a copy in sequence: the source of its members, from the first one on; freed by
 * sb_source_free. SB_END if it was opened before and cannot be read again: it came through a pipe.
 */
enum sb_code sb_restore_copy_source(struct sb_restore_copy *copy,
                                    struct sb_source **out) SB_CHECKED;

/*
 * The archive's name for a name in the copy: below the prefix, cleaned. It lives until the next
 * call. SB_END: none.
 */
enum sb_code sb_restore_copy_name(struct sb_restore_copy *copy, const char *raw, size_t raw_size,
                                  const char **name, size_t *size) SB_CHECKED;

/*
 * restore/target.c: the shards of an archive whose damaged files are rewritten in place. Writing is
 * thread-safe; all else belongs to one thread.
 */

struct sb_restore_target;

/* Bits of the state of a shard. */
enum {
    SB_SHARD_WANTED = 1 << 0, /* files of it are damaged */
    SB_SHARD_DEFECT = 1 << 1, /* verify found it missing, or not a shard */
    SB_SHARD_READY = 1 << 2,  /* exists, and may be written */
};

/*
 * base: the shards are BASE-shard-NNNNN; db: the index, which shows the shards that are another
 * archive's; it must be open as long. What is replaced is kept in parity_dir, or beside them.
 */
enum sb_code sb_restore_target_new(struct sb_restore_target **out, const char *base,
                                   const char *parity_dir, struct sqlite3 *db) SB_CHECKED;
void sb_restore_target_free(struct sb_restore_target *target); /* NULL is allowed */
FREEP(sb_restore_target_free, struct sb_restore_target)

const char *sb_restore_target_base(const struct sb_restore_target *target);

/* Shards up to SB_SHARD_MAX. */
void sb_restore_target_mark(struct sb_restore_target *target, uint32_t shard, unsigned bits);
bool sb_restore_target_is(const struct sb_restore_target *target, uint32_t shard, unsigned bit);

/* The next shard from this number on that has the bit; false: none. */
bool sb_restore_target_next(const struct sb_restore_target *target, unsigned bit, uint32_t *shard);

/*
 * May a shard be written, or made? SB_INVALID, without its name, if it is a link or has several, is
 * not a regular file, or is not writable. *size: its length, 0 if it is missing.
 */
enum sb_code sb_restore_target_look(struct sb_restore_target *target, uint32_t shard,
                                    int64_t *size) SB_CHECKED;

/* Is it missing, and to be made here, not to be brought back from another archive? */
bool sb_restore_target_is_missing(struct sb_restore_target *target, uint32_t shard);

/* The largest possible shard: the size of the file system. INT64_MAX if that is unknown. */
int64_t sb_restore_target_limit(const struct sb_restore_target *target);

/* Makes a missing shard, empty, under its final name, and syncs its directory. */
enum sb_code sb_restore_target_ready(struct sb_restore_target *target, uint32_t shard) SB_CHECKED;

/* Where the next block goes, in a shard that is ready. */
struct sb_restore_put {
    struct sb_restore_target *target;
    uint32_t shard;
    int64_t offset;
};

/* An sb_each_block, whose context is a struct sb_restore_put: writes by task/protect/before.h. */
enum sb_code sb_restore_put_block(void *context, const void *data, size_t size) SB_CHECKED;

/* All that was written is on disk. */
enum sb_code sb_restore_target_sync(struct sb_restore_target *target) SB_CHECKED;

struct sb_restore_unit {
    uint32_t shard;
    int64_t number;
};

/* Parity files that are to be made again. */
struct sb_restore_again {
    const char *parity_dir;
    const struct sb_notify *notify;
    unsigned threads;
    bool dry_run;
    struct sb_protect_result *result;
    struct sb_restore_parity_file {
        char *path;      /* of its file */
        const char *why; /* it is to be made again */
    } * files;
    size_t count, capacity;
};

struct sb_restore {
    struct sb_archive *archive;
    const struct sb_restore_options *options;
    const struct sb_notify *notify;
    const struct sb_verify_events *events; /* the caller's */
    struct sb_restore_result *result;
    struct sb_restore_copy *copy;
    struct sb_restore_list *list;
    struct sb_restore_target *target;
    struct sb_error failed;        /* in a callback of verify */
    struct sb_restore_unit *units; /* that were read, in the order of reading */
    size_t unit_count, unit_capacity;
    int64_t gone;         /* defects of files that no longer exist, or are no longer damaged */
    int64_t wanted_bytes; /* of all items */
    int64_t done_bytes;   /* of the items processed */

    struct sb_hold hold;
    bool locked; /* and settled after earlier runs */
    struct sqlite3 *db;
    struct sb_restore_again again;
};

/* restore/plan.c: adds to the list those damaged names that can be restored at all. */
enum sb_code sb_restore_plan(struct sb_restore *restore) SB_CHECKED;

/* restore/parity.c: makes what can be made by parity files, and writes it. */
enum sb_code sb_restore_parity(struct sb_restore *restore) SB_CHECKED;

/*
 * restore/tend.c: what no file with a checksum has, by the parity files of shards, and the parity
 * files themselves: those that are missing, or damaged, are marked, to be made again. by_units:
 * only sections with bytes of units that were read.
 */
enum sb_code sb_restore_tend(struct sb_restore *restore, bool by_units) SB_CHECKED;

/* Makes those parity files again, when the archive is not held any more. */
enum sb_code sb_restore_remake_parity(struct sb_restore_again *again) SB_CHECKED;

/*
 * Keeps other writers out, and settles what a killed one has left, unless that is done. The index
 * is not changed and remains open for reading meanwhile, so it keeps its journal mode.
 */
enum sb_code sb_restore_lock(struct sb_restore *restore) SB_CHECKED;

/* Makes missing shards that no file uses: Barecat finds later ones only by counting. */
enum sb_code sb_restore_holes(struct sb_restore *restore) SB_CHECKED;

/* restore/from_copy.c: finds the items in the copy, and writes them. */
enum sb_code sb_restore_from_copy(struct sb_restore *restore) SB_CHECKED;

/* One more item was processed: for progress. */
void sb_restore_passed(struct sb_restore *restore, int64_t size);

#endif
