/*
 * A limit on how fast a context (context.h) reads, and on how fast it writes: --bwlimit.
 *
 * Whoever reads or writes bytes of inputs, outputs or temporary files asks for at most
 * sb_throttle_piece() of them at once, and afterwards tells how many there were; core/io.h does,
 * so that most need not think of it. An index, which SQLite reads, and lists of names are not
 * counted. Reading and writing have the same limit each, over all threads of the context.
 * Thread-safe.
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
    _Atomic int64_t reads_until, writes_until; /* when what was transferred so far is paid for */
    const struct sb_throttle_clock *clock;     /* of a test; NULL: the real one */
};

/* Bytes a second; 0: no limit. To be called before threads start in the context. */
void sb_throttle_set(struct sb_throttle *throttle, int64_t rate);

bool sb_throttle_limits(void);

/* How much of a transfer of so many bytes is to be asked for at once: all without a limit, and
 * after sb_interrupted(). */
size_t sb_throttle_piece(size_t size);

/*
 * So many bytes were read, or written: waits until that fits the rate. Of time in which less was
 * transferred a tenth of a second is made up for, no more: over any ten seconds the rate is
 * exceeded by a hundredth at most. Comes back soon after sb_interrupted(), and then always at once:
 * what has to be put in order after a signal is not held up.
 */
void sb_throttle_read(int64_t size);
void sb_throttle_write(int64_t size);

#endif
