/*
 * Shared by the parts of the tally only: tally.c counts into the table, tally_apply.c writes its
 * sums to `dirs`.
 */
#ifndef SB_ARCHIVE_WRITER_TALLY_PRIVATE_H
#define SB_ARCHIVE_WRITER_TALLY_PRIVATE_H

#include "archive/writer/tally.h"
#include "core/buf.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counts {
    int64_t subdirs;
    int64_t files;
    int64_t files_tree;
    int64_t size_tree; /* while counting: of the files in the directory itself */
};

struct metadata {
    unsigned has; /* SB_HAS_... bits, 0 where none was given */
    int64_t mode, uid, gid, mtime_ns;
};

/* What was reported of a directory. */
enum {
    HELD = 1, /* it exists, or a file in it does */
    GONE = 2, /* it was dropped */
};

struct frame {
    size_t key_size; /* of the directory's key, its '/' included */
    struct counts counts;
    unsigned flags;
    struct metadata metadata;
    bool exists; /* in `dirs`, while applying */
};

/*
 * A directory's key is its path with a '/' appended (the root's is empty), so that in the order of
 * keys all that is below a directory follows it at once: with "a", "a-b", "a/c" it would not.
 */
struct sb_tally {
    sqlite3 *db;
    sqlite3_stmt *save;
    struct sb_buf key; /* of the innermost directory on the stack */
    struct frame *frames;
    size_t depth;
    size_t capacity;
    int64_t removed; /* directories, while applying */
};

/* SB_LIMIT if the sum is too large. */
enum sb_code sb_tally_add(int64_t *sum, int64_t more) SB_CHECKED;

/* To four columns from this one on; NULL where nothing was given. */
void sb_tally_bind_metadata(sqlite3_stmt *statement, int column, const struct metadata *metadata);

/* Is the directory with this key the innermost one, or below it? */
bool sb_tally_is_within(const struct sb_tally *tally, const char *key, size_t key_size);

typedef enum sb_code sb_tally_visit(void *context, const char *path, size_t size);

/*
 * Moves from the innermost directory, or from nowhere, down to the one with this key. each: NULL,
 * or called for those on the way.
 */
enum sb_code sb_tally_descend(struct sb_tally *tally, const char *key, size_t key_size,
                              sb_tally_visit *each, void *context) SB_CHECKED;

/* Removes the innermost directory from the stack. */
void sb_tally_pop(struct sb_tally *tally);

/* Afterwards the table has all counts, and the stack is empty. */
enum sb_code sb_tally_save_all(struct sb_tally *tally) SB_CHECKED;

#endif
