/*
 * convert --limits-only: the shards of an archive as bags.
 */
#ifndef SB_CMD_CONVERT_LIMITS_H
#define SB_CMD_CONVERT_LIMITS_H

#include "task/convert/limits.h"

/* Checks what else was asked for, and does it; returns the exit status. wanted->archive and notify
 * are set from the operands. */
int convert_limits_only(struct sb_limits_options *wanted, char *const *operands, int count);

#endif
