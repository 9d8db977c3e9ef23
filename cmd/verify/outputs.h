/*
 * The files that verify writes: --report, --prom and --state.
 */
#ifndef SB_CMD_VERIFY_OUTPUTS_H
#define SB_CMD_VERIFY_OUTPUTS_H

#include "core/error.h"

struct verify_settings;

/*
 * May they be written? An error for one that is, or has the name of, a part of an archive, of what
 * is verified, or of the copy that is restored from, and for two that are the same. Before anything
 * is open: it opens and closes the index, and so drops locks on it.
 */
enum sb_code verify_outputs_check(const struct verify_settings *settings, const char *input,
                                  struct sb_error *err) SB_CHECKED;

#endif
