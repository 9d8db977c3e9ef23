/*
 * Makes the parity file of a file, and brings it up to date when the file has changed.
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

    /*
     * An update calls it, before it writes anything, for each stretch of bytes whose parity it will
     * make anew, in their order: all that changed is in them. A code other than SB_OK ends the
     * update. May be NULL.
     */
    enum sb_code (*renews)(void *context, int64_t from, int64_t to, struct sb_error *err);
    void *renews_context;
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
 * The same result for a file that has a parity file, in place: the file is read, and sections whose
 * pieces all match their CRC32Cs, and are in the same section still, stay as they are, byte for
 * byte. The others are made anew, in space that no superblock refers to; only then the superblocks
 * are written. Killed at any time, or after any failure, the parity file is that of before, with
 * its user's bytes, or the new one. What is damaged is taken for a change: see `renews`.
 *
 * Where that cannot be, since no section stays, words or pieces have another size, a table is lost,
 * or the parity file would be of too many extents or have twice the size that it needs, it is made
 * by sb_parity_make; also where there is none, or one without superblock. Memory: 64 MB.
 */
enum sb_code sb_parity_update(const struct sb_file *file, const struct sb_parity_options *options,
                              struct sb_error *err) SB_CHECKED;

/* An update that keeps no section. */
enum sb_code sb_parity_make_all(const struct sb_file *file, const struct sb_parity_options *options,
                                struct sb_error *err) SB_CHECKED;

#endif
