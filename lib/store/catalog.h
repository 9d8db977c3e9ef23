/*
 * Any container seen as an archive: a temporary index over it, so that everything that reads an
 * archive can read a tar or a zip as well.
 *
 * Members that are located are read from where they lie; others that have loaders (members of a
 * zip) are read by the loaders. A container that can only be read in sequence (a pipe, a compressed
 * tar) has names, metadata, targets of links and, if requested, checksums; reading other bytes of
 * it is SB_INVALID. archive/shards.h defines shards and offsets.
 *
 * If several members have the same name, the last one counts. If a name belongs to a directory and
 * to a file, the file is left out: SB_PROBLEM ("conflict"). A hard link has the bytes of the last
 * earlier member of the name that it links to; if there is none, the link is left out: SB_PROBLEM
 * ("link"). What no archive can hold (special files) is left out: SB_WARNING ("special"). naming.h
 * says what the names become.
 */
#ifndef SB_STORE_CATALOG_H
#define SB_STORE_CATALOG_H

#include "archive/archive.h"
#include "store/source.h"

struct sb_input;

struct sb_catalog_options {
    bool checksums; /* compute CRC32C of members that can only be read in sequence */
    const struct sb_notify *notify;

    /* Optional: only members for which this returns true are held; others are left out without a
     * report. The name is a stored name. */
    bool (*wanted)(void *context, const char *name, size_t size);
    bool metadata; /* only with `wanted`: read modes, owners and times too, which the faster walk
                      leaves out */

    /* Optional, called for each member with properties (bits of SB_KEEPS_) that rows cannot hold.
     */
    void (*lost)(void *context, const char *name, unsigned properties);

    /* Optional, called during the walk: bytes read of the input, its size (0: not known), and
     * members. */
    void (*progress)(void *context, int64_t done, int64_t total, int64_t members);
    void *context;
};

struct sb_catalog_result {
    /*
     * Only with `wanted`: a hard link leads to a member that was not wanted. The link is left out
     * without a report; to have it, open the container again without `wanted`.
     */
    bool links_left;

    /* Some bytes can only be read in sequence, so not through the archive. */
    bool in_sequence;

    /* SB_OK, or the error that ended the walk early: the catalog holds the members before it. */
    struct sb_error damage;
};

/*
 * For sb_store_catalog only. The source becomes the catalog's, also on failure; the input must stay
 * open as long as the archive. The archive has no path, only the input's name.
 */
enum sb_code sb_catalog_open(struct sb_archive **out, struct sb_input *input,
                             struct sb_source *source, const struct sb_catalog_options *options,
                             struct sb_catalog_result *result) SB_CHECKED;

#endif
