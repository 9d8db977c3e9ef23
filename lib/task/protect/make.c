#include "archive/parity/make.h"
#include "archive/parity/check.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/little_endian.h"
#include "core/time.h"
#include "store/out/temporary.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define USUAL_PER_MILLE 50

/*
 * The note: 8 bytes of its kind; size, seconds and nanoseconds of the time, and while a repair
 * writes 1, or 2 if the file had changed before it; 1 if the file was lost and made again from
 * here; 8 bytes each; zeros.
 */
static const unsigned char note_kind[8] = "SBPROT01";

#define REPAIR_AT 32
#define OLD_AT    40

/* A change soon after another may get the same time: that of the kernel's last tick, or where
 * seconds are all that is kept, the same second, or two. */
#define SETTLED_NS (2 * SB_SECOND)
#define WAITS_MOST 4

void sb_protect_note(unsigned char *user, const struct stat *st)
{
    unsigned char *at = user + sizeof(note_kind);

    memset(user, 0, SB_PARITY_USER);
    memcpy(user, note_kind, sizeof(note_kind));
    at = sb_put_u64(at, (uint64_t)st->st_size);
    at = sb_put_u64(at, (uint64_t)st->st_mtim.tv_sec);
    sb_put_u64(at, (uint64_t)st->st_mtim.tv_nsec);
}

bool sb_protect_has_note(const struct sb_parity_super *super)
{
    return memcmp(super->user, note_kind, sizeof(note_kind)) == 0;
}

/* A copy may have lost the nanoseconds of its time. */
static bool same_time(const unsigned char *user, const struct stat *st)
{
    return sb_get_u64(user + 16) == (uint64_t)st->st_mtim.tv_sec &&
           (st->st_mtim.tv_nsec == 0 || sb_get_u64(user + 24) == (uint64_t)st->st_mtim.tv_nsec);
}

void sb_protect_note_old(unsigned char *user)
{
    sb_put_u64(user + OLD_AT, 1);
}

bool sb_protect_noted_old(const struct sb_parity_super *super)
{
    return sb_get_u64(super->user + OLD_AT) != 0;
}

void sb_protect_note_repair(unsigned char *user, enum sb_protect_repairing repairing)
{
    sb_put_u64(user + REPAIR_AT, repairing);
}

enum sb_protect_repairing sb_protect_noted_repair(const struct sb_parity_super *super)
{
    uint64_t noted = sb_get_u64(super->user + REPAIR_AT);

    return noted <= SB_REPAIRING_CHANGED ? (enum sb_protect_repairing)noted : SB_REPAIRING_NOTHING;
}

struct timespec sb_protect_noted_time(const struct sb_parity_super *super)
{
    return (struct timespec){.tv_sec = (time_t)sb_get_u64(super->user + 16),
                             .tv_nsec = (long)sb_get_u64(super->user + 24)};
}

bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st)
{
    return super->valid == sb_parity_pieces(&super->shape) &&
           sb_get_u64(super->user + 8) == (uint64_t)super->shape.size &&
           st->st_size <= super->shape.size && same_time(super->user, st);
}

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

/* Removes what a killed run left, and refuses what none did. */
static enum sb_code clear_temporary(const struct sb_protected *work, struct sb_error *err)
{
    struct sb_out_lock lock;
    enum sb_code code = sb_out_temporary_make(&lock, work->name.data, work->name.data, err);

    if (!code)
        sb_out_lock_drop(&lock);
    return code;
}

static enum sb_code choose_words(const struct sb_protected *work, struct sb_parity_options *wanted,
                                 struct sb_error *err)
{
    unsigned per_mille = work->options->per_mille;

    if (per_mille == 0 && work->parity) {
        wanted->data = work->parity->super.shape.data;
        wanted->parity = work->parity->super.shape.parity;
        return SB_OK;
    }
    return sb_parity_redundancy(per_mille ? per_mille : USUAL_PER_MILLE, &wanted->data,
                                &wanted->parity, err);
}

static enum sb_code write_parity(struct sb_protected *work, struct sb_error *err)
{
    struct sb_buf temporary = {0};
    unsigned char user[SB_PARITY_USER];
    struct stat st;
    struct sb_parity_options wanted = {
        .path = work->name.data,
        .threads = work->options->threads,
        .user = user,
        .progress = work->options->progress,
        .context = work->options->context,
    };
    enum sb_code code = choose_words(work, &wanted, err);

    if (!code && work->options->dry_run) {
        sb_report(work->options->notify, SB_NOTE, "would-write", wanted.path, "would be written");
        return SB_OK;
    }
    if (!code)
        code = clear_temporary(work, err);
    if (!code)
        code = sb_out_temporary_name(work->name.data, &temporary, err);
    if (!code)
        code = let_time_pass(work, &st, err);
    if (!code)
        code = refuse_replaced(work, err);
    if (!code) {
        sb_protect_note(user, &st);
        wanted.temporary = temporary.data;
        code = sb_parity_make(work->file, &wanted, err);
    }
    sb_buf_release(&temporary);
    if (!code)
        sb_report(work->options->notify, SB_NOTE, "written", wanted.path, "written");
    return code;
}

enum sb_code sb_protect_make(struct sb_protected *work, struct sb_error *err)
{
    struct sb_error found;

    if (sb_protected_open(work, SB_PARITY_READ, err))
        return err->code;
    switch (sb_protected_open_parity(work, SB_PARITY_READ, &found)) {
    case SB_NOENT:
        return write_parity(work, err);
    case SB_OK:
        return sb_fail(err, SB_EXISTS,
                       "%s: has a parity file already; --update brings it up to date", work->path);
    default:
        *err = found;
        return err->code;
    }
}

/* Of a file that did not change: damaged bytes must not be protected as if they were right. */
static enum sb_code refuse_damage(const struct sb_protected *work, struct sb_error *err)
{
    struct sb_parity_check_options wanted = {0};
    struct sb_parity_bad *bad;
    enum sb_code code = sb_parity_check(&bad, work->parity, work->file, &wanted, err);

    if (!code && sb_parity_bad_count(bad, SB_PARITY_DATA) > 0)
        code =
            sb_fail(err, SB_DAMAGED, "%s: is damaged; repair it first, with --repair", work->path);
    sb_parity_bad_free(bad);
    return code;
}

static bool is_as_requested(const struct sb_protected *work, const struct sb_parity_options *wanted)
{
    const struct sb_parity_shape *shape = &work->parity->super.shape;

    return shape->data == wanted->data && shape->parity == wanted->parity;
}

enum sb_code sb_protect_update(struct sb_protected *work, struct sb_error *err)
{
    struct sb_parity_options wanted = {0};
    enum sb_code code;

    if (sb_protected_open(work, SB_PARITY_READ, err))
        return err->code;
    code = sb_protected_open_parity(work, SB_PARITY_READ, err);
    if (code == SB_NOENT)
        return write_parity(work, err);
    if (!code)
        code = choose_words(work, &wanted, err);
    if (!code && !sb_protect_is_current(&work->parity->super, &work->file->st)) {
        code = sb_protect_refuse_changed(work, false, err);
        return code ? code : write_parity(work, err);
    }
    if (code)
        return code;
    if (is_as_requested(work, &wanted)) {
        sb_report(work->options->notify, SB_NOTE, "current", work->path,
                  "its parity file is up to date");
        return SB_OK;
    }
    code = refuse_damage(work, err);
    return code ? code : write_parity(work, err);
}
