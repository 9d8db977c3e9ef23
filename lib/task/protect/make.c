#include "archive/parity/check.h"
#include "archive/parity/pieces.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/time.h"
#include "store/out/temporary.h"
#include "task/protect/impl.h"

#include <errno.h>
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

/*
 * Until a change that follows gets another time, also in a copy that keeps whole seconds. It may
 * have changed meanwhile.
 */
static enum sb_code let_time_pass(const struct sb_protected *work, struct stat *st)
{
    struct timespec now, rest;
    int64_t age;

    for (int i = 0; i < WAITS_MOST; i++) {
        if (fstat(work->file->fd, st))
            return sb_fail_errno(errno, "%s", work->path);
        if (clock_gettime(CLOCK_REALTIME, &now))
            return SB_OK;
        age = sb_time_ns(now) - sb_time_ns(st->st_mtim);
        if (age < 0 || age >= SETTLED_NS)
            return SB_OK;
        if (sb_interrupted())
            return sb_fail_interrupt();
        rest = sb_time_split(SETTLED_NS - age);
        nanosleep(&rest, NULL);
    }
    return sb_fail(SB_CHANGED, "%s: is being written to; protect it when that has ended",
                   work->path);
}

enum sb_code sb_protect_clear(const char *path, struct sb_buf *temporary)
{
    struct sb_out_lock lock;
    struct stat st;

    TRY(sb_out_temporary_name(path, temporary));
    if (lstat(temporary->data, &st) && errno == ENOENT)
        return SB_OK;
    TRY(sb_out_temporary_make(&lock, path, path));
    sb_out_lock_drop(&lock);
    return SB_OK;
}

/* Not what is a shard, and begins with such a file. */
static bool is_whole_index(const struct sb_protected *work)
{
    size_t base = sb_protect_base_of_shard(work->path);
    CLEANUP(sb_freep) char *index = base ? strndup(work->path, base) : NULL;

    return sb_protect_is_index(work->path) &&
           !(index && sb_protect_has_shard(index, work->path, work->options->parity_dir));
}

/* As they are requested, or as the open parity file has them. */
static enum sb_code choose_words(const struct sb_protected *work, struct sb_parity_options *wanted)
{
    unsigned per_mille = work->options->per_mille;

    if (per_mille == 0 && work->parity) {
        const struct sb_parity_shape *shape = &work->parity->super.shape;

        wanted->data = shape->data;
        wanted->parity = shape->parity;
        if (shape->parity >= shape->data || !is_whole_index(work))
            return SB_OK;
    }
    if (per_mille == 0)
        per_mille = USUAL_PER_MILLE;
    /* An index may be lost as a whole, and nothing can be read without it. */
    if (per_mille < INDEX_PER_MILLE && is_whole_index(work))
        per_mille = INDEX_PER_MILLE;
    return sb_parity_redundancy(per_mille, &wanted->data, &wanted->parity);
}

/* What the parity file notes of the file. */
static enum sb_code note_file(const struct sb_protected *work, unsigned char *user)
{
    unsigned char head[SB_PROTECT_HEAD];
    struct stat st;
    bool named;

    TRY(let_time_pass(work, &st));
    TRY(sb_is_named(work->file->fd, work->path, &named));
    if (!named)
        return sb_fail(SB_CHANGED, "%s: was replaced by another process just now; try again",
                       work->path);
    TRY(sb_protect_read_head(work->file, head));
    sb_protect_note(user, &st, head);
    if (work->origin)
        sb_protect_note_origin(user, work->origin);
    return SB_OK;
}

static enum sb_code prove_and_make(const struct sb_protected *work,
                                   struct sb_parity_options *wanted, unsigned char *user)
{
    CLEANUP(sb_prove_freep) struct sb_prove *prove = NULL;

