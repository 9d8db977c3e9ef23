#include "archive/parity/parity.h"

#include "core/interrupt.h"
#include "core/io.h"

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
