/*
 * Bags, for sb_convert.
 */
#ifndef SB_TASK_CONVERT_BAG_H
#define SB_TASK_CONVERT_BAG_H

#include "task/convert/part.h"

/* Are bags converted to a bag, and nothing else? Then members need no names. */
bool sb_convert_is_of_bags(const struct sb_convert_options *options);

/* Converts them; events go to notify. */
enum sb_code sb_convert_bags(const struct sb_convert_options *options,
                             const struct sb_convert_part *part, const struct sb_notify *notify,
                             struct sb_convert_result *result) SB_CHECKED;

/* The output bag, as a sink. The caller frees *dictionary after the sink. */
enum sb_code sb_convert_open_bag(struct sb_sink **out, struct sb_dictionary **dictionary,
                                 const struct sb_convert_options *options,
                                 const struct sb_notify *notify) SB_CHECKED;

#endif
