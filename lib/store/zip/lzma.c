#include "store/zip/lzma.h"

#include "store/zip/format.h"

#include <lzma.h>
#include <stdlib.h>

#define MEMORY_MAX ((uint64_t)256 << 20)

/* What a zip has before the bytes of lzma: version, size of the properties, properties. */
#define ZIP_HEADER_SIZE   9
#define PROPERTIES_AT     4
#define PROPERTIES_SIZE   5
#define ALONE_HEADER_SIZE (PROPERTIES_SIZE + 8)

struct sb_zip_lzma {
    lzma_stream stream;
    sb_zip_take *take;
    void *context;
    bool ended;
    const uint8_t *rest; /* packed bytes, while the header below goes before them */
    size_t rest_size;
    uint8_t header[ALONE_HEADER_SIZE]; /* of a .lzma file: properties, size of what comes out */
};

bool sb_zip_lzma_reads(unsigned method)
{
    return method == SB_ZIP_LZMA || method == SB_ZIP_XZ;
}

static enum sb_code damaged(struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED, "its compressed bytes are damaged; left out");
}

static enum sb_code judge(struct sb_zip_lzma *lzma, lzma_ret rc, struct sb_error *err)
{
    switch (rc) {
    case LZMA_OK:
        return SB_OK;
    case LZMA_STREAM_END:
        lzma->ended = true;
        return SB_OK;
    case LZMA_MEM_ERROR:
        return sb_fail_memory(err);
    case LZMA_MEMLIMIT_ERROR:
        return sb_fail(err, SB_INVALID,
                       "needs %llu MiB of memory to unpack, more than the %llu allowed here; left "
                       "out: unpack it with 7z",
                       (unsigned long long)(lzma_memusage(&lzma->stream) >> 20),
                       (unsigned long long)(MEMORY_MAX >> 20));
    case LZMA_BUF_ERROR:
        return sb_fail(err, SB_DAMAGED, "its compressed bytes end early; left out");
    default:
        return damaged(err);
    }
}

static enum sb_code refill(struct sb_zip_lzma *lzma, struct sb_error *err)
{
    lzma->stream.next_in = lzma->rest;
    lzma->stream.avail_in = lzma->rest_size;
    lzma->rest_size = 0;
    if (lzma->stream.avail_in > 0)
        return SB_OK;
    return lzma->take(lzma->context, &lzma->stream.next_in, &lzma->stream.avail_in, err);
}

/* Puts a header as of a .lzma file in the place of the zip's own. */
static enum sb_code begin_lzma(struct sb_zip_lzma *lzma, int64_t size, struct sb_error *err)
{
    lzma_stream *stream = &lzma->stream;
    uint8_t header[ZIP_HEADER_SIZE];

    for (size_t i = 0; i < sizeof(header); i++) {
        if (stream->avail_in == 0 && refill(lzma, err))
            return err->code;
        if (stream->avail_in == 0)
            return damaged(err);
        header[i] = *stream->next_in++;
        stream->avail_in--;
    }
    if (sb_get_u16(header + 2) != PROPERTIES_SIZE)
        return damaged(err);
    memcpy(lzma->header, header + PROPERTIES_AT, PROPERTIES_SIZE);
    sb_put_u64(lzma->header + PROPERTIES_SIZE, (uint64_t)size);
    lzma->rest = stream->next_in;
    lzma->rest_size = stream->avail_in;
    stream->next_in = lzma->header;
    stream->avail_in = sizeof(lzma->header);
    return judge(lzma, lzma_alone_decoder(stream, MEMORY_MAX), err);
}

enum sb_code sb_zip_lzma_new(struct sb_zip_lzma **out, unsigned method, int64_t size,
                             sb_zip_take *take, void *context, struct sb_error *err)
{
    struct sb_zip_lzma *lzma = calloc(1, sizeof(*lzma));
    enum sb_code code;

    *out = NULL;
    if (!lzma)
        return sb_fail_memory(err);
    lzma->stream = (lzma_stream)LZMA_STREAM_INIT;
    lzma->take = take;
    lzma->context = context;
    if (method == SB_ZIP_LZMA)
        code = begin_lzma(lzma, size, err);
    else
        code = judge(lzma, lzma_stream_decoder(&lzma->stream, MEMORY_MAX, 0), err);
    if (code) {
        sb_zip_lzma_free(lzma);
        return code;
    }
    *out = lzma;
    return SB_OK;
}

void sb_zip_lzma_free(struct sb_zip_lzma *lzma)
{
    if (!lzma)
        return;
    lzma_end(&lzma->stream);
    free(lzma);
}

enum sb_code sb_zip_lzma_read(struct sb_zip_lzma *lzma, uint8_t *out, size_t capacity, size_t *got,
                              struct sb_error *err)
{
    lzma_stream *stream = &lzma->stream;
    enum sb_code code = SB_OK;

    stream->next_out = out;
    stream->avail_out = capacity;
    while (code == SB_OK && stream->avail_out > 0 && !lzma->ended) {
        if (stream->avail_in == 0)
            code = refill(lzma, err);
        if (code == SB_OK)
            code = judge(lzma, lzma_code(stream, stream->avail_in ? LZMA_RUN : LZMA_FINISH), err);
    }
    *got = capacity - stream->avail_out;
    return code;
}
