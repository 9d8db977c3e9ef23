/*
 * Names of arrays that are members: ITEM/NAME.npy, and what else an item may consist of.
 *
 * Sources of items (Syrah, caches) make them, sinks of items take them apart.
 */
#ifndef SB_STORE_ARRAY_NAME_H
#define SB_STORE_ARRAY_NAME_H

#include "core/buf.h"
#include "store/array/dtype.h"

enum sb_array_form {
    SB_FORM_NPY,    /* .npy: with its type and shape */
    SB_FORM_TEXT,   /* .txt: UTF-8, SB_DTYPE_STR */
    SB_FORM_PICKLE, /* .pkl: bytes that are not looked into */
    SB_FORM_RAW,    /* .float32, ...: values alone, as they lie in a container */
    SB_FORM_SHAPE,  /* .shape: int64 values, beside a raw array */
    SB_FORM_BYTES,  /* any, of any suffix, which is a part of the name */
};

/* How an array goes out that is asked for by a name. */
enum sb_array_as {
    SB_ARRAY_AS_NAMED, /* a file where it is named as one, as a member is (17/image.npy); named bare
                          (17/image, or 17), its values alone */
    SB_ARRAY_AS_NPY,
    SB_ARRAY_AS_VALUES,
};

struct sb_array_name {
    const char *item; /* the part before the last '/'; "" where there is none */
    size_t item_size;
    const char *array; /* without its suffix */
    size_t array_size;
    enum sb_array_form form;
    enum sb_dtype dtype; /* of SB_FORM_RAW and SB_FORM_TEXT; else SB_DTYPE_NONE */
};

/* Replaces out by the name; with item_size 0 there is no '/', with array_size 0 the suffix follows
 * the item at once: "KEY.npy". */
enum sb_code sb_array_name_make(struct sb_buf *out, const struct sb_array_name *name,
                                struct sb_error *err) SB_CHECKED;

/* Is it a .npy file, asked for so, and named as a file or not? */
bool sb_array_is_npy(enum sb_array_as as, bool as_file);

/* Is it one of these names of arrays, of which none stand for all? */
bool sb_array_is_among(const char *array, const char *const *names, size_t count);

/* Takes a member's name apart, which it points into; false: no suffix of an array. */
bool sb_array_name_parse(struct sb_array_name *out, const char *path, size_t size);

#endif
