/*
 * Caches, for sb_convert.
 */
#ifndef SB_TASK_CONVERT_CACHE_H
#define SB_TASK_CONVERT_CACHE_H

#include "task/convert/part.h"

/* Are caches converted to a cache, and nothing else? Then values need not become files. */
bool sb_convert_is_of_caches(const struct sb_convert_options *options);

/*
 * Converts them; events go to notify. Writes the live rows of each input, in order; with compact,
 * those that are live over all inputs together: the last one wins. SB_DAMAGED: no input can be read
 * at all.
 */
enum sb_code sb_convert_caches(const struct sb_convert_options *options,
                               const struct sb_convert_part *part, const struct sb_notify *notify,
                               struct sb_convert_result *result) SB_CHECKED;

/* The output cache, as a sink. */
enum sb_code sb_convert_open_cache(struct sb_sink **out, const struct sb_convert_options *options,
                                   const struct sb_notify *notify) SB_CHECKED;

#endif
