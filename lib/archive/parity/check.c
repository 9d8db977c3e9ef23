#include "archive/parity/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define BITS 64

/* Sections that may be there beside those that bytes of either file justify. */
#define SECTIONS_SPARE 4

static enum sb_code bad_new(struct sb_parity_bad **out, const struct sb_parity *parity,
                            int64_t file_size)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    int64_t capacity = (int64_t)shape->words * shape->data * shape->piece;
    int64_t sections = sb_parity_sections(shape);
    int64_t most = file_size / capacity + SECTIONS_SPARE;
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;

    *out = NULL;
    if (sections > SECTIONS_SPARE)
        most += parity->size / sb_parity_span(shape, 0, 1);
    if (sections > most)
        return sb_fail(SB_DAMAGED,
                       "%s: is for a file of %" PRId64 " bytes, and almost all of both is missing",
                       parity->file->name, shape->size);
    TRY(SB_NEW(&bad));
    bad->parity = parity;
    bad->rest = SB_PARITY_COPIES - parity->whole;
    TRY(SB_NEW_ARRAY(&bad->bits, (size_t)sections + 1));
    bad->sections = sections;
    *out = TAKE(bad);
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

enum sb_code sb_parity_bad_add(struct sb_parity_bad *bad, int64_t section, uint32_t number)
{
    struct sb_parity_section shape;
    uint64_t bit = UINT64_C(1) << number % BITS;
    uint64_t **bits = &bad->bits[section];

    sb_parity_section(&bad->parity->super.shape, section, &shape);
    if (!*bits)
        *bits = calloc((shape.pieces + shape.checks) / BITS + 1, sizeof(**bits));
    if (!*bits)
        return sb_fail_memory();
    if (!((*bits)[number / BITS] & bit))
        ++*(number < shape.pieces ? &bad->data : &bad->rest);
    (*bits)[number / BITS] |= bit;
    return SB_OK;
}

bool sb_parity_is_bad(const struct sb_parity_bad *bad, int64_t section, uint32_t number)
{
    const uint64_t *bits = bad->bits[section];

    return bits && bits[number / BITS] >> number % BITS & 1;
}

struct check {
    const struct sb_parity_shape *shape;
    struct sb_parity_reader reader;
    struct sb_parity_bad *bad;
    const struct sb_parity_check_options *options;
    int64_t from, to; /* pieces */
    uint32_t sum;     /* of all tables so far */
    bool all_tables;  /* were all sections' tables read, and whole? */
};

/* How many pieces from this one on are chosen, up to `to`. */
static enum sb_code count_chosen(const struct check *check, uint32_t number, uint32_t to,
                                 uint32_t *count)
{
    const struct sb_parity_check_options *options = check->options;
    const struct sb_parity_section *section = &check->reader.section;
    int64_t piece = check->shape->piece, size = check->shape->size;

    for (*count = 0; number < to; number++, ++*count) {
        int64_t from = (section->first + number) * piece, end = from + piece;
        bool chosen = sb_parity_reader_knows(&check->reader, number);

        if (chosen && options->chooses && number < section->pieces)
            TRY(options->chooses(options->chooser, from, end < size ? end : size, &chosen));
        if (!chosen)
            break;
    }
    return SB_OK;
}

/* Pieces from `from` up to, not including, `to`. */
static enum sb_code check_pieces(struct check *check, uint32_t from, uint32_t to)
{
    const struct sb_parity_check_options *options = check->options;
    const struct sb_parity_reader *reader = &check->reader;
    uint32_t most = (uint32_t)(SB_PARITY_READ_BYTES / check->shape->piece);

