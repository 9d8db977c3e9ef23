#include "task/protect/mender.h"

#include "archive/parity/check.h"
#include "archive/parity/mend.h"
#include "core/spool.h"
#include "core/time.h"
#include "task/protect/impl.h"
#include "task/protect/rewrite.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of the file that are not as they were, in its order. */
struct made {
    int64_t offset;
    int64_t size;
    int64_t at; /* in the spool; -1: could not be made */
};

struct sb_mender {
    struct sb_protected work;
    const struct sb_protect_index *index;
    struct sb_rewrite rewrite; /* once something is written */
    struct made *made;
    size_t count, capacity;
    struct sb_spool bytes;
};

enum sb_code sb_mender_open(struct sb_mender **out, const char *path,
                            const struct sb_protect_index *index, const char *beside,
                            const struct sb_protect_options *options, struct sb_error *err)
{
    enum sb_parity_access access = options->dry_run ? SB_PARITY_READ : SB_PARITY_WRITE;
    struct sb_mender *mender = calloc(1, sizeof(*mender));
    struct sb_protected *work;
    enum sb_code code;

    *out = NULL;
    if (!mender)
        return sb_fail_memory(err);
    work = &mender->work;
    *work = (struct sb_protected){.path = path, .options = options, .lock = {.fd = -1}};
    mender->index = index;
    mender->bytes = (struct sb_spool){.fd = -1, .beside = beside};
    sb_protect_find_index_evidence(&work->evidence, index);
    code = sb_protected_begin(work, err);
    if (!code)
        code = sb_protected_open(work, access, err);
    if (!code)
        code = sb_protected_open_parity(work, SB_PARITY_READ, err);
    sb_parity_free(work->parity);
    work->parity = NULL;
    if (!code && !options->dry_run)
        code = sb_out_lock_take_beside(&work->lock, work->name.data, work->name.data, err);
    if (!code)
        code = sb_protected_open_parity(work, access, err);
    if (code)
        sb_mender_free(mender);
    else
        *out = mender;
    return code;
}

void sb_mender_free(struct sb_mender *mender)
{
    if (!mender)
        return;
    sb_rewrite_release(&mender->rewrite);
    sb_spool_release(&mender->bytes);
    free(mender->made);
    sb_protected_end(&mender->work);
    free(mender);
}

enum sb_mender_verdict sb_mender_judge(struct sb_mender *mender)
{
    struct sb_protected *work = &mender->work;
    const struct sb_parity_super *super = &work->parity->super;
    enum sb_protect_age age;
    struct stat st;

    if (sb_protect_is_current(super, &work->file->st))
        return SB_MENDER_MAY_WRITE;
    age = sb_protect_age_of_index(work->options, mender->index);
    if (age == SB_PROTECT_REMADE)
        return SB_MENDER_OLD_INDEX;
    work->resumes = sb_protect_noted_repair(super) != SB_REPAIRING_NOTHING &&
                    work->file->st.st_size <= super->shape.size &&
                    sb_protect_trusts(super, mender->index);
    if (work->resumes)
        return SB_MENDER_MAY_WRITE;
    if (age == SB_PROTECT_NO_NEWER)
        return SB_MENDER_CHANGED;
    return stat(mender->index->path, &st) == 0 &&
                   !sb_time_is_later(work->file->st.st_mtim, st.st_mtim)
               ? SB_MENDER_MAY_WRITE
               : SB_MENDER_NEWER;
}

struct timespec sb_mender_time(const struct sb_mender *mender)
{
    return sb_protect_noted_time(&mender->work.parity->super);
}

static enum sb_code add(struct sb_mender *mender, const struct sb_parity_part *part, int64_t at,
                        struct sb_error *err)
{
    if (sb_grow(&mender->made, &mender->capacity, mender->count + 1, sizeof(*mender->made), err))
        return err->code;
    mender->made[mender->count++] =
        (struct made){.offset = part->offset, .size = part->size, .at = at};
    return SB_OK;
}

static enum sb_code take_lost(void *context, const struct sb_parity_part *part,
                              struct sb_error *err)
{
    return part->kind == SB_PARITY_DATA ? add(context, part, -1, err) : SB_OK;
}

static enum sb_code take_mended(void *context, const struct sb_parity_part *part, const void *bytes,
                                struct sb_error *err)
{
    struct sb_mender *mender = context;

