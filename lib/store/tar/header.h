/*
 * What comes before and after the bytes of a member in a tar file.
 *
 * One ustar block wherever it can say everything; else a pax extended header before it, with
 * records only for what does not fit. The format: POSIX.1-2017, pax, "ustar Interchange Format" and
 * "pax Extended Header"; of --format=gnu, "Basic Tar Format" in the manual of GNU tar. Names are
 * raw bytes; in a pax record, those that are not UTF-8 come with hdrcharset=BINARY. The same member
 * gives the same bytes. Thread-safe.
 */
#ifndef SB_STORE_TAR_HEADER_H
#define SB_STORE_TAR_HEADER_H

#include "core/buf.h"
#include "store/container.h"
#include "store/member.h"

#define SB_TAR_BLOCK  512
#define SB_TAR_RECORD 10240 /* the length of the whole is a multiple of it */

/* Bytes that follow its header: none but those of a file that is no hard link. */
int64_t sb_tar_body(const struct sb_member *member);

/* Zeros that fill the last block up. */
size_t sb_tar_padding(int64_t body);

/*
 * Adds the header to out. target: of a SB_LINK, with target_size bytes; else NULL. What is not
 * known of a member (mode, owner, time) becomes what most files have, root and 1970. The context
 * says which format it is. SB_INVALID, with a text that does not name it: that cannot hold this
 * member.
 */
enum sb_code sb_tar_add_header(struct sb_buf *out, const struct sb_member *member,
                               const char *target, size_t target_size) SB_CHECKED;

/*
 * The same for a file with holes, in GNU tar's pax form 1.0: `stored` bytes follow, and begin with
 * its map (sparse.h).
 */
enum sb_code sb_tar_add_sparse_header(struct sb_buf *out, const struct sb_member *member,
                                      int64_t stored) SB_CHECKED;

#endif
