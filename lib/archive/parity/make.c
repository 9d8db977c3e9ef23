#include "archive/parity/make.h"

#include "core/crc32c.h"
#include "core/io.h"
#include "core/pipeline.h"
#include "core/rs/rs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages that are written at once. */
#define PAGES 64

#define BAND_BYTES ((size_t)12 << 20) /* no row has more */
#define READ_BYTES ((size_t)4 << 20)
#define HUGE_PAGE  ((size_t)2 << 20)

/*
 * The parity of one section after the other, in memory, and all its CRC32Cs. Two bands of rows take
 * turns, one being read while the other is added to the parities, so that a word takes several of
 * its rows at once. All is at most 57 MiB.
 */

/* Parts of a band, each of some words. */
#define PARTS_MOST 16

/* Part `part` of a band. Words of one part belong to one slot at a time: there are as many slots as
 * parts, and the slot of a band's part is filled when that of the band before was drained. */
struct slot {
    uint32_t band, part;
};

_Static_assert(BAND_BYTES >= (size_t)SB_PARITY_WORDS_MOST * SB_PARITY_PIECE_MOST,
               "a band has at least one row");

struct encoder {
    const struct sb_file *file;
    const struct sb_parity_options *options;
    int fd; /* of the parity file */
    struct sb_parity_super super;
    struct sb_parity_section section;
    struct sb_rs *rs;

    unsigned char *bands[2];
    size_t band_bytes;
    unsigned char *parity;
    uint32_t *sums;
    struct slot slots[PARTS_MOST];
    uint32_t parts;      /* of the section's bands */
    uint32_t rows;       /* of a band */
    uint32_t all_rows;   /* of the section */
    uint32_t band, part; /* filled next */
};

