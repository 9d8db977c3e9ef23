/*
 * The names of an archive's own files: all of them, and no others. A is the archive's.
 *
 *   A, A-shard-NNNNN             the index, and the shards
 *   A-sqlite-index               the index of releases of Barecat before schema 0.3
 *   A.new                        the note and the lock of a writer (note.h)
 *   A.new-index, A.new-shard-NNNNN   files that it makes
 *   A.part, and all of these for A.part    the unfinished archive of a run with --checkpoint
 * (part.h) -journal, -wal, -shm         SQLite's, after the name of an index
 *   -parity                      the parity file, after the name of an index or a shard
 *   -before-repair               what a repair replaced, after the name of an index
 *   A-linked-by                  which archives have links to its shards (linked_by.h)
 *
 * -parity and -before-repair may also be in another directory (--parity-dir).
 *
 * A name alone does not prove who made the file. A file of such a name is the archive's if its
 * index counts the shard (state.h), or if a note has its name and identity (note.h).
 */
#ifndef SB_ARCHIVE_OWN_OWN_NAMES_H
#define SB_ARCHIVE_OWN_OWN_NAMES_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define SB_SHARD_MAX  99999 /* five digits in the name */
#define SB_OLD_INDEX  "-sqlite-index"
#define SB_NEW_SUFFIX ".new"
#define SB_NEW_INDEX  ".new-index"
#define SB_PART       ".part"
#define SB_REPAIR_END "-before-repair"
#define SB_LINKED_BY  "-linked-by"

/* How -before-repair and -linked-by begin. */
#define SB_REPAIR_MAGIC    "SBREPAIR"
#define SB_LINKED_BY_MAGIC "# has links to shards of this archive"

/* PREFIX-shard-NNNNN; the caller frees it. NULL: no memory. */
char *sb_shard_name(const char *prefix, uint32_t shard);

/* PATH followed by a suffix, likewise. */
char *sb_own_name(const char *path, const char *suffix);

enum sb_own_kind {
    SB_OWN_NONE,      /* not an archive's */
    SB_OWN_INDEX,     /* or one of the files beside it: SQLite's, parity, what a repair replaced */
    SB_OWN_OLD_INDEX, /* likewise; the archive's only if no index has the new name */
    SB_OWN_SHARD,
    SB_OWN_SHARD_PARITY,
    SB_OWN_NEW, /* of a writer that is running, or was killed; also those of a part */
};

struct sb_own {
    enum sb_own_kind kind;
    uint32_t shard; /* of SB_OWN_SHARD and SB_OWN_SHARD_PARITY */
};

/* What kind of name a file name, without directories, is for the archive `base`. */
struct sb_own sb_own_of(const char *name, const char *base);

/* The same for the part of a name after the base. */
struct sb_own sb_own_of_rest(const char *rest);

/* Is it after its base what may also be in another directory? */
bool sb_own_may_be_elsewhere(const char *rest);

/* Is this a file that begins so? A link is none. */
bool sb_own_begins(const char *path, const char *magic);

/* Is it the path of a shard without its final name? */
bool sb_is_new_shard(const char *path);

/*
 * What is under a name, and whether it is the same file as before. A file is identified by its
 * inode and, where the file system has it, by the time of its birth, since inodes are reused. Both
 * survive renaming and linking; a copy has others. Thread-safe.
 */

/* {0}: of no file. */
struct sb_identity {
    uint64_t inode;
    int64_t born; /* nanoseconds since 1970; 0: unknown */
};

struct sb_look {
    bool there;
    struct sb_identity identity;
    mode_t mode;
    uid_t owner;
    uint32_t links;
    int64_t size;
    struct timespec changed; /* time of the last modification */
};

/* Of the name itself, not of the target of a symbolic link. SB_OK also where nothing is there. */
enum sb_code sb_look_at(const char *path, struct sb_look *out) SB_CHECKED;

/* Of an open file; `what` is its name for messages. */
enum sb_code sb_look_into(int fd, const char *what, struct sb_look *out) SB_CHECKED;

/* A file's name, and what is under it. {0} is empty. */
struct sb_named {
    char *path; /* NULL: it could not be made */
    struct sb_look look;
};
void sb_named_release(struct sb_named *named);

/*
 * Of PATH followed by the suffix, or of PATH, the suffix and -shard-NNNNN (own_names.h). The caller
 * releases *out, also after an error.
 */
enum sb_code sb_look_at_own(struct sb_named *out, const char *path, const char *suffix) SB_CHECKED;
enum sb_code sb_look_at_shard(struct sb_named *out, const char *path, const char *suffix,
                              uint32_t number) SB_CHECKED;

/* False where either is {0}. */
bool sb_is_identical(const struct sb_identity *a, const struct sb_identity *b);

/* A regular file without bytes and without a second name: removing it loses nothing. */
bool sb_is_empty_file(const struct sb_look *look);

#endif
