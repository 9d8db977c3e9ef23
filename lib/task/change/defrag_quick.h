/*
 * The quick way of giving space back; a part of task/defrag.h, which says what it does.
 */
#ifndef SB_TASK_CHANGE_DEFRAG_QUICK_H
#define SB_TASK_CHANGE_DEFRAG_QUICK_H

#include "task/change/defrag.h"

/*
 * Over an open mover; the caller frees it, and fills in counts->bytes_before. With dry_run nothing
 * is moved: the counts say what would be, as if there were no limit of time.
 */
enum sb_code sb_defrag_quick(struct sb_mover *mover, const struct sb_defrag_options *options,
                             struct sb_defrag_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
