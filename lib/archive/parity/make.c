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

#define BAND_BYTES ((int64_t)12 << 20) /* no row has more */
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

_Static_assert(BAND_BYTES >= (int64_t)SB_PARITY_WORDS_MOST * SB_PARITY_PIECE_MOST,
               "a band has at least one row");

struct encoder {
    const struct sb_file *file;
    struct sb_parity_shape shape;
    struct sb_parity_section section;
    struct sb_rs *rs;
    const struct sb_parity_options *options;

    unsigned char *bands[2];
    unsigned char *parity;
    uint32_t *sums;
    struct slot slots[PARTS_MOST];
    uint32_t parts;      /* of the section's bands */
    uint32_t rows;       /* of a band */
    uint32_t all_rows;   /* of the section */
    uint32_t band, part; /* filled next */
};

/* Of the words of a band when sections are as large as they get. */
static size_t band_bytes(const struct sb_parity_shape *shape)
{
    int64_t all = (int64_t)shape->words * shape->piece * shape->data;

    return (size_t)(all < BAND_BYTES ? all : BAND_BYTES);
}

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

/* To be released also after a failure. */
static enum sb_code begin(struct encoder *encoder, const struct sb_file *file,
                          const struct sb_parity_shape *shape,
                          const struct sb_parity_options *options)
{
    struct sb_parity_section largest;
    size_t pieces;

    encoder->file = file;
    encoder->shape = *shape;
    encoder->options = options;
    /* Less memory for a small file. */
    if (sb_parity_sections(shape) == 1) {
        sb_parity_section(shape, 0, &largest);
        encoder->shape.words = largest.words;
    }
    shape = &encoder->shape;
    pieces = (size_t)shape->words * (shape->data + shape->parity);
    encoder->bands[0] = allocate(band_bytes(shape));
    encoder->bands[1] = allocate(band_bytes(shape));
    encoder->parity = allocate((size_t)shape->words * shape->parity * shape->piece);
    encoder->sums = calloc(pieces, sizeof(*encoder->sums));
    if (!encoder->bands[0] || !encoder->bands[1] || !encoder->parity || !encoder->sums)
        return sb_fail_memory();
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
    int64_t offset = (encoder->section.first + first) * encoder->shape.piece;
    int64_t size = (int64_t)count * encoder->shape.piece, there = encoder->shape.size - offset;

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
    return encoder->parity + (size_t)number * encoder->shape.piece;
}

/* The rows of a band that belong to one word. */
static void add_word(const struct encoder *encoder, uint32_t band, uint32_t word)
{
    uint32_t words = encoder->section.words, piece = encoder->shape.piece, first;
    uint32_t count = pieces_of_band(encoder, band, &first), row = band * encoder->rows;
    unsigned char *outputs[SB_RS_PIECES_MAX];

    for (uint32_t i = 0; i < encoder->shape.parity; i++) {
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
                sb_crc32c(0, parity_at(encoder, i), encoder->shape.piece);
    }
    return SB_OK;
}

/* SB_CHANGED: the file ends before the section does. */
static enum sb_code encode(struct encoder *encoder, const struct sb_parity_section *section)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work};
    size_t row = (size_t)section->words * encoder->shape.piece;

    encoder->section = *section;
    encoder->band = encoder->part = 0;
    encoder->all_rows = (section->pieces + section->words - 1) / section->words;
    encoder->rows = (uint32_t)(band_bytes(&encoder->shape) / row);
    encoder->parts = section->words < PARTS_MOST ? section->words : PARTS_MOST;
    return sb_pipeline_run(&ops, encoder, encoder->slots, sizeof(*encoder->slots), encoder->parts,
                           encoder->options->threads);
}

/* Where the parity of the encoder's file is written. */
struct output {
    int fd;
    const char *name; /* for messages */
    struct sb_parity_super super;
    struct encoder encoder;
};

