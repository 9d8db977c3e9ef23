/*
 * Maps a clean name of the input (from a disk: normalized; from a container: as by store/naming.h)
 * to the stored name: converts the character set, strips leading components, adds a prefix; and
 * checks that it can be stored.
 */
#ifndef SB_TASK_FETCH_STORED_NAMES_H
#define SB_TASK_FETCH_STORED_NAMES_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_stored_names;

/*
 * prefix and charset as in struct sb_pack_source_options. SB_INVALID for invalid ones. any_bytes:
 * the names are for a container that accepts any bytes, not for an archive's index.
 */
enum sb_code sb_stored_names_new(struct sb_stored_names **out, const char *prefix, unsigned strip,
                                 const char *charset, bool any_bytes,
                                 const struct sb_notify *notify) SB_CHECKED;
void sb_stored_names_free(struct sb_stored_names *names);
FREEP(sb_stored_names_free, struct sb_stored_names)

/*
 * The stored name, in a buffer that lives until the next call. SB_END: the name is not stored,
 * because nothing is left of it, or because it cannot be stored, which was reported to notify.
 * Warns once of names that Barecat cannot list.
 */
enum sb_code sb_stored_names_map(struct sb_stored_names *names, const char *name, size_t size,
                                 const char *disk_path, const struct sb_buf **out) SB_CHECKED;

#endif
