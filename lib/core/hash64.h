/*
 * A keyed hash of bytes, 64 bits, for tables in memory.
 *
 * The key is drawn at random: input that does not know it cannot be made to collide. It is still no
 * cryptographic hash, and its values mean nothing to another process. It folds together the halves
 * of 64 by 64 bit multiplications, as wyhash does. Thread-safe.
 */
#ifndef SB_CORE_HASH64_H
#define SB_CORE_HASH64_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sb_hash_key {
    uint64_t words[4];
};

enum sb_code sb_hash_key_draw(struct sb_hash_key *key) SB_CHECKED;

uint64_t sb_hash64(const struct sb_hash_key *key, const void *data, size_t size);

#endif
