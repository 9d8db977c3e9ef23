#include "core/throttle.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/time.h"

#include <errno.h>

#define CREDIT    (SB_SECOND / 10) /* of unused time */
#define LOOK      (SB_SECOND / 10) /* how soon a wait notices that it must end */
#define PIECES    8                /* per second, at least */
#define PIECE_MIN 4096
#define PIECE_MAX (256 << 10)
#define COST_MAX  (1e6 * 1e9) /* so that sums stay in range */

/* A clock that stops, or cannot be read, does not make the wait longer. */
static void wait_until(int64_t time)
{
    int64_t left, most = time - sb_clock_ns();
    unsigned tries = 0;

    while ((left = time - sb_clock_ns()) > 0 && most > 0 && !sb_interrupted()) {
        int64_t step = left < LOOK ? left : LOOK;
        struct timespec nap = {.tv_nsec = (long)step};

        if (nanosleep(&nap, NULL) == 0)
            most -= step;
        else if (errno != EINTR || !sb_may_try_again(&tries))
            return;
    }
}

static const struct sb_throttle_clock *clock_of(const struct sb_throttle *throttle)
{
    static const struct sb_throttle_clock real = {sb_clock_ns, wait_until};

    return throttle->clock ? throttle->clock : &real;
}

void sb_throttle_set(struct sb_throttle *throttle, int64_t rate)
{
    int64_t begin = clock_of(throttle)->now();

    atomic_store(&throttle->reads_until, begin);
    atomic_store(&throttle->writes_until, begin);
    atomic_store(&throttle->limit, rate);
}

static int64_t limit(void)
{
    return atomic_load_explicit(&sb_context_now->throttle.limit, memory_order_relaxed);
}

bool sb_throttle_limits(void)
{
    return limit() > 0;
}

size_t sb_throttle_piece(size_t size)
{
    int64_t rate = limit(), most = rate / PIECES;

    if (rate == 0 || sb_interrupted())
        return size;
    if (most > PIECE_MAX)
        most = PIECE_MAX;
    if (most < PIECE_MIN)
        most = PIECE_MIN;
    return size < (size_t)most ? size : (size_t)most;
}

static void pay(_Atomic int64_t *until, int64_t size)
{
    const struct sb_throttle_clock *clock = clock_of(&sb_context_now->throttle);
    int64_t rate = limit(), paid, end, earliest;
    double cost;

    if (rate == 0 || size <= 0)
        return;
    cost = (double)size / (double)rate * (double)SB_SECOND;
    if (cost > COST_MAX)
        cost = COST_MAX;
    earliest = clock->now() - CREDIT;
    paid = atomic_load(until);
    do
        end = (paid > earliest ? paid : earliest) + (int64_t)cost;
    while (!atomic_compare_exchange_weak(until, &paid, end));
    clock->wait_until(end);
}

void sb_throttle_read(int64_t size)
{
    pay(&sb_context_now->throttle.reads_until, size);
}

void sb_throttle_write(int64_t size)
{
    pay(&sb_context_now->throttle.writes_until, size);
}
