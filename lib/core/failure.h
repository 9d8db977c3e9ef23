/*
 * One word for each kind of failure, for programs: shardbox-reports(7) lists them. They do not
 * change.
 */
#ifndef SB_CORE_FAILURE_H
#define SB_CORE_FAILURE_H

#include "core/error.h"

const char *sb_failure_word(const struct sb_error *err);

#endif
