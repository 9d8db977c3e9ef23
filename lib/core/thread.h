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

#endif
