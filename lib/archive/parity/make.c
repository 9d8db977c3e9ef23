#include "archive/parity/make.h"

#include "archive/parity/encode.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pages that are written at once. */
#define PAGES 64

/* The file that is read, and where its parity is written. */
struct output {
    const struct sb_file *file;
    int fd;
    const char *name; /* of fd, for messages */
    struct sb_parity_super super;
    struct sb_parity_encoder *encoder;
};

static enum sb_code begin_super(struct sb_parity_super *super, int64_t size,
                                const struct sb_parity_options *options)
{
    TRY(sb_parity_shape(&super->shape, size, options->data, options->parity, options->words));
    if (options->user)
        memcpy(super->user, options->user, SB_PARITY_USER);
    sb_parity_identify(super);
    return SB_OK;
}

static enum sb_code write_table(const struct output *output,
                                const struct sb_parity_section *section, unsigned copy,
                                unsigned char *bytes)
{
    const struct sb_parity_shape *shape = &output->super.shape;
    const uint32_t *sums = sb_parity_encoded_sums(output->encoder);
    int64_t offset = sb_parity_offset(shape, section->number);

    for (uint32_t page = 0; page < section->pages;) {
        int64_t at = offset + sb_parity_page_offset(shape, section, copy, page);
        size_t size = 0;

        for (; page < section->pages && size < PAGES * SB_PARITY_BLOCK; page++) {
            sb_parity_put_page(bytes + size, &output->super, section, page, sums);
            size += SB_PARITY_BLOCK;
        }
        TRY(sb_pwrite_full(output->fd, bytes, size, at, output->name));
    }
    return SB_OK;
}

/* The section that was encoded last. */
static enum sb_code write_section(struct output *output, const struct sb_parity_section *section)
{
    const struct sb_parity_shape *shape = &output->super.shape;
    int64_t offset = sb_parity_offset(shape, section->number);
    int64_t begin = offset + sb_parity_piece_offset(shape, section, 0);
    int64_t after = offset + sb_parity_page_offset(shape, section, 1, 0);
    size_t size = (size_t)section->checks * shape->piece;
    unsigned char *bytes = calloc(PAGES, SB_PARITY_BLOCK);
    enum sb_code code;

    if (!bytes)
        return sb_fail_memory();
    code =
        sb_pwrite_full(output->fd, sb_parity_encoded(output->encoder), size, begin, output->name);
    if (!code)
        code = sb_pwrite_full(output->fd, bytes, (size_t)(after - begin) - size,
                              begin + (int64_t)size, output->name);
    for (unsigned copy = 0; !code && copy < 2; copy++)
        code = write_table(output, section, copy, bytes);
    output->super.sum ^= sb_parity_sum(section, sb_parity_encoded_sums(output->encoder));
    free(bytes);
    return code;
}

static enum sb_code write_supers(const struct output *output)
{
    unsigned char block[SB_PARITY_BLOCK];

    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        int64_t offset = sb_parity_super_offset(&output->super.shape, copy);

        sb_parity_put_super(block, &output->super, offset);
        TRY(sb_pwrite_full(output->fd, block, sizeof(block), offset, output->name));
    }
    return sb_fsync(output->fd, output->name);
}

static enum sb_code write_all(struct output *output, const struct sb_parity_options *options)
{
    int64_t sections = sb_parity_sections(&output->super.shape);
    enum sb_code code =
        sb_parity_encoder_new(&output->encoder, output->file, &output->super.shape, options);

    for (int64_t i = 0; !code && i < sections; i++) {
        struct sb_parity_section section;

        sb_parity_section(&output->super.shape, i, &section);
        code = sb_parity_encode(output->encoder, &section);
        if (!code)
            code = write_section(output, &section);
    }
    sb_parity_encoder_free(output->encoder);
    return code ? code : write_supers(output);
}

static enum sb_code refuse_change(const struct sb_file *file, const struct stat *before)
{
    struct stat now;

    if (fstat(file->fd, &now))
        return sb_fail_errno(errno, "%s", file->name);
    if (!sb_is_unchanged(&now, before))
        return sb_fail(SB_CHANGED, "%s: changed while it was read", file->name);
    return SB_OK;
}

void sb_parity_adopt(int fd, const struct stat *of)
{
    mode_t mode = (of->st_mode & 0666) | 0600;
    struct stat st;

    if (fstat(fd, &st))
        return;
    if (geteuid() == 0 && (st.st_uid != of->st_uid || st.st_gid != of->st_gid))
        (void)!fchown(fd, of->st_uid, of->st_gid);
    if ((st.st_mode & 0777) != mode)
        (void)!fchmod(fd, mode);
}

/* A network file system reports a failing write as late as at the closing. */
static enum sb_code close_and_rename(int *fd, const struct sb_parity_options *options)
{
    int closed = close(*fd);

    *fd = -1;
    if (closed)
        return sb_fail_errno(errno, "%s: cannot close", options->path);
    return sb_rename(options->temporary, options->path);
}

enum sb_code sb_parity_make(const struct sb_file *file, const struct sb_parity_options *options)
{
    struct output output = {.file = file, .name = options->path};
    struct stat before;
    enum sb_code code = SB_OK;

    if (fstat(file->fd, &before))
        return sb_fail_errno(errno, "%s", file->name);
    TRY(begin_super(&output.super, before.st_size, options));
    output.fd = open(options->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (output.fd < 0 && errno == EEXIST)
        return sb_fail(SB_EXISTS, "%s: exists already", options->temporary);
    if (output.fd < 0)
        return sb_fail_errno(errno, "%s", options->temporary);
    code = write_all(&output, options);
    if (!code)
        code = refuse_change(file, &before);
    if (!code && options->proved)
        code = options->proved(options->reader);
    if (!code)
        sb_parity_adopt(output.fd, &before);
    if (!code)
        code = close_and_rename(&output.fd, options);
    if (output.fd >= 0)
        close(output.fd);
    if (code) {
        (void)unlink(options->temporary);
        return code;
    }
    return sb_sync_directory_of(options->path);
}
