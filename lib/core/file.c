#include "core/file.h"

#include "core/io.h"
#include "core/kept_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static enum sb_code open_file(struct sb_file **out, const char *path, int access, const char *what,
                              struct sb_error *err)
{
    int fd = open(path, access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", path);
    if (sb_file_take(out, fd, path, err))
        return err->code;
    if (S_ISREG((*out)->st.st_mode))
        return SB_OK;
    sb_file_free(*out);
    *out = NULL;
    return sb_fail(err, SB_FORMAT, "%s: a %s must be a regular file", path, what);
}

enum sb_code sb_file_open(struct sb_file **out, const char *path, const char *what,
                          struct sb_error *err)
{
    return open_file(out, path, O_RDONLY, what, err);
}

enum sb_code sb_file_open_to_write(struct sb_file **out, const char *path, const char *what,
                                   struct sb_error *err)
{
    return open_file(out, path, O_RDWR, what, err);
}

enum sb_code sb_file_take(struct sb_file **out, int fd, const char *name, struct sb_error *err)
{
    struct sb_file *file = calloc(1, sizeof(*file));
    enum sb_code code = SB_OK;

    *out = NULL;
    if (!file) {
        sb_close_kept(fd, NULL);
        return sb_fail_memory(err);
    }
    file->fd = fd;
    atomic_init(&file->holders, 1);
    file->name = strdup(name);
    if (!file->name)
        code = sb_fail_memory(err);
    else if (fstat(fd, &file->st))
        code = sb_fail_errno(err, errno, "%s", name);
    if (code)
        sb_file_free(file);
    else
        *out = file;
    return code;
}

struct sb_file *sb_file_ref(struct sb_file *file)
{
    if (file)
        atomic_fetch_add_explicit(&file->holders, 1, memory_order_relaxed);
    return file;
}

void sb_file_free(struct sb_file *file)
{
    if (!file || atomic_fetch_sub(&file->holders, 1) > 1)
        return;
    sb_close_kept(file->fd, file->st.st_ino ? &file->st : NULL);
    free(file->name);
    free(file);
}

enum sb_code sb_file_read(const struct sb_file *file, void *data, size_t size, int64_t offset,
                          size_t *got, struct sb_error *err)
{
    return sb_pread_full(file->fd, data, size, offset, got, file->name, err);
}

enum sb_code sb_file_read_exactly(const struct sb_file *file, void *data, size_t size,
                                  int64_t offset, struct sb_error *err)
{
    size_t got;
    int64_t end;

    if (sb_file_read(file, data, size, offset, &got, err))
        return err->code;
    if (got == size)
        return SB_OK;
    end = offset + (int64_t)size;
    return sb_fail(err, SB_DAMAGED, "%s: ends before byte %lld%s", file->name, (long long)end,
                   end <= file->st.st_size ? "; it was longer before" : "");
}

enum sb_code sb_file_map(struct sb_mapping **out, const struct sb_file *file, struct sb_error *err)
{
    return sb_mapping_open(out, file->fd, file->name, err);
}

enum sb_code sb_file_map_path(struct sb_mapping **out, const char *path, struct sb_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum sb_code code;

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", path);
    code = sb_mapping_open(out, fd, path, err);
    sb_close_kept(fd, NULL);
    return code;
}
