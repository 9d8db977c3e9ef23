/*
 * The file names of an archive's shards, by the latest known config: shared by an archive, its
 * twins (reader.h) and its struct sb_shards, since it may change while they are in use.
 * Thread-safe. Only for lib/archive.
 */
#ifndef SB_ARCHIVE_PLACES_H
#define SB_ARCHIVE_PLACES_H

#include "core/error.h"

#include <stdint.h>

/* The rows of config that decide them. */
struct sb_placing {
    const char *suffix; /* shardbox_shard_prefix: as sb_pending_suffix; NULL without the row */
};

struct sb_places;

enum sb_code sb_places_new(struct sb_places **out) SB_CHECKED;
struct sb_places *sb_places_ref(struct sb_places *places);
void sb_places_unref(struct sb_places *places); /* NULL is allowed */

/* What the index says at this generation; ignored if a later generation is known already. */
void sb_places_set(struct sb_places *places, uint32_t generation, const struct sb_placing *placing);

/* Changes whenever *placing may have changed. */
uint32_t sb_places_generation(const struct sb_places *places);
uint32_t sb_places_get(struct sb_places *places, struct sb_placing *placing);

#endif
