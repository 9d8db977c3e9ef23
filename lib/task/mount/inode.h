/*
 * The numbers by which the system knows what is mounted: 64 bits that say where a row is, so that
 * no table of them is needed.
 *
 * A number has the container and its epoch, which counts how often another archive took its place;
 * the row, and some bits of what the row holds, so that another file in a row that is used again
 * has another number. A directory without a row has the first row below it, and bits of its depth
 * and its path. Pure functions.
 */
#ifndef SB_TASK_MOUNT_INODE_H
#define SB_TASK_MOUNT_INODE_H

#include "archive/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_inode_kind {
    SB_INODE_FILE,       /* a row of files */
    SB_INODE_DIR,        /* a row of directories; row 0: the root of the container */
    SB_INODE_ABOVE_FILE, /* a directory without a row, above the file of that row */
    SB_INODE_ABOVE_DIR,  /* the same above a directory */
};

#define SB_INODE_TOP        1    /* the number of the directory that is mounted */
#define SB_INODE_CONTAINERS 1023 /* their numbers are from 1 */
#define SB_INODE_ROWS       (((int64_t)1 << 34) - 1)
#define SB_INODE_TAILS      (1U << 15)
#define SB_INODE_EPOCHS     (1U << 3)

struct sb_inode {
    unsigned container;
    unsigned epoch; /* modulo SB_INODE_EPOCHS */
    enum sb_inode_kind kind;
    int64_t row;   /* at most SB_INODE_ROWS */
    unsigned tail; /* bits of what the row holds; of a directory without a row, of its path */
};

uint64_t sb_inode_pack(const struct sb_inode *inode);
struct sb_inode sb_inode_unpack(uint64_t number);

/* The place of an entry in the listing of its directory: where its row is, and no more. Above 2,
 * and below 2^61. sb_inode_unpack knows it, too. */
uint64_t sb_inode_place(const struct sb_inode *inode);

/* Which of some slots a number is kept in, or looked for. */
static inline size_t sb_inode_slot(uint64_t number, size_t slots)
{
    return (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) % slots;
}

/* Has it a row of its own? */
bool sb_inode_has_row(const struct sb_inode *inode);

/* The tail of an entry that has a row. epoch: all of it; a number has some bits of
 * it. */
unsigned sb_inode_tail(const struct sb_entry *entry, unsigned epoch);

/* That of a directory without one; depth: components of its path. */
unsigned sb_inode_tail_above(const char *path, size_t size, size_t depth, unsigned epoch);

/* More bits of what the row holds and of the epoch, beside the number: the system keeps no bytes of
 * one number for another generation of it. */
uint32_t sb_inode_generation(const struct sb_entry *entry, unsigned epoch);

#endif
