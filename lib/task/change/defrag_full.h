/*
 * The full way of defrag.h.
 */
#ifndef SB_TASK_CHANGE_DEFRAG_FULL_H
#define SB_TASK_CHANGE_DEFRAG_FULL_H

#include "task/change/defrag.h"

/* On an open mover; the caller frees it, and sets counts->bytes_before. */
enum sb_code sb_defrag_full(struct sb_mover *mover, const struct sb_defrag_options *options,
                            struct sb_defrag_counts *counts) SB_CHECKED;

#endif
