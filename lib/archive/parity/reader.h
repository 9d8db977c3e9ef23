/*
 * One section of a protected file and its parity, read by parts that may be missing.
 */
#ifndef SB_ARCHIVE_PARITY_READER_H
#define SB_ARCHIVE_PARITY_READER_H

#include "archive/parity/parity.h"

#define SB_PARITY_READ_BYTES ((size_t)4 << 20) /* at once */

/* Bits of sb_parity_reader.pages: a copy of the page is whole. */
#define SB_PARITY_FIRST_COPY  1
#define SB_PARITY_SECOND_COPY 2

struct sb_parity_reader {
    const struct sb_parity *parity;
    const struct sb_file *file;
    struct sb_parity_section section;
    int64_t offset;       /* of the section in the parity file */
    uint32_t *sums;       /* of its pieces of data, then of parity */
    unsigned char *pages; /* which copies of each page are whole */
    unsigned char *bytes; /* SB_PARITY_READ_BYTES, what was read last */
    bool *whole;          /* of each part of that: could all of it be read? */
};

/* Both files must outlive it. To be released, also after a failure. */
enum sb_code sb_parity_reader_begin(struct sb_parity_reader *reader, const struct sb_parity *parity,
                                    const struct sb_file *file) SB_CHECKED;
void sb_parity_reader_release(struct sb_parity_reader *reader);

/* both: also the second copies of pages whose first is whole. */
enum sb_code sb_parity_reader_go(struct sb_parity_reader *reader, int64_t section,
                                 bool both) SB_CHECKED;

/* Is the CRC32C of this piece known? Not if both copies of its page are lost. */
bool sb_parity_reader_knows(const struct sb_parity_reader *reader, uint32_t number);

/*
 * Reads up to `count` pieces from this one on, data or parity: as many as *read says, at least one.
 * A piece that cannot be read, or is not there, is not whole. What the last piece of the file lacks
 * is zeros.
 */
enum sb_code sb_parity_reader_read(struct sb_parity_reader *reader, uint32_t number, uint32_t count,
                                   uint32_t *read) SB_CHECKED;

/* Is the piece that was read last at this place right? Only if its CRC32C is known. */
bool sb_parity_reader_matches(const struct sb_parity_reader *reader, uint32_t number,
                              uint32_t place);

#endif
