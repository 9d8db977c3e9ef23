#include "archive/parity/parity.h"

#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/little_endian.h"
#include "core/rs/rs.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC_BYTES 8
#define VERSION     1

#define SUPER_USER 64
#define PAGE_SUMS  36
#define BLOCK_SUM  (SB_PARITY_BLOCK - 4)

/* A smaller file has smaller pieces, so that their number is about this. */
#define PIECES_LEAST 240

#define WORD_MOST   252 /* 240 + 12 */
#define PARITY_MOST 24

static const char super_magic[MAGIC_BYTES] = {'S', 'B', 'P', 'A', 'R', 'I', 'T', 'Y'};
static const char table_magic[MAGIC_BYTES] = {'S', 'B', 'P', 'A', 'R', 'T', 'A', 'B'};

static int64_t divide_up(int64_t number, int64_t by)
{
    return number / by + (number % by != 0);
}

static int64_t align(int64_t size)
{
    return divide_up(size, SB_PARITY_BLOCK) * SB_PARITY_BLOCK;
}

enum sb_code sb_parity_redundancy(unsigned per_mille, unsigned *data, unsigned *parity)
{
    if (per_mille < 1 || per_mille > 10000)
        return sb_fail(SB_INVALID,
                       "a redundancy of %u.%u %%: it must be between 0.1 %% and 1000 %%",
                       per_mille / 10, per_mille % 10);
    *data = WORD_MOST * 1000 / (1000 + per_mille);
    if (divide_up((int64_t)*data * per_mille, 1000) > PARITY_MOST)
        *data = PARITY_MOST * 1000 / per_mille;
    *parity = (unsigned)divide_up((int64_t)*data * per_mille, 1000);
    return SB_OK;
}

static bool counts_are_right(const struct sb_parity_shape *shape)
{
    uint32_t data = shape->data, parity = shape->parity, piece = shape->piece;

    return data >= 1 && parity >= 1 && data < SB_RS_PIECES_MAX &&
           parity <= SB_RS_PIECES_MAX - data && piece >= SB_PARITY_PIECE_LEAST &&
           piece <= SB_PARITY_PIECE_MOST && (piece & (piece - 1)) == 0 && shape->words >= 1 &&
           shape->words <= SB_PARITY_WORDS_MOST &&
           (int64_t)shape->words * parity * piece <= SB_PARITY_SECTION_MOST && shape->size >= 0 &&
           shape->size <= SB_PARITY_SIZE_MOST;
}

enum sb_code sb_parity_shape(struct sb_parity_shape *shape, int64_t size, unsigned data,
                             unsigned parity, unsigned words)
{
    int64_t most;

    if (size > SB_PARITY_SIZE_MOST)
        return sb_fail(SB_LIMIT, "more than 2^50 bytes, which no parity file protects");
    *shape = (struct sb_parity_shape){
        .size = size, .piece = SB_PARITY_PIECE_LEAST, .data = data, .parity = parity};
    while (shape->piece < SB_PARITY_PIECE_MOST && sb_parity_pieces(shape) > PIECES_LEAST)
        shape->piece *= 2;
    most = parity ? SB_PARITY_SECTION_MOST / ((int64_t)parity * shape->piece) : 1;
    if (most > SB_PARITY_WORDS_MOST)
        most = SB_PARITY_WORDS_MOST;
    shape->words = words && words < most ? words : (uint32_t)most;
    if (!counts_are_right(shape))
        return sb_fail(SB_INVALID, "no words of %u pieces of data and %u of parity", data, parity);
    return SB_OK;
}

int64_t sb_parity_pieces(const struct sb_parity_shape *shape)
{
    return divide_up(shape->size, shape->piece);
}

static int64_t capacity_of(const struct sb_parity_shape *shape)
{
    return (int64_t)shape->words * shape->data;
}

int64_t sb_parity_sections(const struct sb_parity_shape *shape)
{
    return divide_up(sb_parity_pieces(shape), capacity_of(shape));
}

