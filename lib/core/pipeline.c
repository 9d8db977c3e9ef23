#include "core/pipeline.h"
#include "core/interrupt.h"
#include "core/thread.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Slots are numbered by a sequence that never wraps; number n lives in place n % count. The mutex
 * protects all fields but the first ones. The counters distinguish worked and drained slots:
 *
 *     drained <= taken <= filled <= drained + count
 */

struct place {
    uint64_t number;       /* of its slot */
    bool worked;           /* or failed, or dropped */
    bool turn_over;        /* or it will never be taken */
    pthread_cond_t turned; /* its turn has come, or the run is ending */
};

struct sb_pipeline {
    const struct sb_pipeline_ops *ops;
    void *context;
    char *slots;
    size_t slot_size;
    unsigned count;
    struct place *places;

    pthread_mutex_t mutex;
    pthread_cond_t work;  /* something was filled, or nothing more will be */
    pthread_cond_t ready; /* the slot to be drained next was worked */
    uint64_t filled;
    uint64_t taken;
    uint64_t drained;
    uint64_t turn;

    /*
     * Slots from this number on are dropped. The lowest failed slot lowers it to its own number, so
     * that all before it are treated as with one thread.
     */
    uint64_t limit;
    bool closed;
    enum sb_code code; /* why limit was lowered */
    struct sb_error error;
};

static struct place *place_of(const struct sb_pipeline *p, uint64_t number)
{
    return &p->places[number % p->count];
}

static void *slot_of(const struct sb_pipeline *p, uint64_t number)
{
    return p->slots + (size_t)(number % p->count) * p->slot_size;
}

static struct place *place_of_slot(const struct sb_pipeline *p, const void *slot)
{
    return &p->places[(size_t)((const char *)slot - p->slots) / p->slot_size];
}

/* With the mutex. Drops everything from number on; the reason of the lowest one is kept. */
static void give_up(struct sb_pipeline *p, uint64_t number, enum sb_code code)
{
    if (number >= p->limit)
        return;
    p->limit = number;
    p->code = code;
    p->error = *sb_error();
    for (unsigned i = 0; i < p->count; i++)
        pthread_cond_signal(&p->places[i].turned);
}

/* With the mutex. */
static void end_turn(struct sb_pipeline *p, struct place *place)
{
    place->turn_over = true;
    while (p->turn < p->taken && place_of(p, p->turn)->turn_over)
        p->turn++;
    if (p->turn < p->filled)
        pthread_cond_signal(&place_of(p, p->turn)->turned);
}

enum sb_code sb_turn_begin(struct sb_pipeline *pipeline, void *slot)
{
    enum sb_code code = SB_OK;
    struct place *place;

    if (!pipeline)
        return SB_OK;
    place = place_of_slot(pipeline, slot);
    pthread_mutex_lock(&pipeline->mutex);
    while (pipeline->turn != place->number && place->number < pipeline->limit)
        pthread_cond_wait(&place->turned, &pipeline->mutex);
    if (place->number >= pipeline->limit)
        code = SB_INTERRUPT;
    pthread_mutex_unlock(&pipeline->mutex);
    return code;
}

void sb_turn_end(struct sb_pipeline *pipeline, void *slot)
{
    if (!pipeline)
        return;
    pthread_mutex_lock(&pipeline->mutex);
    end_turn(pipeline, place_of_slot(pipeline, slot));
    pthread_mutex_unlock(&pipeline->mutex);
}

