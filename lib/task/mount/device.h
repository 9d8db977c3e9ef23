/*
 * Mounting and unmounting, with what this user may do: mount(2) itself, or fusermount3.
 */
#ifndef SB_TASK_MOUNT_DEVICE_H
#define SB_TASK_MOUNT_DEVICE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
