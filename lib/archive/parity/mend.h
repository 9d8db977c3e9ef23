/*
 * Makes the pieces of a file that check.h found to be bad, as they were.
 */
#ifndef SB_ARCHIVE_PARITY_MEND_H
#define SB_ARCHIVE_PARITY_MEND_H

#include "archive/parity/check.h"

struct sb_parity_mender {
    /*
     * The bytes of a piece, which match the CRC32C that the table has; the caller may know more of
     * them. Pieces end with the protected file. A code other than SB_OK ends the work.
     */
    enum sb_code (*mended)(void *context, int64_t offset, const void *bytes, size_t size);
    /* This piece cannot be made: its word has too many that are bad. */
    enum sb_code (*lost)(void *context, int64_t offset, size_t size);
    void *context;
};

/*
 * Every bad piece of the file comes out by one of the two calls, in their order. What is read for
 * that and turns out to be bad is added to `bad`, and comes out too. Reads the words that have bad
 * pieces, and nothing else. Memory: 45 MB, for at most 32 MiB of pieces of one section. Errors are
 * those of memory, of the system and of the calls, not of damage.
 */
enum sb_code sb_parity_mend(const struct sb_parity *parity, const struct sb_file *file,
                            struct sb_parity_bad *bad,
                            const struct sb_parity_mender *mender) SB_CHECKED;

#endif
