/*
 * SQLite's rtrim() and replace(), fast for the set of bytes in a path.
 *
 * The schema computes `parent` with them at every insert and again for the parent's index, and the
 * built-in ones take more than half of the time of a bulk load. These return the same results for
 * every input, including broken UTF-8; a unit test compares them with the built-in ones.
 */
#ifndef SB_ARCHIVE_PARENT_H
#define SB_ARCHIVE_PARENT_H

#include "core/error.h"

struct sqlite3;

/* Registers them on this connection, for its lifetime. */
enum sb_code sb_register_parent_functions(struct sqlite3 *db) SB_CHECKED;

#endif
