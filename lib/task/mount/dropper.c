#include "task/mount/dropper.h"

#include "core/thread.h"
#include "task/mount/serve.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct sb_dropper {
    struct sb_server *server;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t more;
    bool wanted, ending;
};

/* False: it is to end. */
static bool wait_for_more(struct sb_dropper *dropper)
{
    bool ending;

    pthread_mutex_lock(&dropper->lock);
    while (!dropper->wanted && !dropper->ending)
        pthread_cond_wait(&dropper->more, &dropper->lock);
    dropper->wanted = false;
    ending = dropper->ending;
    pthread_mutex_unlock(&dropper->lock);
    return !ending;
}

static void *drop(void *argument)
{
    struct sb_dropper *dropper = argument;

    while (wait_for_more(dropper))
        sb_server_drop_damaged(dropper->server);
    return NULL;
}

enum sb_code sb_dropper_start(struct sb_dropper **out, struct sb_server *server)
{
    struct sb_dropper *dropper = calloc(1, sizeof(*dropper));

    *out = dropper;
    if (!dropper)
        return sb_fail_memory();
    dropper->server = server;
    pthread_mutex_init(&dropper->lock, NULL);
    pthread_cond_init(&dropper->more, NULL);
    if (sb_thread_start(&dropper->thread, drop, dropper))
        return SB_OK;
    *out = NULL;
    free(dropper);
    return SB_OK;
}

void sb_dropper_wake(struct sb_dropper *dropper)
{
    pthread_mutex_lock(&dropper->lock);
    dropper->wanted = true;
    pthread_cond_signal(&dropper->more);
    pthread_mutex_unlock(&dropper->lock);
}

void sb_dropper_end(struct sb_dropper *dropper)
{
    if (!dropper)
        return;
    pthread_mutex_lock(&dropper->lock);
    dropper->ending = true;
    pthread_cond_signal(&dropper->more);
    pthread_mutex_unlock(&dropper->lock);
    pthread_join(dropper->thread, NULL);
    pthread_cond_destroy(&dropper->more);
    pthread_mutex_destroy(&dropper->lock);
    free(dropper);
}