    if (part->kind != SB_PARITY_DATA)
        return SB_OK;
    if (add(mender, part, sb_spool_size(&mender->bytes), err))
        return err->code;
    return sb_spool_add(&mender->bytes, bytes, (size_t)part->size, err);
}

enum sb_code sb_mender_find(struct sb_mender *mender, int64_t from, int64_t to,
                            struct sb_error *err)
{
    const struct sb_parity *parity = mender->work.parity;
    const struct sb_parity_check_options wanted = {.from = from, .to = to};
    const struct sb_parity_mender calls = {
        .mended = take_mended, .lost = take_lost, .context = mender};
    struct sb_parity_bad *bad = NULL;
    enum sb_code code = SB_OK;

    mender->count = 0;
    sb_spool_clear(&mender->bytes);
    if (from >= parity->super.shape.size)
        return SB_OK;
    code = sb_parity_check(&bad, parity, mender->work.file, &wanted, err);
    if (!code)
        code = sb_parity_mend(parity, mender->work.file, bad, &calls, err);
    sb_parity_bad_free(bad);
    return code;
}

/* The first piece that ends after this byte, or the count. */
static size_t find(const struct sb_mender *mender, int64_t offset)
{
    size_t low = 0, high = mender->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (mender->made[middle].offset + mender->made[middle].size <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t sb_mender_lost(const struct sb_mender *mender, int64_t from, int64_t to)
{
    int64_t lost = 0;

    for (size_t i = find(mender, from); i < mender->count && mender->made[i].offset < to; i++) {
        const struct made *made = &mender->made[i];
        int64_t begin = made->offset > from ? made->offset : from;
        int64_t end = made->offset + made->size < to ? made->offset + made->size : to;

        if (made->at < 0)
            lost += end - begin;
    }
    return lost;
}

/* Some bytes, at least one, that are all made, or all in the file: *size of them. */
static enum sb_code read_some(struct sb_mender *mender, void *data, size_t *size, int64_t offset,
                              struct sb_error *err)
{
    size_t i = find(mender, offset);
    const struct made *made = &mender->made[i];
    int64_t most;

    if (i == mender->count || made->offset > offset) {
        most = i == mender->count ? INT64_MAX : made->offset - offset;
        if ((int64_t)*size > most)
            *size = (size_t)most;
        return sb_file_read_exactly(mender->work.file, data, *size, offset, err);
    }
    if (made->at < 0)
        return sb_fail(err, SB_DAMAGED, "%s: what is missing cannot be made", mender->work.path);
    most = made->offset + made->size - offset;
    if ((int64_t)*size > most)
        *size = (size_t)most;
    return sb_spool_get(&mender->bytes, made->at + (offset - made->offset), data, *size, err);
}

enum sb_code sb_mender_read(struct sb_mender *mender, void *data, size_t size, int64_t offset,
                            struct sb_error *err)
{
    unsigned char *to = data;

    while (size > 0) {
        size_t some = size;

        if (read_some(mender, to, &some, offset, err))
            return err->code;
        to += some;
        offset += (int64_t)some;
        size -= some;
    }
    return SB_OK;
}

static bool is_there(const struct sb_mender *mender, const void *data, size_t size, int64_t offset)
{
    unsigned char there[SB_PARITY_PIECE_MOST];
    struct sb_error ignored;
    size_t got;

    return sb_file_read(mender->work.file, there, size, offset, &got, &ignored) == SB_OK &&
           got == size && memcmp(there, data, size) == 0;
}

enum sb_code sb_mender_write(struct sb_mender *mender, const void *data, size_t size,
                             int64_t offset, struct sb_error *err)
{
    const unsigned char *from = data;
    enum sb_code code = SB_OK;

    if (!mender->rewrite.bytes)
        code = sb_rewrite_begin(&mender->rewrite, &mender->work, true, err);
    while (!code && size > 0) {
        size_t some = size < SB_PARITY_PIECE_MOST ? size : SB_PARITY_PIECE_MOST;

        if (!is_there(mender, from, some, offset))
            code = sb_rewrite_add(&mender->rewrite, false, offset, from, some, err);
        from += some;
        offset += (int64_t)some;
        size -= some;
    }
    return code;
}

enum sb_code sb_mender_end(struct sb_mender *mender, struct sb_error *err)
{
    return mender->rewrite.bytes ? sb_rewrite_end(&mender->rewrite, err) : SB_OK;
}
