/*
 * Mounting and unmounting, with what this user may do: mount(2) itself, or fusermount3.
 */
#ifndef SB_TASK_MOUNT_DEVICE_H
#define SB_TASK_MOUNT_DEVICE_H

#include "core/error.h"

#include <stdbool.h>

/*
 * Mounts at a directory, an absolute path, read-only; *fd is the device, on which the requests
 * come. What is left there of a mount whose server is gone is unmounted first. SB_INVALID: there is
 * no way; the text says what an administrator can do.
 */
enum sb_code sb_device_mount(int *fd, const char *dir, bool allow_other,
                             struct sb_error *err) SB_CHECKED;

/* The descriptor that a text of the form "/dev/fd/N" names; -1: it is another path. */
int sb_device_given(const char *dir);

/* lazy: also while it is in use. SB_INVALID: nothing is mounted there. */
enum sb_code sb_device_unmount(const char *dir, bool lazy, struct sb_error *err) SB_CHECKED;

#endif
