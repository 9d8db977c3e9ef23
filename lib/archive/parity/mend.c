#include "archive/parity/mend.h"

#include "archive/parity/reader.h"
#include "archive/parity/repair.h"
#include "core/crc32c.h"

#include <stdlib.h>

struct mend {
    const struct sb_parity *parity;
    struct sb_parity_bad *bad;
    const struct sb_parity_mender *mender;
    struct sb_parity_reader reader;
    struct sb_parity_repair repair;
};

static enum sb_code mend_supers(struct mend *mend, struct sb_error *err)
{
    unsigned char block[SB_PARITY_BLOCK];

    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        const struct sb_parity_super *super = &mend->parity->super;
        struct sb_parity_part part = {.kind = SB_PARITY_SUPER, .number = copy, .count = 1};

        if (mend->parity->whole[copy])
            continue;
        part.offset = sb_parity_super_offset(super, copy);
        part.size = SB_PARITY_BLOCK;
        sb_parity_put_super(block, super, part.offset);
        if (mend->mender->mended(mend->mender->context, &part, block, err))
            return err->code;
    }
    return SB_OK;
}

/* A page is as its other copy. */
static enum sb_code mend_page(struct mend *mend, uint32_t page, const struct sb_parity_part *part,
                              struct sb_error *err)
{
    struct sb_parity_reader *reader = &mend->reader;
    unsigned char block[SB_PARITY_BLOCK];

    if (reader->pages[page] == 0)
        return mend->mender->lost(mend->mender->context, part, err);
    if (sb_parity_reader_page(reader, page, block, err))
        return err->code;
    return mend->mender->mended(mend->mender->context, part, block, err);
}

static enum sb_code mend_pages(struct mend *mend, struct sb_error *err)
{
    const struct sb_parity_section *section = &mend->reader.section;
    uint32_t first = section->pieces + section->checks;

    for (uint32_t i = 0; i < 2 * section->pages; i++) {
        struct sb_parity_part part;

        if (!sb_parity_is_bad(mend->bad, section->number, first + i))
            continue;
        sb_parity_part(mend->parity, section, first + i, &part);
        if (mend_page(mend, i % section->pages, &part, err))
            return err->code;
    }
    return SB_OK;
}

/* bytes NULL, or not those that the table has: it is lost. */
static enum sb_code pass_piece(struct mend *mend, uint32_t number, const unsigned char *bytes,
                               struct sb_error *err)
{
    const struct sb_parity_mender *mender = mend->mender;
    uint32_t piece = mend->parity->super.shape.piece;
    struct sb_parity_part part;

    sb_parity_part(mend->parity, &mend->reader.section, number, &part);
    if (bytes && sb_parity_reader_knows(&mend->reader, number) &&
        sb_crc32c(0, bytes, piece) == mend->reader.sums[number])
        return mender->mended(mender->context, &part, bytes, err);
    return mender->lost(mender->context, &part, err);
}

static enum sb_code mend_section(struct mend *mend, int64_t number, struct sb_error *err)
{
    const struct sb_parity_section *section = &mend->reader.section;
    bool again = true;

    if (sb_parity_reader_go(&mend->reader, number, false, err) || mend_pages(mend, err))
        return err->code;
    /* Each time more pieces are known to be bad, in a word at most m + 1 times. */
    while (again) {
        if (sb_parity_repair_plan(&mend->repair, &mend->reader, mend->bad, err) ||
            sb_parity_repair_read(&mend->repair, &mend->reader, mend->bad, &again, err))
            return err->code;
    }
    for (uint32_t i = 0; i < section->pieces + section->checks; i++) {
        if (sb_parity_is_bad(mend->bad, number, i) &&
            pass_piece(mend, i, sb_parity_repaired(&mend->repair, i), err))
            return err->code;
    }
    return SB_OK;
}

enum sb_code sb_parity_mend(const struct sb_parity *parity, const struct sb_file *file,
                            struct sb_parity_bad *bad, const struct sb_parity_mender *mender,
                            struct sb_error *err)
{
    struct mend mend = {.parity = parity, .bad = bad, .mender = mender};
    int64_t sections = sb_parity_sections(&parity->super.shape);
    enum sb_code code = sb_parity_reader_begin(&mend.reader, parity, file, err);

    if (!code)
        code = mend_supers(&mend, err);
    for (int64_t i = 0; !code && i < sections; i++) {
        if (sb_parity_has_bad(bad, i))
            code = mend_section(&mend, i, err);
    }
    sb_parity_repair_release(&mend.repair);
    sb_parity_reader_release(&mend.reader);
    return code;
}
