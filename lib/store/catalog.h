/*
 * Any container seen as an archive: a temporary index over it, so that everything that reads an
 * archive reads a tar or a zip as well.
 *
 * Members that are located are read from where they lie, others that can be loaded (of a zip) by
 * the source's loaders. Of a container that can only be read in sequence (a pipe, a compressed tar)
 * there are names, metadata, targets of links and, when asked for, checksums; reading other bytes
 * is SB_INVALID. archive/bytes.h says what shards and offsets mean.
 *
 * Of members with the same name the last one counts; a name that is a directory as well as a file
 * is a directory, and the file is left out: SB_PROBLEM ("conflict"). A hard link has the bytes of
 * what its name meant when it came; one to nothing is left out: SB_PROBLEM ("link"). What no
 * archive can hold (special files) is left out: SB_WARNING ("special"). Names as in naming.h.
 */
#ifndef SB_STORE_CATALOG_H
#define SB_STORE_CATALOG_H

#include "archive/archive.h"
#include "store/source.h"

struct sb_input;

struct sb_catalog_options {
    bool checksums; /* of what can only be read in sequence, compute CRC32C on the way */
    const struct sb_notify *notify;

    /* Optional: only members that this takes (stored names) are held; of others nothing is told. */
    bool (*wanted)(void *context, const char *name, size_t size);
    bool metadata; /* with it: modes, owners and times too, which a faster walk does without */

    /* Optional: as the walk goes on, bytes of the input, of how many (0: not known), and members.
     */
    void (*progress)(void *context, int64_t done, int64_t total, int64_t members);
    void *context;
};

struct sb_catalog_result {
    /*
     * With `wanted`: a member is a hard link to one that was not wanted. It is left out, untold;
     * open the container again, for all members.
     */
    bool links_left;

    /* There are bytes that can only be read in sequence, and so not through the archive. */
    bool in_sequence;

    /* SB_OK, or what ended the walk after some members: the catalog holds what came before. */
    struct sb_error damage;
};

/*
 * Takes the source, also when it fails; the input stays as long. The archive has no path but the
 * input's name. For sb_store_catalog alone.
 */
enum sb_code sb_catalog_open(struct sb_archive **out, struct sb_input *input,
                             struct sb_source *source, const struct sb_catalog_options *options,
                             struct sb_catalog_result *result, struct sb_error *err) SB_CHECKED;

#endif