static void *allocate(size_t size)
{
    void *memory = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);

    if (memory)
        (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

static void release(struct encoder *encoder)
{
    sb_rs_free(encoder->rs);
    free(encoder->bands[0]);
    free(encoder->bands[1]);
    free(encoder->parity);
    free(encoder->sums);
}

static enum sb_code begin(struct encoder *encoder)
{
    const struct sb_parity_shape *shape = &encoder->super.shape;
    struct sb_parity_section largest = {.words = shape->words};
    size_t row;

    /* Less memory for a small file. */
    if (sb_parity_sections(shape) == 1)
        sb_parity_section(shape, 0, &largest);
    row = (size_t)largest.words * shape->piece;
    encoder->band_bytes = row * shape->data < BAND_BYTES ? row * shape->data : BAND_BYTES;
    encoder->bands[0] = allocate(encoder->band_bytes);
    encoder->bands[1] = allocate(encoder->band_bytes);
    encoder->parity = allocate(row * shape->parity);
    if (!encoder->bands[0] || !encoder->bands[1] || !encoder->parity)
        return sb_fail_memory();
    TRY(SB_NEW_ARRAY(&encoder->sums, (size_t)largest.words * (shape->data + shape->parity)));
    return sb_rs_encoder(&encoder->rs, shape->data, shape->parity);
}

static enum sb_code read_bytes(const struct encoder *encoder, unsigned char *to, int64_t offset,
                               int64_t size)
{
    const struct sb_parity_options *options = encoder->options;

    while (size > 0) {
        size_t part = size < (int64_t)READ_BYTES ? (size_t)size : READ_BYTES;
        enum sb_code code = sb_file_read_exactly(encoder->file, to, part, offset);

        if (code == SB_DAMAGED)
            return sb_fail(SB_CHANGED, "%s: became shorter while it was read", encoder->file->name);
        if (code)
            return code;
        if (options->read)
            TRY(options->read(options->reader, offset, to, part));
        if (options->progress)
            options->progress(options->context, (int64_t)part);
        to += part;
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    return SB_OK;
}

/* The number in the section of the first piece of a band, and how many it has. */
static uint32_t pieces_of_band(const struct encoder *encoder, uint32_t band, uint32_t *first)
{
    uint32_t most = encoder->rows * encoder->section.words, left;

    *first = band * most;
    left = encoder->section.pieces - *first;
    return left < most ? left : most;
}

static enum sb_code read_band(const struct encoder *encoder, uint32_t band)
{
    unsigned char *bytes = encoder->bands[band % 2];
    uint32_t first, count = pieces_of_band(encoder, band, &first);
    int64_t offset = (encoder->section.first + first) * encoder->super.shape.piece;
    int64_t size = (int64_t)count * encoder->super.shape.piece,
            there = encoder->super.shape.size - offset;

    if (there < size)
        memset(bytes + there, 0, (size_t)(size - there));
    return read_bytes(encoder, bytes, offset, there < size ? there : size);
}

static enum sb_code fill(void *context, void *slot)
{
    struct encoder *encoder = context;
    struct slot *next = slot;

    if (encoder->band * encoder->rows >= encoder->all_rows)
        return SB_END;
    if (encoder->part == 0)
        TRY(read_band(encoder, encoder->band));
    *next = (struct slot){.band = encoder->band, .part = encoder->part};
    if (++encoder->part == encoder->parts) {
        encoder->part = 0;
        encoder->band++;
    }
    return SB_OK;
}

static unsigned char *parity_at(const struct encoder *encoder, uint32_t number)
{
    return encoder->parity + (size_t)number * encoder->super.shape.piece;
}

/* The rows of a band that belong to one word. */
static void add_word(const struct encoder *encoder, uint32_t band, uint32_t word)
{
    uint32_t words = encoder->section.words, piece = encoder->super.shape.piece, first;
    uint32_t count = pieces_of_band(encoder, band, &first), row = band * encoder->rows;
    unsigned char *outputs[SB_RS_PIECES_MAX];

    for (uint32_t i = 0; i < encoder->super.shape.parity; i++) {
        outputs[i] = parity_at(encoder, i * words + word);
        if (band == 0)
            memset(outputs[i], 0, piece);
    }
    for (uint32_t i = word; i < count; i += words, row++) {
        const unsigned char *data = encoder->bands[band % 2] + (size_t)i * piece;

        encoder->sums[first + i] = sb_crc32c(0, data, piece);
        sb_rs_add(encoder->rs, row, data, piece, outputs);
    }
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    const struct encoder *encoder = context;
    const struct slot *part = slot;
    uint32_t words = encoder->section.words;
    uint32_t from = words * part->part / encoder->parts;
    uint32_t to = words * (part->part + 1) / encoder->parts;
    bool last = (part->band + 1) * encoder->rows >= encoder->all_rows;

    (void)turns;
    for (uint32_t word = from; word < to; word++) {
        add_word(encoder, part->band, word);
        for (uint32_t i = word; last && i < encoder->section.checks; i += words)
            encoder->sums[encoder->section.pieces + i] =
                sb_crc32c(0, parity_at(encoder, i), encoder->super.shape.piece);
    }
    return SB_OK;
}

/* SB_CHANGED: the file ends before the section does. */
static enum sb_code encode(struct encoder *encoder, int64_t number)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work};
    struct sb_parity_section *section = &encoder->section;

    sb_parity_section(&encoder->super.shape, number, section);
    encoder->band = encoder->part = 0;
    encoder->all_rows = (section->pieces + section->words - 1) / section->words;
    encoder->rows = (uint32_t)(encoder->band_bytes / section->words / encoder->super.shape.piece);
    encoder->parts = section->words < PARTS_MOST ? section->words : PARTS_MOST;
    return sb_pipeline_run(&ops, encoder, encoder->slots, sizeof(*encoder->slots), encoder->parts,
                           encoder->options->threads);
}

static enum sb_code write_at(const struct encoder *encoder, const void *bytes, size_t size,
                             int64_t offset)
{
    return sb_pwrite_full(encoder->fd, bytes, size, offset, encoder->options->path);
}

static enum sb_code write_table(const struct encoder *encoder, int64_t offset, unsigned copy,
                                unsigned char *bytes)
{
    const struct sb_parity_section *section = &encoder->section;

    for (uint32_t page = 0; page < section->pages;) {
        int64_t at = offset + sb_parity_page_offset(&encoder->super.shape, section, copy, page);
        size_t size = 0;

        for (; page < section->pages && size < PAGES * SB_PARITY_BLOCK; page++) {
            sb_parity_put_page(bytes + size, &encoder->super, section, page, encoder->sums);
            size += SB_PARITY_BLOCK;
        }
        TRY(write_at(encoder, bytes, size, at));
    }
    return SB_OK;
}

