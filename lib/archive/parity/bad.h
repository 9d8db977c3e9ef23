/*
 * The parts of a file and of its parity file that are bad: pieces that do not match their CRC32C,
 * or cannot be read, pages of tables, superblocks.
 *
 * Memory is a bit for each piece of the sections that have bad parts. Not thread-safe.
 */
#ifndef SB_ARCHIVE_PARITY_BAD_H
#define SB_ARCHIVE_PARITY_BAD_H

#include "archive/parity/parity.h"

enum sb_parity_kind {
    SB_PARITY_DATA,  /* pieces of the protected file; all others are parts of the parity file */
    SB_PARITY_CHECK, /* pieces of parity */
    SB_PARITY_PAGE,
    SB_PARITY_SUPER,
};

/* One part, or several of a kind that follow each other. */
struct sb_parity_part {
    enum sb_parity_kind kind;
    int64_t section; /* 0 for superblocks */
    int64_t number;  /* of data: the piece of the file; else from 0 in the section, a table's second
                        copy after the first; a superblock: 0 to 2 */
    int64_t count;
    int64_t offset; /* in its file */
    int64_t size;   /* bytes: pieces of data end with the protected file */
};

struct sb_parity_bad;

/*
 * Empty. file_size: that of the protected file now. Both must outlive it. SB_DAMAGED: the parity
 * file describes more than both files could ever have had.
 */
enum sb_code sb_parity_bad_new(struct sb_parity_bad **out, const struct sb_parity *parity,
                               int64_t file_size, struct sb_error *err) SB_CHECKED;
void sb_parity_bad_free(struct sb_parity_bad *bad); /* NULL is allowed */

/* How many parts of this kind. */
int64_t sb_parity_bad_count(const struct sb_parity_bad *bad, enum sb_parity_kind kind);

/*
 * The parts in the order of sections, with as many in one as follow each other. *at begins as 0;
 * false after the last. Superblocks are not among them: parity->whole has these.
 */
bool sb_parity_bad_next(const struct sb_parity_bad *bad, int64_t *at, struct sb_parity_part *part);

/* The bytes of the protected file about which this page knows. If both copies are lost they are not
 * checked. May be none. */
void sb_parity_page_bytes(const struct sb_parity *parity, const struct sb_parity_part *page,
                          int64_t *from, int64_t *to);

/*
 * For check and mend: parts of a section by their number, first those of data, then of parity, then
 * the pages of both copies.
 */
enum sb_code sb_parity_bad_add(struct sb_parity_bad *bad, int64_t section, uint32_t number,
                               struct sb_error *err) SB_CHECKED;
bool sb_parity_is_bad(const struct sb_parity_bad *bad, int64_t section, uint32_t number);

/* Has the section bad parts? */
bool sb_parity_has_bad(const struct sb_parity_bad *bad, int64_t section);

void sb_parity_part(const struct sb_parity *parity, const struct sb_parity_section *section,
                    uint32_t number, struct sb_parity_part *part);

#endif
