#include "archive/parity/format.h"

#include "core/crc32c.h"
#include "core/little_endian.h"
#include "core/rs/rs.h"

#include <string.h>

#define MAGIC_BYTES 8
#define VERSION     1

#define SUPER_USER    112
#define SUPER_EXTENTS (SUPER_USER + SB_PARITY_USER)
#define PAGE_SUMS     44
#define BLOCK_SUM     (SB_PARITY_BLOCK - 4)

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

enum sb_code sb_parity_redundancy(unsigned per_mille, unsigned *data, unsigned *parity,
                                  struct sb_error *err)
{
    if (per_mille < 1 || per_mille > 10000)
        return sb_fail(err, SB_INVALID,
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
                             unsigned parity, unsigned words, struct sb_error *err)
{
    int64_t most;

    if (size > SB_PARITY_SIZE_MOST)
        return sb_fail(err, SB_LIMIT, "more than 2^50 bytes, which no parity file protects");
    *shape = (struct sb_parity_shape){
        .size = size, .piece = SB_PARITY_PIECE_LEAST, .data = data, .parity = parity};
    while (shape->piece < SB_PARITY_PIECE_MOST && sb_parity_pieces(shape) > PIECES_LEAST)
        shape->piece *= 2;
    most = parity ? SB_PARITY_SECTION_MOST / ((int64_t)parity * shape->piece) : 1;
    if (most > SB_PARITY_WORDS_MOST)
        most = SB_PARITY_WORDS_MOST;
    shape->words = words && words < most ? words : (uint32_t)most;
    if (!counts_are_right(shape))
        return sb_fail(err, SB_INVALID, "no words of %u pieces of data and %u of parity", data,
                       parity);
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

int64_t sb_parity_offset(const struct sb_parity_super *super, int64_t section)
{
    uint32_t i = super->extents - 1;

    while (super->extent[i].section > section)
        i--;
    return super->extent[i].offset +
           sb_parity_span(&super->shape, super->extent[i].section, section);
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
    at = sb_put_u64(at + sizeof(super->id), (uint64_t)super->generation);
    at = sb_put_u64(at, (uint64_t)offset);
    at = sb_put_u64(at, (uint64_t)super->middle);
    at = sb_put_u64(at, (uint64_t)super->end);
    at = sb_put_u64(at, (uint64_t)shape->size);
    at = sb_put_u64(at, (uint64_t)super->valid);
    at = sb_put_u64(at, (uint64_t)sb_parity_sections(shape));
    at = sb_put_u32(at, shape->data);
    at = sb_put_u32(at, shape->parity);
    at = sb_put_u32(at, shape->words);
    at = sb_put_u32(at, super->sum);
    sb_put_u32(at, super->extents);
    memcpy(block + SUPER_USER, super->user, SB_PARITY_USER);
    at = block + SUPER_EXTENTS;
    for (uint32_t i = 0; i < super->extents; i++) {
        at = sb_put_u64(at, (uint64_t)super->extent[i].section);
        at = sb_put_u64(at, (uint64_t)super->extent[i].offset);
    }
    seal(block);
}

/* Not within another, and within the file. */
static bool extent_is_apart(const struct sb_parity_super *super, const int64_t *ends, uint32_t i)
{
    int64_t begin = super->extent[i].offset;

    if (ends[i] > super->end ||
        (begin < super->middle + SB_PARITY_BLOCK && super->middle < ends[i]))
        return false;
    for (uint32_t other = 0; other < i; other++) {
        if (begin < ends[other] && super->extent[other].offset < ends[i])
            return false;
    }
    return true;
}

static bool is_offset(int64_t offset, int64_t most)
{
    return offset >= SB_PARITY_BLOCK && offset <= most && offset % SB_PARITY_BLOCK == 0;
}

static bool extents_are_right(const struct sb_parity_super *super)
{
    int64_t sections = sb_parity_sections(&super->shape), ends[SB_PARITY_EXTENTS_MOST];

    if (super->extents == 0)
        return sections == 0;
    if (sections == 0 || super->extent[0].section != 0)
        return false;
    for (uint32_t i = 0; i < super->extents; i++) {
        const struct sb_parity_extent *extent = &super->extent[i];
        int64_t to = i + 1 < super->extents ? extent[1].section : sections;

        if (extent->section >= to || to > sections || !is_offset(extent->offset, super->end))
            return false;
        ends[i] = extent->offset + sb_parity_span(&super->shape, extent->section, to);
        if (!extent_is_apart(super, ends, i))
            return false;
    }
    return true;
}

static bool super_is_right(const struct sb_parity_super *super)
{
    return counts_are_right(&super->shape) && super->generation >= 1 &&
           super->generation <= SB_PARITY_GENERATION_MOST && super->valid >= 0 &&
           super->valid <= sb_parity_pieces(&super->shape) &&
           is_offset(super->end, SB_PARITY_OFFSET_MOST) &&
           is_offset(super->middle, super->end - SB_PARITY_BLOCK) && extents_are_right(super);
}

static const unsigned char *get(const unsigned char *at, int64_t *value)
{
    *value = (int64_t)sb_get_u64(at);
    return at + sizeof(*value);
}

bool sb_parity_get_super(struct sb_parity_super *super, const unsigned char *block, int64_t offset)
{
    struct sb_parity_shape *shape = &super->shape;
    const unsigned char *at = block + MAGIC_BYTES;
    int64_t own, sections;

    if (!is_sealed(block, super_magic) || sb_get_u32(at) != VERSION)
        return false;
    shape->piece = sb_get_u32(at + 4);
    memcpy(super->id, at + 8, sizeof(super->id));
    at = get(at + 8 + sizeof(super->id), &super->generation);
    at = get(at, &own);
    at = get(at, &super->middle);
    at = get(at, &super->end);
    at = get(at, &shape->size);
    at = get(at, &super->valid);
    at = get(at, &sections);
    shape->data = sb_get_u32(at);
    shape->parity = sb_get_u32(at + 4);
    shape->words = sb_get_u32(at + 8);
    super->sum = sb_get_u32(at + 12);
    super->extents = sb_get_u32(at + 16);
    memcpy(super->user, block + SUPER_USER, SB_PARITY_USER);
    if (super->extents > SB_PARITY_EXTENTS_MOST)
        return false;
    at = block + SUPER_EXTENTS;
    for (uint32_t i = 0; i < super->extents; i++) {
        at = get(at, &super->extent[i].section);
        at = get(at, &super->extent[i].offset);
    }
    return super_is_right(super) && sections == sb_parity_sections(shape) && own == offset &&
           (offset == 0 || offset == super->middle || offset == super->end);
}

static uint32_t sums_from(const struct sb_parity_section *section, uint32_t page)
{
    uint32_t rest = section->pieces + section->checks - page * SB_PARITY_PAGE_SUMS;

    return rest < SB_PARITY_PAGE_SUMS ? rest : SB_PARITY_PAGE_SUMS;
}

void sb_parity_put_page(unsigned char *block, const struct sb_parity_super *super,
                        int64_t generation, const struct sb_parity_section *section, uint32_t page,
                        const uint32_t *sums)
{
    uint32_t first = page * SB_PARITY_PAGE_SUMS, count = sums_from(section, page);
    unsigned char *at = block + MAGIC_BYTES + sizeof(super->id);

    memset(block, 0, SB_PARITY_BLOCK);
    memcpy(block, table_magic, MAGIC_BYTES);
    memcpy(block + MAGIC_BYTES, super->id, sizeof(super->id));
    at = sb_put_u64(at, (uint64_t)generation);
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
        sb_get_u64(at) > (uint64_t)super->generation ||
        sb_get_u64(at + 8) != (uint64_t)section->number || sb_get_u32(at + 16) != first)
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
