/*
 * What one use of the library shares among its threads: whether it is cancelled, how fast it may
 * read and write, where its temporary files go, the umask of what it makes, in which charset names
 * are read.
 *
 * A thread enters a context; threads that the library starts in it (thread.h) inherit it. So two
 * uses in one process have two limits and two cancellations. In no context nothing is cancelled or
 * limited, and the umask is 077. A context is the program's: it stays until all that was opened in
 * it is freed. Whoever calls counts, not whoever opened. Thread-safe, but for init.
 */
#ifndef SB_CORE_CONTEXT_H
#define SB_CORE_CONTEXT_H

#include "core/throttle.h"

#include <stdatomic.h>
#include <sys/types.h>

struct sb_context {
    /*
     * Set to other than 0, by any thread or a handler of signals, it ends the work soon, with
     * SB_INTERRUPT; core/interrupt.h sets it to the signal's number. By itself it wakes no read
     * that waits for its input: a signal does.
     */
    atomic_int cancelled;

    mode_t umask;                /* of modes that nobody has said; see store/tree/target.h too */
    const char *temporary;       /* the directory of temporary files; NULL: beside the output */
    const char *charset;         /* of names in zips, tars and cpios that do not say theirs: a name
                                    for store/charset.h; NULL: what is usual in each of them */
    struct sb_throttle throttle; /* see sb_throttle_set */
};

/* Not cancelled, no limit; the process' umask, and TMPDIR of the environment, which is kept. */
void sb_context_init(struct sb_context *context);

/* For the calling thread. Returns the former one: to enter that again is to leave this one. */
struct sb_context *sb_context_enter(struct sb_context *context);

/* The calling thread's, never NULL; to be changed by sb_context_enter alone. */
extern _Thread_local struct sb_context *sb_context_now;

#endif
