/*
 * What comes through a pipe as a file: of a zip or a bag, the list of what it holds stands at its
 * end.
 */
#ifndef SB_STORE_SPOOL_H
#define SB_STORE_SPOOL_H

#include "store/kind.h"

/*
 * Reads the input to its end into a temporary file without a name, in TMPDIR or else the current
 * directory. The descriptor is the caller's. SB_LIMIT: more than max_size bytes came (0: any).
 */
enum sb_code sb_spool_input(int *out, struct sb_input *input, int64_t max_size,
                            struct sb_error *err) SB_CHECKED;

#endif
