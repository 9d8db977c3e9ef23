/*
 * Rows of an index's table config: a key with a text, a number, or both.
 *
 * These are all keys that shardbox writes; shardbox-archive(5) defines each. Only the first four
 * are Barecat's too. The database must have the table, as all have from schema 0.1 on. Belongs to
 * the thread of the connection.
 */
#ifndef SB_ARCHIVE_CONFIG_H
#define SB_ARCHIVE_CONFIG_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

#define SB_CONFIG_TRIGGERS     "use_triggers"
#define SB_CONFIG_SHARD_SIZE   "shard_size_limit" /* bytes; INT64_MAX: no limit */
#define SB_CONFIG_SCHEMA_MAJOR "schema_version_major"
#define SB_CONFIG_SCHEMA_MINOR "schema_version_minor"

#define SB_CONFIG_SHARD_PREFIX "shardbox_shard_prefix" /* shards to be renamed: own/state.h */
#define SB_CONFIG_SHARD_COUNT                                                                      \
    "shardbox_shard_count" /* shards that are the archive's own: own/state.h */
#define SB_CONFIG_RENUMBER      "shardbox_renumber"      /* shards to be renumbered: renumber.h */
#define SB_CONFIG_REMADE        "shardbox_remade"        /* when an index was lost: own/state.h */
#define SB_CONFIG_CHECKSUMS_DUE "shardbox_checksums_due" /* 1 until upgrade has computed them */

/* Prefixes of the keys of several rows. */
#define SB_CONFIG_PROGRESS "shardbox_progress_" /* progress of a run: own/part.h */
#define SB_CONFIG_SOURCE   "shardbox_source_"   /* what a shard is linked to: linked.h */
#define SB_CONFIG_USER     "shardbox_user_"     /* name of an owner: owner_names.h */
#define SB_CONFIG_GROUP    "shardbox_group_"

/* {0}: no row. */
struct sb_config_row {
    bool there;
    bool is_number; /* value_int is an integer */
    int64_t number; /* else 0, or SQLite's conversion of the value */
    char *text;     /* value_text; NULL if that is NULL */
};

void sb_config_release(struct sb_config_row *row);

/* SB_OK also without a row. The caller releases *row, also after an error. */
enum sb_code sb_config_get(struct sqlite3 *db, const char *key,
                           struct sb_config_row *row) SB_CHECKED;

/* Only the number; `absent` without the row, or if it has no number. */
enum sb_code sb_config_number(struct sqlite3 *db, const char *key, int64_t absent,
                              int64_t *out) SB_CHECKED;

/* *right: the row has a number, from lowest to highest. */
enum sb_code sb_config_check(struct sqlite3 *db, const char *key, int64_t lowest, int64_t highest,
                             bool *there, bool *right) SB_CHECKED;

/* Makes the row or replaces it, within the caller's transaction; text and number may be NULL. */
enum sb_code sb_config_put(struct sqlite3 *db, const char *key, const char *text,
                           const int64_t *number) SB_CHECKED;

/* SB_OK also without a row. Within the caller's transaction. */
enum sb_code sb_config_drop(struct sqlite3 *db, const char *key) SB_CHECKED;

#endif
