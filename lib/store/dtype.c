#include "store/dtype.h"

#include <string.h>

static const struct {
    const char *word;
    size_t size;
} dtypes[] = {
    [SB_DTYPE_NONE] = {"none", 1},       [SB_DTYPE_BOOL] = {"bool", 1},
    [SB_DTYPE_INT8] = {"int8", 1},       [SB_DTYPE_INT16] = {"int16", 2},
    [SB_DTYPE_INT32] = {"int32", 4},     [SB_DTYPE_INT64] = {"int64", 8},
    [SB_DTYPE_UINT8] = {"uint8", 1},     [SB_DTYPE_UINT16] = {"uint16", 2},
    [SB_DTYPE_UINT32] = {"uint32", 4},   [SB_DTYPE_UINT64] = {"uint64", 8},
    [SB_DTYPE_FLOAT16] = {"float16", 2}, [SB_DTYPE_FLOAT32] = {"float32", 4},
    [SB_DTYPE_FLOAT64] = {"float64", 8}, [SB_DTYPE_FLOAT128] = {"float128", 16},
    [SB_DTYPE_STR] = {"str", 1},
};

const char *sb_dtype_word(enum sb_dtype dtype)
{
    return dtypes[dtype].word;
}

enum sb_dtype sb_dtype_named(const char *word, size_t size)
{
    for (enum sb_dtype dtype = SB_DTYPE_NONE + 1; dtype <= SB_DTYPE_STR; dtype++) {
        if (strlen(dtypes[dtype].word) == size && memcmp(dtypes[dtype].word, word, size) == 0)
            return dtype;
    }
    return SB_DTYPE_NONE;
}

size_t sb_dtype_size(enum sb_dtype dtype)
{
    return dtypes[dtype].size;
}
