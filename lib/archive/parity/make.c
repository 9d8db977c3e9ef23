#include "archive/parity/make.h"

#include "archive/parity/write.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Two extents, with the superblock of the middle between them. */
static void lay_out(struct sb_parity_super *super)
{
    int64_t sections = sb_parity_sections(&super->shape), half = (sections + 1) / 2;
    int64_t at = SB_PARITY_BLOCK;

    super->extents = 0;
    if (sections)
        super->extent[super->extents++] = (struct sb_parity_extent){.section = 0, .offset = at};
    super->middle = at + sb_parity_span(&super->shape, 0, half);
    at = super->middle + SB_PARITY_BLOCK;
    if (half < sections)
        super->extent[super->extents++] = (struct sb_parity_extent){.section = half, .offset = at};
    super->end = at + sb_parity_span(&super->shape, half, sections);
}

static enum sb_code begin_super(struct sb_parity_super *super, int64_t size,
                                const struct sb_parity_options *options, struct sb_error *err)
{
    if (sb_parity_shape(&super->shape, size, options->data, options->parity, options->words, err))
        return err->code;
    if (getrandom(super->id, sizeof(super->id), 0) != sizeof(super->id))
        return sb_fail_errno(err, errno, "getrandom");
    super->generation = 1;
    super->valid = sb_parity_pieces(&super->shape);
    if (options->user)
        memcpy(super->user, options->user, SB_PARITY_USER);
    lay_out(super);
    return SB_OK;
}

static enum sb_code write_all(struct sb_parity_output *output,
                              const struct sb_parity_options *options, struct sb_error *err)
{
    static const bool none[SB_PARITY_COPIES];
    int64_t sections = sb_parity_sections(&output->super.shape);
    enum sb_code code = sb_parity_output_begin(output, options, err);

    for (int64_t i = 0; !code && i < sections; i++) {
        struct sb_parity_section section;

        sb_parity_section(&output->super.shape, i, &section);
        code = sb_parity_encode(output->encoder, &section, err);
        if (!code)
            code = sb_parity_write_section(output, &section, err);
    }
    sb_parity_output_release(output);
    if (!code)
        code = sb_parity_write_supers(output->fd, output->name, &output->super, none, err);
    return code;
}

/* A network file system reports a failing write as late as at the closing. */
static enum sb_code close_and_rename(int *fd, const struct sb_parity_options *options,
                                     struct sb_error *err)
{
    int closed = close(*fd);

    *fd = -1;
    if (closed)
        return sb_fail_errno(err, errno, "%s: cannot close", options->path);
    if (sb_rename(options->temporary, options->path, err))
        return err->code;
    return SB_OK;
}

enum sb_code sb_parity_make(const struct sb_file *file, const struct sb_parity_options *options,
                            struct sb_error *err)
{
    struct sb_parity_output output = {.file = file, .name = options->path};
    struct stat before;
    enum sb_code code;

    if (fstat(file->fd, &before))
        return sb_fail_errno(err, errno, "%s", file->name);
    code = begin_super(&output.super, before.st_size, options, err);
    if (code)
        return code;
    output.fd = open(options->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     (before.st_mode & 0666) | 0600);
    if (output.fd < 0 && errno == EEXIST)
        return sb_fail(err, SB_EXISTS, "%s: exists already", options->temporary);
    if (output.fd < 0)
        return sb_fail_errno(err, errno, "%s", options->temporary);
    code = write_all(&output, options, err);
    if (!code)
        code = sb_parity_refuse_change(file, &before, err);
    if (!code)
        code = close_and_rename(&output.fd, options, err);
    if (output.fd >= 0)
        close(output.fd);
    if (code) {
        (void)unlink(options->temporary);
        return code;
    }
    return sb_sync_directory_of(options->path, err);
}
