/*
 * A keyed hash of bytes, 64 bits, for tables in memory.
 *
 * Whoever does not know the key, which is drawn at random, cannot make bytes that collide; it is no
 * cryptographic hash all the same, and its values mean nothing to another process. Multiplications
 * of 64 by 64 bits whose halves are folded together, as wyhash has them. Thread-safe.
 */
#ifndef SB_CORE_HASH64_H
#define SB_CORE_HASH64_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sb_hash_key {
    uint64_t words[4];
};

enum sb_code sb_hash_key_draw(struct sb_hash_key *key, struct sb_error *err) SB_CHECKED;

uint64_t sb_hash64(const struct sb_hash_key *key, const void *data, size_t size);

#endif
