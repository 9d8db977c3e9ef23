/*
 * What is under a name, and whether it is the same file as before.
 *
 * A file is identified by its inode and, where the file system has it, by the time of its birth,
 * since inodes are reused. Both survive renaming and linking; a copy has others. Thread-safe.
 */
#ifndef SB_ARCHIVE_OWN_LOOK_H
#define SB_ARCHIVE_OWN_LOOK_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

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
