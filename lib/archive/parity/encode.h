/*
 * Makes the parity of one section after the other, in memory, and all its CRC32Cs.
 *
 * Two bands of rows take turns, one being read while the other is added to the parities, so that a
 * word takes several of its rows at once. All is at most 57 MiB.
 */
#ifndef SB_ARCHIVE_PARITY_ENCODE_H
#define SB_ARCHIVE_PARITY_ENCODE_H

#include "archive/parity/make.h"
#include "core/file.h"

struct sb_parity_encoder;

/* The file must outlive it. Of the options: threads, read, progress. */
enum sb_code sb_parity_encoder_new(struct sb_parity_encoder **out, const struct sb_file *file,
                                   const struct sb_parity_shape *shape,
                                   const struct sb_parity_options *options) SB_CHECKED;
void sb_parity_encoder_free(struct sb_parity_encoder *encoder); /* NULL is allowed */
FREEP(sb_parity_encoder_free, struct sb_parity_encoder)

/* SB_CHANGED: the file ends before the section does. */
enum sb_code sb_parity_encode(struct sb_parity_encoder *encoder,
                              const struct sb_parity_section *section) SB_CHECKED;

/* Of the section that was encoded last: its pieces of parity in their order on disk, and the
 * CRC32Cs as a table has them. */
const unsigned char *sb_parity_encoded(const struct sb_parity_encoder *encoder);
const uint32_t *sb_parity_encoded_sums(const struct sb_parity_encoder *encoder);

#endif
