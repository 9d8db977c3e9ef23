#include "archive/parity/parity.h"

#include "core/interrupt.h"
#include "core/io.h"

#include <stdlib.h>
#include <string.h>

#define SCAN_BYTES ((size_t)1 << 20)

/* What is searched for in all blocks, where neither end has a superblock. */
struct scan {
    struct sb_parity *parity;
    bool super; /* was found */
    bool page;  /* of a table: it was a parity file */
};

static bool read_block(const struct sb_parity *parity, unsigned char *block, int64_t offset)
{
    struct sb_error ignored;

    return sb_file_read_exactly(parity->file, block, SB_PARITY_BLOCK, offset, &ignored) == SB_OK;
}

static void look_at(struct scan *scan, const unsigned char *block, int64_t offset)
{
    scan->super = scan->super || sb_parity_get_super(&scan->parity->super, block, offset);
    scan->page = scan->page || sb_parity_is_page(block);
}

/* A block that cannot be read is none. */
static void look_at_offset(struct scan *scan, int64_t offset)
{
    unsigned char block[SB_PARITY_BLOCK];

    if (read_block(scan->parity, block, offset))
        look_at(scan, block, offset);
}

/* Of a part that cannot be read, blocks are read one by one. */
static void scan_part(struct scan *scan, unsigned char *bytes, int64_t from, size_t size)
{
    struct sb_error ignored;
    size_t got;
    bool whole = sb_file_read(scan->parity->file, bytes, size, from, &got, &ignored) == SB_OK;

    for (size_t done = 0; done + SB_PARITY_BLOCK <= (whole ? got : size); done += SB_PARITY_BLOCK) {
        if (whole)
            look_at(scan, bytes + done, from + (int64_t)done);
        else
            look_at_offset(scan, from + (int64_t)done);
    }
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

static enum sb_code scan_all(struct scan *scan, struct sb_error *err)
{
    const struct sb_parity *parity = scan->parity;
    unsigned char *bytes = malloc(SCAN_BYTES);

    if (!bytes)
        return sb_fail_memory(err);
    for (int64_t from = 0; from < parity->size && !scan->super && !sb_interrupted();) {
        int64_t left = parity->size - from, hole = hole_at(parity, from);

        if (hole == 0)
            scan_part(scan, bytes, from, left < (int64_t)SCAN_BYTES ? (size_t)left : SCAN_BYTES);
        from += hole > 0 ? hole : (int64_t)SCAN_BYTES;
    }
    free(bytes);
    return sb_heed_interrupt(err);
}

static bool is_whole(const struct sb_parity *parity, unsigned copy)
{
    unsigned char block[SB_PARITY_BLOCK], wanted[SB_PARITY_BLOCK];
    int64_t offset = sb_parity_super_offset(&parity->super.shape, copy);

    sb_parity_put_super(wanted, &parity->super, offset);
    return read_block(parity, block, offset) && memcmp(block, wanted, sizeof(block)) == 0;
}

static enum sb_code find_super(struct sb_parity *parity, struct sb_error *err)
{
    int64_t size = parity->size - parity->size % SB_PARITY_BLOCK;
    struct scan scan = {.parity = parity};

    look_at_offset(&scan, 0);
    if (!scan.super && size > SB_PARITY_BLOCK)
        look_at_offset(&scan, size - SB_PARITY_BLOCK);
    if (!scan.super && scan_all(&scan, err))
        return err->code;
    if (!scan.super && scan.page)
        return sb_fail(err, SB_DAMAGED, "%s: is a parity file that has lost its superblocks",
                       parity->file->name);
    if (!scan.super)
        return sb_fail(err, SB_FORMAT,
                       "%s: is no parity file, or nothing of its superblocks is left; move it away",
                       parity->file->name);
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++)
        parity->whole += is_whole(parity, copy);
    return SB_OK;
}

enum sb_code sb_parity_open(struct sb_parity **out, const char *path, struct sb_error *err)
{
    struct sb_parity *parity = calloc(1, sizeof(*parity));
    enum sb_code code;

    *out = NULL;
    if (!parity)
        return sb_fail_memory(err);
    code = sb_file_open(&parity->file, path, "parity file", err);
    if (!code) {
        parity->size = parity->file->st.st_size;
        code = find_super(parity, err);
    }
    if (code)
        sb_parity_free(parity);
    else
        *out = parity;
    return code;
}

void sb_parity_free(struct sb_parity *parity)
{
    if (!parity)
        return;
    sb_file_free(parity->file);
    free(parity);
}