    TRY(sb_prove_begin(&prove, work));
    if (prove) {
        wanted->read = sb_prove_read;
        wanted->proved = sb_prove_end;
        wanted->reader = prove;
        sb_prove_note(prove, user);
    }
    return sb_parity_make(work->file, wanted);
}

enum sb_code sb_protect_write_parity(struct sb_protected *work)
{
    const struct sb_protect_options *options = work->options;
    unsigned char user[SB_PARITY_USER];
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};
    struct stat st;
    struct sb_parity_options wanted = {
        .path = work->name.data,
        .threads = options->threads,
        .user = user,
        .progress = options->progress,
        .context = options->context,
    };

    TRY(choose_words(work, &wanted));
    if (options->dry_run) {
        sb_report(options->notify, SB_NOTE, "would-write", wanted.path, "would be written");
        return SB_OK;
    }
    TRY(sb_protect_clear(work->name.data, &temporary));
    wanted.temporary = temporary.data;
    TRY(note_file(work, user));
    TRY(prove_and_make(work, &wanted, user));
    /* No parity file stays of a file that was removed while it was made. */
    if (lstat(work->path, &st) && errno == ENOENT) {
        (void)unlink(work->name.data);
        return sb_fail(SB_CHANGED, "%s: was removed by another process just now", work->path);
    }
    sb_report(options->notify, SB_NOTE, "written", wanted.path, "written");
    return SB_OK;
}

enum sb_code sb_protect_make(struct sb_protected *work)
{
    enum sb_code code;

    TRY(sb_protected_open(work, false));
    code = sb_protected_open_parity(work);
    if (code)
        return code == SB_NOENT ? sb_protect_write_parity(work) : code;
    return sb_fail(SB_EXISTS, "%s: has a parity file already; --update brings it up to date",
                   work->path);
}

/* Of a file that seems to have the state which is protected. Damage must not be protected;
 * *current: false if it is another state after all. */
static enum sb_code compare(const struct sb_protected *work, bool *current)
{
    struct sb_parity_check_options wanted = {0};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;
    bool another = false;

    TRY(sb_parity_check(&bad, work->parity, work->file, &wanted));
    if (bad->data > 0) {
        TRY(sb_pieces_is_another(work->parity, work->file, &another));
        if (!another)
            return sb_fail(SB_DAMAGED, "%s: is damaged; repair it first, with --repair",
                           work->path);
    }
    *current = !another;
    return SB_OK;
}

static enum sb_code leave(struct sb_protected *work)
{
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};

    sb_report(work->options->notify, SB_NOTE, "current", work->path,
              "its parity file is up to date");
    if (!work->options->dry_run) {
        sb_parity_adopt(work->parity->file->fd, &work->file->st);
        TRY(sb_protect_clear(work->name.data, &temporary));
    }
    return SB_OK;
}

enum sb_code sb_protect_update(struct sb_protected *work)
{
    struct sb_parity_options wanted = {0};
    bool current, same_words, older = false;
    enum sb_code code;

    TRY(sb_protected_open(work, false));
    code = sb_protected_open_parity(work);
    if (code == SB_NOENT || code == SB_DAMAGED)
        return sb_protect_write_parity(work);
    if (code)
        return code;
    TRY(choose_words(work, &wanted));
    TRY(sb_protect_is_same(&work->parity->super, work->file, &current));
    /* The parity file is all that is left of the later one. */
    if (!current && sb_protect_is_index(work->path))
        TRY(sb_protected_is_older(work, &older));
    if (older)
        return sb_fail(SB_CHANGED, "%s: %s", work->path, sb_protect_older);
    if (!current || work->options->anew)
        return sb_protect_write_parity(work);
    same_words = work->parity->super.shape.data == wanted.data &&
                 work->parity->super.shape.parity == wanted.parity;
    if (!same_words || !sb_protect_is_current(&work->parity->super, &work->file->st))
        TRY(compare(work, &current));
    return current && same_words ? leave(work) : sb_protect_write_parity(work);
}