    for (uint32_t number = from; number < to;) {
        uint32_t count, end = to - number > most ? number + most : to;

        TRY(count_chosen(check, number, end, &count));
        if (count == 0) {
            number++;
            continue;
        }
        TRY(sb_parity_reader_read(&check->reader, number, count, &count));
        for (uint32_t i = 0; i < count; i++) {
            if (sb_parity_reader_knows(reader, number + i) &&
                !sb_parity_reader_matches(reader, number + i, i))
                TRY(sb_parity_bad_add(check->bad, reader->section.number, number + i));
        }
        if (options->progress)
            options->progress(options->context, (int64_t)count * check->shape->piece);
        number += count;
    }
    return SB_OK;
}

/* The tables of the section. */
static void check_pages(struct check *check)
{
    const struct sb_parity_section *section = &check->reader.section;
    const struct sb_parity_shape *shape = check->shape;

    for (uint32_t page = 0; page < section->pages; page++) {
        unsigned whole = check->reader.pages[page];
        uint32_t first = page * SB_PARITY_PAGE_SUMS, end = first + SB_PARITY_PAGE_SUMS;
        int64_t to;

        check->bad->rest += !(whole & SB_PARITY_FIRST_COPY) + !(whole & SB_PARITY_SECOND_COPY);
        check->all_tables &= whole != 0;
        if (whole || first >= section->pieces)
            continue;
        to = (section->first + (end < section->pieces ? end : section->pieces)) * shape->piece;
        check->bad->unknown +=
            (to < shape->size ? to : shape->size) - (section->first + first) * shape->piece;
    }
    check->sum ^= sb_parity_sum(section, check->reader.sums);
}

static enum sb_code check_section(struct check *check, int64_t number)
{
    const struct sb_parity_section *section = &check->reader.section;
    int64_t from, to;

    TRY(sb_parity_reader_go(&check->reader, number, true));
    check_pages(check);
    from = check->from - section->first;
    to = check->to - section->first;
    TRY(check_pieces(check, from > 0 ? (uint32_t)from : 0,
                     to < section->pieces ? (uint32_t)to : section->pieces));
    if (!check->options->parity)
        return SB_OK;
    return check_pieces(check, section->pieces, section->pieces + section->checks);
}

static bool is_section_chosen(const struct check *check, int64_t number)
{
    const struct sb_parity_shape *shape = check->shape;
    const struct sb_parity_check_options *options = check->options;
    struct sb_parity_section section;

    if (!options->chooses_section)
        return true;
    sb_parity_section(shape, number, &section);
    return options->chooses_section(options->chooser, section.first * shape->piece,
                                    (section.first + section.pieces) * shape->piece);
}

static enum sb_code check_sections(struct check *check)
{
    int64_t first = sb_parity_section_of(check->shape, check->from);
    int64_t last = sb_parity_section_of(check->shape, check->to - 1);

    for (int64_t i = first; i <= last; i++) {
        if (is_section_chosen(check, i))
            TRY(check_section(check, i));
        else
            check->all_tables = false;
    }
    check->all_tables &= first == 0 && last == sb_parity_sections(check->shape) - 1;
    check->bad->of_another = check->all_tables && check->sum != check->reader.parity->super.sum;
    return SB_OK;
}

static void release(struct check *check)
{
    sb_parity_reader_release(&check->reader);
    sb_parity_bad_free(check->bad);
}

enum sb_code sb_parity_check(struct sb_parity_bad **bad, const struct sb_parity *parity,
                             const struct sb_file *file,
                             const struct sb_parity_check_options *options)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    CLEANUP(release)
    struct check check = {.shape = shape, .options = options, .all_tables = true};
    int64_t size = options->to && options->to < shape->size ? options->to : shape->size;
    struct stat st;

    *bad = NULL;
    check.from = options->from / shape->piece;
    check.to = size / shape->piece + (size % shape->piece != 0);
    if (fstat(file->fd, &st))
        return sb_fail_errno(errno, "%s", file->name);
    TRY(bad_new(&check.bad, parity, st.st_size));
    TRY(sb_parity_reader_begin(&check.reader, parity, file));
    if (check.from < check.to)
        TRY(check_sections(&check));
    *bad = TAKE(check.bad);
    return SB_OK;
}
