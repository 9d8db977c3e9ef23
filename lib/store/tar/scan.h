/*
 * A few members of an uncompressed tar, found fast: for one name among 200,000 libarchive takes
 * longer than GNU tar does, this a fraction of that.
 *
 * Only what most tars are made of is understood: v7, ustar, pax and GNU headers with names of any
 * length, files, directories and links. Anything else, damage above all, is SB_INVALID: what is the
 * matter is for sb_source_open_tar to say, which has to read the whole then.
 */
#ifndef SB_STORE_TAR_SCAN_H
#define SB_STORE_TAR_SCAN_H

#include "store/kind.h"

/*
 * Members whose stored names `wanted` takes; of files just name, size and place are known. The
 * input is an SB_TAR, a file without a filter, open as long as the source.
 */
enum sb_code sb_source_open_tar_scan(struct sb_source **out, struct sb_input *input,
                                     bool (*wanted)(void *context, const char *name, size_t size),
                                     void *context) SB_CHECKED;

#endif
