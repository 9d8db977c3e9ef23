#include "archive/parity/encode.h"

#include "core/crc32c.h"
#include "core/pipeline.h"
#include "core/rs/rs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BAND_BYTES ((int64_t)12 << 20) /* no row has more */
#define READ_BYTES ((size_t)4 << 20)
#define HUGE_PAGE  ((size_t)2 << 20)

/* Parts of a band, each of some words. */
#define PARTS_MOST 16

/* Part `part` of a band. Words of one part belong to one slot at a time: there are as many slots as
 * parts, and the slot of a band's part is filled when that of the band before was drained. */
struct slot {
    uint32_t band, part;
};

_Static_assert(BAND_BYTES >= (int64_t)SB_PARITY_WORDS_MOST * SB_PARITY_PIECE_MOST,
               "a band has at least one row");

struct sb_parity_encoder {
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

static enum sb_code allocate_all(struct sb_parity_encoder *encoder)
{
    const struct sb_parity_shape *shape = &encoder->shape;
    size_t pieces = (size_t)shape->words * (shape->data + shape->parity);

    encoder->bands[0] = allocate(band_bytes(shape));
    encoder->bands[1] = allocate(band_bytes(shape));
    encoder->parity = allocate((size_t)shape->words * shape->parity * shape->piece);
    encoder->sums = calloc(pieces, sizeof(*encoder->sums));
    return encoder->bands[0] && encoder->bands[1] && encoder->parity && encoder->sums
               ? SB_OK
               : sb_fail_memory();
}

enum sb_code sb_parity_encoder_new(struct sb_parity_encoder **out, const struct sb_file *file,
                                   const struct sb_parity_shape *shape,
                                   const struct sb_parity_options *options)
{
    CLEANUP(sb_parity_encoder_freep)
    struct sb_parity_encoder *encoder = calloc(1, sizeof(*encoder));
    struct sb_parity_section largest;

    *out = NULL;
    if (!encoder)
        return sb_fail_memory();
    encoder->file = file;
    encoder->shape = *shape;
    encoder->options = options;
    /* Less memory for a small file. */
    if (sb_parity_sections(shape) == 1) {
        sb_parity_section(shape, 0, &largest);
        encoder->shape.words = largest.words;
    }
    TRY(allocate_all(encoder));
    TRY(sb_rs_encoder(&encoder->rs, shape->data, shape->parity));
    *out = TAKE(encoder);
    return SB_OK;
}

void sb_parity_encoder_free(struct sb_parity_encoder *encoder)
{
    if (!encoder)
        return;
    sb_rs_free(encoder->rs);
    free(encoder->bands[0]);
    free(encoder->bands[1]);
    free(encoder->parity);
    free(encoder->sums);
    free(encoder);
}

static enum sb_code read_bytes(const struct sb_parity_encoder *encoder, unsigned char *to,
                               int64_t offset, int64_t size)
{
    const struct sb_parity_options *options = encoder->options;

    while (size > 0) {
        size_t part = size < (int64_t)READ_BYTES ? (size_t)size : READ_BYTES;
        enum sb_code code = sb_file_read_exactly(encoder->file, to, part, offset);

        if (code == SB_DAMAGED)
            return sb_fail(SB_CHANGED, "%s: became shorter while it was read", encoder->file->name);
        if (code)
            return code;
        if (options->read && options->read(options->reader, offset, to, part))
            return sb_error()->code;
        if (options->progress)
            options->progress(options->context, (int64_t)part);
        to += part;
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    return SB_OK;
}

/* The number in the section of the first piece of a band, and how many it has. */
static uint32_t pieces_of_band(const struct sb_parity_encoder *encoder, uint32_t band,
                               uint32_t *first)
{
    uint32_t most = encoder->rows * encoder->section.words, left;

    *first = band * most;
    left = encoder->section.pieces - *first;
    return left < most ? left : most;
}

static enum sb_code read_band(const struct sb_parity_encoder *encoder, uint32_t band)
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
    struct sb_parity_encoder *encoder = context;
    struct slot *next = slot;

    if (encoder->band * encoder->rows >= encoder->all_rows)
        return SB_END;
    if (encoder->part == 0 && read_band(encoder, encoder->band))
        return sb_error()->code;
    *next = (struct slot){.band = encoder->band, .part = encoder->part};
    if (++encoder->part == encoder->parts) {
        encoder->part = 0;
        encoder->band++;
    }
    return SB_OK;
}

static unsigned char *parity_at(const struct sb_parity_encoder *encoder, uint32_t number)
{
    return encoder->parity + (size_t)number * encoder->shape.piece;
}

/* The rows of a band that belong to one word. */
static void add_word(const struct sb_parity_encoder *encoder, uint32_t band, uint32_t word)
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

static void sum_parity(const struct sb_parity_encoder *encoder, uint32_t word)
{
    for (uint32_t i = word; i < encoder->section.checks; i += encoder->section.words)
        encoder->sums[encoder->section.pieces + i] =
            sb_crc32c(0, parity_at(encoder, i), encoder->shape.piece);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    const struct sb_parity_encoder *encoder = context;
    const struct slot *part = slot;
    uint32_t words = encoder->section.words;
    uint32_t from = words * part->part / encoder->parts;
    uint32_t to = words * (part->part + 1) / encoder->parts;
    bool last = (part->band + 1) * encoder->rows >= encoder->all_rows;

    (void)turns;
    for (uint32_t word = from; word < to; word++) {
        add_word(encoder, part->band, word);
        if (last)
            sum_parity(encoder, word);
    }
    return SB_OK;
}

enum sb_code sb_parity_encode(struct sb_parity_encoder *encoder,
                              const struct sb_parity_section *section)
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

const unsigned char *sb_parity_encoded(const struct sb_parity_encoder *encoder)
{
    return encoder->parity;
}

const uint32_t *sb_parity_encoded_sums(const struct sb_parity_encoder *encoder)
{
    return encoder->sums;
}
