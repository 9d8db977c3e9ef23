#include "store/outzstd.h"

#include "core/interrupt.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define OUT_BYTES ((size_t)256 << 10)

struct sb_outzstd {
    ZSTD_CCtx *context;
    sb_each_block *each;
    void *each_context;
    char out[OUT_BYTES];
};

static enum sb_code failure(size_t result, struct sb_error *err)
{
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return sb_fail_memory(err);
    return sb_fail(err, SB_INVALID, "zstd compression failed (%s)", ZSTD_getErrorName(result));
}

/*
 * Bytes made with threads are others than without, but the same for any number of them. A libzstd
 * that was built without threads does without.
 */
static enum sb_code set_up(ZSTD_CCtx *context, int level, unsigned threads, struct sb_error *err)
{
    size_t result = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);

    if (!ZSTD_isError(result))
        result = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (ZSTD_isError(result))
        return failure(result, err);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, threads ? (int)threads : 1);
    return SB_OK;
}

enum sb_code sb_outzstd_open(struct sb_outzstd **out, int level, unsigned threads,
                             sb_each_block *each, void *context, struct sb_error *err)
{
    struct sb_outzstd *zstd = calloc(1, sizeof(*zstd));
    enum sb_code code;

    *out = NULL;
    if (!zstd)
        return sb_fail_memory(err);
    zstd->each = each;
    zstd->each_context = context;
    zstd->context = ZSTD_createCCtx();
    code = zstd->context ? set_up(zstd->context, level, threads, err) : sb_fail_memory(err);
    if (code) {
        sb_outzstd_free(zstd);
        return code;
    }
    *out = zstd;
    return SB_OK;
}

/* One step; *left: at the end of the frame, whether there is more to come out. */
static enum sb_code step(struct sb_outzstd *zstd, ZSTD_inBuffer *in, ZSTD_EndDirective how,
                         bool *left, struct sb_error *err)
{
    ZSTD_outBuffer out = {zstd->out, OUT_BYTES, 0};
    size_t result;

    if (sb_interrupted())
        return sb_fail(err, SB_INTERRUPT, "interrupted");
    result = ZSTD_compressStream2(zstd->context, &out, in, how);
    if (ZSTD_isError(result))
        return failure(result, err);
    *left = result > 0;
    return out.pos > 0 ? zstd->each(zstd->each_context, zstd->out, out.pos, err) : SB_OK;
}

enum sb_code sb_outzstd_write(struct sb_outzstd *zstd, const void *data, size_t size,
                              struct sb_error *err)
{
    ZSTD_inBuffer in = {data, size, 0};
    enum sb_code code = SB_OK;
    bool left;

    while (code == SB_OK && in.pos < in.size)
        code = step(zstd, &in, ZSTD_e_continue, &left, err);
    return code;
}

enum sb_code sb_outzstd_finish(struct sb_outzstd *zstd, struct sb_error *err)
{
    ZSTD_inBuffer in = {NULL, 0, 0};
    enum sb_code code = SB_OK;
    bool left = true;

    while (code == SB_OK && left)
        code = step(zstd, &in, ZSTD_e_end, &left, err);
    return code;
}

void sb_outzstd_free(struct sb_outzstd *zstd)
{
    if (zstd)
        ZSTD_freeCCtx(zstd->context);
    free(zstd);
}
