/*
 * Makes the parts that check.h found to be bad, as they were.
 */
#ifndef SB_ARCHIVE_PARITY_MEND_H
#define SB_ARCHIVE_PARITY_MEND_H

#include "archive/parity/bad.h"

struct sb_parity_mender {
    /*
     * One part with its right bytes, part->size of them. A piece matches the CRC32C that its table
     * has; the caller may know more of it. The caller may write it at once. A code other than SB_OK
     * ends the work.
     */
    enum sb_code (*mended)(void *context, const struct sb_parity_part *part, const void *bytes,
                           struct sb_error *err);
    /* This part, or all of them in it, cannot be made: its word has too many that are bad. A page:
     * both copies are lost. */
    enum sb_code (*lost)(void *context, const struct sb_parity_part *part, struct sb_error *err);
    void *context;
};

/*
 * Every bad part comes out by one of the two calls: superblocks first, then section by section
 * pages, and pieces. What is read for that and turns out to be bad is added to `bad`, and comes out
 * too. Reads the words that have bad pieces, and nothing else. Memory: 45 MB, for at most 32 MiB of
 * pieces of one section. Errors are those of memory, of the system and of the calls, not of damage.
 */
enum sb_code sb_parity_mend(const struct sb_parity *parity, const struct sb_file *file,
                            struct sb_parity_bad *bad, const struct sb_parity_mender *mender,
                            struct sb_error *err) SB_CHECKED;

#endif
