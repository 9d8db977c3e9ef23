/*
 * --array: which arrays of items, or of the keys of a cache.
 */
#ifndef SB_CMD_OPEN_ARRAYS_GIVEN_H
#define SB_CMD_OPEN_ARRAYS_GIVEN_H

#include "ui/options.h"

/* May be given several times. */
#define OPTION_ARRAY                                                                               \
    OPTION_CALL(0, "array", "NAME", array_is_given,                                                \
                "only this array, column or suffix; may be repeated", OPERAND_ARRAY)

bool array_is_given(void *settings, const char *value);

/* The arrays named by the options parsed last; returns their number. The caller frees *names, which
 * is NULL if there are none. */
size_t arrays_given(const char ***names);

/* Says so when one of --array, --npy and --raw was given, which path, no Syrah file and no cache,
 * has no use for, unless it is --array, with --samples; returns the status. */
int refuse_arrays(const char *path, bool samples);

#endif
