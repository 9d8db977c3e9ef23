/*
 * Points in time as an index has them: nanoseconds since 1970, which 64 bits hold from 1677 to
 * 2262. Pure functions.
 */
#ifndef SB_CORE_TIME_H
#define SB_CORE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SB_SECOND INT64_C(1000000000)

/* The nearest value; false where it is not exact. */
static inline bool sb_time_join(struct timespec time, int64_t *ns)
{
    if (!__builtin_mul_overflow(time.tv_sec, SB_SECOND, ns) &&
        !__builtin_add_overflow(*ns, time.tv_nsec, ns))
        return true;
    *ns = time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return false;
}

/* The same for callers that need not know whether it is exact. */
static inline int64_t sb_time_ns(struct timespec time)
{
    int64_t ns;

    sb_time_join(time, &ns);
    return ns;
}

/* Whole seconds, rounded down, and the nanoseconds after them. */
static inline struct timespec sb_time_split(int64_t ns)
{
    bool down = ns % SB_SECOND < 0;

    return (struct timespec){.tv_sec = ns / SB_SECOND - down,
                             .tv_nsec = ns % SB_SECOND + down * SB_SECOND};
}

/* Of a monotonic clock. */
static inline int64_t sb_clock_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return sb_time_ns(now);
}

#endif
