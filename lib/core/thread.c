#include "core/thread.h"

#include <signal.h>

bool sb_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
    sigset_t blocked, before;
    bool started;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    started = pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
