#include "task/protect/before.h"

#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES ((size_t)4 << 20)
#define BATCH_PARTS 4096
#define PART_BYTES  ((size_t)16 << 10)

struct sb_rewrite_part {
    struct sb_file *file;
    struct stat st; /* of the file when it was added */
    int64_t offset;
    size_t size;
    size_t at; /* in the bytes */
};

enum sb_code sb_rewrite_begin(struct sb_rewrite *rewrite, const char *path, const char *parity_dir)
{
    *rewrite = (struct sb_rewrite){.before = SB_BEFORE_NONE};
    pthread_mutex_init(&rewrite->mutex, NULL);
    rewrite->bytes = malloc(BATCH_BYTES);
    rewrite->parts = calloc(BATCH_PARTS, sizeof(*rewrite->parts));
    if (!rewrite->bytes || !rewrite->parts)
        return sb_fail_memory();
    return sb_before_begin(&rewrite->before, path, parity_dir);
}

static void forget(struct sb_rewrite *rewrite)
{
    for (size_t i = 0; i < rewrite->count; i++)
        sb_file_free(rewrite->parts[i].file);
    rewrite->count = 0;
    rewrite->used = 0;
}

void sb_rewrite_release(struct sb_rewrite *rewrite)
{
    if (!rewrite->bytes)
        return;
    forget(rewrite);
    sb_before_release(&rewrite->before);
    pthread_mutex_destroy(&rewrite->mutex);
    free(rewrite->bytes);
    free(rewrite->parts);
    rewrite->bytes = NULL;
}

/* *got: how many bytes are there; what the disk has lost counts as none. */
static enum sb_code read_there(const struct sb_rewrite_part *part, unsigned char *there,
                               size_t *got)
{
    enum sb_code code = sb_file_read(part->file, there, part->size, part->offset, got);

    if (code == SB_SYSTEM && sb_error()->sys_errno == EIO) {
        *got = 0;
        return SB_OK;
    }
    return code;
}

static enum sb_code keep_before(struct sb_rewrite *rewrite)
{
    unsigned char there[PART_BYTES];
    size_t got;

    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sb_rewrite_part *part = &rewrite->parts[i];

        TRY(read_there(part, there, &got));
        if (got > 0)
            TRY(sb_before_add(&rewrite->before, part->file->name, part->offset, there,
                              rewrite->bytes + part->at, got));
    }
    return sb_before_sync(&rewrite->before);
}

static enum sb_code refuse_changes(const struct sb_rewrite *rewrite)
{
    struct stat now;

    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sb_rewrite_part *part = &rewrite->parts[i];

        if (fstat(part->file->fd, &now))
            return sb_fail_errno(errno, "%s", part->file->name);
        if (!sb_is_unchanged(&now, &part->st))
            return sb_fail(SB_CHANGED, "%s: changed while it was repaired, which ended there",
                           part->file->name);
    }
    return SB_OK;
}

/* The kernel's copy is dropped where it can be, so that the disk itself is read. */
static enum sb_code sync_file(const struct sb_rewrite_part *part)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, part->st.st_mtim};
    int fd = part->file->fd;

    (void)!futimens(fd, times);
    TRY(sb_fsync(fd, part->file->name));
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return SB_OK;
}

static enum sb_code compare(const struct sb_rewrite *rewrite, const struct sb_rewrite_part *part)
{
    unsigned char there[PART_BYTES];
    size_t got;

    TRY(sb_file_read(part->file, there, part->size, part->offset, &got));
    if (got == part->size && memcmp(there, rewrite->bytes + part->at, got) == 0)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: bytes from %" PRId64 " on do not read back as they were written; look at "
                   "the disk",
                   part->file->name, part->offset);
}

static enum sb_code write_parts(struct sb_rewrite *rewrite)
{
    TRY(refuse_changes(rewrite));
    TRY(keep_before(rewrite));
    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sb_rewrite_part *part = &rewrite->parts[i];

        TRY(sb_pwrite_full(part->file->fd, rewrite->bytes + part->at, part->size, part->offset,
                           part->file->name));
        if (i + 1 == rewrite->count || rewrite->parts[i + 1].file != part->file)
            TRY(sync_file(part));
    }
    for (size_t i = 0; i < rewrite->count; i++)
        TRY(compare(rewrite, &rewrite->parts[i]));
    return SB_OK;
}

enum sb_code sb_rewrite_end(struct sb_rewrite *rewrite)
{
    enum sb_code code = write_parts(rewrite);

    forget(rewrite);
    return code;
}

static enum sb_code add_part(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                             const void *bytes, size_t size)
{
    struct sb_rewrite_part part = {.file = file, .offset = offset, .size = size};
    unsigned char there[PART_BYTES];
    size_t got;

    TRY(read_there(&part, there, &got));
    if (got == size && memcmp(there, bytes, size) == 0)
        return SB_OK;
    if (rewrite->count == BATCH_PARTS || rewrite->used + size > BATCH_BYTES)
        TRY(sb_rewrite_end(rewrite));
    if (fstat(file->fd, &part.st))
        return sb_fail_errno(errno, "%s", file->name);
    part.at = rewrite->used;
    memcpy(rewrite->bytes + rewrite->used, bytes, size);
    rewrite->used += size;
    rewrite->parts[rewrite->count++] = part;
    sb_file_ref(file);
    return SB_OK;
}

/* How many zeros from the offset on need not be written, as the file has a hole there. */
static size_t skip_hole(const struct sb_file *file, int64_t offset, size_t size)
{
    bool hole = false;
    struct stat st;
    int64_t run;

    if (fstat(file->fd, &st) || st.st_size <= offset)
        return 0;
    run = sb_run_length(file->fd, &st, offset, &hole);
    if (!hole)
        return 0;
    return run < (int64_t)size ? (size_t)run : size;
}

static enum sb_code add_zeros(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                              size_t size)
{
    static const unsigned char zeros[PART_BYTES];
    struct stat st;

    while (size > 0) {
        size_t some = skip_hole(file, offset, size);

        /* Past the end nothing is there that a hole would replace. */
        if (some == 0 && fstat(file->fd, &st) == 0 && st.st_size <= offset) {
            TRY(sb_rewrite_end(rewrite));
            TRY(sb_pwrite_hole(file->fd, offset, (int64_t)size, file->name));
            return sb_fsync(file->fd, file->name);
        }
        if (some == 0) {
            some = size < PART_BYTES ? size : PART_BYTES;
            TRY(add_part(rewrite, file, offset, zeros, some));
        }
        offset += (int64_t)some;
        size -= some;
    }
    return SB_OK;
}

static enum sb_code add(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                        const unsigned char *bytes, size_t size)
{
    if (!bytes)
        return add_zeros(rewrite, file, offset, size);
    for (size_t done = 0; done < size; done += PART_BYTES)
        TRY(add_part(rewrite, file, offset + (int64_t)done, bytes + done,
                     size - done < PART_BYTES ? size - done : PART_BYTES));
    return SB_OK;
}

enum sb_code sb_rewrite_add(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                            const void *bytes, size_t size)
{
    enum sb_code code;

    pthread_mutex_lock(&rewrite->mutex);
    code = add(rewrite, file, offset, bytes, size);
    pthread_mutex_unlock(&rewrite->mutex);
    return code;
}
