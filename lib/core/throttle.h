/*
 * A limit on how fast a context (context.h) reads, and on how fast it writes: --bwlimit.
 *
 * Code that reads or writes bytes of inputs, outputs or temporary files transfers at most
 * sb_throttle_piece() of them at once, and afterwards reports how many there were; core/io.h does
 * so for most callers. An index, which SQLite reads, and lists of names are not counted. Reading
 * and writing each have this limit, over all threads of the context. Thread-safe.
 */
#ifndef SB_CORE_THROTTLE_H
#define SB_CORE_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A clock in nanoseconds, and how to wait until then. */
struct sb_throttle_clock {
    int64_t (*now)(void);
    void (*wait_until)(int64_t time);
};

/* Part of a context; zeros: no limit. */
struct sb_throttle {
    _Atomic int64_t limit;                     /* bytes a second; 0: none */
    _Atomic int64_t reads_until, writes_until; /* when the transfers so far fit the rate */
    const struct sb_throttle_clock *clock;     /* for tests; NULL: the real one */
};

/* Bytes per second; 0: no limit. To be called before threads start in the context. */
void sb_throttle_set(struct sb_throttle *throttle, int64_t rate);

bool sb_throttle_limits(void);

/*
 * How much of a transfer of `size` bytes to do at once: all of it without a limit, and after
 * sb_interrupted().
 */
size_t sb_throttle_piece(size_t size);

/*
 * Reports bytes that were read, or written, and waits until that fits the rate. Unused time is
 * credited up to a tenth of a second: over any ten seconds the rate is exceeded by at most a
 * hundredth. Returns soon after sb_interrupted(), and from then on at once, so that cleaning up
 * after a signal is not delayed.
 */
void sb_throttle_read(int64_t size);
void sb_throttle_write(int64_t size);

#endif
