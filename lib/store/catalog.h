/*
 * Any container seen as an archive: a temporary index over it, so that everything that reads an
 * archive reads a tar or a zip as well.
 *
 * Members that are located are read from where they lie, those of a zip are inflated on the way. Of
 * a container that can only be read in sequence (a pipe, a compressed tar) there are names,
 * metadata, targets of links and, when asked for, checksums; reading other bytes is SB_INVALID.
 * Of members with the same name the last one counts, and what no archive can hold (special files)
 * is left out: told as SB_WARNING ("special"), names that cannot be stored as SB_PROBLEM ("name").
 * A hard link has the bytes of what it links to.
 */
#ifndef SB_STORE_CATALOG_H
#define SB_STORE_CATALOG_H

#include "archive/archive.h"
#include "store/container.h"

struct sb_catalog_options {
    bool checksums; /* of what can only be read in sequence, compute CRC32C on the way */
    const struct sb_notify *notify;

    /* Optional: only members that this takes (normalized names) are held. */
    bool (*wanted)(void *context, const char *name, size_t size);
    void *context;
};

/*
 * The archive has no path but the input's name; it keeps the source, and frees it at the end.
 */
enum sb_code sb_catalog_open(struct sb_archive **out, struct sb_source *source,
                             const struct sb_catalog_options *options,
                             struct sb_error *err) SB_CHECKED;

#endif