static void *run_worker(void *argument)
{
    struct sb_pipeline *p = argument;
    enum sb_code code;
    uint64_t number;

    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (p->taken == p->filled && !p->closed)
            pthread_cond_wait(&p->work, &p->mutex);
        if (p->taken == p->filled || p->taken >= p->limit)
            break;
        number = p->taken++;
        pthread_mutex_unlock(&p->mutex);
        code = p->ops->work(p->context, slot_of(p, number), p);
        pthread_mutex_lock(&p->mutex);

        if (code)
            give_up(p, number, code);
        else if (!place_of(p, number)->turn_over)
            end_turn(p, place_of(p, number));
        place_of(p, number)->worked = true;
        if (number == p->drained)
            pthread_cond_signal(&p->ready);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* What the calling thread does next. */
enum step {
    STEP_FILL,
    STEP_DRAIN,
    STEP_WAIT,
    STEP_STOP,
};

/* With the mutex. */
static enum step next_step(const struct sb_pipeline *p, bool more)
{
    bool under_way = p->drained < p->filled;

    if (p->drained >= p->limit)
        return STEP_STOP;
    if (under_way && place_of(p, p->drained)->worked)
        return STEP_DRAIN;
    if (more && p->limit == UINT64_MAX && p->filled - p->drained < p->count)
        return STEP_FILL;
    return under_way ? STEP_WAIT : STEP_STOP;
}

/* The mutex is released while fill runs. *more becomes false when nothing was filled. */
static void fill_next(struct sb_pipeline *p, bool *more)
{
    struct place *place = place_of(p, p->filled);
    enum sb_code code;
    bool under_way = p->drained < p->filled;
    bool would_wait;

    pthread_mutex_unlock(&p->mutex);
    would_wait = under_way && p->ops->fill_would_wait && p->ops->fill_would_wait(p->context);
    code = would_wait ? SB_OK : p->ops->fill(p->context, slot_of(p, p->filled));
    pthread_mutex_lock(&p->mutex);

    if (would_wait) {
        while (!place_of(p, p->drained)->worked && p->drained < p->limit)
            pthread_cond_wait(&p->ready, &p->mutex);
        return;
    }
    if (code) {
        *more = false;
        if (code != SB_END)
            give_up(p, p->filled, code);
        return;
    }
    place->number = p->filled++;
    place->worked = false;
    place->turn_over = false;
    pthread_cond_signal(&p->work);
}

/* The mutex is released while drain runs: no other thread touches a worked slot, nor `drained`. */
static void drain_next(struct sb_pipeline *p)
{
    enum sb_code code = SB_OK;

    pthread_mutex_unlock(&p->mutex);
    if (p->ops->drain)
        code = p->ops->drain(p->context, slot_of(p, p->drained));
    pthread_mutex_lock(&p->mutex);
    if (code)
        give_up(p, p->drained, code);
    else
        p->drained++;
}

/* With the mutex. */
static void run_calling_thread(struct sb_pipeline *p)
{
    bool more = true;
    enum step step;

    while ((step = next_step(p, more)) != STEP_STOP) {
        if (sb_interrupted())
            give_up(p, 0, sb_fail_interrupt());
        else if (step == STEP_FILL)
            fill_next(p, &more);
        else if (step == STEP_DRAIN)
            drain_next(p);
        else
            pthread_cond_wait(&p->ready, &p->mutex);
    }
}

static enum sb_code run_inline(const struct sb_pipeline_ops *ops, void *context, void *slot)
{
    enum sb_code code;

    for (;;) {
        TRY(sb_heed_interrupt());
        code = ops->fill(context, slot);
        if (code)
            return code == SB_END ? SB_OK : code;
        TRY(ops->work(context, slot, NULL));
        if (ops->drain)
            TRY(ops->drain(context, slot));
    }
}

enum sb_code sb_pipeline_run(const struct sb_pipeline_ops *ops, void *context, void *slots,
                             size_t slot_size, unsigned slot_count, unsigned threads)
{
    struct sb_pipeline p = {
        .ops = ops,
        .context = context,
        .slots = slots,
        .slot_size = slot_size,
        .count = slot_count,
        .limit = UINT64_MAX,
    };
    CLEANUP(sb_freep) struct place *places = NULL;
    CLEANUP(sb_freep) pthread_t *workers = NULL;
    unsigned started = 0;

    if (threads <= 1 || slot_count <= 1)
        return run_inline(ops, context, slots);
    if (threads > slot_count)
        threads = slot_count;
    TRY(SB_NEW_ARRAY(&places, slot_count));
    TRY(SB_NEW_ARRAY(&workers, threads));
    p.places = places;
    pthread_mutex_init(&p.mutex, NULL);
    pthread_cond_init(&p.work, NULL);
    pthread_cond_init(&p.ready, NULL);
    for (unsigned i = 0; i < slot_count; i++)
        pthread_cond_init(&places[i].turned, NULL);

    while (started < threads && sb_thread_start(&workers[started], run_worker, &p))
        started++;
    if (started > 0) {
        pthread_mutex_lock(&p.mutex);
        run_calling_thread(&p);
        p.closed = true;
        pthread_cond_broadcast(&p.work);
        pthread_mutex_unlock(&p.mutex);
    } else {
        p.code = run_inline(ops, context, slots);
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);

    for (unsigned i = 0; i < slot_count; i++)
        pthread_cond_destroy(&places[i].turned);
    pthread_cond_destroy(&p.ready);
    pthread_cond_destroy(&p.work);
    pthread_mutex_destroy(&p.mutex);
    if (p.limit != UINT64_MAX)
        *sb_error() = p.error;
    return p.code;
}