static void set_pieces(const struct sb_parity_shape *shape, struct sb_parity_section *section,
                       int64_t pieces)
{
    section->pieces = (uint32_t)pieces;
    section->words = (uint32_t)divide_up(pieces, shape->data);
    section->checks = section->words * shape->parity;
    section->pages = (uint32_t)divide_up(pieces + section->checks, SB_PARITY_PAGE_SUMS);
}

void sb_parity_section(const struct sb_parity_shape *shape, int64_t number,
                       struct sb_parity_section *section)
{
    int64_t capacity = capacity_of(shape), pieces = sb_parity_pieces(shape);
    int64_t sections = sb_parity_sections(shape), first = number * capacity;
    int64_t last = pieces - (sections - 1) * capacity, half = (capacity + last + 1) / 2;

    section->number = number;
    section->first = first;
    if (number < sections - 2 || (number == sections - 2 && last >= divide_up(capacity, 2))) {
        set_pieces(shape, section, capacity);
    } else if (number == sections - 2) {
        set_pieces(shape, section, half);
    } else if (sections < 2 || last >= divide_up(capacity, 2)) {
        set_pieces(shape, section, last);
    } else {
        section->first = first - capacity + half;
        set_pieces(shape, section, pieces - section->first);
    }
}

int64_t sb_parity_section_of(const struct sb_parity_shape *shape, int64_t piece)
{
    int64_t number = piece / capacity_of(shape), sections = sb_parity_sections(shape);
    struct sb_parity_section section;

    if (number >= sections)
        return sections - 1;
    sb_parity_section(shape, number, &section);
    if (piece < section.first)
        return number - 1;
    return piece < section.first + section.pieces ? number : number + 1;
}

static int64_t size_of_section(const struct sb_parity_shape *shape,
                               const struct sb_parity_section *section)
{
    return 2 * (int64_t)section->pages * SB_PARITY_BLOCK +
           align((int64_t)section->checks * shape->piece);
}

int64_t sb_parity_span(const struct sb_parity_shape *shape, int64_t from, int64_t to)
{
    int64_t whole = sb_parity_sections(shape) - 2, size = 0;
    struct sb_parity_section section;

    if (from < whole) {
        int64_t count = (to < whole ? to : whole) - from;

        sb_parity_section(shape, from, &section);
        size = count * size_of_section(shape, &section);
        from += count;
    }
    for (; from < to; from++) {
        sb_parity_section(shape, from, &section);
        size += size_of_section(shape, &section);
    }
    return size;
}

int64_t sb_parity_page_offset(const struct sb_parity_shape *shape,
                              const struct sb_parity_section *section, unsigned copy, uint32_t page)
{
    int64_t before = copy == 0 ? 0
                               : (int64_t)section->pages * SB_PARITY_BLOCK +
                                     align((int64_t)section->checks * shape->piece);

    return before + (int64_t)page * SB_PARITY_BLOCK;
}

int64_t sb_parity_piece_offset(const struct sb_parity_shape *shape,
                               const struct sb_parity_section *section, uint32_t number)
{
    return (int64_t)section->pages * SB_PARITY_BLOCK + (int64_t)number * shape->piece;
}

int64_t sb_parity_super_offset(const struct sb_parity_shape *shape, unsigned copy)
{
    int64_t sections = sb_parity_sections(shape);

    if (copy == 0)
        return 0;
    if (copy == 1)
        return SB_PARITY_BLOCK + sb_parity_span(shape, 0, (sections + 1) / 2);
    return INT64_C(2) * SB_PARITY_BLOCK + sb_parity_span(shape, 0, sections);
}

int64_t sb_parity_offset(const struct sb_parity_shape *shape, int64_t section)
{
    bool later = section >= (sb_parity_sections(shape) + 1) / 2;

    return (later ? INT64_C(2) : INT64_C(1)) * SB_PARITY_BLOCK + sb_parity_span(shape, 0, section);
}

void sb_parity_identify(struct sb_parity_super *super)
{
    unsigned char *at = super->id;

    at = sb_put_u32(at, sb_crc32c(0, super->user, SB_PARITY_USER));
    at = sb_put_u32(at, super->shape.data << 16 | super->shape.parity);
    sb_put_u64(at, (uint64_t)super->shape.size << 10 | super->shape.words);
}

