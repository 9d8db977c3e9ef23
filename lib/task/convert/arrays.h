/*
 * Syrah files to bags: one bag for each array, in a directory.
 */
#ifndef SB_TASK_CONVERT_ARRAYS_H
#define SB_TASK_CONVERT_ARRAYS_H

#include "task/convert/convert.h"

/*
 * Do the options require one bag per array? Not for a single selected array, which becomes the
 * output itself; false also for input from a pipe, whose kind is not known beforehand.
 */
bool sb_convert_is_of_arrays(const struct sb_convert_options *options);

/*
 * Writes OUTPUT/NAME.DTYPE.bagz (or .bag) for each array, or for those in options->arrays; for a
 * share, its shard of each: OUTPUT/NAME.DTYPE-00000-of-00004.bagz. Unlike in other conversions of a
 * share, OUTPUT itself gets no share number. A missing directory is made. Each bag appears
 * complete, one after the other; SB_EXISTS before the first if one exists. An item with a missing
 * array is in none of them, and reported once. SB_INVALID if the arrays of the inputs differ, or
 * one is not a Syrah file.
 */
enum sb_code sb_convert_arrays(const struct sb_convert_options *options,
                               struct sb_convert_result *result) SB_CHECKED;

#endif
