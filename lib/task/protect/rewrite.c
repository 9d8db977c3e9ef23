#include "task/protect/rewrite.h"

#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_BYTES ((size_t)4 << 20)
#define BATCH_PARTS (BATCH_BYTES / SB_PARITY_PIECE_LEAST)

struct sb_rewrite_part {
    bool parity;
    int64_t offset;
    size_t size;
    size_t at; /* in the bytes */
};

static const struct sb_file *file_of(const struct sb_rewrite *rewrite, bool parity)
{
    return parity ? rewrite->work->parity->file : rewrite->work->file;
}

static enum sb_code keep_time(const struct sb_rewrite *rewrite, struct sb_error *err)
{
    const struct sb_file *file = rewrite->work->file;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, rewrite->st.st_mtim};

    if (futimens(file->fd, times))
        return sb_fail_errno(err, errno, "%s: cannot keep its time, as its owner could",
                             file->name);
    return SB_OK;
}

static enum sb_code note_repair(struct sb_rewrite *rewrite, enum sb_protect_repairing repairing,
                                struct sb_error *err)
{
    struct sb_parity *parity = rewrite->work->parity;
    unsigned char user[SB_PARITY_USER];

    memcpy(user, parity->super.user, sizeof(user));
    sb_protect_note_repair(user, repairing, &rewrite->work->evidence);
    rewrite->noted = true;
    if (sb_parity_mark(parity, parity->super.valid, user, err))
        return err->code;
    rewrite->noted = repairing != SB_REPAIRING_NOTHING;
    return SB_OK;
}

/* A run that was killed noted what it did to the file as it is protected: that goes on. */
static enum sb_protect_repairing what_is_repaired(const struct sb_protected *work)
{
    const struct sb_parity_super *super = &work->parity->super;

    if (sb_protect_is_current(super, &work->file->st) ||
        (work->resumes && sb_protect_noted_repair(super) == SB_REPAIRING))
        return SB_REPAIRING;
    return SB_REPAIRING_CHANGED;
}

/* Setting the time would hide from later runs that another process wrote. */
static enum sb_code refuse_change(const struct sb_rewrite *rewrite, struct sb_error *err)
{
    const struct sb_file *file = rewrite->work->file;
    struct stat now;

    if (fstat(file->fd, &now))
        return sb_fail_errno(err, errno, "%s", file->name);
    if (sb_is_unchanged(&now, &rewrite->st))
        return SB_OK;
    return sb_fail(err, SB_CHANGED, "%s: changed while it was repaired, which ended there",
                   file->name);
}

enum sb_code sb_rewrite_settle(struct sb_protected *work, struct sb_error *err)
{
    struct sb_rewrite rewrite = {.work = work, .st = work->file->st};

    /* It may have grown to what it was. */
    rewrite.st.st_size = work->parity->super.shape.size;
    if (refuse_change(&rewrite, err))
        return err->code;
    rewrite.st.st_mtim = sb_protect_noted_time(&work->parity->super);
    return keep_time(&rewrite, err) ? err->code : note_repair(&rewrite, SB_REPAIRING_NOTHING, err);
}

/* Where a run was killed it has not, until all of it is known to be as it is protected. */
static bool has_its_time(const struct sb_rewrite *rewrite)
{
    const struct sb_protected *work = rewrite->work;

    return sb_protect_noted_repair(&work->parity->super) != SB_REPAIRING ||
           sb_protect_is_current(&work->parity->super, &rewrite->st);
}

enum sb_code sb_rewrite_begin(struct sb_rewrite *rewrite, struct sb_protected *work, bool data,
                              struct sb_error *err)
{
    *rewrite = (struct sb_rewrite){.work = work, .st = work->file->st};
    rewrite->bytes = malloc(BATCH_BYTES);
    rewrite->parts = calloc(BATCH_PARTS, sizeof(*rewrite->parts));
    if (!rewrite->bytes || !rewrite->parts)
        return sb_fail_memory(err);
    if (!data)
        return SB_OK;
    return keep_time(rewrite, err) ? err->code : note_repair(rewrite, what_is_repaired(work), err);
}

