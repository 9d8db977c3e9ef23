/*
 * What one use of the library shares among its threads: cancellation, limits on reading and
 * writing, the directory of temporary files, the umask of new files, the charset of names, where a
 * tar ends, its volumes, tars in tars, the memory of decompressors, the form of tars.
 *
 * A thread enters a context; threads that the library starts in it (thread.h) inherit it. Two uses
 * in one process thus have separate limits and cancellations. Outside any context nothing is
 * cancelled or limited, and the umask is 077. The program owns a context, and keeps it until all
 * that was opened in it is freed. A function works in the context of the thread that calls it, not
 * of the one that opened the object. Thread-safe, but for init.
 */
#ifndef SB_CORE_CONTEXT_H
#define SB_CORE_CONTEXT_H

#include "core/throttle.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sb_context {
    /*
     * A value other than 0, set by any thread or a signal handler, ends the work soon with
     * SB_INTERRUPT; core/interrupt.h sets it to the signal's number. Setting it does not wake a
     * read that waits for input: a signal does.
     */
    atomic_int cancelled;

    mode_t umask; /* for new files whose mode nothing else decides; see store/tree/target.h too */
    const char *temporary; /* the directory of temporary files; NULL: beside the output */
    const char *charset; /* of names in zips, tars and cpios that do not declare theirs: a name for
                            store/charset.h; NULL: the default of each format */
    bool ignore_zeros;   /* a tar goes on after its end, where another one follows */
    bool multi_volume;   /* "A,B" is a tar in volumes: store/tar/volumes.h */
    bool nested;         /* tars in tars are directories: store/tar/nested.h */
    int64_t decoder_memory; /* bytes that xz, and the window of zstd, may take of a whole container;
                               0: what is usual there */
    bool keep_case; /* extensions of samples (store/samples/samples.h) that differ in case do */
    int tar_format; /* of tars that are written: enum sb_tar_format of store/container.h */
    struct sb_throttle throttle; /* see sb_throttle_set */

    /* Seconds to wait for a file that another process writes; 0: not at all, -1: as long as it
     * takes. `waits` (may be NULL) is called once for each such wait, with why. */
    int64_t lock_wait;
    void (*waits)(const char *why);

    /* Outputs get parity afterwards: an index that has some is checked by it before it changes. */
    bool protects;

    /* Called, from any thread, for each path that is opened by its absolute name, where that is
     * another one: messages of the library have the absolute name. May be NULL. */
    void (*resolves)(const char *typed, const char *absolute);
};

/*
 * Not cancelled, no limit; the umask of the process; TMPDIR of the environment, whose text is not
 * copied.
 */
void sb_context_init(struct sb_context *context);

/* For the calling thread. Returns the previous context: entering that again leaves this one. */
struct sb_context *sb_context_enter(struct sb_context *context);

/* Calls `resolves` of the calling thread's context, unless both are the same. */
void sb_context_resolves(const char *typed, const char *absolute);

/* The calling thread's, never NULL; changed only by sb_context_enter. */
extern _Thread_local struct sb_context *sb_context_now;

#endif
