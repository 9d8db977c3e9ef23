/*
 * What others may want of a zip source (container.h) besides its members.
 *
 * sb_source_next reads the central directory alone, and so does not know where the bytes of a
 * member begin: that is said by a header beside them. Of a member, its loaders look at entry.size
 * and place[] only (and at entry.path for messages): whoever keeps these may have a member's bytes
 * at any later time.
 */
#ifndef SB_STORE_SOURCE_ZIP_H
#define SB_STORE_SOURCE_ZIP_H

#include "store/source.h"

/*
 * From now on sb_source_next locates stored members (`located` and `at`), at the price of a read
 * for each; those that cannot be located are told as SB_PROBLEM ("damaged") and left out.
 */
void sb_zip_locate_all(struct sb_source *source);

#endif
