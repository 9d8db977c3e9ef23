/*
 * Shared by the parts of restore.h only.
 */
#ifndef SB_TASK_RESTORE_IMPL_H
#define SB_TASK_RESTORE_IMPL_H

#include "archive/entry.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "core/open_files.h"
#include "task/protect/before.h"
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
 * The first item after the id `after` whose state is up to `most`, or of this shard and still
 * wanted. SB_END: none. The path lives until the next call.
 */
enum sb_code sb_restore_list_next(struct sb_restore_list *list, int64_t after,
                                  enum sb_restore_state most,
                                  struct sb_restore_item *item) SB_CHECKED;
enum sb_code sb_restore_list_next_of(struct sb_restore_list *list, uint32_t shard, int64_t after,
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

/* Bits of the state of a shard. */
enum {
    SB_SHARD_WANTED = 1 << 0, /* files of it are damaged */
    SB_SHARD_DEFECT = 1 << 1, /* verify found it missing, or not a shard */
    SB_SHARD_READY = 1 << 2,  /* exists, and is written */
};

/*
 * restore/plan.c: the shards of an archive whose damaged files are rewritten in place. Writing is
 * thread-safe; all else belongs to one thread.
 */
struct sb_restore_target {
    char *base; /* the shards are BASE-shard-NNNNN */
    struct sb_rewrite rewrite;
    struct sqlite3 *db;         /* the index */
    struct sb_open_files files; /* open for writing; there is only one generation */
    unsigned char bits[SB_SHARD_MAX + 1];
};

/*
 * db shows the shards that are another archive's; it must be open as long. What is replaced is kept
 * in parity_dir, or beside them.
 */
enum sb_code sb_restore_target_new(struct sb_restore_target **out, const char *base,
                                   const char *parity_dir, struct sqlite3 *db) SB_CHECKED;
void sb_restore_target_free(struct sb_restore_target *target); /* NULL is allowed */
FREEP(sb_restore_target_free, struct sb_restore_target)

/* The next shard from this number on that has the bit; false: none. */
bool sb_restore_target_next(const struct sb_restore_target *target, unsigned bit, uint32_t *shard);

/* Where the next block goes. */
struct sb_restore_put {
    struct sb_restore_target *target;
    uint32_t shard;
    int64_t offset;
};

/*
 * An sb_each_block, whose context is a struct sb_restore_put: writes by task/protect/before.h. A
 * missing shard is made first.
 */
enum sb_code sb_restore_put_block(void *context, const void *data, size_t size) SB_CHECKED;

/* All that was written is on disk. */
enum sb_code sb_restore_target_sync(struct sb_restore_target *target) SB_CHECKED;

struct sb_restore_unit {
    uint32_t shard;
    int64_t number;
};

/* Parity files that are to be made again. */
struct sb_restore_again {
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
 * What no file with a checksum has, by the parity files of shards, and the parity
 * files themselves: those that are missing, or damaged, are marked, to be made again. by_units:
 * only sections with bytes of units that were read.
 */
enum sb_code sb_restore_tend(struct sb_restore *restore, bool by_units) SB_CHECKED;

/* Makes those parity files again, when the archive is not held any more. */
enum sb_code sb_restore_remake_parity(struct sb_restore *restore) SB_CHECKED;

/*
 * Keeps other writers out, and settles what a killed one has left, unless that is done. The index
 * is not changed and remains open for reading meanwhile, so it keeps its journal mode. The context
 * is the struct sb_restore.
 */
enum sb_code sb_restore_lock(void *context) SB_CHECKED;

/* Makes missing shards that no file uses: Barecat finds later ones only by counting. */
enum sb_code sb_restore_holes(struct sb_restore *restore) SB_CHECKED;

/*
 * restore/from_copy.c: the copy of the options, for restore->copy: opens it, and checks that it can
 * be read at all. SB_INVALID for bags, which have no names, and for the archive itself.
 */
enum sb_code sb_restore_copy_open(struct sb_restore *restore) SB_CHECKED;
void sb_restore_copy_free(struct sb_restore_copy *copy); /* NULL is allowed */
FREEP(sb_restore_copy_free, struct sb_restore_copy)

/* Finds the items in the copy, and writes them. */
enum sb_code sb_restore_from_copy(struct sb_restore_copy *copy) SB_CHECKED;

/* One more item was processed: for progress. */
void sb_restore_passed(struct sb_restore *restore, int64_t size);

#endif
