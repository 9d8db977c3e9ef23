/*
 * The bytes behind a catalog's rows (archive/bytes.h). Not for others than catalog.c.
 *
 * Members that lie in the container's file are read from there. Others have a place of their own
 * below SB_SHARD_APART: a temporary table says which loader's member, or which kept bytes, are
 * there. Filled by one thread; read by any afterwards.
 */
#ifndef SB_STORE_CATALOG_BYTES_H
#define SB_STORE_CATALOG_BYTES_H

#include "archive/bytes.h"
#include "store/source.h"

struct sb_catalog_bytes;
struct sb_input;

/* Takes the source, also when it fails; the input stays as long. */
enum sb_code sb_catalog_bytes_new(struct sb_catalog_bytes **out, struct sb_input *input,
                                  struct sb_source *source, struct sb_error *err) SB_CHECKED;
void sb_catalog_bytes_free(struct sb_catalog_bytes *bytes); /* NULL is allowed */

/*
 * Gives the member entry.size bytes of SB_SHARD_APART at *at. kept: they are these, or NULL: its
 * loader has them, or nobody where the source has no loaders.
 */
enum sb_code sb_catalog_bytes_add(struct sb_catalog_bytes *bytes, const struct sb_member *member,
                                  const void *kept, int64_t *at, struct sb_error *err) SB_CHECKED;

/* What sb_archive_adopt takes, which frees all of it. */
struct sb_bytes *sb_catalog_bytes_finish(struct sb_catalog_bytes *bytes);

#endif
