/*
 * Bags, for sb_convert.
 */
#ifndef SB_TASK_CONVERT_BAG_H
#define SB_TASK_CONVERT_BAG_H

#include "task/convert/part.h"

/* Do bags become a bag, and nothing but that? Then no member need be named. */
bool sb_convert_is_of_bags(const struct sb_convert_options *options);

/* Does so; notify is told what comes up. */
enum sb_code sb_convert_bags(const struct sb_convert_options *options,
                             const struct sb_convert_part *part, const struct sb_notify *notify,
                             struct sb_convert_result *result, struct sb_error *err) SB_CHECKED;

/* The bag to be written, as a sink. *dictionary is the caller's, to be freed after the sink. */
enum sb_code sb_convert_open_bag(struct sb_sink **out, struct sb_dictionary **dictionary,
                                 const struct sb_convert_options *options,
                                 const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

#endif