static void seal(unsigned char *block)
{
    sb_put_u32(block + BLOCK_SUM, sb_crc32c(0, block, BLOCK_SUM));
}

static bool is_sealed(const unsigned char *block, const char *magic)
{
    return memcmp(block, magic, MAGIC_BYTES) == 0 &&
           sb_get_u32(block + BLOCK_SUM) == sb_crc32c(0, block, BLOCK_SUM);
}

void sb_parity_put_super(unsigned char *block, const struct sb_parity_super *super, int64_t offset)
{
    const struct sb_parity_shape *shape = &super->shape;
    unsigned char *at;

    memset(block, 0, SB_PARITY_BLOCK);
    memcpy(block, super_magic, MAGIC_BYTES);
    at = sb_put_u32(block + MAGIC_BYTES, VERSION);
    at = sb_put_u32(at, shape->piece);
    memcpy(at, super->id, sizeof(super->id));
    at = sb_put_u64(at + sizeof(super->id), (uint64_t)offset);
    at = sb_put_u64(at, (uint64_t)shape->size);
    at = sb_put_u32(at, shape->data);
    at = sb_put_u32(at, shape->parity);
    at = sb_put_u32(at, shape->words);
    sb_put_u32(at, super->sum);
    memcpy(block + SUPER_USER, super->user, SB_PARITY_USER);
    seal(block);
}

bool sb_parity_get_super(struct sb_parity_super *super, const unsigned char *block, int64_t offset)
{
    struct sb_parity_shape *shape = &super->shape;
    const unsigned char *at = block + MAGIC_BYTES + 4;

    if (!is_sealed(block, super_magic) || sb_get_u32(block + MAGIC_BYTES) != VERSION)
        return false;
    shape->piece = sb_get_u32(at);
    memcpy(super->id, at + 4, sizeof(super->id));
    at += 4 + sizeof(super->id);
    shape->size = (int64_t)sb_get_u64(at + 8);
    shape->data = sb_get_u32(at + 16);
    shape->parity = sb_get_u32(at + 20);
    shape->words = sb_get_u32(at + 24);
    super->sum = sb_get_u32(at + 28);
    memcpy(super->user, block + SUPER_USER, SB_PARITY_USER);
    if (!counts_are_right(shape) || (int64_t)sb_get_u64(at) != offset)
        return false;
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        if (sb_parity_super_offset(shape, copy) == offset)
            return true;
    }
    return false;
}

static uint32_t sums_from(const struct sb_parity_section *section, uint32_t page)
{
    uint32_t rest = section->pieces + section->checks - page * SB_PARITY_PAGE_SUMS;

    return rest < SB_PARITY_PAGE_SUMS ? rest : SB_PARITY_PAGE_SUMS;
}

void sb_parity_put_page(unsigned char *block, const struct sb_parity_super *super,
                        const struct sb_parity_section *section, uint32_t page,
                        const uint32_t *sums)
{
    uint32_t first = page * SB_PARITY_PAGE_SUMS, count = sums_from(section, page);
    unsigned char *at = block + MAGIC_BYTES + sizeof(super->id);

    memset(block, 0, SB_PARITY_BLOCK);
    memcpy(block, table_magic, MAGIC_BYTES);
    memcpy(block + MAGIC_BYTES, super->id, sizeof(super->id));
    at = sb_put_u64(at, (uint64_t)section->number);
    at = sb_put_u32(at, first);
    for (uint32_t i = 0; i < count; i++)
        at = sb_put_u32(at, sums[first + i]);
    seal(block);
}

bool sb_parity_get_page(uint32_t *sums, const unsigned char *block,
                        const struct sb_parity_super *super,
                        const struct sb_parity_section *section, uint32_t page)
{
    uint32_t first = page * SB_PARITY_PAGE_SUMS, count = sums_from(section, page);
    const unsigned char *at = block + MAGIC_BYTES + sizeof(super->id);

    if (!is_sealed(block, table_magic) ||
        memcmp(block + MAGIC_BYTES, super->id, sizeof(super->id)) != 0 ||
        sb_get_u64(at) != (uint64_t)section->number || sb_get_u32(at + 8) != first)
        return false;
    for (uint32_t i = 0; i < count; i++)
        sums[first + i] = sb_get_u32(block + PAGE_SUMS + 4 * (size_t)i);
    return true;
}

