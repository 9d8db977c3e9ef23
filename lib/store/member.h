/* A member of a container, as a source yields it and a sink takes it. */
#ifndef SB_STORE_MEMBER_H
#define SB_STORE_MEMBER_H

#include "archive/entry.h"

#include <sys/types.h>

struct sb_tree_dir;

/* Properties that only some containers hold: bits of sb_member.has and sb_sink.holds. */
enum {
    SB_KEEPS_OWNER = 1 << 0,       /* uid and gid */
    SB_KEEPS_OWNER_NAME = 1 << 1,  /* user and group */
    SB_KEEPS_NANOSECONDS = 1 << 2, /* of the modification time, and any year */
    SB_KEEPS_HARD_LINKS = 1 << 3,
    SB_KEEPS_SPECIAL = 1 << 4, /* devices and FIFOs */
    SB_KEEPS_XATTRS = 1 << 5,  /* extended attributes */
    SB_KEEPS_ACLS = 1 << 6,
    SB_KEEPS_FLAGS = 1 << 7, /* of the inode: immutable, nodump, ... */
    SB_KEEPS_SPARSE = 1 << 8,
    SB_KEEPS_COMMENT = 1 << 9, /* of a member of a zip */

    /* Set by sinks while they store an item of arrays. */
    SB_KEEPS_SHAPE = 1 << 10,     /* other than one dimension */
    SB_KEEPS_ITEM_NAME = 1 << 11, /* a name other than its number */

    SB_KEEPS_SECOND_NAME =
        1 << 12, /* an earlier member has another name for this owner; set by sinks */
    SB_KEEPS_FAR_TIME = 1 << 13, /* the entry has the nearest time that it can hold: core/time.h */
};

/*
 * Strings are NUL-terminated, and live as long as the function says that fills in the member.
 *
 * entry.path is the name in the container: any bytes, empty only for a root directory ("./" in a
 * tar is the root, and "" here); sb_transfer turns it into a stored name. entry.size is the number
 * of bytes; -1 if only reading shows it (a file of a tree before it is opened). The bytes of a
 * SB_LINK are its target. entry.has & SB_HAS_CRC: the container has a CRC32C, and the source
 * compares it when it delivers the bytes.
 */
struct sb_member {
    struct sb_entry entry;
    unsigned has; /* SB_KEEPS_ bits of the properties that the member has */

    const char *hard_link; /* a hard link: entry.path of the earlier member that is the same file
                              (this one is a SB_FILE without bytes); else NULL */
    const char *special; /* "FIFO", "socket", "character device", ...: it has no bytes; else NULL */
    mode_t special_mode; /* S_IFIFO, ... */
    uint32_t device_major; /* of devices */
    uint32_t device_minor;
    const char *user; /* names of the owner and group; NULL or "": not known */
    const char *group;

    /*
     * Its bytes are stored unchanged at offset `at` of the source's file, so an index can point at
     * them. For a link: its target, in the header.
     */
    bool located;
    int64_t at;

    bool numbered; /* the name was made of the number of a record or item */

    /* For an array of an item: how many bytes at the end of the name are the array's name, which
     * may contain '/'; 0: the part after the last '/'. */
    size_t array_size;

    /* What an incremental dump names in a directory, where that was wanted; NULL: nothing. */
    const char *dump;
    size_t dump_size;

    /* For the source's loaders. */
    struct sb_tree_dir *dir; /* of a tree; a copy takes a reference with sb_tree_dir_ref */
    int dir_fd;
    const char *component;
    const char *disk_path;
    uint64_t place[3];
};

/* Word for the type of a mode; NULL for files, directories and links. */
const char *sb_special_word(mode_t mode);

#endif
