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

/* One section of a protected file and its parity, read by parts that may be missing. */

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
