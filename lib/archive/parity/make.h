/*
 * Makes the parity file of a file, and brings it up to date when the file has grown.
 */
#ifndef SB_ARCHIVE_PARITY_MAKE_H
#define SB_ARCHIVE_PARITY_MAKE_H

#include "archive/parity/parity.h"

struct sb_parity_options {
    const char *path;      /* of the parity file */
    const char *temporary; /* the name of it until it is complete, in the same directory. A killed
                              run leaves it; who that belongs to is for the caller to know */
    unsigned data, parity; /* k and m, as sb_parity_redundancy gives them */
    unsigned words;        /* in a section at most; 0: as many as 32 MiB of parity have */
    unsigned threads;
    const unsigned char *user; /* SB_PARITY_USER bytes to keep; NULL: zeros, or what is there */
    void (*progress)(void *context, int64_t bytes); /* so many more were read; may be NULL */
    void *context;
};

/*
 * Of the file as it is now: reads it once, from its beginning to its end, checks nothing, and
 * replaces what is there under the name. It is written under the temporary name, synced, renamed,
 * and its directory is synced. Its mode is that of the file, which it could give away, but the
 * owner may write. After a failure the temporary file is gone. SB_EXISTS: there is one of that
 * name; SB_CHANGED: the file changed while it was read; SB_INVALID: no such k and m. Memory: 60 MB.
 */
enum sb_code sb_parity_make(const struct sb_file *file, const struct sb_parity_options *options,
                            struct sb_error *err) SB_CHECKED;

/*
 * The same result for a file that has a parity file, in place, where sections did not change: all
 * their pieces are valid (sb_parity_mark) and are in the same section still. The others are made
 * anew. Pieces of these that should not have changed are checked on the way; SB_DAMAGED: one is
 * bad, or a table that is necessary. Killed at any time, or after any failure,
 * the parity file is that of before, its pieces valid up to those that changed, or the new one.
 *
 * Where that cannot be, since words or pieces have another size or there are too many extents, it
 * is made by sb_parity_make; also where there is none, or one without superblock. Memory: 64 MB.
 */
enum sb_code sb_parity_update(const struct sb_file *file, const struct sb_parity_options *options,
                              struct sb_error *err) SB_CHECKED;

#endif
