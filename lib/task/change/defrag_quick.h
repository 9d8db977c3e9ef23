/*
 * The quick way of defrag.h.
 */
#ifndef SB_TASK_CHANGE_DEFRAG_QUICK_H
#define SB_TASK_CHANGE_DEFRAG_QUICK_H

#include "task/change/defrag.h"

/*
 * On an open mover; the caller frees it, and sets counts->bytes_before. With dry_run nothing is
 * moved: the counts are those without a time limit.
 */
enum sb_code sb_defrag_quick(struct sb_mover *mover, const struct sb_defrag_options *options,
                             struct sb_defrag_counts *counts) SB_CHECKED;

#endif
