#include "store/array/file.h"

#include "store/array/npy.h"

bool sb_concerns_array(enum sb_code code)
{
    return code == SB_FORMAT || code == SB_INVALID || code == SB_DAMAGED;
}

enum sb_code sb_array_file_look(struct sb_array_file *out, const struct sb_array_name *name,
                                const char *data, size_t have, int64_t size)
{
    struct sb_npy npy;

    *out = (struct sb_array_file){.dtype = name->dtype, .size = size, .is_row = true};
    if (name->form != SB_FORM_NPY) {
        if (size <= 0 || size % (int64_t)sb_dtype_size(name->dtype) == 0)
            return SB_OK;
        return sb_fail(SB_DAMAGED, "has bytes that are no multiple of a %s",
                       sb_dtype_word(name->dtype));
    }
    TRY(sb_npy_parse(&npy, data, have));
    if (size >= 0 && size != (int64_t)npy.header_size + npy.data_size)
        return sb_fail(SB_DAMAGED, "has not as many bytes as its .npy header says");
    *out = (struct sb_array_file){
        .dtype = npy.dtype,
        .header_size = npy.header_size,
        .size = npy.data_size,
        .is_row = npy.dims == 1,
    };
    return SB_OK;
}
