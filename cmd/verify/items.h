/*
 * verify of Syrah files.
 */
#ifndef SB_CMD_VERIFY_ITEMS_H
#define SB_CMD_VERIFY_ITEMS_H

#include "verify/run.h"

/* Verifies Syrah files that are one container and says how it went. */
enum sb_code verify_items(struct verify_run *run, struct sb_store *store,
                          const struct sb_verify_options *options, struct sb_error *err) SB_CHECKED;

#endif
