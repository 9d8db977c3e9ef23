#include "archive/parity/make.h"

#include "archive/parity/reader.h"
#include "archive/parity/write.h"
#include "core/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Used space, in the order of offsets: superblocks and extents of before, and what was placed. */
#define USED_MOST (2 * SB_PARITY_EXTENTS_MOST + SB_PARITY_COPIES)

struct used {
    int64_t begin, end;
};

struct update {
    struct sb_parity *parity; /* as it was */
    struct sb_parity_output output;
    int64_t first; /* section that is made anew */
    struct sb_parity_reader before;
    uint32_t sum; /* of the sections of before that are no more */

    struct used used[USED_MOST];
    size_t used_count;
};

static bool same_shape(const struct sb_parity_shape *a, const struct sb_parity_shape *b)
{
    return a->piece == b->piece && a->data == b->data && a->parity == b->parity &&
           a->words == b->words;
}

/* The first section that is not as it was. */
static int64_t first_changed(const struct sb_parity_super *before,
                             const struct sb_parity_shape *shape)
{
    int64_t sections = sb_parity_sections(shape), old = sb_parity_sections(&before->shape);
    int64_t number = before->valid == 0 || old == 0
                         ? 0
                         : sb_parity_section_of(&before->shape, before->valid - 1) + 1;

    while (number > 0) {
        struct sb_parity_section was, is;

        if (number <= sections) {
            sb_parity_section(&before->shape, number - 1, &was);
            sb_parity_section(shape, number - 1, &is);
            if (was.first == is.first && was.pieces == is.pieces &&
                was.first + was.pieces <= before->valid)
                break;
            /* Only the last two of either may differ. */
            number--;
        } else {
            number = sections;
        }
    }
    return number;
}

static void add_used(struct update *update, int64_t begin, int64_t size)
{
    size_t at = update->used_count++;

    for (; at > 0 && update->used[at - 1].begin > begin; at--)
        update->used[at] = update->used[at - 1];
    update->used[at] = (struct used){.begin = begin, .end = begin + size};
}

static void collect_used(struct update *update)
{
    const struct sb_parity_super *super = &update->parity->super;
    int64_t sections = sb_parity_sections(&super->shape);

    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++)
        add_used(update, sb_parity_super_offset(super, copy), SB_PARITY_BLOCK);
    for (uint32_t i = 0; i < super->extents; i++) {
        int64_t from = super->extent[i].section;
        int64_t to = i + 1 < super->extents ? super->extent[i + 1].section : sections;

        add_used(update, super->extent[i].offset, sb_parity_span(&super->shape, from, to));
    }
}

/* How many sections from this one on fit in so many bytes; at most up to `to`. */
static int64_t fitting(const struct sb_parity_shape *shape, int64_t from, int64_t to, int64_t bytes)
{
    int64_t count = 0;

    while (from + count < to && sb_parity_span(shape, from, from + count + 1) <= bytes)
        count++;
    return count;
}

/* False: there are too many. */
static bool add_extent(struct sb_parity_super *super, int64_t section, int64_t offset)
{
    if (super->extents == SB_PARITY_EXTENTS_MOST)
        return false;
    super->extent[super->extents++] =
        (struct sb_parity_extent){.section = section, .offset = offset};
    return true;
}

/*
 * Sections that are made anew go to the gaps that earlier ones left, and then to the end. What is
 * in use now stays as it is until the superblocks are written.
 */
static bool lay_out(struct update *update)
{
    const struct sb_parity_super *before = &update->parity->super;
    struct sb_parity_super *super = &update->output.super;
    int64_t next = update->first, sections = sb_parity_sections(&super->shape);

    while (super->extents && super->extent[super->extents - 1].section >= next)
        super->extents--;
    for (size_t i = 0; i + 1 < update->used_count && next < sections; i++) {
        int64_t gap = update->used[i].end;
        int64_t count = fitting(&super->shape, next, sections, update->used[i + 1].begin - gap);

        if (count && !add_extent(super, next, gap))
            return false;
        next += count;
    }
    if (next < sections) {
        int64_t at = before->end + SB_PARITY_BLOCK;

        if (!add_extent(super, next, at))
            return false;
        super->end = at + sb_parity_span(&super->shape, next, sections);
    }
    return true;
}

/* What remains valid of a section must be as its table has it. */
static enum sb_code compare(struct update *update, const struct sb_parity_section *section,
                            struct sb_error *err)
{
    const struct sb_parity_section *before = &update->before.section;
    const struct sb_parity_super *super = &update->parity->super;
    const uint32_t *sums = sb_parity_encoded_sums(update->output.encoder);
    int64_t end = section->first + section->pieces;

    for (int64_t piece = section->first; piece < end && piece < super->valid; piece++) {
        int64_t number = sb_parity_section_of(&super->shape, piece);
        uint32_t there;

        if (number != before->number && sb_parity_reader_go(&update->before, number, false, err))
            return err->code;
        there = (uint32_t)(piece - before->first);
        if (sums[piece - section->first] != update->before.sums[there])
            return sb_fail(err, SB_DAMAGED,
                           "%s: bytes from %" PRId64 " on are damaged; mend them first",
                           update->output.file->name, piece * super->shape.piece);
    }
    return SB_OK;
}

