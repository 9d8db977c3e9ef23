#include "archive/parity/parity.h"

#include "core/interrupt.h"
#include "core/io.h"

#include <stdlib.h>
#include <string.h>

#define SCAN_BYTES ((size_t)1 << 20)

int64_t sb_parity_super_offset(const struct sb_parity_super *super, unsigned copy)
{
    return copy == 0 ? 0 : copy == 1 ? super->middle : super->end;
}

/* Takes it, unless the one that is known is as new. A block that cannot be read is none. */
static void look_at(struct sb_parity *parity, const unsigned char *block, int64_t offset)
{
    struct sb_parity_super super;

    if (sb_parity_get_super(&super, block, offset) && super.generation > parity->super.generation)
        parity->super = super;
}

static bool read_block(const struct sb_parity *parity, unsigned char *block, int64_t offset)
{
    struct sb_error ignored;

    return sb_file_read_exactly(parity->file, block, SB_PARITY_BLOCK, offset, &ignored) == SB_OK;
}

static void look_at_offset(struct sb_parity *parity, int64_t offset)
{
    unsigned char block[SB_PARITY_BLOCK];

    if (read_block(parity, block, offset))
        look_at(parity, block, offset);
}

/* Of a part that cannot be read, blocks are read one by one. */
static void scan_part(struct sb_parity *parity, unsigned char *bytes, int64_t from, size_t size)
{
    struct sb_error ignored;
    size_t got;
    bool whole = sb_file_read(parity->file, bytes, size, from, &got, &ignored) == SB_OK;

    for (size_t done = 0; done + SB_PARITY_BLOCK <= (whole ? got : size); done += SB_PARITY_BLOCK) {
        if (whole)
            look_at(parity, bytes + done, from + (int64_t)done);
        else
            look_at_offset(parity, from + (int64_t)done);
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

static enum sb_code scan(struct sb_parity *parity, struct sb_error *err)
{
    unsigned char *bytes = malloc(SCAN_BYTES);

    if (!bytes)
        return sb_fail_memory(err);
    for (int64_t from = 0; from < parity->size && !sb_interrupted();) {
        int64_t left = parity->size - from, hole = hole_at(parity, from);

        if (hole == 0)
            scan_part(parity, bytes, from, left < (int64_t)SCAN_BYTES ? (size_t)left : SCAN_BYTES);
        from += hole > 0 ? hole : (int64_t)SCAN_BYTES;
    }
    free(bytes);
    return sb_heed_interrupt(err);
}

static bool is_current(const struct sb_parity *parity, unsigned copy)
{
    unsigned char block[SB_PARITY_BLOCK];
    int64_t offset = sb_parity_super_offset(&parity->super, copy);
    struct sb_parity_super super;

    return read_block(parity, block, offset) && sb_parity_get_super(&super, block, offset) &&
           super.generation == parity->super.generation;
}

static enum sb_code find_super(struct sb_parity *parity, struct sb_error *err)
{
    int64_t size = parity->size - parity->size % SB_PARITY_BLOCK;

    look_at_offset(parity, 0);
    if (size > SB_PARITY_BLOCK)
        look_at_offset(parity, size - SB_PARITY_BLOCK);
    if (parity->super.generation == 0 && scan(parity, err))
        return err->code;
    if (parity->super.generation == 0)
        return sb_fail(err, SB_DAMAGED, "%s: has no superblock of a parity file; make it again",
                       parity->file->name);
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++)
        parity->whole[copy] = is_current(parity, copy);
    return SB_OK;
}

enum sb_code sb_parity_open(struct sb_parity **out, const char *path, enum sb_parity_access access,
                            struct sb_error *err)
{
    struct sb_parity *parity = calloc(1, sizeof(*parity));
    enum sb_code code;

    *out = NULL;
    if (!parity)
        return sb_fail_memory(err);
    code = access == SB_PARITY_READ
               ? sb_file_open(&parity->file, path, "parity file", err)
               : sb_file_open_to_write(&parity->file, path, "parity file", err);
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

static enum sb_code write_super(int fd, const char *name, const struct sb_parity_super *super,
                                unsigned copy, struct sb_error *err)
{
    int64_t offset = sb_parity_super_offset(super, copy);
    unsigned char block[SB_PARITY_BLOCK];

    sb_parity_put_super(block, super, offset);
    return sb_pwrite_full(fd, block, sizeof(block), offset, name, err);
}

/* Those that are whole, or are not. */
static enum sb_code write_some(int fd, const char *name, const struct sb_parity_super *super,
                               const bool *whole, bool which, struct sb_error *err)
{
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        if (whole[copy] == which && write_super(fd, name, super, copy, err))
            return err->code;
    }
    return sb_fsync(fd, name, err);
}

enum sb_code sb_parity_write_supers(int fd, const char *name, const struct sb_parity_super *super,
                                    const bool *whole, struct sb_error *err)
{
    bool later[SB_PARITY_COPIES] = {whole[0], whole[1], whole[2]};
    enum sb_code code = sb_fsync(fd, name, err);

    if (later[0] && later[1] && later[2])
        later[2] = false;
    if (!code)
        code = write_some(fd, name, super, later, false, err);
    return code ? code : write_some(fd, name, super, later, true, err);
}

enum sb_code sb_parity_mark(struct sb_parity *parity, int64_t valid, const unsigned char *user,
                            struct sb_error *err)
{
    struct sb_parity_super super = parity->super;
    enum sb_code code;

    if (valid < 0 || valid > super.valid)
        return sb_fail(err, SB_INVALID, "%s: pieces cannot become valid by a mark",
                       parity->file->name);
    super.valid = valid;
    if (super.generation >= SB_PARITY_GENERATION_MOST - 2)
        return sb_fail(err, SB_FORMAT, "%s: has a generation that nobody came to; make it again",
                       parity->file->name);
    super.generation++;
    if (user)
        memcpy(super.user, user, SB_PARITY_USER);
    code = sb_parity_write_supers(parity->file->fd, parity->file->name, &super, parity->whole, err);
    if (code)
        return code;
    parity->super = super;
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++)
        parity->whole[copy] = true;
    return SB_OK;
}