/* The section that was encoded last. */
static enum sb_code write_section(struct encoder *encoder)
{
    const struct sb_parity_shape *shape = &encoder->super.shape;
    const struct sb_parity_section *section = &encoder->section;
    int64_t offset = sb_parity_offset(shape, section->number);
    int64_t begin = offset + sb_parity_piece_offset(shape, section, 0);
    int64_t after = offset + sb_parity_page_offset(shape, section, 1, 0);
    size_t size = (size_t)section->checks * shape->piece;
    CLEANUP(sb_freep) unsigned char *bytes = NULL;

    TRY(SB_NEW_ARRAY(&bytes, PAGES * SB_PARITY_BLOCK));
    TRY(write_at(encoder, encoder->parity, size, begin));
    TRY(write_at(encoder, bytes, (size_t)(after - begin) - size, begin + (int64_t)size));
    for (unsigned copy = 0; copy < 2; copy++)
        TRY(write_table(encoder, offset, copy, bytes));
    encoder->super.sum ^= sb_parity_sum(section, encoder->sums);
    return SB_OK;
}

static enum sb_code write_all(struct encoder *encoder)
{
    int64_t sections = sb_parity_sections(&encoder->super.shape);
    unsigned char block[SB_PARITY_BLOCK];

    TRY(begin(encoder));
    for (int64_t i = 0; i < sections; i++) {
        TRY(encode(encoder, i));
        TRY(write_section(encoder));
    }
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        int64_t offset = sb_parity_super_offset(&encoder->super.shape, copy);

        sb_parity_put_super(block, &encoder->super, offset);
        TRY(write_at(encoder, block, sizeof(block), offset));
    }
    return sb_fsync(encoder->fd, encoder->options->path);
}

static enum sb_code refuse_change(const struct sb_file *file, const struct stat *before)
{
    struct stat now;

    if (fstat(file->fd, &now))
        return sb_fail_errno(errno, "%s", file->name);
    if (!sb_is_unchanged(&now, before))
        return sb_fail(SB_CHANGED, "%s: changed while it was read", file->name);
    return SB_OK;
}

void sb_parity_adopt(int fd, const struct stat *of)
{
    mode_t mode = (of->st_mode & 0666) | 0600;
    struct stat st;

    if (fstat(fd, &st))
        return;
    if (geteuid() == 0 && (st.st_uid != of->st_uid || st.st_gid != of->st_gid))
        (void)!fchown(fd, of->st_uid, of->st_gid);
    if ((st.st_mode & 0777) != mode)
        (void)!fchmod(fd, mode);
}

/* Closes its file. */
static enum sb_code make(struct encoder *encoder, const struct stat *before)
{
    const struct sb_parity_options *options = encoder->options;
    enum sb_code code = write_all(encoder);

    release(encoder);
    if (!code)
        code = refuse_change(encoder->file, before);
    if (!code && options->proved)
        code = options->proved(options->reader);
    if (!code)
        sb_parity_adopt(encoder->fd, before);
    /* A network file system reports a failing write as late as here. */
    if (close(encoder->fd) && !code)
        code = sb_fail_errno(errno, "%s: cannot close", options->path);
    return code ? code : sb_rename(options->temporary, options->path);
}

enum sb_code sb_parity_make(const struct sb_file *file, const struct sb_parity_options *options)
{
    struct encoder encoder = {.file = file, .options = options};
    struct sb_parity_super *super = &encoder.super;
    struct stat before;
    enum sb_code code;

    if (fstat(file->fd, &before))
        return sb_fail_errno(errno, "%s", file->name);
    TRY(sb_parity_shape(&super->shape, before.st_size, options->data, options->parity,
                        options->words));
    if (options->user)
        memcpy(super->user, options->user, SB_PARITY_USER);
    sb_parity_identify(super);
    encoder.fd = open(options->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (encoder.fd < 0 && errno == EEXIST)
        return sb_fail(SB_EXISTS, "%s: exists already", options->temporary);
    if (encoder.fd < 0)
        return sb_fail_errno(errno, "%s", options->temporary);
    code = make(&encoder, &before);
    if (code) {
        (void)unlink(options->temporary);
        return code;
    }
    return sb_sync_directory_of(options->path);
}