void sb_rewrite_release(struct sb_rewrite *rewrite)
{
    struct sb_error ignored;

    /* Ended early, but with the file's time: it can be repaired again. If others wrote to it, it is
     * not what is protected any more. */
    if (rewrite->noted &&
        (refuse_change(rewrite, &ignored) ? ignored.code == SB_CHANGED : has_its_time(rewrite)))
        (void)!note_repair(rewrite, SB_REPAIRING_NOTHING, &ignored);
    free(rewrite->bytes);
    free(rewrite->parts);
}

static enum sb_code write_part(struct sb_rewrite *rewrite, const struct sb_rewrite_part *part,
                               struct sb_error *err)
{
    const struct sb_file *file = file_of(rewrite, part->parity);
    int64_t end = part->offset + (int64_t)part->size;
    enum sb_code code;
    struct sb_error second;

    if (!part->parity && refuse_change(rewrite, err))
        return err->code;
    rewrite->touched[part->parity] = true;
    code = sb_pwrite_full(file->fd, rewrite->bytes + part->at, part->size, part->offset, file->name,
                          err);
    if (part->parity)
        return code;
    /* Also where some of it was written before the failure. */
    if (keep_time(rewrite, code ? &second : err) && !code)
        return err->code;
    if (!code && end > rewrite->st.st_size)
        rewrite->st.st_size = end;
    return code;
}

static enum sb_code compare(const struct sb_rewrite *rewrite, const struct sb_rewrite_part *part,
                            unsigned char *there, struct sb_error *err)
{
    const struct sb_file *file = file_of(rewrite, part->parity);
    size_t got;

    if (sb_file_read(file, there, part->size, part->offset, &got, err))
        return err->code;
    if (got == part->size && memcmp(there, rewrite->bytes + part->at, got) == 0)
        return SB_OK;
    return sb_fail(err, SB_DAMAGED,
                   "%s: bytes from %" PRId64 " on do not read back as they were written; look at "
                   "the disk",
                   file->name, part->offset);
}

/* What the kernel holds in memory is dropped where it can be, so that the disk itself is read. */
static enum sb_code sync_both(struct sb_rewrite *rewrite, struct sb_error *err)
{
    for (int parity = 0; parity < 2; parity++) {
        const struct sb_file *file = file_of(rewrite, parity);

        if (!rewrite->touched[parity])
            continue;
        if (sb_fsync(file->fd, file->name, err))
            return err->code;
        (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
        rewrite->touched[parity] = false;
    }
    return SB_OK;
}

static enum sb_code write_batch(struct sb_rewrite *rewrite, struct sb_error *err)
{
    unsigned char there[SB_PARITY_PIECE_MOST];
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < rewrite->count; i++)
        code = write_part(rewrite, &rewrite->parts[i], err);
    if (!code)
        code = sync_both(rewrite, err);
    for (size_t i = 0; !code && i < rewrite->count; i++)
        code = compare(rewrite, &rewrite->parts[i], there, err);
    rewrite->count = 0;
    rewrite->used = 0;
    return code;
}

enum sb_code sb_rewrite_add(struct sb_rewrite *rewrite, bool parity, int64_t offset,
                            const void *bytes, size_t size, struct sb_error *err)
{
    if ((rewrite->count == BATCH_PARTS || rewrite->used + size > BATCH_BYTES) &&
        write_batch(rewrite, err))
        return err->code;
    memcpy(rewrite->bytes + rewrite->used, bytes, size);
    rewrite->parts[rewrite->count++] = (struct sb_rewrite_part){
        .parity = parity, .offset = offset, .size = size, .at = rewrite->used};
    rewrite->used += size;
    return SB_OK;
}

enum sb_code sb_rewrite_end(struct sb_rewrite *rewrite, struct sb_error *err)
{
    enum sb_code code = write_batch(rewrite, err);

    if (code || !rewrite->noted || !has_its_time(rewrite))
        return code;
    return note_repair(rewrite, SB_REPAIRING_NOTHING, err);
}
