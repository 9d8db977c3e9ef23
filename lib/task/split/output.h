/*
 * The names of the parts of a split.
 *
 * "{}" in an output is the place for the name of a part. Python's and the shell's forms are such
 * places too, for parts that have numbers: "{:06d}" has so many digits, and "{0000..0127}" these
 * numbers.
 */
#ifndef SB_TASK_SPLIT_OUTPUT_H
#define SB_TASK_SPLIT_OUTPUT_H

#include "core/buf.h"

#include <stdint.h>

/* Length of the output before its first place; all of it where there is none. */
size_t sb_split_output_fixed(const char *output);

/* Replaces out by the output path of the part of that name. SB_INVALID for standard output. */
enum sb_code sb_split_output(const char *output, const char *name, struct sb_buf *out) SB_CHECKED;

/* SB_INVALID if several parts would have the same name. */
enum sb_code sb_split_output_check(const char *output, int64_t parts) SB_CHECKED;

/* Appends the number of a part, with as many digits as the last one has. */
enum sb_code sb_split_number(int64_t part, int64_t parts, struct sb_buf *out) SB_CHECKED;

#endif
