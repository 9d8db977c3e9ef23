#include "store/array/dtype.h"

#include <string.h>

const char *const sb_dtype_words[] = {
    "bool",   "int8",    "int16",   "int32",   "int64",    "uint8", "uint16", "uint32",
    "uint64", "float16", "float32", "float64", "float128", "str",   NULL,
};

static const unsigned char sizes[] = {
    [SB_DTYPE_NONE] = 1,    [SB_DTYPE_BOOL] = 1,      [SB_DTYPE_INT8] = 1,
    [SB_DTYPE_INT16] = 2,   [SB_DTYPE_INT32] = 4,     [SB_DTYPE_INT64] = 8,
    [SB_DTYPE_UINT8] = 1,   [SB_DTYPE_UINT16] = 2,    [SB_DTYPE_UINT32] = 4,
    [SB_DTYPE_UINT64] = 8,  [SB_DTYPE_FLOAT16] = 2,   [SB_DTYPE_FLOAT32] = 4,
    [SB_DTYPE_FLOAT64] = 8, [SB_DTYPE_FLOAT128] = 16, [SB_DTYPE_STR] = 1,
};

const char *sb_dtype_word(enum sb_dtype dtype)
{
    return dtype == SB_DTYPE_NONE ? "none" : sb_dtype_words[dtype - 1];
}

enum sb_dtype sb_dtype_named(const char *word, size_t size)
{
    for (enum sb_dtype dtype = SB_DTYPE_NONE + 1; dtype <= SB_DTYPE_STR; dtype++) {
        const char *own = sb_dtype_word(dtype);

        if (strlen(own) == size && memcmp(own, word, size) == 0)
            return dtype;
    }
    return SB_DTYPE_NONE;
}

size_t sb_dtype_size(enum sb_dtype dtype)
{
    return sizes[dtype];
}
