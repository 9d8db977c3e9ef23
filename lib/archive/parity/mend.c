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

/* bytes NULL, or not those that the table has: it is lost. */
static enum sb_code pass_piece(struct mend *mend, uint32_t number, const unsigned char *bytes)
{
    const struct sb_parity_mender *mender = mend->mender;
    const struct sb_parity_shape *shape = &mend->parity->super.shape;
    int64_t offset = (mend->reader.section.first + number) * shape->piece;
    int64_t left = shape->size - offset;
    size_t size = left < shape->piece ? (size_t)left : shape->piece;

    if (bytes && sb_parity_reader_knows(&mend->reader, number) &&
        sb_crc32c(0, bytes, shape->piece) == mend->reader.sums[number])
        return mender->mended(mender->context, offset, bytes, size);
    return mender->lost(mender->context, offset, size);
}

static enum sb_code mend_section(struct mend *mend, int64_t number)
{
    const struct sb_parity_section *section = &mend->reader.section;
    bool again = true;

    TRY(sb_parity_reader_go(&mend->reader, number, false));
    /* Each time more pieces are known to be bad, in a word at most m + 1 times. */
    while (again) {
        TRY(sb_parity_repair_plan(&mend->repair, &mend->reader, mend->bad));
        TRY(sb_parity_repair_read(&mend->repair, &mend->reader, mend->bad, &again));
    }
    for (uint32_t i = 0; i < section->pieces; i++) {
        if (sb_parity_is_bad(mend->bad, number, i) &&
            pass_piece(mend, i, sb_parity_repaired(&mend->repair, i)))
            return sb_error()->code;
    }
    return SB_OK;
}

enum sb_code sb_parity_mend(const struct sb_parity *parity, const struct sb_file *file,
                            struct sb_parity_bad *bad, const struct sb_parity_mender *mender)
{
    struct mend mend = {.parity = parity, .bad = bad, .mender = mender};
    enum sb_code code = sb_parity_reader_begin(&mend.reader, parity, file);

    for (int64_t i = 0; !code && bad->data > 0 && i < bad->sections; i++) {
        if (bad->bits[i])
            code = mend_section(&mend, i);
    }
    sb_parity_repair_release(&mend.repair);
    sb_parity_reader_release(&mend.reader);
    return code;
}
