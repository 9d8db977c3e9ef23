#include "archive/parity/reader.h"

#include "core/crc32c.h"
#include "core/interrupt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum sb_code sb_parity_reader_begin(struct sb_parity_reader *reader, const struct sb_parity *parity,
                                    const struct sb_file *file)
{
    const struct sb_parity_shape *shape = &parity->super.shape;
    size_t sums = (size_t)shape->words * (shape->data + shape->parity);

    *reader = (struct sb_parity_reader){.parity = parity, .file = file};
    reader->sums = calloc(sums, sizeof(*reader->sums));
    reader->pages = calloc(sums / SB_PARITY_PAGE_SUMS + 1, sizeof(*reader->pages));
    reader->bytes = malloc(SB_PARITY_READ_BYTES);
    reader->whole = calloc(SB_PARITY_READ_BYTES / SB_PARITY_PIECE_LEAST, sizeof(*reader->whole));
    return reader->sums && reader->pages && reader->bytes && reader->whole ? SB_OK
                                                                           : sb_fail_memory();
}

void sb_parity_reader_release(struct sb_parity_reader *reader)
{
    free(reader->sums);
    free(reader->pages);
    free(reader->bytes);
    free(reader->whole);
}

/* The disk has lost what was there; everything else is no damage of the file. */
static bool is_unreadable(void)
{
    return sb_error()->code == SB_SYSTEM &&
           (sb_error()->sys_errno == EIO || sb_error()->sys_errno == EBADMSG ||
            sb_error()->sys_errno == EUCLEAN || sb_error()->sys_errno == EILSEQ);
}

static enum sb_code read_each(struct sb_parity_reader *reader, const struct sb_file *file,
                              int64_t offset, size_t size, size_t step)
{
    for (size_t done = 0, i = 0; done < size; done += step, i++) {
        size_t want = size - done < step ? size - done : step, got = 0;
        enum sb_code code =
            sb_file_read(file, reader->bytes + done, want, offset + (int64_t)done, &got);

        if (code && !is_unreadable())
            return code;
        reader->whole[i] = !code && got == want;
    }
    return SB_OK;
}

/* Parts of `step` bytes; the last one may be shorter. */
static enum sb_code read_parts(struct sb_parity_reader *reader, const struct sb_file *file,
                               int64_t offset, size_t size, size_t step)
{
    size_t got;
    enum sb_code code = sb_file_read(file, reader->bytes, size, offset, &got);

    if (code)
        return is_unreadable() ? read_each(reader, file, offset, size, step) : code;
    for (size_t done = 0, i = 0; done < size; done += step, i++)
        reader->whole[i] = (size - done < step ? size : done + step) <= got;
    return SB_OK;
}

static enum sb_code read_copy(struct sb_parity_reader *reader, unsigned copy, uint32_t first,
                              uint32_t count)
{
    const struct sb_parity_super *super = &reader->parity->super;
    int64_t offset =
        reader->offset + sb_parity_page_offset(&super->shape, &reader->section, copy, first);

    TRY(read_parts(reader, reader->parity->file, offset, (size_t)count * SB_PARITY_BLOCK,
                   SB_PARITY_BLOCK));
    for (uint32_t i = 0; i < count; i++) {
        if (reader->whole[i] &&
            sb_parity_get_page(reader->sums, reader->bytes + (size_t)i * SB_PARITY_BLOCK, super,
                               &reader->section, first + i))
            reader->pages[first + i] |= copy ? SB_PARITY_SECOND_COPY : SB_PARITY_FIRST_COPY;
    }
    return SB_OK;
}

static bool all_first(const struct sb_parity_reader *reader)
{
    for (uint32_t page = 0; page < reader->section.pages; page++) {
        if (!(reader->pages[page] & SB_PARITY_FIRST_COPY))
            return false;
    }
    return true;
}

enum sb_code sb_parity_reader_go(struct sb_parity_reader *reader, int64_t section, bool both)
{
    const struct sb_parity_super *super = &reader->parity->super;
    uint32_t most = SB_PARITY_READ_BYTES / SB_PARITY_BLOCK;

    sb_parity_section(&super->shape, section, &reader->section);
    reader->offset = sb_parity_offset(&super->shape, section);
    memset(reader->pages, 0, reader->section.pages);
    for (unsigned copy = 0; copy < 2 && (copy == 0 || both || !all_first(reader)); copy++) {
        for (uint32_t first = 0; first < reader->section.pages; first += most) {
            uint32_t left = reader->section.pages - first;

            TRY(read_copy(reader, copy, first, left < most ? left : most));
        }
    }
    return sb_heed_interrupt();
}

bool sb_parity_reader_knows(const struct sb_parity_reader *reader, uint32_t number)
{
    return reader->pages[number / SB_PARITY_PAGE_SUMS] != 0;
}

enum sb_code sb_parity_reader_read(struct sb_parity_reader *reader, uint32_t number, uint32_t count,
                                   uint32_t *read)
{
    const struct sb_parity_shape *shape = &reader->parity->super.shape;
    const struct sb_parity_section *section = &reader->section;
    uint32_t most = (uint32_t)(SB_PARITY_READ_BYTES / shape->piece);
    int64_t offset, size;

    if (number < section->pieces && count > section->pieces - number)
        count = section->pieces - number;
    if (count > most)
        count = most;
    *read = count;
    size = (int64_t)count * shape->piece;
    if (number >= section->pieces)
        return read_parts(reader, reader->parity->file,
                          reader->offset +
                              sb_parity_piece_offset(shape, section, number - section->pieces),
                          (size_t)size, shape->piece);
    offset = (section->first + number) * shape->piece;
    if (size > shape->size - offset) {
        memset(reader->bytes + (shape->size - offset), 0, (size_t)(size - (shape->size - offset)));
        size = shape->size - offset;
    }
    return read_parts(reader, reader->file, offset, (size_t)size, shape->piece);
}

bool sb_parity_reader_matches(const struct sb_parity_reader *reader, uint32_t number,
                              uint32_t place)
{
    uint32_t piece = reader->parity->super.shape.piece;

    return reader->whole[place] &&
           sb_crc32c(0, reader->bytes + (size_t)place * piece, piece) == reader->sums[number];
}
