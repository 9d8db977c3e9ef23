/*
 * Sections of a parity file that is written: for make and update.
 */
#ifndef SB_ARCHIVE_PARITY_WRITE_H
#define SB_ARCHIVE_PARITY_WRITE_H

#include "archive/parity/encode.h"
#include "archive/parity/make.h"

/* The file that is read, and where its parity is written. super: extents, identity and generation.
 */
struct sb_parity_output {
    const struct sb_file *file;
    int fd;
    const char *name; /* of fd, for messages */
    struct sb_parity_super super;
    struct sb_parity_encoder *encoder;
};

/* Makes the encoder for output->super.shape. */
enum sb_code sb_parity_output_begin(struct sb_parity_output *output,
                                    const struct sb_parity_options *options,
                                    struct sb_error *err) SB_CHECKED;
void sb_parity_output_release(struct sb_parity_output *output);

/* Writes the section that was encoded last, and adds it to super.sum. */
enum sb_code sb_parity_write_section(struct sb_parity_output *output,
                                     const struct sb_parity_section *section,
                                     struct sb_error *err) SB_CHECKED;

/* SB_CHANGED: its size or its time is another by now. */
enum sb_code sb_parity_refuse_change(const struct sb_file *file, const struct stat *before,
                                     struct sb_error *err) SB_CHECKED;

#endif
