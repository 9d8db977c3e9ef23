/*
 * Names of files in a torchcachex cache: DIR/segments/segment_NUMBER.arrow, DIR/index.pkl and
 * DIR/schema.json, and what of them was never finished. Pure functions, thread-safe.
 */
#ifndef SB_STORE_CACHE_NAMES_H
#define SB_STORE_CACHE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* segment_000012.arrow: any number of digits that fit an int64_t. False: it is no segment. */
bool sb_cache_segment_number(const char *name, int64_t *number);

/*
 * What a writer leaves that was killed: the name of a segment, of index.pkl or schema.json with
 * ".tmp" after it, as torchcachex has it, or ".shardbox.tmp", as cache/writer.h has it; or the
 * temporary name of one of the latter two (out/temporary.h), or one that earlier versions made.
 */
bool sb_cache_is_leftover(const char *name);

#endif
