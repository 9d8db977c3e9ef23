/*
 * Where the keys of a cache count, as a table in memory: for keys that come one by one.
 *
 * It takes 18 to 36 bytes for each key, hashes and places: at most 48 MiB, of SB_KEY_TABLE_ROWS.
 * Whatever is found is held against the segment. Belongs to the thread that has the cache.
 */
#ifndef SB_STORE_CACHE_KEY_TABLE_H
#define SB_STORE_CACHE_KEY_TABLE_H

#include "store/cache/cache.h"

#define SB_KEY_TABLE_ROWS 2750000

struct sb_key_table;

/* Goes through all keys. SB_LIMIT: there are more rows than that. */
enum sb_code sb_key_table_new(struct sb_key_table **out, struct sb_cache *cache) SB_CHECKED;
void sb_key_table_free(struct sb_key_table *table); /* NULL is allowed; before its cache */
FREEP(sb_key_table_free, struct sb_key_table)

/* As sb_cache_find; false: a row can no longer be read, and what the table says is of no more use.
 */
bool sb_key_table_find(struct sb_key_table *table, const struct sb_row_key *keys, size_t count,
                       struct sb_cache_place *places);

#endif