static enum sb_code write_table(const struct output *output,
                                const struct sb_parity_section *section, unsigned copy,
                                unsigned char *bytes)
{
    const struct sb_parity_shape *shape = &output->super.shape;
    int64_t offset = sb_parity_offset(shape, section->number);

    for (uint32_t page = 0; page < section->pages;) {
        int64_t at = offset + sb_parity_page_offset(shape, section, copy, page);
        size_t size = 0;

        for (; page < section->pages && size < PAGES * SB_PARITY_BLOCK; page++) {
            sb_parity_put_page(bytes + size, &output->super, section, page, output->encoder.sums);
            size += SB_PARITY_BLOCK;
        }
        TRY(sb_pwrite_full(output->fd, bytes, size, at, output->name));
    }
    return SB_OK;
}

/* The section that was encoded last. */
static enum sb_code write_section(struct output *output)
{
    const struct sb_parity_shape *shape = &output->super.shape;
    const struct sb_parity_section *section = &output->encoder.section;
    int64_t offset = sb_parity_offset(shape, section->number);
    int64_t begin = offset + sb_parity_piece_offset(shape, section, 0);
    int64_t after = offset + sb_parity_page_offset(shape, section, 1, 0);
    size_t size = (size_t)section->checks * shape->piece;
    CLEANUP(sb_freep) unsigned char *bytes = calloc(PAGES, SB_PARITY_BLOCK);

    if (!bytes)
        return sb_fail_memory();
    TRY(sb_pwrite_full(output->fd, output->encoder.parity, size, begin, output->name));
    TRY(sb_pwrite_full(output->fd, bytes, (size_t)(after - begin) - size, begin + (int64_t)size,
                       output->name));
    for (unsigned copy = 0; copy < 2; copy++)
        TRY(write_table(output, section, copy, bytes));
    output->super.sum ^= sb_parity_sum(section, output->encoder.sums);
    return SB_OK;
}

static enum sb_code write_supers(const struct output *output)
{
    unsigned char block[SB_PARITY_BLOCK];

    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        int64_t offset = sb_parity_super_offset(&output->super.shape, copy);

        sb_parity_put_super(block, &output->super, offset);
        TRY(sb_pwrite_full(output->fd, block, sizeof(block), offset, output->name));
    }
    return sb_fsync(output->fd, output->name);
}

static enum sb_code write_all(struct output *output)
{
    int64_t sections = sb_parity_sections(&output->super.shape);

    for (int64_t i = 0; i < sections; i++) {
        struct sb_parity_section section;

        sb_parity_section(&output->super.shape, i, &section);
        TRY(encode(&output->encoder, &section));
        TRY(write_section(output));
    }
    return write_supers(output);
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

/* Of the output, whose file is closed then. */
static enum sb_code make(struct output *output, const struct sb_file *file,
                         const struct stat *before, const struct sb_parity_options *options)
{
    enum sb_code code = begin(&output->encoder, file, &output->super.shape, options);

    if (!code)
        code = write_all(output);
    release(&output->encoder);
    if (!code)
        code = refuse_change(file, before);
    if (!code && options->proved)
        code = options->proved(options->reader);
    if (!code)
        sb_parity_adopt(output->fd, before);
    /* A network file system reports a failing write as late as here. */
    if (close(output->fd) && !code)
        code = sb_fail_errno(errno, "%s: cannot close", options->path);
    return code ? code : sb_rename(options->temporary, options->path);
}

enum sb_code sb_parity_make(const struct sb_file *file, const struct sb_parity_options *options)
{
    struct output output = {.name = options->path};
    struct sb_parity_super *super = &output.super;
    struct stat before;
    enum sb_code code;

    if (fstat(file->fd, &before))
        return sb_fail_errno(errno, "%s", file->name);
    TRY(sb_parity_shape(&super->shape, before.st_size, options->data, options->parity,
                        options->words));
    if (options->user)
        memcpy(super->user, options->user, SB_PARITY_USER);
    sb_parity_identify(super);
    output.fd = open(options->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (output.fd < 0 && errno == EEXIST)
        return sb_fail(SB_EXISTS, "%s: exists already", options->temporary);
    if (output.fd < 0)
        return sb_fail_errno(errno, "%s", options->temporary);
    code = make(&output, file, &before, options);
    if (code) {
        (void)unlink(options->temporary);
        return code;
    }
    return sb_sync_directory_of(options->path);
}
