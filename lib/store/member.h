/*
 * One thing in a container, as it goes from a source to a sink.
 */
#ifndef SB_STORE_MEMBER_H
#define SB_STORE_MEMBER_H

#include "archive/entry.h"

#include <sys/types.h>

struct sb_tree_dir;

/* Properties that some containers hold and others do not: bits of sb_member.has and sb_sink.holds.
 */
enum {
    SB_KEEPS_OWNER = 1 << 0,       /* uid and gid */
    SB_KEEPS_OWNER_NAME = 1 << 1,  /* user and group */
    SB_KEEPS_NANOSECONDS = 1 << 2, /* of the time of change, and any year */
    SB_KEEPS_HARD_LINKS = 1 << 3,
    SB_KEEPS_SPECIAL = 1 << 4, /* devices and FIFOs */
    SB_KEEPS_XATTRS = 1 << 5,  /* extended attributes */
    SB_KEEPS_ACLS = 1 << 6,
    SB_KEEPS_FLAGS = 1 << 7, /* of the inode: immutable, nodump, ... */
    SB_KEEPS_SPARSE = 1 << 8,
    SB_KEEPS_COMMENT = 1 << 9, /* of a zip's member */

    /* Of items of arrays; sinks find out that they are there. */
    SB_KEEPS_SHAPE = 1 << 10,     /* of several dimensions, or none */
    SB_KEEPS_ITEM_NAME = 1 << 11, /* other than its number */

    SB_KEEPS_SECOND_NAME = 1 << 12, /* of an owner who has another; sinks find out */
    SB_KEEPS_FAR_TIME = 1 << 13,    /* an entry has the nearest instead: core/time.h */
};

/*
 * Strings live as long as the function that filled in the member says, and are NUL-terminated.
 *
 * entry.path is the name as the container has it, any bytes, not empty but for a root directory
 * ("./" in a tar is the root, and "" here); sb_transfer makes a stored name of it. entry.size is
 * the number of bytes, -1 where only reading tells (a file of a tree before it is opened). The
 * bytes of a SB_LINK are its target. entry.has & SB_HAS_CRC: the container knew its CRC32C, and
 * whoever delivers the bytes has checked it.
 */
struct sb_member {
    struct sb_entry entry;
    unsigned has; /* SB_KEEPS_..., of what there is */

    const char *hard_link; /* the name, as entry.path, of the earlier member whose file this is too
                              (a SB_FILE without bytes); else NULL */
    const char *special;   /* "FIFO", "socket", "character device", ...: has no bytes; else NULL */
    mode_t special_mode;   /* S_IFIFO, ... */
    uint32_t device_major; /* of devices */
    uint32_t device_minor;
    const char *user; /* names of its owners; NULL or "" where they are not known */
    const char *group;

    /*
     * Do its bytes lie as they are at `at` in the source's file? Then an index can point at them.
     * For a link, of its target inside the header.
     */
    bool located;
    int64_t at;

    bool numbered; /* its name was made of the number of a record or item */

    /* Of an array of an item: bytes at the end of its name that are the array's, also where they
     * have a '/'; 0: what is behind the last one. */
    size_t array_size;

    /* The source's own, for its loaders. */
    struct sb_tree_dir *dir; /* a tree's: a reference is taken with sb_tree_dir_ref when copied */
    int dir_fd;
    const char *component;
    const char *disk_path;
    uint64_t place[3];
};

/* What a mode of another type than file, directory and link is called; NULL for those three. */
const char *sb_special_word(mode_t mode);

#endif
