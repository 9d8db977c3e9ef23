/*
 * A limit on how fast this process reads, and on how fast it writes: --bwlimit.
 *
 * Set once, before threads start. core/io.h asks it for every block of an input's or an output's
 * bytes, wherever it is read or written; an index, which SQLite reads, and what is small are not
 * counted. Reading and writing have the same limit each, over all threads. Thread-safe.
 */
#ifndef SB_CORE_THROTTLE_H
#define SB_CORE_THROTTLE_H

#include "core/error.h"

#include <stdint.h>

/* Bytes a second; 0: no limit. */
void sb_throttle_set(int64_t rate);

/*
 * So many bytes are about to be read, or written: waits until they may be. Over any ten seconds the
 * rate is kept, over one second nearly. SB_INTERRUPT soon after sb_interrupted().
 */
enum sb_code sb_throttle_read(int64_t size, struct sb_error *err) SB_CHECKED;
enum sb_code sb_throttle_write(int64_t size, struct sb_error *err) SB_CHECKED;

#endif
