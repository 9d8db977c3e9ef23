#include "archive/parity/make.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/little_endian.h"
#include "core/time.h"
#include "store/out/temporary.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define USUAL_PER_MILLE 50
#define INDEX_PER_MILLE 1000

/* A change soon after another may get the same time: that of the kernel's last tick, or where
 * seconds are all that is kept, the same second, or two. */
#define SETTLED_NS (2 * SB_SECOND)
#define WAITS_MOST 4

enum sb_code sb_protect_refuse_changed(const struct sb_protected *work, bool always,
                                       struct sb_error *err)
{
    struct timespec noted = sb_protect_noted_time(&work->parity->super);

    if (sb_protect_noted_repair(&work->parity->super) == SB_REPAIRING)
        return sb_fail(err, SB_CHANGED,
                       "%s: its repair was killed, or it changed after that; if nobody else wrote "
                       "to it, give it its time with 'touch -d @%" PRId64 ".%09ld"
                       " FILE' and repair it again; else --remove its parity file",
                       work->path, (int64_t)noted.tv_sec, noted.tv_nsec);
    if (!always)
        return SB_OK;
    return sb_fail(err, SB_CHANGED,
                   "%s: changed since its parity file was made, which says nothing about it now; "
                   "'shardbox protect --update' makes it anew",
                   work->path);
}

/*
 * Until a change that follows gets another time, also in a copy that keeps whole seconds. It may
 * have changed meanwhile.
 */
static enum sb_code let_time_pass(const struct sb_protected *work, struct stat *st,
                                  struct sb_error *err)
{
    struct timespec now, rest;
    int64_t age;

    for (int i = 0; i < WAITS_MOST; i++) {
        if (fstat(work->file->fd, st))
            return sb_fail_errno(err, errno, "%s", work->path);
        if (clock_gettime(CLOCK_REALTIME, &now))
            return SB_OK;
        age = sb_time_ns(now) - sb_time_ns(st->st_mtim);
        if (age < 0 || age >= SETTLED_NS)
            return SB_OK;
        if (sb_interrupted())
            return sb_fail_interrupt(err);
        rest = sb_time_split(SETTLED_NS - age);
        nanosleep(&rest, NULL);
    }
    return sb_fail(err, SB_CHANGED, "%s: is being written to; protect it when that has ended",
                   work->path);
}

static enum sb_code refuse_replaced(const struct sb_protected *work, struct sb_error *err)
{
    bool named;
    enum sb_code code = sb_is_named(work->file->fd, work->path, &named, err);

    if (code || named)
        return code;
    return sb_fail(err, SB_CHANGED, "%s: was replaced by another process just now; try again",
                   work->path);
}

enum sb_code sb_protect_clear(const struct sb_protected *work, struct sb_buf *temporary,
                              struct sb_error *err)
{
    struct sb_out_lock lock;
    struct stat st;

    if (sb_out_temporary_name(work->name.data, temporary, err))
        return err->code;
    if (lstat(temporary->data, &st) && errno == ENOENT)
        return SB_OK;
    if (sb_out_temporary_make(&lock, work->name.data, work->name.data, err))
        return err->code;
    sb_out_lock_drop(&lock);
    return SB_OK;
}

/* Not what is a shard, and begins with such a file. */
static bool is_whole_index(const struct sb_protected *work)
{
    size_t base = sb_protect_base_of_shard(work->path);
    char *index = base ? strndup(work->path, base) : NULL;
    bool shard = index && sb_protect_has_shard(index, work->path);

    free(index);
    return !shard && sb_protect_is_index(work->path);
}

/* An index may be lost as a whole, and nothing can be read without it. */
static unsigned redundancy_of(const struct sb_protected *work)
{
    unsigned per_mille = work->options->per_mille ? work->options->per_mille : USUAL_PER_MILLE;

    return per_mille < INDEX_PER_MILLE && is_whole_index(work) ? INDEX_PER_MILLE : per_mille;
}

enum sb_code sb_protect_choose_words(const struct sb_protected *work,
                                     struct sb_parity_options *wanted, struct sb_error *err)
{
    if (work->options->per_mille == 0 && work->parity) {
        const struct sb_parity_shape *shape = &work->parity->super.shape;

        wanted->data = shape->data;
        wanted->parity = shape->parity;
        if (shape->parity >= shape->data || !is_whole_index(work))
            return SB_OK;
    }
    return sb_parity_redundancy(redundancy_of(work), &wanted->data, &wanted->parity, err);
}

/* No parity file stays of a file that was removed while it was made. */
static enum sb_code refuse_removed(const struct sb_protected *work, struct sb_error *err)
{
    struct stat st;

    if (lstat(work->path, &st) == 0 || errno != ENOENT)
        return SB_OK;
    (void)unlink(work->name.data);
    return sb_fail(err, SB_CHANGED, "%s: was removed by another process just now", work->path);
}

static enum sb_code write_with(struct sb_protected *work, struct sb_parity_options *wanted,
                               sb_protect_write *write, struct sb_error *err)
{
    struct sb_buf temporary = {0};
    unsigned char user[SB_PARITY_USER], head[SB_PROTECT_HEAD];
    struct stat st;
    enum sb_code code = sb_protect_clear(work, &temporary, err);

    if (!code)
        code = let_time_pass(work, &st, err);
    if (!code)
        code = refuse_replaced(work, err);
    if (!code)
        code = sb_protect_read_head(work, head, err);
    if (!code) {
        sb_protect_note(user, &st, head);
        if (work->origin)
            sb_protect_note_origin(user, work->origin);
        wanted->user = user;
        wanted->temporary = temporary.data;
        code = write(work->file, wanted, err);
    }
    if (!code)
        code = refuse_removed(work, err);
    sb_buf_release(&temporary);
    if (!code)
        sb_report(work->options->notify, SB_NOTE, "written", wanted->path, "written");
    return code;
}

enum sb_code sb_protect_write_parity(struct sb_protected *work, sb_protect_write *write,
                                     struct sb_protect_vet *vet, struct sb_error *err)
{
    struct sb_parity_options wanted = {
        .path = work->name.data,
        .threads = work->options->threads,
        .progress = work->options->progress,
        .context = work->options->context,
        .renews = vet ? sb_protect_vet : NULL,
        .renews_context = vet,
    };

    if (sb_protect_choose_words(work, &wanted, err))
        return err->code;
    if (!work->options->dry_run)
        return write_with(work, &wanted, write, err);
    sb_report(work->options->notify, SB_NOTE, "would-write", wanted.path, "would be written");
    return SB_OK;
}

enum sb_code sb_protect_make(struct sb_protected *work, struct sb_error *err)
{
    struct sb_error found;

    if (sb_protected_open(work, SB_PARITY_READ, err))
        return err->code;
    switch (sb_protected_open_parity(work, SB_PARITY_READ, &found)) {
    case SB_NOENT:
        return sb_protect_write_parity(work, sb_parity_make, NULL, err);
    case SB_OK:
        return sb_fail(err, SB_EXISTS,
                       "%s: has a parity file already; --update brings it up to date", work->path);
    default:
        *err = found;
        return err->code;
    }
}
