/*
 * Reads the bytes of a catalog's rows (archive/shards.h). Only for catalog.c.
 *
 * Members that lie in the container's file are read from there. Each other member gets an extent of
 * the shard SB_SHARD_APART: a temporary table maps it to a member of the loaders, or to kept bytes.
 * One thread fills it; after that any thread may read.
 */
#ifndef SB_STORE_CATALOG_BYTES_H
#define SB_STORE_CATALOG_BYTES_H

#include "archive/shards.h"
#include "store/source.h"

struct sb_catalog_bytes;
struct sb_input;

/* The source becomes its own, also on failure; the input must stay open as long. */
enum sb_code sb_catalog_bytes_new(struct sb_catalog_bytes **out, struct sb_input *input,
                                  struct sb_source *source) SB_CHECKED;
void sb_catalog_bytes_free(struct sb_catalog_bytes *bytes); /* NULL is allowed */

/*
 * Reserves entry.size bytes of SB_SHARD_APART, at *at, for the member. kept: the bytes themselves;
 * NULL: the loaders read them (if the source has none, they cannot be read).
 */
enum sb_code sb_catalog_bytes_add(struct sb_catalog_bytes *bytes, const struct sb_member *member,
                                  const void *kept, int64_t *at) SB_CHECKED;

/* For sb_archive_adopt, which frees all of it. */
struct sb_bytes *sb_catalog_bytes_finish(struct sb_catalog_bytes *bytes);

#endif
