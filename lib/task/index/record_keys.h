/*
 * Keys to look for in a bag, all in memory: each once, however often it is requested.
 *
 * Finding is thread-safe while nothing is added.
 */
#ifndef SB_TASK_INDEX_RECORD_KEYS_H
#define SB_TASK_INDEX_RECORD_KEYS_H

#include "core/buf.h"
#include "core/hash64.h"

#include <stdint.h>

#define SB_RECORD_KEYS_MAX                                                                         \
    ((size_t)64 << 20) /* limit of memory, in bytes: then no more may be added */

/* No key is longer: neither a name of a list (core/list.h) nor an argument is. */
#define SB_RECORD_KEY_MAX ((size_t)262144)

#define SB_NO_KEY UINT32_MAX

struct sb_record_key {
    size_t text; /* offset in `text` */
    size_t size;
    uint64_t hash;
    uint32_t next;         /* of the same bucket; or SB_NO_KEY */
    struct sb_buf numbers; /* int64_t each: its records */
};

struct sb_record_keys {
    struct sb_hash_key seed;
    struct sb_buf text;
    struct sb_record_key *keys;
    uint32_t count, capacity;
    struct sb_buf requested; /* uint32_t each: the key of each request, in order */
    uint32_t *buckets;
    uint32_t bucket_count; /* a power of two */
    size_t longest;
    unsigned char sizes[SB_RECORD_KEY_MAX / 8 + 1]; /* a bit for each size that occurs */
};

enum sb_code sb_record_keys_new(struct sb_record_keys **out) SB_CHECKED;
void sb_record_keys_free(struct sb_record_keys *keys); /* NULL is allowed */
FREEP(sb_record_keys_free, struct sb_record_keys)

enum sb_code sb_record_keys_add(struct sb_record_keys *keys, const void *key,
                                size_t size) SB_CHECKED;
bool sb_record_keys_full(const struct sb_record_keys *keys);

/* The number of requests, and the key of each. */
size_t sb_record_keys_count(const struct sb_record_keys *keys);
struct sb_record_key *sb_record_keys_get(const struct sb_record_keys *keys, size_t requested);

/* Is there a key of this size? */
bool sb_record_keys_has_size(const struct sb_record_keys *keys, int64_t size);

/* The number of the key with these bytes, or SB_NO_KEY. */
uint32_t sb_record_keys_find(const struct sb_record_keys *keys, const void *data, size_t size);

#endif
