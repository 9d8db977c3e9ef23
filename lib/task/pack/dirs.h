/*
 * Directories of a walk that are packed only if something below them is.
 *
 * They are held from the top down to where the walk is, and given out when that is known: each
 * once, before what is below it. Memory is bounded by the depth of the tree. One thread.
 */
#ifndef SB_TASK_PACK_DIRS_H
#define SB_TASK_PACK_DIRS_H

#include "core/buf.h"
#include "task/pack/source.h"

struct sb_pack_dirs {
    struct sb_pack_dir {
        size_t name_size; /* of its name, the beginning of `name` */
        size_t disk_size;
        struct stat stat;
    } * held;
    size_t count, room;
    size_t given;             /* so many of them, from the top, were given out */
    struct sb_buf name, disk; /* of the innermost */
    struct sb_buf text;       /* what is given out */
};

/* {0} is empty. */
void sb_pack_dirs_release(struct sb_pack_dirs *dirs);

/* The walk came to this name: those that it is not below are forgotten. */
void sb_pack_dirs_leave(struct sb_pack_dirs *dirs, const char *name, size_t size);

/* Holds a directory to which the walk came; copies it. */
enum sb_code sb_pack_dirs_hold(struct sb_pack_dirs *dirs, const struct sb_pack_item *item,
                               struct sb_error *err) SB_CHECKED;

/* The next that was not given out yet; SB_END when all were. Its strings live until the next call.
 */
enum sb_code sb_pack_dirs_give(struct sb_pack_dirs *dirs, struct sb_pack_item *item,
                               struct sb_error *err) SB_CHECKED;

#endif
