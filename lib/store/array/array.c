#include "store/array/array.h"

#include "core/array.h"

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

static const struct {
    const char *suffix;
    enum sb_array_form form;
    enum sb_dtype dtype;
} suffixes[] = {
    {".npy", SB_FORM_NPY, SB_DTYPE_NONE},
    {".txt", SB_FORM_TEXT, SB_DTYPE_STR},
    {".pkl", SB_FORM_PICKLE, SB_DTYPE_NONE},
    {".shape", SB_FORM_SHAPE, SB_DTYPE_NONE},
};

enum sb_code sb_array_name_make(struct sb_buf *out, const struct sb_array_name *name)
{
    enum sb_code code = sb_buf_set(out, name->item, name->item_size);

    if (!code && name->item_size > 0 && name->array_size > 0)
        code = sb_buf_add_char(out, '/');
    if (!code)
        code = sb_buf_add(out, name->array, name->array_size);
    if (!code && name->form == SB_FORM_RAW)
        code = sb_buf_add_char(out, '.');
    if (!code && name->form == SB_FORM_RAW)
        code = sb_buf_add_text(out, sb_dtype_word(name->dtype));
    for (size_t i = 0; !code && i < ARRAY_SIZE(suffixes); i++) {
        if (suffixes[i].form == name->form)
            code = sb_buf_add_text(out, suffixes[i].suffix);
    }
    return code ? sb_fail_memory() : SB_OK;
}

/* Parses the suffix of a component; false: it is not one of an array. */
static bool parse_suffix(struct sb_array_name *out, const char *suffix, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        if (strlen(suffixes[i].suffix) == size && memcmp(suffixes[i].suffix, suffix, size) == 0) {
            out->form = suffixes[i].form;
            out->dtype = suffixes[i].dtype;
            return true;
        }
    }
    out->form = SB_FORM_RAW;
    out->dtype = sb_dtype_named(suffix + 1, size - 1);
    return out->dtype != SB_DTYPE_NONE && out->dtype != SB_DTYPE_STR;
}

bool sb_array_name_parse(struct sb_array_name *out, const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    const char *array = slash ? slash + 1 : path, *end = path + size;
    const char *dot = memrchr(array, '.', (size_t)(end - array));

    *out = (struct sb_array_name){.item = path, .item_size = slash ? (size_t)(slash - path) : 0};
    if (!dot || dot == array || !parse_suffix(out, dot, (size_t)(end - dot)))
        return false;
    out->array = array;
    out->array_size = (size_t)(dot - array);
    return true;
}

bool sb_array_is_among(const char *array, const char *const *names, size_t count)
{
    bool found = count == 0;

    for (size_t i = 0; !found && i < count; i++)
        found = strcmp(names[i], array) == 0;
    return found;
}

bool sb_array_is_npy(enum sb_array_as as, bool as_file)
{
    return as == SB_ARRAY_AS_NPY || (as == SB_ARRAY_AS_NAMED && as_file);
}
