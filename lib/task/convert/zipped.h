/*
 * Bags that become the arrays of a Syrah file, or of a cache: read side by side, for sb_convert.
 */
#ifndef SB_TASK_CONVERT_ZIPPED_H
#define SB_TASK_CONVERT_ZIPPED_H

#include "task/convert/convert.h"

/* Is that what is asked for? Of a pipe it is not known beforehand that a bag comes. */
bool sb_convert_is_zipped(const struct sb_convert_options *options);

/* The source of their items (bag/arrays.h); of a share a run of them. names are kept, and used
 * where they were asked for. */
enum sb_code sb_convert_open_zipped(struct sb_source **out,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify,
                                    struct sb_error *err) SB_CHECKED;

#endif
