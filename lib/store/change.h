/*
 * How a member differs from what its target had under its name: what a sink that brings a target up
 * to date reports of each change.
 */
#ifndef SB_STORE_CHANGE_H
#define SB_STORE_CHANGE_H

#include "archive/entry.h"
#include "core/error.h"

#include <stdint.h>

/* Bits. Those of values are set only if both sides know the value, or the target lacks it. */
enum {
    SB_CHANGE_NEW = 1 << 0,   /* nothing had its name */
    SB_CHANGE_BYTES = 1 << 1, /* its bytes are written, or the target of a link */
    SB_CHANGE_TYPE = 1 << 2,  /* another type had its name */
    SB_CHANGE_SIZE = 1 << 3,
    SB_CHANGE_TIME = 1 << 4,
    SB_CHANGE_MODE = 1 << 5,
    SB_CHANGE_UID = 1 << 6,
    SB_CHANGE_GID = 1 << 7,
    SB_CHANGE_REMOVED = 1 << 8, /* the source does not have it: it is removed */
    SB_CHANGE_VALUES =
        SB_CHANGE_SIZE | SB_CHANGE_TIME | SB_CHANGE_MODE | SB_CHANGE_UID | SB_CHANGE_GID
};

/* Of SB_CHANGE_TYPE and SB_CHANGE_VALUES; sizes below 0 are not known. */
unsigned sb_change_between(const struct sb_entry *entry, const struct sb_entry *old);

/* Optional for the owner of a sink; called on the calling thread, when a change is certain. */
struct sb_change_report {
    void (*call)(void *context, const struct sb_entry *entry, unsigned change); /* or NULL */
    void *context;
};

/* SB_LIMIT if more than `most` files and directories of a target would be removed; -1: no limit. */
enum sb_code sb_change_check_removals(const char *target, int64_t count, int64_t most) SB_CHECKED;

void sb_change_report(const struct sb_change_report *report, const struct sb_entry *entry,
                      unsigned change);

#endif
