/*
 * What arrays need again and again.
 */
#ifndef SB_CORE_ARRAY_H
#define SB_CORE_ARRAY_H

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* As comparison functions return it: below, at or above 0. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/*
 * Binary search: the first i below count for which the condition is true, or count. It must be true
 * for all that follow. FIRST_WHERE(i, count, starts[i] > place).
 */
#define FIRST_WHERE(i, count, condition)                                                           \
    ({                                                                                             \
        size_t low_ = 0, high_ = (count);                                                          \
        while (low_ < high_) {                                                                     \
            size_t i = low_ + (high_ - low_) / 2;                                                  \
            if (condition)                                                                         \
                high_ = i;                                                                         \
            else                                                                                   \
                low_ = i + 1;                                                                      \
        }                                                                                          \
        low_;                                                                                      \
    })

#endif
