#include "archive/parity/make.h"

#include "archive/parity/reader.h"
#include "archive/parity/write.h"
#include "core/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Used space, in the order of offsets: superblocks and extents of before, and what was placed. */
#define USED_MOST (2 * SB_PARITY_EXTENTS_MOST + SB_PARITY_COPIES)

struct used {
    int64_t begin, end;
};

struct update {
    const struct sb_parity_options *options;
    struct sb_parity *parity; /* as it was */
    struct sb_parity_output output;
    struct sb_parity_reader before;
    int64_t sections;
    bool *stays;  /* for each section: its place, and all that is there */
    uint32_t sum; /* of the sections of before that do not stay */

    struct used used[USED_MOST];
    size_t used_count;
};

static bool same_shape(const struct sb_parity_shape *a, const struct sb_parity_shape *b)
{
    return a->piece == b->piece && a->data == b->data && a->parity == b->parity &&
           a->words == b->words;
}

/* The end of the sections from this one on that all stay, or do not. */
static int64_t end_of_run(const struct update *update, int64_t from)
{
    int64_t to = from + 1;

    while (to < update->sections && update->stays[to] == update->stays[from])
        to++;
    return to;
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
    const struct sb_parity_extent *last = super->extent + super->extents - 1;

    if (super->extents > 0 &&
        last->offset + sb_parity_span(&super->shape, last->section, section) == offset)
        return true;
    if (super->extents == SB_PARITY_EXTENTS_MOST)
        return false;
    super->extent[super->extents++] =
        (struct sb_parity_extent){.section = section, .offset = offset};
    return true;
}

static bool keep_places(struct update *update, int64_t from, int64_t to)
{
    const struct sb_parity_super *before = &update->parity->super;

    for (uint32_t i = 0; i < before->extents; i++) {
        int64_t first = before->extent[i].section;
        int64_t end = i + 1 < before->extents ? before->extent[i + 1].section : to;

        first = first < from ? from : first;
        if (first < to && first < end &&
            !add_extent(&update->output.super, first, sb_parity_offset(before, first)))
            return false;
    }
    return true;
}

/*
 * Sections that are made anew go to the gaps that earlier ones left, and then to the end. What is
 * in use now stays as it is until the superblocks are written.
 */
static bool find_places(struct update *update, int64_t from, int64_t to)
{
    struct sb_parity_super *super = &update->output.super;

    for (size_t i = 0; from < to; i++) {
        int64_t gap = update->used[i].end, count = to - from;

        if (i + 1 < update->used_count)
            count = fitting(&super->shape, from, to, update->used[i + 1].begin - gap);
        if (count == 0)
            continue;
        if (update->used_count == USED_MOST || !add_extent(super, from, gap))
            return false;
        add_used(update, gap, sb_parity_span(&super->shape, from, from + count));
        from += count;
    }
    return true;
}

/* Gaps may be as much as what is in use. */
static bool is_too_large(const struct update *update)
{
    const struct sb_parity_super *super = &update->output.super;
    int64_t needed = sb_parity_span(&super->shape, 0, update->sections);

    return super->end > 2 * (needed + (int64_t)SB_PARITY_COPIES * SB_PARITY_BLOCK);
}

static bool lay_out(struct update *update)
{
    struct sb_parity_super *super = &update->output.super;
    int64_t to;

    collect_used(update);
    super->extents = 0;
    for (int64_t from = 0; from < update->sections; from = to) {
        to = end_of_run(update, from);
        if (!(update->stays[from] ? keep_places : find_places)(update, from, to))
            return false;
    }
    /* Something is placed after the superblock that is at the end now. */
    if (update->used[update->used_count - 1].begin != super->end)
        super->end = update->used[update->used_count - 1].end;
    return !is_too_large(update);
}

static enum sb_code fail_in_place(const struct update *update, struct sb_error *err)
{
    return sb_fail(err, SB_LIMIT, "%s: cannot be changed in place", update->options->path);
}

/* Up to the first that is not as the table has it. */
static enum sb_code compare_pieces(struct update *update, bool *same, struct sb_error *err)
{
    struct sb_parity_reader *before = &update->before;
    uint32_t read;

    for (uint32_t number = 0; *same && number < before->section.pieces; number += read) {
        if (sb_parity_reader_read(before, number, before->section.pieces - number, &read, err))
            return err->code;
        for (uint32_t i = 0; *same && i < read; i++)
            *same = sb_parity_reader_knows(before, number + i) &&
                    sb_parity_reader_matches(before, number + i, i);
    }
    return SB_OK;
}

/* Every page of the table is necessary, for the checksum of all tables. */
static enum sb_code compare_section(struct update *update, int64_t number, struct sb_error *err)
{
    const struct sb_parity_shape *shape = &update->output.super.shape;
    struct sb_parity_reader *before = &update->before;
    const struct sb_parity_section *was = &before->section;
    struct sb_parity_section is;
    bool same = number < update->sections;

