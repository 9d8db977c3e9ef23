#include "store/outxz.h"

#include "core/interrupt.h"

#include <lzma.h>
#include <stdlib.h>

#define OUT_BYTES ((size_t)256 << 10)

/* Milliseconds after which the encoder comes back without having done anything. */
#define PATIENCE 200

struct sb_outxz {
    lzma_stream stream;
    sb_each_block *each;
    void *context;
    uint8_t out[OUT_BYTES];
};

static enum sb_code failure(lzma_ret result, struct sb_error *err)
{
    if (result == LZMA_MEM_ERROR)
        return sb_fail_memory(err);
    return sb_fail(err, SB_INVALID, "xz compression failed (%d of liblzma)", (int)result);
}

/* The size of blocks, and so the bytes, follow from the level alone. */
enum sb_code sb_outxz_open(struct sb_outxz **out, int level, unsigned threads, sb_each_block *each,
                           void *context, struct sb_error *err)
{
    lzma_mt options = {
        .threads = threads ? threads : 1,
        .timeout = PATIENCE,
        .preset = (uint32_t)level,
        .check = LZMA_CHECK_CRC64,
    };
    struct sb_outxz *xz = calloc(1, sizeof(*xz));
    lzma_ret result;

    *out = NULL;
    if (!xz)
        return sb_fail_memory(err);
    result = lzma_stream_encoder_mt(&xz->stream, &options);
    if (result != LZMA_OK) {
        free(xz);
        return failure(result, err);
    }
    xz->each = each;
    xz->context = context;
    *out = xz;
    return SB_OK;
}

/* One step; *done at the end of the stream. */
static enum sb_code step(struct sb_outxz *xz, lzma_action action, bool *done, struct sb_error *err)
{
    lzma_ret result;
    size_t made;

    if (sb_interrupted())
        return sb_fail(err, SB_INTERRUPT, "interrupted");
    xz->stream.next_out = xz->out;
    xz->stream.avail_out = OUT_BYTES;
    result = lzma_code(&xz->stream, action);
    if (result != LZMA_OK && result != LZMA_STREAM_END)
        return failure(result, err);
    *done = result == LZMA_STREAM_END;
    made = OUT_BYTES - xz->stream.avail_out;
    return made > 0 ? xz->each(xz->context, xz->out, made, err) : SB_OK;
}

enum sb_code sb_outxz_write(struct sb_outxz *xz, const void *data, size_t size,
                            struct sb_error *err)
{
    enum sb_code code = SB_OK;
    bool done;

    xz->stream.next_in = data;
    xz->stream.avail_in = size;
    while (code == SB_OK && xz->stream.avail_in > 0)
        code = step(xz, LZMA_RUN, &done, err);
    return code;
}

enum sb_code sb_outxz_finish(struct sb_outxz *xz, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    bool done = false;

    while (code == SB_OK && !done)
        code = step(xz, LZMA_FINISH, &done, err);
    return code;
}

void sb_outxz_free(struct sb_outxz *xz)
{
    if (xz)
        lzma_end(&xz->stream);
    free(xz);
}
