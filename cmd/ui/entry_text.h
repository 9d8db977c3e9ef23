/*
 * Modes, owners and times as ls writes them, and dates as people do. Main thread only.
 */
#ifndef SB_CMD_UI_ENTRY_TEXT_H
#define SB_CMD_UI_ENTRY_TEXT_H

#include "archive/entry.h"
#include "archive/owner_names.h"

#include <stdbool.h>
#include <stdint.h>

#define MODE_TEXT_SIZE 11

/* "drwxr-xr-x"; "?" for each bit that is not known. */
void mode_text(const struct sb_entry *entry, char out[MODE_TEXT_SIZE]);

/* 'f', 'd' or 'l'. */
char type_letter(const struct sb_entry *entry);

/* The name, or the number where there is none; looked up once. Lives until the next call. */
const char *owner_name(enum sb_owner which, int64_t id);

struct local_time {
    int64_t year;
    int month; /* 1 to 12 */
    int day;
    int hour, minute, second;
    int weekday; /* 0: Sunday */
    int offset;  /* seconds east of UTC */
};

/* Fast for many times in turn. */
void local_time(int64_t seconds, struct local_time *out);

extern const char month_names[12][4];
extern const char weekday_names[7][4];

/*
 * "2026-11-21", "2026-11-21 08:30", "2026-11-21T08:30:15.5", followed by "Z" or "+01:00" or else
 * local; "@SECONDS" since 1970. False for anything else.
 */
bool parse_date(const char *text, int64_t *nanoseconds);

#endif
