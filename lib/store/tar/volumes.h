/*
 * The volumes of a tar that GNU tar wrote with -M, as one tar: without their labels, and without
 * the headers of files that go on in the next one. Format: "Archives Longer than One Tape or Disk"
 * and "Multi-Volume Archives" in the manual of GNU tar.
 *
 * Each volume is a file, or a pipe; one that is compressed, or a pipe, is spooled.
 */
#ifndef SB_STORE_TAR_VOLUMES_H
#define SB_STORE_TAR_VOLUMES_H

#include "store/kind.h"

/* SB_BY_NAME: it is a list "A,B,..." of volumes, with multi_volume of core/context.h, if no file is
 * called so.
 */
enum sb_sure sb_tar_names_volumes(const struct sb_input *input);

/*
 * Sets input->file to the volumes of its path as one file, unless it has one already. SB_FORMAT:
 * one of them does not follow the one before it; the text says which. SB_LIMIT: more than max_size
 * bytes (0: any number) would be spooled.
 */
enum sb_code sb_tar_join_volumes(struct sb_input *input, int64_t max_size) SB_CHECKED;

#endif
