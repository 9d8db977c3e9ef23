/*
 * Starting threads: all that the library has are started here.
 */
#ifndef SB_CORE_THREAD_H
#define SB_CORE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * False, with errno, where the system gives no more threads. The new one is in the context
 * (context.h) of the calling one. It takes no SIGINT, SIGTERM or SIGHUP, so that it is the calling
 * thread whose waiting read comes back.
 */
bool sb_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

#endif
