/*
 * What stands under a name, and whether it is the file that it was.
 *
 * A file is known by its inode and, where the file system tells, by the time of its birth, for an
 * inode may be given away again. Both stay when a file is renamed or linked, and neither does when
 * it is copied. Thread-safe.
 */
#ifndef SB_CORE_LOOK_H
#define SB_CORE_LOOK_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* {0} is that of no file. */
struct sb_identity {
    uint64_t inode;
    int64_t born; /* nanoseconds since 1970; 0: not known */
};

struct sb_look {
    bool there;
    struct sb_identity identity;
    mode_t mode;
    uid_t owner;
    uint32_t links;
    int64_t size;
    struct timespec changed; /* its bytes: the time of modification */
};

/* Of the name itself, not of what a symbolic link leads to. SB_OK also where nothing is there. */
enum sb_code sb_look_at(const char *path, struct sb_look *out, struct sb_error *err) SB_CHECKED;

/* Of an open file; `what` is its name for messages. */
enum sb_code sb_look_into(int fd, const char *what, struct sb_look *out,
                          struct sb_error *err) SB_CHECKED;

/* Never true of no file. */
bool sb_is_identical(const struct sb_identity *a, const struct sb_identity *b);

/* A regular file without bytes and without a second name: nothing is lost with it. */
bool sb_is_empty_file(const struct sb_look *look);

#endif
