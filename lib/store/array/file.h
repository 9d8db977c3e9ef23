/*
 * Files of arrays (array/name.h): finds type and values from the first bytes. Pure functions,
 * thread-safe.
 */
#ifndef SB_STORE_ARRAY_FILE_H
#define SB_STORE_ARRAY_FILE_H

#include "store/array/name.h"

struct sb_array_file {
    enum sb_dtype dtype;
    size_t header_size;
    int64_t size; /* of the values; -1: up to the end */
    bool is_row;  /* it has one dimension */
};

/* Does this code only say that the file cannot be used? Others end the work. */
bool sb_concerns_array(enum sb_code code);

/*
 * Parses a .npy file, a text, or plain values. The file has `size` bytes (-1: not known); its first
 * `have` bytes are at data: all of them, or at least SB_NPY_HEADER_MOST. SB_FORMAT, SB_INVALID: as
 * sb_npy_parse. SB_DAMAGED: the number of bytes is not what the header says, or not a multiple of a
 * value's. The text does not name the file: "has big-endian values".
 */
enum sb_code sb_array_file_look(struct sb_array_file *out, const struct sb_array_name *name,
                                const char *data, size_t have, int64_t size) SB_CHECKED;

#endif
