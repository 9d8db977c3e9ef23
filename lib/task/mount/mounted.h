/*
 * What is mounted where, as the system lists it in /proc. No function here waits for the server of
 * a mount, so that they work on those that have none.
 */
#ifndef SB_TASK_MOUNT_MOUNTED_H
#define SB_TASK_MOUNT_MOUNTED_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A mount. The system may give both numbers to another one after this one has ended. */
struct sb_mounted {
    uint64_t id;
    uint64_t device; /* of its files */
    char *path;      /* where it is: its directory may be renamed meanwhile */
    char *type;
    int64_t user; /* who has mounted it, by FUSE; -1: nobody knows */
    char *inner;  /* the path of a mount in it, or over it; NULL: there is none */
    bool hidden;  /* by a mount over a directory above it, so that its path leads elsewhere */
};

void sb_mounted_release(struct sb_mounted *mounted); /* {0} is allowed */

/* The mount that has the directory or file at a path, which may be a link; *real (may be NULL) is
 * the path without links, which the caller frees. SB_NOENT; SB_SYSTEM, also without /proc. */
enum sb_code sb_mounted_at(struct sb_mounted *out, const char *path, char **real,
                           struct sb_error *err) SB_CHECKED;

/* For sb_mounted_find, which then needs no other descriptor; the caller closes it. NULL, with
 * errno. */
FILE *sb_mounted_list(void);

/* The mount of these two numbers as it is now. SB_NOENT: there is none, or it cannot be reached. */
enum sb_code sb_mounted_find(struct sb_mounted *out, FILE *list, uint64_t id, uint64_t device,
                             struct sb_error *err) SB_CHECKED;

#endif
