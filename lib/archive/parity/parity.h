/*
 * A parity file that is open (format.h).
 *
 * Its content is not trusted, and it need not be whole: it may have been cut, or may have grown.
 * Parity files are never changed: another one replaces them. An open one belongs to one thread.
 */
#ifndef SB_ARCHIVE_PARITY_PARITY_H
#define SB_ARCHIVE_PARITY_PARITY_H

#include "archive/parity/format.h"
#include "core/file.h"

struct sb_parity {
    struct sb_file *file;
    int64_t size; /* as of the opening */
    struct sb_parity_super super;
    unsigned whole; /* how many copies of the superblock are */
};

/* SB_DAMAGED: a parity file without a whole superblock; SB_FORMAT: no regular file, or none of
 * these; SB_NOENT. */
enum sb_code sb_parity_open(struct sb_parity **out, const char *path) SB_CHECKED;
void sb_parity_free(struct sb_parity *parity); /* NULL is allowed */
FREEP(sb_parity_free, struct sb_parity)

#endif
