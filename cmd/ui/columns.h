/*
 * Names in columns, top to bottom, as GNU ls lays them out on a terminal.
 *
 * Names are kept until columns_end, or until so many wait that nobody reads them in columns: then
 * those are written, and the next ones begin a block of their own.
 */
#ifndef SB_CMD_UI_COLUMNS_H
#define SB_CMD_UI_COLUMNS_H

#include <stddef.h>

/*
 * Adds a name as it is to be written; `before` and `after` are sequences that take no room.
 */
void columns_add(const char *text, size_t size, const char *before, const char *after);

/* Writes what waits. */
void columns_end(void);

#endif
