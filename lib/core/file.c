#include "core/file.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct part {
    char *path;
    struct sb_file *kept; /* not opened by its path */
    struct stat st;
    int64_t start;
    int64_t from; /* where its bytes begin in the file */
    int64_t size;
};

/* Of several files: opened when they are read. */
struct sb_file_parts {
    struct part *each;
    size_t count, capacity;
    struct sb_open_files files; /* by number; there is only one generation */
};

enum sb_code sb_file_open(struct sb_file **out, const char *path, const char *what)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(sb_file_take(out, fd, path));
    if (S_ISREG((*out)->st.st_mode))
        return SB_OK;
    sb_file_free(*out);
    *out = NULL;
    return sb_fail(SB_FORMAT, "%s: a %s must be a regular file", path, what);
}

enum sb_code sb_file_take(struct sb_file **out, int fd, const char *name)
{
    CLEANUP(sb_file_freep) struct sb_file *file = calloc(1, sizeof(*file));

    *out = NULL;
    if (!file) {
        sb_close_kept(fd, NULL);
        return sb_fail_memory();
    }
    file->fd = fd;
    atomic_init(&file->holders, 1);
    TRY(sb_copy_text(&file->name, name));
    if (fstat(fd, &file->st))
        return sb_fail_errno(errno, "%s", name);
    *out = TAKE(file);
    return SB_OK;
}

static void free_parts(struct sb_file_parts *parts)
{
    sb_open_files_end(&parts->files);
    for (size_t i = 0; i < parts->count; i++) {
        free(parts->each[i].path);
        sb_file_free(parts->each[i].kept);
    }
    free(parts->each);
    free(parts);
}
FREEP(free_parts, struct sb_file_parts)

enum sb_code sb_file_join_none(struct sb_file **out, const char *name)
{
    CLEANUP(sb_file_freep) struct sb_file *joined = NULL;

    *out = NULL;
    TRY(SB_NEW(&joined));
    atomic_init(&joined->holders, 1);
    joined->fd = -1;
    TRY(sb_copy_text(&joined->name, name));
    TRY(SB_NEW(&joined->parts));
    sb_open_files_begin(&joined->parts->files, SB_OPEN_FILES_FEW);
    *out = TAKE(joined);
    return SB_OK;
}

enum sb_code sb_file_append(struct sb_file *joined, const struct sb_file_part *more)
{
    struct sb_file_parts *parts = joined->parts;
    struct part *part;

    TRY(sb_grow(&parts->each, &parts->capacity, parts->count + 1, sizeof(*parts->each)));
    part = &parts->each[parts->count];
    *part = (struct part){.st = *more->st, .from = more->from, .size = more->size};
    TRY(sb_copy_text(&part->path, more->path));
    part->kept = sb_file_ref(more->kept);
    part->start = joined->st.st_size;
    parts->count++;
    if (__builtin_add_overflow(part->start, part->size, &joined->st.st_size))
        return sb_fail(SB_FORMAT, "%s: is too large", part->path);
    return SB_OK;
}

static enum sb_code append_path(struct sb_file *joined, const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return sb_fail_errno(errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: is no regular file", path);
    return sb_file_append(joined,
                          &(struct sb_file_part){.path = path, .st = &st, .size = st.st_size});
}

enum sb_code sb_file_join(struct sb_file **file, char *const *paths, size_t count)
{
    CLEANUP(sb_file_freep) struct sb_file *joined = NULL;
    int64_t size;

    TRY(sb_file_join_none(&joined, (*file)->name));
    for (size_t i = 0; i < count; i++)
        TRY(append_path(joined, paths[i]));
    size = joined->st.st_size;
    joined->st = (*file)->st;
    joined->st.st_size = size;
    sb_file_free(*file);
    *file = TAKE(joined);
    return SB_OK;
}

int64_t sb_file_start(const struct sb_file *file, size_t part)
{
    return file->parts && part < file->parts->count ? file->parts->each[part].start : -1;
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
    if (file->fd >= 0)
        sb_close_kept(file->fd, file->st.st_ino ? &file->st : NULL);
    free_partsp(&file->parts);
    free(file->name);
    free(file);
}

static enum sb_code open_part(struct sb_file_parts *parts, size_t number, struct sb_file **out)
{
    const struct part *part = &parts->each[number];

    *out = sb_file_ref(part->kept);
    if (*out)
        return SB_OK;
    *out = sb_open_files_find(&parts->files, (uint32_t)number, 0);
    if (*out)
        return SB_OK;
    TRY(sb_file_open(out, part->path, "part of a split file"));
    if (sb_is_same_file(&(*out)->st, &part->st) && sb_is_unchanged(&(*out)->st, &part->st)) {
        sb_open_files_keep(&parts->files, (uint32_t)number, 0, *out);
        return SB_OK;
    }
    sb_file_free(*out);
    *out = NULL;
    return sb_fail(SB_CHANGED, "%s: was changed while it was read", part->path);
}

static enum sb_code read_parts(struct sb_file_parts *parts, void *data, size_t size, int64_t offset,
                               size_t *got)
{
    /* The last part that begins at or before the offset. */
    size_t first = FIRST_WHERE(i, parts->count - 1, parts->each[i + 1].start > offset);

    *got = 0;
    for (size_t i = first; i < parts->count && *got < size; i++) {
        const struct part *part = &parts->each[i];
        int64_t at = offset + (int64_t)*got - part->start, left = part->size - at;
        size_t want = size - *got, some = 0;
        CLEANUP(sb_file_freep) struct sb_file *file = NULL;
        enum sb_code code;

        want = (int64_t)want < left ? want : (size_t)(left < 0 ? 0 : left);
        if (want == 0)
            continue;
        TRY(open_part(parts, i, &file));
        code = sb_file_read(file, (char *)data + *got, want, part->from + at, &some);
        *got += some;
        if (code || some < want)
            return code;
    }
    return SB_OK;
}

enum sb_code sb_file_read(const struct sb_file *file, void *data, size_t size, int64_t offset,
                          size_t *got)
{
    if (file->parts)
        return read_parts(file->parts, data, size, offset, got);
    return sb_pread_full(file->fd, data, size, offset, got, file->name);
}

enum sb_code sb_file_read_exactly(const struct sb_file *file, void *data, size_t size,
                                  int64_t offset)
{
    size_t got;
    int64_t end;

    TRY(sb_file_read(file, data, size, offset, &got));
    if (got == size)
        return SB_OK;
    end = offset + (int64_t)size;
    return sb_fail(SB_DAMAGED, "%s: ends before byte %lld%s", file->name, (long long)end,
                   end <= file->st.st_size ? "; it was longer before" : "");
}

enum sb_code sb_file_map(struct sb_mapping **out, const struct sb_file *file)
{
    return sb_mapping_open(out, file->fd, file->name);
}

enum sb_code sb_file_map_path(struct sb_mapping **out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum sb_code code;

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    code = sb_mapping_open(out, fd, path);
    sb_close_kept(fd, NULL);
    return code;
}
