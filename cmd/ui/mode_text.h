/*
 * "drwxr-xr-x", as ls -l writes a mode; "?" for each bit that is not known.
 */
#ifndef SB_CMD_UI_MODE_TEXT_H
#define SB_CMD_UI_MODE_TEXT_H

#include "archive/entry.h"

#define MODE_TEXT_SIZE 11

void mode_text(const struct sb_entry *entry, char out[MODE_TEXT_SIZE]);

/* 'f', 'd' or 'l'. */
char type_letter(const struct sb_entry *entry);

#endif
