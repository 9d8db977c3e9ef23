/*
 * How ls writes entries: names alone, in columns, with all that is known of them, or as JSON.
 *
 * A block is a set of aligned lines: begin, add for each entry in order, end. Columns of a long
 * listing are as wide as its first thousands of entries need; if later ones need more, they grow.
 * Main thread only.
 */
#ifndef SB_CMD_UI_LISTING_H
#define SB_CMD_UI_LISTING_H

#include "archive/entry.h"

#include <stdbool.h>

struct sb_content;

enum listing_form { LISTING_LINES, LISTING_COLUMNS, LISTING_LONG, LISTING_JSON };

/* What is appended to names: '/' to those of directories; also '@' to those of links, and '*' to
 * those of files that may be executed. */
enum listing_marks { LISTING_NO_MARKS, LISTING_SLASHES, LISTING_CLASSES };

struct listing_style {
    enum listing_form form;
    enum listing_marks marks;
    int json; /* in LISTING_JSON: enum json_form */
    bool human;
    bool numeric;               /* in LISTING_LONG: owners by number */
    bool nul;                   /* not in columns: names are raw, and lines end in NUL */
    bool full_time;             /* in LISTING_LONG: nanoseconds and the zone */
    struct sb_content *content; /* for targets of links; NULL: not shown */
};

/* The style stays in use until listing_end. */
void listing_begin(const struct listing_style *style);

/* Shows the path without its first `skip` bytes (JSON: whole). Copies the entry. */
void listing_add(const struct sb_entry *entry, size_t skip);

void listing_end(void);

#endif
