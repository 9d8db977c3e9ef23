#include "archive/parity/bad.h"

#include <inttypes.h>
#include <stdlib.h>

#define BITS 64

/* Sections that may be there beside those that bytes of either file justify. */
#define SECTIONS_SPARE 4

struct sb_parity_bad {
    const struct sb_parity *parity;
    int64_t sections;
    uint64_t **bits; /* of each section; NULL: nothing is bad */
    int64_t counts[SB_PARITY_SUPER];
};

enum sb_code sb_parity_bad_new(struct sb_parity_bad **out, const struct sb_parity *parity,
                               int64_t file_size, struct sb_error *err)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    int64_t capacity = (int64_t)shape->words * shape->data * shape->piece;
    int64_t sections = sb_parity_sections(shape);
    int64_t most = file_size / capacity + SECTIONS_SPARE;
    struct sb_parity_bad *bad;

    *out = NULL;
    if (sections > SECTIONS_SPARE)
        most += parity->size / sb_parity_span(shape, 0, 1);
    if (sections > most)
        return sb_fail(err, SB_DAMAGED,
                       "%s: is for a file of %" PRId64 " bytes, and almost all of both is missing",
                       parity->file->name, shape->size);
    bad = calloc(1, sizeof(*bad));
    if (!bad)
        return sb_fail_memory(err);
    bad->parity = parity;
    bad->sections = sections;
    bad->bits = calloc((size_t)sections + 1, sizeof(*bad->bits));
    if (!bad->bits) {
        free(bad);
        return sb_fail_memory(err);
    }
    *out = bad;
    return SB_OK;
}

void sb_parity_bad_free(struct sb_parity_bad *bad)
{
    if (!bad)
        return;
    for (int64_t i = 0; i < bad->sections; i++)
        free(bad->bits[i]);
    free(bad->bits);
    free(bad);
}

int64_t sb_parity_bad_count(const struct sb_parity_bad *bad, enum sb_parity_kind kind)
{
    int64_t supers = 0;

    if (kind != SB_PARITY_SUPER)
        return bad->counts[kind];
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++)
        supers += !bad->parity->whole[copy];
    return supers;
}

static uint32_t parts_of(const struct sb_parity_section *section)
{
    return section->pieces + section->checks + 2 * section->pages;
}

/* *first: of those of its kind. */
static enum sb_parity_kind kind_of(const struct sb_parity_section *section, uint32_t number,
                                   uint32_t *first)
{
    *first = 0;
    if (number < section->pieces)
        return SB_PARITY_DATA;
    *first = section->pieces;
    if (number < section->pieces + section->checks)
        return SB_PARITY_CHECK;
    *first += section->checks;
    return SB_PARITY_PAGE;
}

enum sb_code sb_parity_bad_add(struct sb_parity_bad *bad, int64_t section, uint32_t number,
                               struct sb_error *err)
{
    struct sb_parity_section shape;
    uint64_t bit = UINT64_C(1) << number % BITS;
    uint64_t **bits = &bad->bits[section];
    uint32_t first;

    sb_parity_section(&bad->parity->super.shape, section, &shape);
    if (!*bits)
        *bits = calloc(parts_of(&shape) / BITS + 1, sizeof(**bits));
    if (!*bits)
        return sb_fail_memory(err);
    if (!((*bits)[number / BITS] & bit))
        bad->counts[kind_of(&shape, number, &first)]++;
    (*bits)[number / BITS] |= bit;
    return SB_OK;
}

bool sb_parity_is_bad(const struct sb_parity_bad *bad, int64_t section, uint32_t number)
{
    const uint64_t *bits = bad->bits[section];

    return bits && bits[number / BITS] >> number % BITS & 1;
}

bool sb_parity_has_bad(const struct sb_parity_bad *bad, int64_t section)
{
    return bad->bits[section];
}

static void set_data(const struct sb_parity_shape *shape, const struct sb_parity_section *section,
                     uint32_t number, struct sb_parity_part *part)
{
    part->number = section->first + number;
    part->offset = part->number * shape->piece;
    part->size = shape->size - part->offset;
    if (part->size > shape->piece)
        part->size = shape->piece;
}

void sb_parity_part(const struct sb_parity *parity, const struct sb_parity_section *section,
                    uint32_t number, struct sb_parity_part *part)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    int64_t begin = sb_parity_offset(&parity->super, section->number);
    uint32_t first;

    part->kind = kind_of(section, number, &first);
    part->section = section->number;
    part->count = 1;
    number -= first;
    part->number = number;
    switch (part->kind) {
    case SB_PARITY_DATA:
        set_data(shape, section, number, part);
        break;
    case SB_PARITY_CHECK:
        part->offset = begin + sb_parity_piece_offset(shape, section, number);
        part->size = shape->piece;
        break;
    default:
        part->offset = begin + sb_parity_page_offset(shape, section, number / section->pages,
                                                     number % section->pages);
        part->size = SB_PARITY_BLOCK;
    }
}

/* *at: where the search goes on, a section and a number in it. */
#define NUMBER_BITS 20

static bool follows(const struct sb_parity_part *part, const struct sb_parity_part *next)
{
    return next->kind == part->kind && next->offset == part->offset + part->size;
}

/* As many as follow each other; *number: after them. */
static void extend(const struct sb_parity_bad *bad, const struct sb_parity_section *section,
                   uint32_t *number, struct sb_parity_part *part)
{
    struct sb_parity_part next;

    sb_parity_part(bad->parity, section, *number, part);
    while (++*number < parts_of(section) && sb_parity_is_bad(bad, section->number, *number)) {
        sb_parity_part(bad->parity, section, *number, &next);
        if (!follows(part, &next))
            return;
        part->count++;
        part->size += next.size;
    }
}

bool sb_parity_bad_next(const struct sb_parity_bad *bad, int64_t *at, struct sb_parity_part *part)
{
    uint32_t number = (uint32_t)(*at & ((1 << NUMBER_BITS) - 1));

    for (int64_t i = *at >> NUMBER_BITS; i < bad->sections; i++, number = 0) {
        struct sb_parity_section section;

        if (!bad->bits[i])
            continue;
        sb_parity_section(&bad->parity->super.shape, i, &section);
        while (number < parts_of(&section) && !sb_parity_is_bad(bad, i, number))
            number++;
        if (number == parts_of(&section))
            continue;
        extend(bad, &section, &number, part);
        *at = i << NUMBER_BITS | number;
        return true;
    }
    return false;
}

void sb_parity_page_bytes(const struct sb_parity *parity, const struct sb_parity_part *page,
                          int64_t *from, int64_t *to)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    struct sb_parity_section section;
    int64_t first, end;

    sb_parity_section(shape, page->section, &section);
    first = page->number % section.pages * SB_PARITY_PAGE_SUMS;
    end = first + SB_PARITY_PAGE_SUMS;
    if (first > section.pieces)
        first = section.pieces;
    if (end > section.pieces)
        end = section.pieces;
    *from = (section.first + first) * shape->piece;
    *to = (section.first + end) * shape->piece;
    *from = *from < shape->size ? *from : shape->size;
    *to = *to < shape->size ? *to : shape->size;
}
