/*
 * Sizes and durations in human form: parsed and formatted.
 *
 * "10G", "10GiB" and "10g" are 10 * 2^30; "10GB" is 10 * 10^9; "1.5M" is allowed; a number alone is
 * bytes. Letters K M G T P E in either case, "B" alone for bytes. Pure functions, thread-safe.
 */
#ifndef SB_CORE_NUMBER_H
#define SB_CORE_NUMBER_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes 0 to 2^63-1; false for anything else, and then *out is 0. */
bool sb_parse_size(const char *text, int64_t *out);

/* A decimal integer within [low, high] with nothing before or after it. */
bool sb_parse_integer(const char *text, int64_t low, int64_t high, int64_t *out);

/*
 * A duration in seconds: "90", "90s", "30m", "2h", "7d", "1w", and several in a row ("1d12h").
 * Above 0 and at most 2^53; false for anything else, and then *out is 0.
 */
#define SB_DURATION_MOST (INT64_C(1) << 53)
bool sb_parse_duration(const char *text, int64_t *out);

/* Adds a number that an input claims (0 or more) to a sum, which stops at INT64_MAX. */
static inline void sb_count_up(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

/* As `ls -h` and `du -h` write it: "0", "999", "1.0K", "9.9K", "10K", rounded up. */
#define SB_HUMAN_SIZE 16
void sb_format_human(int64_t size, char out[SB_HUMAN_SIZE]);

#endif
