/*
 * Caches, for sb_convert.
 */
#ifndef SB_TASK_CONVERT_CACHE_H
#define SB_TASK_CONVERT_CACHE_H

#include "task/convert/part.h"

/* Do caches become a cache, and nothing but that? Then no value need become a file. */
bool sb_convert_is_of_caches(const struct sb_convert_options *options);

/*
 * Does so; notify is told what comes up. Of each input the rows that count are written, in order,
 * and where caches are compacted, those that count in all inputs together: the last one wins.
 * SB_DAMAGED: nothing of the inputs can be read.
 */
enum sb_code sb_convert_caches(const struct sb_convert_options *options,
                               const struct sb_convert_part *part, const struct sb_notify *notify,
                               struct sb_convert_result *result, struct sb_error *err) SB_CHECKED;

/* The cache to be written, as a sink. */
enum sb_code sb_convert_open_cache(struct sb_sink **out, const struct sb_convert_options *options,
                                   const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

#endif
