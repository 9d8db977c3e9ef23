/*
 * An index that was lost, and made again as it was when it was protected: its shards may have files
 * that it does not know.
 *
 * While config has the row shardbox_remade (value_int: the time of its state, in
 * seconds since 1970),
 * nothing is removed or moved in the archive. Belongs to the thread of the connection.
 */
#ifndef SB_ARCHIVE_OWN_REMADE_H
#define SB_ARCHIVE_OWN_REMADE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* Writes the row into an index that nobody else knows yet. */
enum sb_code sb_remade_record(const char *index, int64_t time) SB_CHECKED;

/* *time: 0 without the row. */
enum sb_code sb_remade_read(struct sqlite3 *db, int64_t *time) SB_CHECKED;

/* For what removes or moves files: SB_INVALID, and what to do, if there is the row. */
enum sb_code sb_remade_refuse(struct sqlite3 *db, const char *path) SB_CHECKED;

#endif
