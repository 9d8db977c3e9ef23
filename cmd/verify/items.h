/*
 * verify of Syrah files.
 */
#ifndef SB_CMD_VERIFY_ITEMS_H
#define SB_CMD_VERIFY_ITEMS_H

#include "store/container.h"
#include "verify/run.h"

/* Verifies the input, a Syrah file just opened, and says how it went. */
enum sb_code verify_items(struct verify_run *run, struct sb_input *input,
                          const struct sb_verify_options *options, struct sb_error *err) SB_CHECKED;

#endif
