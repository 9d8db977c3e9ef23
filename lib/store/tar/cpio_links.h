/*
 * Hard links of a cpio in the "new ASCII" format, where only one of the members that share an
 * inode has the bytes, most often the last. Those that come before it are held back, and given
 * as hard links after it.
 *
 * Belongs to one thread. Memory is bounded: holding more than 32 MiB is SB_LIMIT.
 */
#ifndef SB_STORE_TAR_CPIO_LINKS_H
#define SB_STORE_TAR_CPIO_LINKS_H

#include "core/buf.h"
#include "store/member.h"

struct sb_cpio_inode {
    uint64_t device;
    uint64_t number;
};

/* {0} holds nothing. */
struct sb_cpio_links {
    struct sb_buf items;
    struct sb_buf names;
    size_t live;         /* items that were not given yet */
    struct sb_buf first; /* the name that has the bytes of what is given now */
    struct sb_cpio_inode inode;
    bool giving; /* the links of inode */
    bool all;    /* and then what is left */
};

void sb_cpio_links_release(struct sb_cpio_links *links);

/* Holds a file without bytes; what it points to is copied. */
enum sb_code sb_cpio_links_hold(struct sb_cpio_links *links, const struct sb_member *member,
                                struct sb_cpio_inode inode) SB_CHECKED;

/* Is a name of the inode held? */
bool sb_cpio_links_know(const struct sb_cpio_links *links, struct sb_cpio_inode inode);

/* The bytes came, as `name`: what is held of the inode may be given now. */
enum sb_code sb_cpio_links_begin(struct sb_cpio_links *links, struct sb_cpio_inode inode,
                                 const char *name) SB_CHECKED;

/* There are no more bytes: what is held are empty files, and links to them. */
void sb_cpio_links_begin_all(struct sb_cpio_links *links);

/*
 * The next member that may be given; SB_END when there is none (now). Its strings live until the
 * next call of any of these functions.
 */
enum sb_code sb_cpio_links_give(struct sb_cpio_links *links, struct sb_member *member) SB_CHECKED;

#endif