uint32_t sb_parity_sum(const struct sb_parity_section *section, const uint32_t *sums)
{
    uint32_t count = section->pieces + section->checks;
    unsigned char bytes[4096];
    uint32_t crc;

    crc = sb_crc32c(0, bytes, (size_t)(sb_put_u64(bytes, (uint64_t)section->number) - bytes));
    for (uint32_t done = 0; done < count;) {
        unsigned char *at = bytes;

        while (done < count && at < bytes + sizeof(bytes))
            at = sb_put_u32(at, sums[done++]);
        crc = sb_crc32c(crc, bytes, (size_t)(at - bytes));
    }
    return crc;
}

static bool read_block(const struct sb_parity *parity, unsigned char *block, int64_t offset)
{
    return IGNORED(sb_file_read_exactly(parity->file, block, SB_PARITY_BLOCK, offset)) == SB_OK;
}

/* *page: set where it is one of a table. */
static bool is_super(struct sb_parity *parity, int64_t offset, bool *page)
{
    unsigned char block[SB_PARITY_BLOCK];

    if (!read_block(parity, block, offset))
        return false;
    *page = *page || is_sealed(block, table_magic);
    return sb_parity_get_super(&parity->super, block, offset);
}

/* The blocks from there on that are holes: of a file that is nobody's they may be terabytes. */
static int64_t hole_at(const struct sb_parity *parity, int64_t from)
{
    int64_t left = parity->size - from, length = 0;
    bool hole = false;

    if (sb_may_have_holes(&parity->file->st))
        length = sb_run_length(parity->file->fd, &parity->file->st, from, &hole);
    if (!hole)
        return 0;
    return length < left ? length - length % SB_PARITY_BLOCK : left;
}

/* In all blocks, where neither end has one. */
static bool search_super(struct sb_parity *parity, bool *page)
{
    bool found = false;

    for (int64_t at = 0; at < parity->size && !found && !sb_interrupted();) {
        int64_t hole = hole_at(parity, at);

        found = hole == 0 && is_super(parity, at, page);
        at += hole > 0 ? hole : SB_PARITY_BLOCK;
    }
    return found;
}

static bool is_whole(const struct sb_parity *parity, unsigned copy)
{
    unsigned char block[SB_PARITY_BLOCK], wanted[SB_PARITY_BLOCK];
    int64_t offset = sb_parity_super_offset(&parity->super.shape, copy);

    sb_parity_put_super(wanted, &parity->super, offset);
    return read_block(parity, block, offset) && memcmp(block, wanted, sizeof(block)) == 0;
}

static enum sb_code find_super(struct sb_parity *parity)
{
    int64_t size = parity->size - parity->size % SB_PARITY_BLOCK;
    const char *name = parity->file->name;
    bool page = false;
    bool found = is_super(parity, 0, &page) ||
                 (size > SB_PARITY_BLOCK && is_super(parity, size - SB_PARITY_BLOCK, &page)) ||
                 search_super(parity, &page);

    for (unsigned copy = 0; found && copy < SB_PARITY_COPIES; copy++)
        parity->whole += is_whole(parity, copy);
    if (found || sb_interrupted())
        return sb_heed_interrupt();
    if (page)
        return sb_fail(SB_DAMAGED, "%s: is a parity file that has lost its superblocks", name);
    return sb_fail(SB_FORMAT,
                   "%s: is no parity file, or nothing of its superblocks is left; move it away",
                   name);
}

enum sb_code sb_parity_open(struct sb_parity **out, const char *path)
{
    CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;

    *out = NULL;
    TRY(SB_NEW(&parity));
    TRY(sb_file_open(&parity->file, path, "parity file"));
    parity->size = parity->file->st.st_size;
    TRY(find_super(parity));
    *out = TAKE(parity);
    return SB_OK;
}

void sb_parity_free(struct sb_parity *parity)
{
    if (!parity)
        return;
    sb_file_free(parity->file);
    free(parity);
}
