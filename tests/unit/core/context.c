/* lib/core/context.h: two uses of the library at once */
#include "core/context.h"
#include "check.h"
#include "core/interrupt.h"
#include "core/pipeline.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SECOND  INT64_C(1000000000)
#define SLOTS   8
#define WORKERS 2

/* A clock for each use, which only waiting moves. */
static _Atomic int64_t times[2];

static void move_to(_Atomic int64_t *clock, int64_t time)
{
    int64_t seen = atomic_load(clock);

    while (seen < time && !atomic_compare_exchange_weak(clock, &seen, time))
        ;
}

static int64_t tell_first(void)
{
    return atomic_load(&times[0]);
}

static int64_t tell_second(void)
{
    return atomic_load(&times[1]);
}

static void wait_first(int64_t time)
{
    move_to(&times[0], time);
}

static void wait_second(int64_t time)
{
    move_to(&times[1], time);
}

static const struct sb_throttle_clock clocks[2] = {{tell_first, wait_first},
                                                   {tell_second, wait_second}};

struct use {
    struct sb_context context;
    size_t piece;             /* that its limit allows */
    const atomic_bool *until; /* it is done then */
    atomic_bool at_work;
    atomic_bool ended;
    atomic_int strays; /* workers that were in another context */
    enum sb_code code;
    struct sb_error err;
};

static enum sb_code fill(void *context, void *slot)
{
    struct use *use = context;

    (void)slot;
    return use->until && atomic_load(use->until) ? SB_END : SB_OK;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct use *use = context;

    (void)slot;
    (void)turns;
    /* Once cancelled there is no limit. */
    if (sb_context_now != &use->context ||
        (sb_throttle_piece((size_t)1 << 40) != use->piece && !sb_interrupted()))
        atomic_fetch_add(&use->strays, 1);
    sb_throttle_read(1000);
    atomic_store(&use->at_work, true);
    usleep(100);
    return SB_OK;
}

static enum sb_code drain(void *context, void *slot)
{
    (void)context;
    (void)slot;
    return SB_OK;
}

static void *run(void *argument)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    struct use *use = argument;
    char slots[SLOTS];

    sb_context_enter(&use->context);
    use->code = INTO(&use->err, sb_pipeline_run(&ops, use, slots, 1, SLOTS, WORKERS));
    atomic_store(&use->ended, true);
    return NULL;
}

static void one_is_cancelled_and_the_other_not(void)
{
    struct use first = {.piece = 4096};
    struct use second = {.piece = 256 << 10, .until = &first.ended};
    struct use *uses[2] = {&first, &second};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++) {
        sb_context_init(&uses[i]->context);
        uses[i]->context.throttle.clock = &clocks[i];
        sb_throttle_set(&uses[i]->context.throttle, i == 0 ? 1000 : INT64_MAX);
        CHECK(sb_thread_start(&threads[i], run, uses[i]));
    }
    while (!atomic_load(&first.at_work) || !atomic_load(&second.at_work))
        usleep(100);
    atomic_store(&first.context.cancelled, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    CHECK(first.code == SB_INTERRUPT && second.code == SB_OK);
    CHECK_TEXT(first.err.text, "interrupted");
    CHECK(atomic_load(&first.strays) == 0 && atomic_load(&second.strays) == 0);
    CHECK(tell_first() >= SECOND && tell_second() < SECOND);
    CHECK(!sb_interrupted());
}

static void in_no_context_nothing_is_limited(void)
{
    struct sb_context context;
    struct sb_context *none = sb_context_now;

    CHECK(!sb_throttle_limits() && sb_throttle_piece((size_t)1 << 40) == (size_t)1 << 40);
    CHECK(!sb_interrupted() && none->umask == 077);
    sb_context_init(&context);
    atomic_store(&context.cancelled, 1);
    CHECK(sb_context_enter(&context) == none);
    CHECK(sb_interrupted() && sb_context_now == &context);
    CHECK(sb_context_enter(none) == &context);
    CHECK(!sb_interrupted());
}

static void the_umask_is_taken_and_left(void)
{
    struct sb_context context;
    mode_t before = umask(027);

    sb_context_init(&context);
    CHECK(context.umask == 027);
    CHECK(umask(before) == 027);
}

static int resolved;

static void count_resolved(const char *typed, const char *absolute)
{
    resolved += typed[0] != '/' && absolute[0] == '/';
}

static void what_a_path_was_typed_as_is_passed_on(void)
{
    struct sb_context context;
    struct sb_context *none = sb_context_now;

    sb_context_init(&context);
    context.resolves = count_resolved;
    sb_context_resolves("a", "/x/a");
    sb_context_enter(&context);
    sb_context_resolves("a", "/x/a");
    sb_context_resolves("/x/a", "/x/a");
    sb_context_enter(none);
    CHECK(resolved == 1);
}

int main(void)
{
    RUN(one_is_cancelled_and_the_other_not);
    RUN(in_no_context_nothing_is_limited);
    RUN(the_umask_is_taken_and_left);
    RUN(what_a_path_was_typed_as_is_passed_on);
    return check_end();
}
