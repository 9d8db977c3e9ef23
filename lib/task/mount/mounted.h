/*
 * What is mounted where, as the system lists it in /proc. No function here waits for the server of
 * a mount, so that they work on those that have none.
 */
#ifndef SB_TASK_MOUNT_MOUNTED_H
#define SB_TASK_MOUNT_MOUNTED_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The system's list. Once it is made, no descriptor and no memory is needed to read it again,
 * unless it has become twice as long. */
struct sb_mounted_list;

/* SB_SYSTEM: there is no /proc. */
enum sb_code sb_mounted_list_new(struct sb_mounted_list **out) SB_CHECKED;
void sb_mounted_list_free(struct sb_mounted_list *list); /* NULL is allowed */
FREEP(sb_mounted_list_free, struct sb_mounted_list)

/* A mount. The system may give both numbers to another one after this one has ended. The strings
 * live until the list is used next. */
struct sb_mounted {
    uint64_t id;
    uint64_t device;  /* of its files */
    const char *path; /* where it is: its directory may be renamed meanwhile */
    const char *type;
    int64_t user;      /* who has mounted it, by FUSE; -1: nobody knows */
    const char *inner; /* the path of a mount in it, or over it; NULL: there is none */
    bool hidden;       /* by a mount over a directory above it, so that its path leads elsewhere */
};

/* The mount that has the directory or file at a path, which may be a link; *real (may be NULL) is
 * the path without links, which the caller frees. SB_NOENT, SB_SYSTEM. */
enum sb_code sb_mounted_at(struct sb_mounted *out, struct sb_mounted_list *list, const char *path,
                           char **real) SB_CHECKED;

/* The mount of these two numbers as it is now. SB_NOENT: there is none, or it cannot be reached. */
enum sb_code sb_mounted_find(struct sb_mounted *out, struct sb_mounted_list *list, uint64_t id,
                             uint64_t device) SB_CHECKED;

#endif
