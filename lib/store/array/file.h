/*
 * Files that are arrays (array/name.h), by their first bytes: where their values begin, and of
 * which type they are. Pure functions, thread-safe.
 */
#ifndef SB_STORE_ARRAY_FILE_H
#define SB_STORE_ARRAY_FILE_H

#include "store/array/name.h"

struct sb_array_file {
    enum sb_dtype dtype;
    size_t header_size;
    int64_t size; /* of its values; -1: all that comes */
    bool is_row;  /* of one dimension */
};

/* A code that only says that this file cannot be used; others end the work. */
bool sb_concerns_array(enum sb_code code);

/*
 * A file of `size` bytes in all, or -1, of which the first `have` are at data: all of them, or at
 * least SB_NPY_HEADER_MOST. Of a .npy, a text, or values alone. SB_FORMAT, SB_INVALID as
 * sb_npy_parse has it; SB_DAMAGED: it has another number of bytes than its header says, or than
 * values can have. The text does not name the file: "has big-endian values".
 */
enum sb_code sb_array_file_look(struct sb_array_file *out, const struct sb_array_name *name,
                                const char *data, size_t have, int64_t size,
                                struct sb_error *err) SB_CHECKED;

#endif
