/*
 * A queue of names is looked up by another thread, while the one before it is answered.
 *
 * Internal to fetch.c; belongs to its calling thread. {.many, .options} has none under way. Without
 * a thread or a connection to spare, or for few names, nothing is begun, and the caller looks up.
 */
#ifndef SB_TASK_FETCH_AHEAD_H
#define SB_TASK_FETCH_AHEAD_H

#include "core/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct sb_fetch_options;
struct sb_many;
struct sb_queue;

struct sb_look_ahead {
    struct sb_many *many;
    const struct sb_fetch_options *options;
    struct sb_queue *queue; /* NULL: none under way */
    bool alone;             /* there is no connection to spare */
    pthread_t thread;
    atomic_bool done;
    struct sb_error error;
};

/* Neither the queue nor `many` may be used until the end. */
void sb_look_ahead_begin(struct sb_look_ahead *ahead, struct sb_queue *queue);

/* Would sb_look_ahead_end have to wait? */
bool sb_look_ahead_is_busy(struct sb_look_ahead *ahead);

enum sb_code sb_look_ahead_end(struct sb_look_ahead *ahead) SB_CHECKED;

/* Waits, too. */
void sb_look_ahead_release(struct sb_look_ahead *ahead);

#endif
