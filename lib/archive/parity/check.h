/*
 * Finds what is bad in a file and in its parity file: pieces that do not match their CRC32C, or
 * cannot be read; and makes those of the file as they were.
 *
 * Memory: 8 MiB, and a bit for each piece of the sections that have bad ones. Not thread-safe.
 */
#ifndef SB_ARCHIVE_PARITY_CHECK_H
#define SB_ARCHIVE_PARITY_CHECK_H

#include "archive/parity/parity.h"

struct sb_parity_bad {
    const struct sb_parity *parity;
    int64_t sections;
    uint64_t **bits; /* of each section: pieces of data, then of parity; NULL: none is bad */
    int64_t data;    /* how many pieces of the file are bad */
    int64_t rest;    /* parts of the parity file: pieces, pages of tables, superblocks */
    int64_t unknown; /* bytes of the file whose table is lost, and cannot be checked */
    bool of_another; /* the tables are whole, and belong to another state: nothing can be said */
};

struct sb_parity_check_options {
    int64_t from, to; /* bytes of the protected file that are checked; to 0: up to its end */
    bool parity;      /* the parity file, too: of the sections with these bytes */
    /* Optional: is a section checked, with bytes `from` up to `to` of the file? */
    bool (*chooses_section)(void *chooser, int64_t from, int64_t to);
    /* Optional: is this piece of data checked, bytes `from` up to `to` of its file? Called in their
     * order, perhaps twice for one. */
    enum sb_code (*chooses)(void *chooser, int64_t from, int64_t to, bool *chosen);
    void *chooser;
    void (*progress)(void *context, int64_t bytes); /* so many more were read; may be NULL */
    void *context;
};

/*
 * file: the protected one, which may be shorter or longer by now; bytes after the size that is
 * protected are not read. Both must outlive *bad. SB_DAMAGED: the parity file describes more than
 * both files could ever have had.
 */
enum sb_code sb_parity_check(struct sb_parity_bad **bad, const struct sb_parity *parity,
                             const struct sb_file *file,
                             const struct sb_parity_check_options *options) SB_CHECKED;
void sb_parity_bad_free(struct sb_parity_bad *bad); /* NULL is allowed */
FREEP(sb_parity_bad_free, struct sb_parity_bad)

struct sb_parity_mender {
    /*
     * The bytes of a piece, which match the CRC32C that the table has; the caller may know more of
     * them. Pieces end with the protected file. A code other than SB_OK ends the work.
     */
    enum sb_code (*mended)(void *context, int64_t offset, const void *bytes, size_t size);
    /* This piece cannot be made: its word has too many that are bad. May be NULL. */
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

/* For measurements: a piece of a section is bad, by its number, of data first, then of parity. */
enum sb_code sb_parity_bad_add(struct sb_parity_bad *bad, int64_t section,
                               uint32_t number) SB_CHECKED;

#endif