    if (sb_parity_reader_go(before, number, false, err))
        return err->code;
    for (uint32_t page = 0; page < was->pages; page++) {
        if (!before->pages[page])
            return fail_in_place(update, err);
    }
    if (same) {
        sb_parity_section(shape, number, &is);
        same = was->first == is.first && was->pieces == is.pieces;
    }
    if (compare_pieces(update, &same, err))
        return err->code;
    if (!same) {
        update->sum ^= sb_parity_sum(was, before->sums);
        return SB_OK;
    }
    update->stays[number] = true;
    if (update->options->progress)
        update->options->progress(update->options->context, (int64_t)was->pieces * shape->piece);
    return SB_OK;
}

/* SB_LIMIT also where no section stays. */
static enum sb_code compare(struct update *update, struct sb_error *err)
{
    int64_t sections = sb_parity_sections(&update->parity->super.shape), staying = 0;

    for (int64_t i = 0; i < sections; i++) {
        if (compare_section(update, i, err))
            return err->code;
        staying += i < update->sections && update->stays[i];
    }
    return staying ? SB_OK : fail_in_place(update, err);
}

static int64_t first_byte(const struct update *update, int64_t section)
{
    const struct sb_parity_shape *shape = &update->output.super.shape;
    struct sb_parity_section is;

    if (section == update->sections)
        return shape->size;
    sb_parity_section(shape, section, &is);
    return is.first * shape->piece;
}

static enum sb_code announce(const struct update *update, struct sb_error *err)
{
    const struct sb_parity_options *options = update->options;
    int64_t to;

    for (int64_t from = 0; options->renews && from < update->sections; from = to) {
        to = end_of_run(update, from);
        if (!update->stays[from] &&
            options->renews(options->renews_context, first_byte(update, from),
                            first_byte(update, to), err))
            return err->code;
    }
    return SB_OK;
}

static enum sb_code write_sections(struct update *update, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    update->output.super.sum ^= update->sum;
    for (int64_t i = 0; !code && i < update->sections; i++) {
        struct sb_parity_section section;

        if (update->stays[i])
            continue;
        sb_parity_section(&update->output.super.shape, i, &section);
        code = sb_parity_encode(update->output.encoder, &section, err);
        if (!code)
            code = sb_parity_write_section(&update->output, &section, err);
    }
    return code;
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

static enum sb_code replace(struct update *update, const struct stat *st, struct sb_error *err)
{
    const struct sb_parity_options *options = update->options;
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

static enum sb_code plan(struct update *update, int64_t size, struct sb_error *err)
{
    const struct sb_parity_options *options = update->options;
    struct sb_parity_super *before = &update->parity->super;
    struct sb_parity_output *output = &update->output;
    struct sb_parity_shape shape;

    if (sb_parity_shape(&shape, size, options->data, options->parity, options->words, err))
        return err->code;
    if (!same_shape(&before->shape, &shape))
        return fail_in_place(update, err);
    limit_valid(before, size);
    output->super = *before;
    output->super.shape = shape;
    output->super.generation += 2;
    output->fd = update->parity->file->fd;
    output->name = options->path;
    update->sections = sb_parity_sections(&shape);
    update->stays = calloc((size_t)update->sections + 1, sizeof(*update->stays));
    return update->stays ? SB_OK : sb_fail_memory(err);
}

/* SB_LIMIT: it must be made by sb_parity_make. */
static enum sb_code try_update(struct update *update, struct sb_error *err)
{
    const struct sb_file *file = update->output.file;
    struct stat st;
    enum sb_code code;

    if (fstat(file->fd, &st))
        return sb_fail_errno(err, errno, "%s", file->name);
    code = plan(update, st.st_size, err);
    if (!code)
        code = sb_parity_reader_begin(&update->before, update->parity, file, err);
    if (!code)
        code = compare(update, err);
    if (!code && !lay_out(update))
        code = fail_in_place(update, err);
    if (!code)
        code = announce(update, err);
    if (!code)
        code = replace(update, &st, err);
    sb_parity_output_release(&update->output);
    sb_parity_reader_release(&update->before);
    free(update->stays);
    return code;
}

enum sb_code sb_parity_make_all(const struct sb_file *file, const struct sb_parity_options *options,
                                struct sb_error *err)
{
    struct stat st;

    if (fstat(file->fd, &st))
        return sb_fail_errno(err, errno, "%s", file->name);
    if (options->renews && options->renews(options->renews_context, 0, st.st_size, err))
        return err->code;
    return sb_parity_make(file, options, err);
}

enum sb_code sb_parity_update(const struct sb_file *file, const struct sb_parity_options *options,
                              struct sb_error *err)
{
    struct update *update = calloc(1, sizeof(*update));
    enum sb_code code;
    bool whole = false;

    if (!update)
        return sb_fail_memory(err);
    update->options = options;
    code = sb_parity_open(&update->parity, options->path, SB_PARITY_WRITE, err);
    if (!code) {
        whole = true;
        update->output.file = file;
        code = try_update(update, err);
    }
    sb_parity_free(update->parity);
    free(update);
    if (code == SB_LIMIT || (!whole && (code == SB_NOENT || code == SB_DAMAGED)))
        return sb_parity_make_all(file, options, err);
    return code;
}
