/*
 * May these inputs become this output, with this report?
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

/*
 * SB_EXISTS for an archive, or a shard of one, that is to be replaced by a stream ("tar", ...): the
 * shards would be left without what tells where the files in them are, or that without its bytes.
 */
enum sb_code sb_convert_spare_archive(const char *output, const char *word,
                                      struct sb_error *err) SB_CHECKED;

/* As the first, of a report: neither may it replace the output. */
enum sb_code sb_convert_report_check(char *const *inputs, size_t count, const char *output,
                                     const char *report, struct sb_error *err) SB_CHECKED;

#endif
