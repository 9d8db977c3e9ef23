#include "archive/parity/write.h"

#include "core/io.h"

#include <errno.h>
#include <stdlib.h>

/* Pages that are written at once. */
#define PAGES 64

enum sb_code sb_parity_output_begin(struct sb_parity_output *output,
                                    const struct sb_parity_options *options, struct sb_error *err)
{
    return sb_parity_encoder_new(&output->encoder, output->file, &output->super.shape,
                                 options->threads, options->progress, options->context, err);
}

void sb_parity_output_release(struct sb_parity_output *output)
{
    sb_parity_encoder_free(output->encoder);
}

static enum sb_code write_table(const struct sb_parity_output *output,
                                const struct sb_parity_section *section, unsigned copy,
                                unsigned char *bytes, struct sb_error *err)
{
    const struct sb_parity_super *super = &output->super;
    const uint32_t *sums = sb_parity_encoded_sums(output->encoder);
    int64_t offset = sb_parity_offset(super, section->number);
    enum sb_code code = SB_OK;

    for (uint32_t page = 0; !code && page < section->pages;) {
        int64_t at = offset + sb_parity_page_offset(&super->shape, section, copy, page);
        size_t size = 0;

        for (; page < section->pages && size < PAGES * SB_PARITY_BLOCK; page++) {
            sb_parity_put_page(bytes + size, super, super->generation, section, page, sums);
            size += SB_PARITY_BLOCK;
        }
        code = sb_pwrite_full(output->fd, bytes, size, at, output->name, err);
    }
    return code;
}

enum sb_code sb_parity_write_section(struct sb_parity_output *output,
                                     const struct sb_parity_section *section, struct sb_error *err)
{
    const struct sb_parity_shape *shape = &output->super.shape;
    int64_t offset = sb_parity_offset(&output->super, section->number);
    int64_t begin = offset + sb_parity_piece_offset(shape, section, 0);
    int64_t after = offset + sb_parity_page_offset(shape, section, 1, 0);
    size_t size = (size_t)section->checks * shape->piece;
    unsigned char *bytes = calloc(PAGES, SB_PARITY_BLOCK);
    enum sb_code code;

    if (!bytes)
        return sb_fail_memory(err);
    code = sb_pwrite_full(output->fd, sb_parity_encoded(output->encoder), size, begin, output->name,
                          err);
    if (!code)
        code = sb_pwrite_full(output->fd, bytes, (size_t)(after - begin) - size,
                              begin + (int64_t)size, output->name, err);
    for (unsigned copy = 0; !code && copy < 2; copy++)
        code = write_table(output, section, copy, bytes, err);
    output->super.sum ^= sb_parity_sum(section, sb_parity_encoded_sums(output->encoder));
    free(bytes);
    return code;
}

enum sb_code sb_parity_refuse_change(const struct sb_file *file, const struct stat *before,
                                     struct sb_error *err)
{
    struct stat now;

    if (fstat(file->fd, &now))
        return sb_fail_errno(err, errno, "%s", file->name);
    if (!sb_is_unchanged(&now, before))
        return sb_fail(err, SB_CHANGED, "%s: changed while it was read", file->name);
    return SB_OK;
}
