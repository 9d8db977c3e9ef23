/*
 * A part as an archive, so that it can be read, and converted, like any other.
 */
#ifndef SB_TASK_SPLIT_VIEW_H
#define SB_TASK_SPLIT_VIEW_H

#include "task/split/plan.h"

/* Derived (archive.h) from whole, that the plan is of. beside: see sb_temp_directory. */
enum sb_code sb_split_view_open(struct sb_archive **out, struct sb_split_plan *plan, int64_t part,
                                const struct sb_archive *whole, const char *beside,
                                struct sb_error *err) SB_CHECKED;

#endif
