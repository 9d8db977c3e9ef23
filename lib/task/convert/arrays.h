/*
 * Syrah files to bags: one bag for each array, in a directory.
 */
#ifndef SB_TASK_CONVERT_ARRAYS_H
#define SB_TASK_CONVERT_ARRAYS_H

#include "task/convert/convert.h"

/* Is that what is asked for? Not of a single array that is chosen, which becomes the output itself;
 * nor is what comes through a pipe known beforehand. */
bool sb_convert_is_of_arrays(const struct sb_convert_options *options);

/*
 * Writes OUTPUT/NAME.DTYPE.bagz (or .bag) for each array, or for those that options->arrays names;
 * of a share, its shard of each: OUTPUT/NAME.DTYPE-00000-of-00004.bagz. OUTPUT itself, unlike that
 * of any other share of a conversion, is not called after the share. The directory is made where it
 * is missing. Each bag appears whole, one after the other; SB_EXISTS before the first where one
 * stands. An item with an
 * array that cannot be found is in none of them, and told once. SB_INVALID where the inputs differ
 * in their arrays, or one is no Syrah file.
 */
enum sb_code sb_convert_arrays(const struct sb_convert_options *options,
                               struct sb_convert_result *result, struct sb_error *err) SB_CHECKED;

#endif
