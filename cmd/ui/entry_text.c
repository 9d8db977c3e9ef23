#include "ui/entry_text.h"

#include "core/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define OWNER_SLOTS      64 /* direct-mapped: an archive has few owners */
#define TIME_SLOTS       1024
#define BUCKET           900 /* seconds: zones change their offset at quarters of an hour */
#define SECONDS_OF_DAY   86400
#define DAYS_OF_ERA      146097 /* 400 years */
#define DAYS_BEFORE_1970 719468 /* since 0000-03-01 */

char type_letter(const struct sb_entry *entry)
{
    return "fdl"[entry->type];
}

/* The x of a triple, which a set-id or sticky bit may replace. */
static char execute_letter(uint32_t mode, uint32_t execute, uint32_t special, char letter)
{
    if (!(mode & special))
        return mode & execute ? 'x' : '-';
    return mode & execute ? letter : (char)(letter - 'a' + 'A');
}

void mode_text(const struct sb_entry *entry, char out[MODE_TEXT_SIZE])
{
    static const char letters[] = "rwxrwxrwx";
    uint32_t mode = entry->mode;
    int i;

    out[0] = "-dl"[entry->type];
    out[MODE_TEXT_SIZE - 1] = '\0';
    if (!(entry->has & SB_HAS_MODE)) {
        memset(out + 1, '?', 9);
        return;
    }
    for (i = 0; i < 9; i++)
        out[1 + i] = mode & (0400U >> i) ? letters[i] : '-';
    out[3] = execute_letter(mode, S_IXUSR, S_ISUID, 's');
    out[6] = execute_letter(mode, S_IXGRP, S_ISGID, 's');
    out[9] = execute_letter(mode, S_IXOTH, S_ISVTX, 't');
}

struct slot {
    int64_t id;
    bool used;
    char name[40];
};

const char *owner_name(enum sb_owner which, int64_t id)
{
    static struct slot slots[2][OWNER_SLOTS];
    struct slot *slot = &slots[which][id % OWNER_SLOTS];

    if (slot->used && slot->id == id)
        return slot->name;
    if (!sb_account_name(which, id, slot->name, sizeof(slot->name)))
        snprintf(slot->name, sizeof(slot->name), "%" PRId64, id);
    slot->used = true;
    slot->id = id;
    return slot->name;
}

const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
const char weekday_names[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Calls libc once for each quarter of an hour that occurs. */
static int zone_offset(int64_t seconds)
{
    static struct {
        int64_t bucket;
        int offset;
        bool used;
    } slots[TIME_SLOTS];
    int64_t bucket = divide_down(seconds, BUCKET);
    size_t place = (size_t)bucket % TIME_SLOTS;
    time_t time = (time_t)seconds;
    struct tm tm;

    if (slots[place].used && slots[place].bucket == bucket)
        return slots[place].offset;
    slots[place].offset = localtime_r(&time, &tm) ? (int)tm.tm_gmtoff : 0;
    slots[place].bucket = bucket;
    slots[place].used = true;
    return slots[place].offset;
}

/* Gregorian date of a day counted from 1970, by years that begin in March. */
static void set_date(int64_t days, struct local_time *out)
{
    int64_t since = days + DAYS_BEFORE_1970;
    int64_t era = divide_down(since, DAYS_OF_ERA);
    int day_of_era = (int)(since - era * DAYS_OF_ERA);
    int year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day = day_of_era - (365 * year + year / 4 - year / 100);
    int month = (5 * day + 2) / 153;

    out->day = day - (153 * month + 2) / 5 + 1;
    out->month = month < 10 ? month + 3 : month - 9;
    out->year = era * 400 + year + (out->month <= 2);
}

void local_time(int64_t seconds, struct local_time *out)
{
    int64_t shifted, days;
    int rest;

    out->offset = zone_offset(seconds);
    shifted = seconds + out->offset;
    days = divide_down(shifted, SECONDS_OF_DAY);
    rest = (int)(shifted - days * SECONDS_OF_DAY);
    set_date(days, out);
    out->hour = rest / 3600;
    out->minute = rest / 60 % 60;
    out->second = rest % 60;
    out->weekday = (int)(((days + 4) % 7 + 7) % 7);
}

/* The digits after the decimal point, as nanoseconds. */
static const char *parse_fraction(const char *text, int64_t *nanoseconds)
{
    int64_t unit = SB_SECOND / 10;

    if (*text != '.')
        return text;
    for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
        *nanoseconds += unit * (*text - '0');
    return text;
}

static bool parse_seconds(const char *text, int64_t *nanoseconds)
{
    int64_t fraction = 0, seconds;
    char *end;

    if ((*text < '0' || *text > '9') && *text != '-')
        return false;
    seconds = strtoll(text, &end, 10);
    if (end == text || *parse_fraction(end, &fraction) != '\0' ||
        __builtin_mul_overflow(seconds, SB_SECOND, nanoseconds))
        return false;
    return !__builtin_add_overflow(*nanoseconds, fraction, nanoseconds);
}

/* What follows date and time: nothing, Z, or an offset. */
static bool parse_zone(const char *text, struct tm *tm, time_t *out)
{
    struct tm zone = {0};
    int sign = *text == '-' ? -1 : 1;
    const char *end;

    if (*text == '\0') {
        tm->tm_isdst = -1;
        *out = mktime(tm);
        return true;
    }
    *out = timegm(tm);
    if (strcmp(text, "Z") == 0)
        return true;
    end = *text == '+' || *text == '-' ? strptime(text + 1, "%H:%M", &zone) : NULL;
    *out -= sign * (zone.tm_hour * 3600 + zone.tm_min * 60);
    return end && *end == '\0';
}

bool parse_date(const char *text, int64_t *nanoseconds)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%d", &tm), *clock_end;
    int64_t fraction = 0;
    time_t seconds;

    if (*text == '@')
        return parse_seconds(text + 1, nanoseconds);
    if (!end)
        return false;
    if (*end == ' ' || *end == 'T') {
        clock_end = strptime(end + 1, "%H:%M:%S", &tm);
        if (clock_end)
            clock_end = parse_fraction(clock_end, &fraction);
        else
            clock_end = strptime(end + 1, "%H:%M", &tm);
        if (!clock_end)
            return false;
        end = clock_end;
    }
    if (!parse_zone(end, &tm, &seconds))
        return false;
    return !__builtin_mul_overflow((int64_t)seconds, SB_SECOND, nanoseconds) &&
           !__builtin_add_overflow(*nanoseconds, fraction, nanoseconds);
}
