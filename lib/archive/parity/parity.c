#include "archive/parity/parity.h"

#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    *page = *page || sb_parity_is_page(block);
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
    CLEANUP(sb_parity_freep) struct sb_parity *parity = calloc(1, sizeof(*parity));

    *out = NULL;
    if (!parity)
        return sb_fail_memory();
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
