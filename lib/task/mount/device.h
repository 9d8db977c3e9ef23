/*
 * Mounting and unmounting, with what this user may do: mount(2) itself, or fusermount3; and what is
 * mounted where.
 */
#ifndef SB_TASK_MOUNT_DEVICE_H
#define SB_TASK_MOUNT_DEVICE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The system's list of what is mounted. Once it is made, no descriptor and no memory is needed to
 * read it again, unless it has become twice as long. */
struct sb_mounted_list;

/* A mount that was made here. It is known by its numbers, since its path may lead to another one by
 * now. */
struct sb_device {
    int fd; /* on which the requests come, until it is closed */
    uint64_t id;
    uint64_t device;
    struct sb_mounted_list *list; /* to find it at the end, without resources; NULL: none */
};

/*
 * Mounts at a directory, an absolute path, read-only. What is left there of a mount whose server is
 * gone is unmounted first. SB_SYSTEM, SB_INVALID: there is no way; the text says which call has
 * failed, what fusermount3 said, and what else an administrator can do.
 */
enum sb_code sb_device_mount(struct sb_device *device, const char *dir,
                             bool allow_other) SB_CHECKED;

/*
 * Unmounts that, wherever it is by now, and nothing else; SB_OK too if somebody has done it, or has
 * cut its connection. lazy: also while it is in use. SB_SYSTEM: it is in use; SB_INVALID: something
 * is mounted in it or over it, which would be lost to its users, or nobody can reach it.
 */
enum sb_code sb_device_end(const struct sb_device *device, bool lazy) SB_CHECKED;

/* Closes what is kept for that, but not the device. */
void sb_device_release(struct sb_device *device);

/* The descriptor that a text of the form "/dev/fd/N" names; -1: it is another path. */
int sb_device_given(const char *dir);

/* Takes a device that somebody else has mounted. SB_INVALID: the descriptor is none. */
enum sb_code sb_device_take(struct sb_device *device, int fd) SB_CHECKED;

/*
 * SB_INVALID: a file of the container at `path` is below `dir`, an absolute path without links, or
 * is a link to one: an index, a shard, a bag; or the directory of temporary files is. They would be
 * used through the mount itself.
 */
enum sb_code sb_hidden_refuse(const char *path, const char *dir) SB_CHECKED;

/*
 * What is mounted where, as the system lists it in /proc. No function from here on waits for the
 * server of a mount, so that they work on those that have none.
 */

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
