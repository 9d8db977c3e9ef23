/*
 * What others may want of a zip source (container.h) besides its members.
 *
 * sb_source_next reads the central directory alone, and so does not know where the bytes of a
 * member begin: that is said by a header beside them. Of a member, its loaders and sb_zip_locate
 * look at entry.size and place[] only (and at entry.path for messages): whoever keeps these may
 * have a member's bytes at any later time.
 */
#ifndef SB_STORE_SOURCE_ZIP_H
#define SB_STORE_SOURCE_ZIP_H

#include "store/source.h"

/* Does the member's data lie in the file as it is? */
bool sb_zip_is_stored(const struct sb_member *member);

/*
 * Where in the file the bytes of a stored member lie. SB_INVALID when they are compressed; the text
 * says how. SB_DAMAGED. Thread-safe.
 */
enum sb_code sb_zip_locate(const struct sb_source *source, const struct sb_member *member,
                           int64_t *at, struct sb_error *err) SB_CHECKED;

/* The file that offsets are of: the input's, or the temporary one that a pipe was written to. */
int sb_zip_descriptor(const struct sb_source *source);

/*
 * From now on sb_source_next locates stored members (`located` and `at`), at the price of a read
 * for each; those that cannot be located are told as SB_PROBLEM ("damaged") and left out.
 */
void sb_zip_locate_all(struct sb_source *source);

#endif
