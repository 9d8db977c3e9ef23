/*
 * A parity file: what makes up for damage of one file, of any kind, that it protects.
 *
 * The protected file is cut into pieces, numbered from 0; what the last one lacks is zeros. k
 * pieces of data and m of parity are a word (core/rs/rs.h). Runs of pieces are sections, each with
 * words of its own: piece i of a section that has w words belongs to word i mod w and is its row i
 * / w, and rows after the end of the section are zeros. So any m * w pieces in a row may be lost.
 *
 * Every section has W * k pieces, the last one what is left. If that is less than half as much, the
 * last two share their pieces evenly, the first of them having one more where they are odd. A
 * section of n pieces has ceil(n / k) words.
 *
 * Numbers are little-endian, offsets count from the beginning of the parity file, and all parts
 * begin at multiples of 4096 bytes:
 *
 *     superblock      at 0
 *     sections        the first half of them, the larger one if they are odd
 *     superblock      in the middle
 *     sections        the others
 *     superblock      at the end: the last 4096 bytes
 *
 * A section:
 *
 *     T pages         the first copy of its table; T = ceil((n + w * m) / 1014)
 *     w * m pieces    of parity: parity r of word v is number r * w + v
 *     zeros           up to a multiple of 4096
 *     T pages         the second copy, equal to the first
 *
 * A page of a table, 4096 bytes. The CRC32Cs of a section are those of its pieces of data, with the
 * zeros of the last one, and then those of its pieces of parity.
 *
 *        0    8  "SBPARTAB"
 *        8   16  identity of the parity file
 *       24    8  section, from 0
 *       32    4  position of the page's first CRC32C among those of the section
 *       36 4056  CRC32Cs of 4 bytes, zeros after the last
 *     4092    4  CRC32C of the bytes before
 *
 * A superblock, 4096 bytes.
 *
 *        0    8  "SBPARITY"
 *        8    4  version of the format: 1
 *       12    4  size of a piece: a power of two, 512 to 16384
 *       16   16  identity of the parity file, made of what follows but for offset and checksum
 *       32    8  offset of this superblock
 *       40    8  size of the protected file
 *       48    4  k
 *       52    4  m, 1 <= k, m and k + m <= 255
 *       56    4  W, 1 to 768, and W * m pieces are at most 32 MiB
 *       60    4  checksum of the tables: all sections' CRC32Cs of (number of the section, 8 bytes;
 *                the CRC32Cs of its pieces), XORed
 *       64  256  what the user of the parity file keeps there
 *            ..  zeros
 *     4092    4  CRC32C of the bytes before
 *
 * Whatever bytes are decoded, what comes out keeps these limits.
 */
#ifndef SB_ARCHIVE_PARITY_PARITY_H
#define SB_ARCHIVE_PARITY_PARITY_H

#include "core/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_PARITY_BLOCK        4096 /* a superblock, a page, and what all is aligned to */
#define SB_PARITY_PIECE_LEAST  512
#define SB_PARITY_PIECE_MOST   16384
#define SB_PARITY_WORDS_MOST   768                /* a row has at most 12 MiB */
#define SB_PARITY_SECTION_MOST (32 << 20)         /* bytes of parity */
#define SB_PARITY_SIZE_MOST    (INT64_C(1) << 50) /* of a protected file */
#define SB_PARITY_PAGE_SUMS    1014
#define SB_PARITY_USER         256
#define SB_PARITY_COPIES       3 /* of the superblock */

struct sb_parity_shape {
    int64_t size;          /* of the protected file */
    uint32_t piece;        /* bytes */
    uint32_t data, parity; /* k and m */
    uint32_t words;        /* W */
};

struct sb_parity_super {
    struct sb_parity_shape shape;
    unsigned char id[16];
    uint32_t sum; /* of the tables */
    unsigned char user[SB_PARITY_USER];
};

struct sb_parity_section {
    int64_t number;
    int64_t first;   /* its first piece */
    uint32_t pieces; /* n */
    uint32_t words;  /* w */
    uint32_t checks; /* pieces of parity: w * m */
    uint32_t pages;  /* T */
};

/*
 * How many pieces of data and parity a word has, so that parity is at least `per_mille` thousandths
 * of the data: 50 gives 240 and 12. Words are as long as possible, up to 24 pieces of parity, which
 * decide about the speed. SB_INVALID: not within 1 and 10,000.
 */
enum sb_code sb_parity_redundancy(unsigned per_mille, unsigned *data, unsigned *parity) SB_CHECKED;

/*
 * For a file of that size. words: the most that a section may have, 0: as many as the format
 * allows. SB_INVALID, SB_LIMIT.
 */
enum sb_code sb_parity_shape(struct sb_parity_shape *shape, int64_t size, unsigned data,
                             unsigned parity, unsigned words) SB_CHECKED;

int64_t sb_parity_pieces(const struct sb_parity_shape *shape);
int64_t sb_parity_sections(const struct sb_parity_shape *shape);

/* number: below the number of sections. */
void sb_parity_section(const struct sb_parity_shape *shape, int64_t number,
                       struct sb_parity_section *section);

/* The number of the section that has this piece. */
int64_t sb_parity_section_of(const struct sb_parity_shape *shape, int64_t piece);

/* Bytes of the sections from `from` up to, not including, `to`, one after the other. */
int64_t sb_parity_span(const struct sb_parity_shape *shape, int64_t from, int64_t to);

/* Offsets within a section. */
int64_t sb_parity_page_offset(const struct sb_parity_shape *shape,
                              const struct sb_parity_section *section, unsigned copy,
                              uint32_t page);
int64_t sb_parity_piece_offset(const struct sb_parity_shape *shape,
                               const struct sb_parity_section *section, uint32_t number);

/* Where a section begins in the parity file, and where a copy of the superblock does, 0 to 2. */
int64_t sb_parity_offset(const struct sb_parity_shape *shape, int64_t section);
int64_t sb_parity_super_offset(const struct sb_parity_shape *shape, unsigned copy);

/* Sets super->id by the shape and by what the user keeps. */
void sb_parity_identify(struct sb_parity_super *super);

/* One as at this offset, of SB_PARITY_BLOCK bytes. */
void sb_parity_put_super(unsigned char *block, const struct sb_parity_super *super, int64_t offset);

/* False: no superblock, or none that belongs at this offset. */
bool sb_parity_get_super(struct sb_parity_super *super, const unsigned char *block, int64_t offset);

/* sums: all of the section. */
void sb_parity_put_page(unsigned char *block, const struct sb_parity_super *super,
                        const struct sb_parity_section *section, uint32_t page,
                        const uint32_t *sums);

/* False: not this page of this parity file; then sums stay. */
bool sb_parity_get_page(uint32_t *sums, const unsigned char *block,
                        const struct sb_parity_super *super,
                        const struct sb_parity_section *section, uint32_t page);

/* What the section adds to super->sum. */
uint32_t sb_parity_sum(const struct sb_parity_section *section, const uint32_t *sums);

/*
 * A parity file that is open. Its content is not trusted, and it need not be whole: it may have
 * been cut, or may have grown. Parity files are never changed: another one replaces them. An open
 * one belongs to one thread.
 */
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

#endif
