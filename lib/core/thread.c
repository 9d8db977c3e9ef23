#include "core/thread.h"

#include "core/context.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

struct start {
    void *(*run)(void *argument);
    void *argument;
    struct sb_context *context;
};

static void *begin(void *argument)
{
    struct start start = *(struct start *)argument;

    free(argument);
    sb_context_enter(start.context);
    return start.run(start.argument);
}

bool sb_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
    struct start *start = malloc(sizeof(*start));
    sigset_t blocked, before;
    int failure;

    if (!start)
        return false;
    *start = (struct start){run, argument, sb_context_now};
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    failure = pthread_create(thread, NULL, begin, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure)
        free(start);
    errno = failure;
    return failure == 0;
}
