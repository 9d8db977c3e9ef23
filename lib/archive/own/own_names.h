/*
 * The names that an archive has for its own: all of them, and none but these. A is the archive's.
 *
 *   A, A-shard-NNNNN             the index, and the shards
 *   A-sqlite-index               the index as releases of Barecat before schema 0.3 called it
 *   A.new                        the note and the lock of a writer (note.h)
 *   A.new-index, A.new-shard-NNNNN   what it makes
 *   A.part and all of these of it    what a run with --checkpoint stores into (part.h)
 *   -journal, -wal, -shm         SQLite's, behind the name of an index
 *
 * A name alone says nothing of who made the file. What has one of these names is the archive's if
 * its index counts the shard (shardcount.h), or a note names it and its identity (note.h).
 */
#ifndef SB_ARCHIVE_OWN_OWN_NAMES_H
#define SB_ARCHIVE_OWN_OWN_NAMES_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_SHARD_MAX  99999 /* five digits in the name */
#define SB_OLD_INDEX  "-sqlite-index"
#define SB_NEW_SUFFIX ".new"
#define SB_NEW_INDEX  ".new-index"
#define SB_PART       ".part"

/* PREFIX-shard-NNNNN; of the caller. NULL when there is no memory, which err says. */
char *sb_shard_name(const char *prefix, uint32_t shard, struct sb_error *err);

/* PATH followed by a suffix, likewise. */
char *sb_own_name(const char *path, const char *suffix, struct sb_error *err);

enum sb_own_kind {
    SB_OWN_NONE,      /* a stranger's */
    SB_OWN_INDEX,     /* or what SQLite puts beside it */
    SB_OWN_OLD_INDEX, /* likewise; the archive's only where no index has the new name */
    SB_OWN_SHARD,
    SB_OWN_NEW, /* of a writer that is at work, or was killed; a part's, too */
};

struct sb_own {
    enum sb_own_kind kind;
    uint32_t shard; /* of SB_OWN_SHARD */
};

/* What the name of a file, without directories, is among those of the archive called base. */
struct sb_own sb_own_of(const char *name, const char *base);

/* The same of what is behind the base in a name. */
struct sb_own sb_own_of_rest(const char *rest);

/* Is it the path of a shard that waits for its lasting name? */
bool sb_is_new_shard(const char *path);

#endif
