#include "core/thread.h"

#include "core/context.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* Every call of pthread_create, also in libraries, goes to the second one (--wrap in Makefile). */
/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
/* NOLINTEND(bugprone-reserved-identifier) */

struct reserved {
    struct sb_thread_reserve *reserve;
    pthread_t thread;
    void *(*run)(void *argument); /* NULL: it still waits */
    void *argument;
};

struct sb_thread_reserve {
    pthread_mutex_t mutex; /* of all but count */
    pthread_cond_t taken;  /* one was taken, or all are to end */
    bool over;
    unsigned count, used;
    struct reserved threads[];
};

static _Thread_local struct sb_thread_reserve *in_use;

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

static void *wait_to_be_taken(void *argument)
{
    struct reserved *self = argument;
    struct sb_thread_reserve *reserve = self->reserve;
    void *(*run)(void *argument);
    void *task;

    pthread_mutex_lock(&reserve->mutex);
    while (!self->run && !reserve->over)
        pthread_cond_wait(&reserve->taken, &reserve->mutex);
    run = self->run;
    task = self->argument;
    pthread_mutex_unlock(&reserve->mutex);
    return run ? run(task) : NULL;
}

/* False: none is left. */
static bool take(struct sb_thread_reserve *reserve, pthread_t *thread, void *(*run)(void *),
                 void *argument)
{
    struct reserved *next;

    if (reserve->used == reserve->count)
        return false;
    pthread_mutex_lock(&reserve->mutex);
    next = &reserve->threads[reserve->used++];
    next->run = run;
    next->argument = argument;
    *thread = next->thread;
    pthread_cond_broadcast(&reserve->taken);
    pthread_mutex_unlock(&reserve->mutex);
    return true;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    if (in_use && take(in_use, thread, run, argument))
        return 0;
    return __real_pthread_create(thread, attributes, run, argument);
}

void sb_threads_use(struct sb_thread_reserve *reserve)
{
    in_use = reserve;
}

struct sb_thread_reserve *sb_threads_reserve(unsigned *count)
{
    struct sb_thread_reserve *reserve =
        calloc(1, sizeof(*reserve) + *count * sizeof(*reserve->threads));
    unsigned wanted = reserve ? *count : 0;

    *count = 0;
    if (!reserve)
        return NULL;
    pthread_mutex_init(&reserve->mutex, NULL);
    pthread_cond_init(&reserve->taken, NULL);
    for (struct reserved *next = reserve->threads; reserve->count < wanted; next++) {
        next->reserve = reserve;
        if (!sb_thread_start(&next->thread, wait_to_be_taken, next))
            break;
        reserve->count++;
    }
    *count = reserve->count;
    if (*count > 0)
        return reserve;
    sb_threads_release(reserve);
    return NULL;
}

void sb_threads_release(struct sb_thread_reserve *reserve)
{
    if (!reserve)
        return;
    pthread_mutex_lock(&reserve->mutex);
    reserve->over = true;
    pthread_cond_broadcast(&reserve->taken);
    pthread_mutex_unlock(&reserve->mutex);
    for (unsigned i = reserve->used; i < reserve->count; i++)
        pthread_join(reserve->threads[i].thread, NULL);
    pthread_cond_destroy(&reserve->taken);
    pthread_mutex_destroy(&reserve->mutex);
    free(reserve);
}
