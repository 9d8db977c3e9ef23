#include "task/fetch/ahead.h"

#include "archive/many.h"
#include "core/thread.h"
#include "task/fetch/queue.h"

#define WORTH_A_THREAD 128 /* names */

static void *look_up(void *argument)
{
    struct sb_look_ahead *ahead = argument;

    ahead->error.code = SB_OK;
    ahead->alone = !sb_many_detach(ahead->many);
    if (!ahead->alone)
        ahead->error.code =
            INTO(&ahead->error, sb_queue_look_up(ahead->queue, ahead->many, ahead->options));
    atomic_store(&ahead->done, true);
    return NULL;
}

void sb_look_ahead_begin(struct sb_look_ahead *ahead, struct sb_queue *queue)
{
    if (ahead->alone || ahead->options->threads == 1 || queue->count < WORTH_A_THREAD)
        return;
    atomic_store(&ahead->done, false);
    ahead->queue = queue;
    if (!sb_thread_start(&ahead->thread, look_up, ahead))
        ahead->queue = NULL;
}

bool sb_look_ahead_is_busy(struct sb_look_ahead *ahead)
{
    return ahead->queue && !atomic_load(&ahead->done);
}

void sb_look_ahead_release(struct sb_look_ahead *ahead)
{
    if (ahead->queue)
        pthread_join(ahead->thread, NULL);
    ahead->queue = NULL;
}

enum sb_code sb_look_ahead_end(struct sb_look_ahead *ahead)
{
    if (!ahead->queue)
        return SB_OK;
    sb_look_ahead_release(ahead);
    if (ahead->error.code)
        *sb_error() = ahead->error;
    return ahead->error.code;
}
