#include "store/array/name.h"

#include "core/array.h"

#include <string.h>

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
