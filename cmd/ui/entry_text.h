/*
 * Modes and owners as ls writes them.
 */
#ifndef SB_CMD_UI_ENTRY_TEXT_H
#define SB_CMD_UI_ENTRY_TEXT_H

#include "archive/entry.h"

#include <stdint.h>

#define MODE_TEXT_SIZE 11

/* "drwxr-xr-x"; "?" for each bit that is not known. */
void mode_text(const struct sb_entry *entry, char out[MODE_TEXT_SIZE]);

/* 'f', 'd' or 'l'. */
char type_letter(const struct sb_entry *entry);

/* The name, or the number where there is none; looked up once. Main thread only; lives until the
 * next call. */
const char *user_name(int64_t uid);
const char *group_name(int64_t gid);

#endif
