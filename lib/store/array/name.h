/*
 * Names of members that are arrays: ITEM/NAME.npy, and other files of an item.
 *
 * Sources of items (Syrah, caches) make such names, and sinks of items parse them.
 */
#ifndef SB_STORE_ARRAY_NAME_H
#define SB_STORE_ARRAY_NAME_H

#include "core/buf.h"
#include "store/array/dtype.h"

enum sb_array_form {
    SB_FORM_NPY,    /* .npy: with type and shape */
    SB_FORM_TEXT,   /* .txt: UTF-8 text, SB_DTYPE_STR */
    SB_FORM_PICKLE, /* .pkl: any bytes */
    SB_FORM_RAW,    /* .float32, ...: plain values, as the container stores them */
    SB_FORM_SHAPE,  /* .shape: int64 values, for a raw array of the same name */
    SB_FORM_BYTES,  /* any bytes; the name includes its suffix, if any */
};

/* How to give an array that was requested by name. */
enum sb_array_as {
    SB_ARRAY_AS_NAMED, /* as a file if it is named like one (17/image.npy); else (17/image, or 17)
                          its plain values */
    SB_ARRAY_AS_NPY,
    SB_ARRAY_AS_VALUES,
};

struct sb_array_name {
    const char *item; /* the part before the last '/', or "" */
    size_t item_size;
    const char *array; /* the part after it, without suffix */
    size_t array_size;
    enum sb_array_form form;
    enum sb_dtype dtype; /* for SB_FORM_RAW and SB_FORM_TEXT; else SB_DTYPE_NONE */
};

/* Replaces out by the name. item_size 0: no '/'. array_size 0: the suffix directly follows the
 * item, "KEY.npy". */
enum sb_code sb_array_name_make(struct sb_buf *out, const struct sb_array_name *name) SB_CHECKED;

/* Is it given as a .npy file? as_file: it was named like one. */
bool sb_array_is_npy(enum sb_array_as as, bool as_file);

/* Is the array one of `names`? Without names: true. */
bool sb_array_is_among(const char *array, const char *const *names, size_t count);

/* Splits a member's name; the parts point into `path`. False: it has no suffix of an array. */
bool sb_array_name_parse(struct sb_array_name *out, const char *path, size_t size);

#endif
