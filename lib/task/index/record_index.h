/*
 * From a record's bytes to its numbers: the Index and MultiIndex of Bagz.
 *
 * If all keys are known beforehand, the bag is read once, on threads, and only the keys are kept;
 * for keys that come one by one a table of at most 24 bytes per record is made first. Hashes only
 * narrow the search: bytes are compared.
 */
#ifndef SB_TASK_INDEX_RECORD_INDEX_H
#define SB_TASK_INDEX_RECORD_INDEX_H

#include "store/bag/bag.h"
#include "task/fetch/fetch.h"

struct sb_record_index_options {
    bool all; /* every number of a key, ascending; else the first */
    unsigned threads;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t records);
    void *context;
};

/* One answer, in the order of the keys: the numbers; none if the key is missing. */
typedef enum sb_code sb_record_found(void *context, const void *key, size_t key_size,
                                     const int64_t *records, size_t count);

/* keys: as for sb_fetch. Records that cannot be read are reported as SB_PROBLEM ("damaged"). */
enum sb_code sb_record_index_find(struct sb_bag *keys_bag,
                                  const struct sb_record_index_options *options,
                                  const struct sb_fetch_names *keys, sb_record_found *found,
                                  void *context, const struct sb_notify *notify) SB_CHECKED;

#endif
