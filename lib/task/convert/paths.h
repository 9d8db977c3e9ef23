/*
 * Checks that these inputs may become this output, with these files beside it.
 */
#ifndef SB_TASK_CONVERT_PATHS_H
#define SB_TASK_CONVERT_PATHS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * SB_NOENT for a missing input. SB_INVALID if the output is an input, a shard of one, or inside of
 * one; also by another name, or through standard input and output.
 */
enum sb_code sb_convert_paths_check(char *const *inputs, size_t count,
                                    const char *output) SB_CHECKED;

/*
 * SB_EXISTS for an archive, or a shard of one, that would be replaced by a stream ("tar", ...): the
 * shards would be left without their index, or the index without their bytes.
 */
enum sb_code sb_convert_spare_archive(const char *output, const char *word) SB_CHECKED;

/*
 * SB_EXISTS for the name of a shard of an existing archive, or of a file of its index or writers,
 * whether such a file exists or not.
 */
enum sb_code sb_convert_spare_parts(const char *output) SB_CHECKED;

/* Do both lead, or would they, to one file? */
bool sb_convert_same_name(const char *a, const char *b);

/* Is the output this file, or its limits, or a set that has it as a shard? */
bool sb_convert_replaces(const char *output, const char *file);

/*
 * As the first two, for a file that is written beside the output, which it may not replace either.
 * word: "report", "dictionary", ...
 */
enum sb_code sb_convert_beside_check(char *const *inputs, size_t count, const char *output,
                                     const char *path, const char *word) SB_CHECKED;

#endif
