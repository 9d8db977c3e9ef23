/*
 * Deflate64, whose decoder is our own. Two bytes say in which pieces the packed ones come, and how
 * many are requested at once. Whatever they say, it ends, as it does when they come all at once.
 */
#include "store/zip/impl.h"

#include <stdlib.h>
#include <zlib.h>

#define ROOM       ((size_t)1 << 16)
#define OUTPUT_MAX ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t room[ROOM];

struct packed {
    const uint8_t *data;
    size_t size;
    size_t piece;
};

struct unpacked {
    enum sb_code code;
    size_t size;
    uLong sum;
};

static enum sb_code take(void *context, const uint8_t **data, size_t *size)
{
    struct packed *packed = context;

    *data = packed->data;
    *size = packed->piece < packed->size ? packed->piece : packed->size;
    packed->data += *size;
    packed->size -= *size;
    return SB_OK;
}

static struct unpacked unpack(struct packed packed, size_t capacity)
{
    struct unpacked out = {.size = 0};
    struct sb_zip_deflate64 *inflater;
    size_t got = capacity;

    if (sb_zip_deflate64_new(&inflater, take, &packed))
        abort();
    while (!out.code && got == capacity && out.size < OUTPUT_MAX) {
        out.code = sb_zip_deflate64_read(inflater, room, capacity, &got);
        if (out.code)
            break;
        out.size += got;
        out.sum = crc32(out.sum, room, (uInt)got);
    }
    sb_zip_deflate64_free(inflater);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unpacked whole, pieces;
    size_t capacity;

    if (size < 2)
        return 0;
    capacity = (size_t)1 << data[1] % 17;
    whole = unpack((struct packed){data + 2, size - 2, size}, capacity);
    pieces = unpack((struct packed){data + 2, size - 2, data[0] + (size_t)1}, capacity);
    if (whole.code != pieces.code || whole.size != pieces.size || whole.sum != pieces.sum)
        abort();
    if (whole.code && whole.code != SB_DAMAGED)
        abort();
    return 0;
}
