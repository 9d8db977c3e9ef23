/*
 * May these inputs become this output?
 */
#ifndef SB_TASK_CONVERT_PATHS_H
#define SB_TASK_CONVERT_PATHS_H

#include "core/error.h"

#include <stddef.h>

/*
 * SB_NOENT for an input that is not there. SB_INVALID when the output is an input, a shard of one,
 * or inside of one; also by another name, or through standard input and output.
 */
enum sb_code sb_convert_paths_check(char *const *inputs, size_t count, const char *output,
                                    struct sb_error *err) SB_CHECKED;

#endif
