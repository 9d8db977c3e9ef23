/*
 * Finds what is bad in a file and in its parity file.
 */
#ifndef SB_ARCHIVE_PARITY_CHECK_H
#define SB_ARCHIVE_PARITY_CHECK_H

#include "archive/parity/bad.h"

struct sb_parity_check_options {
    int64_t from, to; /* bytes of the protected file that are checked; to 0: up to its end */
    bool parity;      /* pieces of parity, too: of the sections with these bytes, as for all else */
    /* Optional: is a section checked, with bytes `from` up to `to` of the file? */
    bool (*chooses_section)(void *chooser, int64_t from, int64_t to);
    /* Optional: is this piece of data checked, bytes `from` up to `to` of its file? Called in their
     * order, perhaps twice for one. */
    enum sb_code (*chooses)(void *chooser, int64_t from, int64_t to, bool *chosen,
                            struct sb_error *err);
    void *chooser;
    void (*progress)(void *context, int64_t bytes); /* so many more were read; may be NULL */
    void *context;
};

/*
 * Of the pieces whose CRC32C is known, and which are valid (parity.h), those that are bad; pages,
 * one or both copies; superblocks. file: the protected one, which may be shorter or longer by now;
 * bytes after the size that is protected are not read. SB_DAMAGED: the tables are whole, and belong
 * to another superblock; nothing can be said. Memory: 8 MiB, and *bad.
 */
enum sb_code sb_parity_check(struct sb_parity_bad **bad, const struct sb_parity *parity,
                             const struct sb_file *file,
                             const struct sb_parity_check_options *options,
                             struct sb_error *err) SB_CHECKED;

#endif
