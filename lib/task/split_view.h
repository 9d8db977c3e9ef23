/*
 * A part as an archive, so that it can be read, and converted, like any other.
 */
#ifndef SB_TASK_SPLIT_VIEW_H
#define SB_TASK_SPLIT_VIEW_H

#include "archive/shards.h"
#include "task/split_plan.h"

/*
 * An adopted archive (archive.h) of the rows of a part; its bytes are those of shards, which stay
 * the caller's, and open as long. whole: where the plan is from. beside: see sb_temp_directory.
 */
enum sb_code sb_split_view_open(struct sb_archive **out, struct sb_split_plan *plan, int64_t part,
                                struct sb_archive *whole, struct sb_shards *shards,
                                const char *beside, struct sb_error *err) SB_CHECKED;

#endif
