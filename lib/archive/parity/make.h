/*
 * Makes the parity file of a file.
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
    const unsigned char *user; /* SB_PARITY_USER bytes to keep; NULL: zeros */

    /*
     * Optional: the bytes of the file as they are read, from its first to its last; from any
     * thread, one call after the other; and once all were, before the parity file takes its name. A
     * code other than SB_OK ends the work.
     */
    enum sb_code (*read)(void *reader, int64_t offset, const void *bytes, size_t size);
    enum sb_code (*proved)(void *reader);
    void *reader;

    void (*progress)(void *context, int64_t bytes); /* so many more were read; may be NULL */
    void *context;
};

/*
 * Of the file as it is now: reads it once, from its beginning to its end, and replaces what is
 * there under the name. It is written under the temporary name, synced, renamed, and its directory
 * is synced. It gets the mode of the file, whose bytes it could give away, but the owner may write;
 * and by root the owner. After a failure the temporary file is gone, and what was there is as it
 * was. SB_EXISTS: there is one of the temporary name; SB_CHANGED: the file changed while it was
 * read; SB_INVALID: no such k and m. Memory: 60 MB.
 */
enum sb_code sb_parity_make(const struct sb_file *file,
                            const struct sb_parity_options *options) SB_CHECKED;

/* Gives a file that belongs to another one that one's mode and, by root, its owner, where that is
 * possible. */
void sb_parity_adopt(int fd, const struct stat *of);

#endif
