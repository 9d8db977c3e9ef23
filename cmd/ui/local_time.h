/*
 * Local time, fast for many times in turn, and dates as people write them.
 */
#ifndef SB_CMD_UI_LOCAL_TIME_H
#define SB_CMD_UI_LOCAL_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct local_time {
    int64_t year;
    int month; /* 1 to 12 */
    int day;
    int hour, minute, second;
    int weekday; /* 0: Sunday */
    int offset;  /* seconds east of UTC */
};

/* Main thread only. */
void local_time(int64_t seconds, struct local_time *out);

extern const char month_names[12][4];
extern const char weekday_names[7][4];

/*
 * "2026-11-21", "2026-11-21 08:30", "2026-11-21T08:30:15.5", followed by "Z" or "+01:00" or else
 * local; "@SECONDS" since 1970. False for anything else.
 */
bool parse_date(const char *text, int64_t *nanoseconds);

#endif
