/*
 * Tars in a tar, as ImageNet comes: with `nested` of core/context.h they are directories, with
 * their members below.
 *
 * A tar in a tar is a file whose name ends as a tar's does, and whose first bytes are those of a
 * tar or of compressed data; of others no bytes are read. Its directory has its name without the
 * suffix, and its owner and time, and comes first. One pass over the outer tar is enough, and where
 * that lies in a file as it is, so do the members of a tar in it that is not compressed: they are
 * located. Eight such tars in each other are read; further ones stay files.
 *
 * What is wrong with a tar in a tar is SB_PROBLEM ("damaged"), and the outer one goes on after it.
 */
#ifndef SB_STORE_TAR_NESTED_H
#define SB_STORE_TAR_NESTED_H

#include "store/kind.h"

/*
 * *source, over the input, becomes one that looks into the tars in it. It stays as it is where it
 * lies too deep; on failure it is freed, and NULL.
 */
enum sb_code sb_tar_nest(struct sb_source **source, struct sb_input *input,
                         const struct sb_source_options *options,
                         const struct sb_notify *notify) SB_CHECKED;

#endif
