/*
 * Colours of names, by LS_COLORS as GNU ls reads it.
 */
#ifndef SB_CMD_UI_COLOUR_H
#define SB_CMD_UI_COLOUR_H

#include "archive/entry.h"

#include <stdbool.h>

enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* Choices of --color, in the order of enum colour_when. */
extern const char *const colour_choices[];

/*
 * Call once, before the others. "auto" colours on a terminal, unless NO_COLOR is set to something.
 */
void colour_begin(enum colour_when when);

bool colour_is_on(void);

/* The sequence to write before a name, "" for none; colour_end() of it goes after the name. */
const char *colour_of(const struct sb_entry *entry);
const char *colour_end(const char *begun);

#endif
