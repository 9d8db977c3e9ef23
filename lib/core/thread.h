/*
 * Starts all threads of the library.
 */
#ifndef SB_CORE_THREAD_H
#define SB_CORE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * False, with errno, where the system starts no more threads. The new one inherits the context
 * (context.h) of the calling one. It blocks SIGINT, SIGTERM and SIGHUP, so that the signal
 * interrupts a waiting read of the calling thread.
 */
bool sb_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

/*
 * Threads for liblzma, which starts its own, each when it comes to it, and fails where it cannot:
 * these are started before, as many as can be, and wait.
 */
struct sb_thread_reserve;

/* At most *count, which becomes how many there are. NULL where none can be started. */
struct sb_thread_reserve *sb_threads_reserve(unsigned *count);

/* From now on the calling thread's calls of pthread_create take these. NULL: no longer. */
void sb_threads_use(struct sb_thread_reserve *reserve);

/* Ends those that were not taken; the others were joined before. NULL is allowed. */
void sb_threads_release(struct sb_thread_reserve *reserve);

#endif