static enum sb_code write_sections(struct update *update, struct sb_error *err)
{
    int64_t sections = sb_parity_sections(&update->output.super.shape);
    enum sb_code code = SB_OK;

    update->output.super.sum ^= update->sum;
    for (int64_t i = update->first; !code && i < sections; i++) {
        struct sb_parity_section section;

        sb_parity_section(&update->output.super.shape, i, &section);
        code = sb_parity_encode(update->output.encoder, &section, err);
        if (!code)
            code = compare(update, &section, err);
        if (!code)
            code = sb_parity_write_section(&update->output, &section, err);
    }
    return code;
}

/* All tables of sections that are made anew are necessary, for the checksum of all. */
static enum sb_code sum_before(struct update *update, struct sb_error *err)
{
    int64_t sections = sb_parity_sections(&update->parity->super.shape);

    for (int64_t i = update->first; i < sections; i++) {
        const struct sb_parity_reader *before = &update->before;

        if (sb_parity_reader_go(&update->before, i, false, err))
            return err->code;
        for (uint32_t page = 0; page < before->section.pages; page++) {
            if (!before->pages[page])
                return sb_fail(err, SB_DAMAGED, "%s: a table is damaged; make it again",
                               update->parity->file->name);
        }
        update->sum ^= sb_parity_sum(&before->section, before->sums);
    }
    return SB_OK;
}

/* The superblock that was at the end is not to be found again, nor is what a killed run left. */
static enum sb_code clear_old_end(const struct update *update, struct sb_error *err)
{
    static const unsigned char zeros[SB_PARITY_BLOCK];
    const struct sb_parity_output *output = &update->output;
    int64_t end = update->parity->super.end;

    if (ftruncate(output->fd, output->super.end + SB_PARITY_BLOCK))
        return sb_fail_errno(err, errno, "%s", output->name);
    if (end == output->super.end)
        return SB_OK;
    return sb_pwrite_full(output->fd, zeros, sizeof(zeros), end, output->name, err);
}

static enum sb_code replace(struct update *update, const struct sb_parity_options *options,
                            const struct stat *st, struct sb_error *err)
{
    struct sb_parity_super *super = &update->output.super;
    enum sb_code code;

    /* Sections are written only once no superblock of an earlier run refers to their places. */
    code = sb_parity_mark(update->parity, update->parity->super.valid, NULL, err);
    if (!code)
        code = sb_parity_output_begin(&update->output, options, err);
    if (!code)
        code = write_sections(update, err);
    if (!code)
        code = sb_parity_refuse_change(update->output.file, st, err);
    if (code)
        return code;
    super->valid = sb_parity_pieces(&super->shape);
    if (options->user)
        memcpy(super->user, options->user, SB_PARITY_USER);
    code = sb_parity_write_supers(update->output.fd, update->output.name, super,
                                  update->parity->whole, err);
    return code ? code : clear_old_end(update, err);
}

/* Pieces whose end moved are not valid, whether they were marked or not. */
static void limit_valid(struct sb_parity_super *super, int64_t size)
{
    int64_t less = size < super->shape.size ? size : super->shape.size;

    if (size != super->shape.size && super->valid > less / super->shape.piece)
        super->valid = less / super->shape.piece;
}

/* SB_LIMIT: it must be made by sb_parity_make. */
static enum sb_code try_update(struct update *update, const struct sb_parity_options *options,
                               struct sb_error *err)
{
    struct sb_parity_super *before = &update->parity->super;
    struct sb_parity_output *output = &update->output;
    struct sb_parity_shape shape;
    struct stat st;
    enum sb_code code;

    if (fstat(output->file->fd, &st))
        return sb_fail_errno(err, errno, "%s", output->file->name);
    if (sb_parity_shape(&shape, st.st_size, options->data, options->parity, options->words, err))
        return err->code;
    limit_valid(before, st.st_size);
    output->super = *before;
    output->super.shape = shape;
    output->super.generation += 2;
    output->fd = update->parity->file->fd;
    output->name = options->path;
    update->first = first_changed(before, &shape);
    collect_used(update);
    if (!same_shape(&before->shape, &shape) || !lay_out(update))
        return sb_fail(err, SB_LIMIT, "%s: cannot be changed in place", options->path);
    code = sb_parity_reader_begin(&update->before, update->parity, output->file, err);
    if (!code)
        code = sum_before(update, err);
    if (!code)
        code = replace(update, options, &st, err);
    sb_parity_output_release(output);
    sb_parity_reader_release(&update->before);
    return code;
}

enum sb_code sb_parity_update(const struct sb_file *file, const struct sb_parity_options *options,
                              struct sb_error *err)
{
    struct update *update = calloc(1, sizeof(*update));
    enum sb_code code;
    bool whole = false;

    if (!update)
        return sb_fail_memory(err);
    code = sb_parity_open(&update->parity, options->path, SB_PARITY_WRITE, err);
    if (!code) {
        whole = true;
        update->output.file = file;
        code = try_update(update, options, err);
    }
    sb_parity_free(update->parity);
    free(update);
    if (code == SB_LIMIT || (!whole && (code == SB_NOENT || code == SB_DAMAGED)))
        return sb_parity_make(file, options, err);
    return code;
}
