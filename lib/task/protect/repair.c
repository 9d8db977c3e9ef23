#include "archive/own/state.h"
#include "archive/parity/check.h"
#include "archive/parity/pieces.h"
#include "core/io.h"
#include "store/out/lock.h"
#include "task/protect/before.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What does the state of the file say about bytes that are not as they were protected? */
enum verdict {
    IT_IS_DAMAGE,
    IT_MAY_BE_DAMAGE, /* or a change */
    IT_IS_A_CHANGE,
};

/* Bytes that follow each other, about which there is one message. */
struct run {
    int64_t from, to;
};

enum outcome { MENDED, LOST, OUTCOMES };

struct repair {
    struct sb_protected *work;
    struct sb_parity_bad *bad;
    enum sb_protect_commit commit;
    bool last;                 /* of two passes: the first finds out what can be made */
    bool can, cannot;          /* be made */
    bool contradicted;         /* by bytes that are known to be right */
    bool changed;              /* since it was protected; what is looked at need not have */
    bool keep_size;            /* what is missing at the end of the file cannot all be made */
    struct sb_rewrite rewrite; /* in the last, if it writes */
    bool writes;
    struct run runs[OUTCOMES];
    int64_t pieces[OUTCOMES];
};

/* Of a file that has lost its first bytes so many pieces may be damage, and not another state. */
#define SPARED_PIECES 9

static void say_run(const struct repair *repair, enum outcome outcome)
{
    const struct sb_protect_options *options = repair->work->options;
    const struct run *run = &repair->runs[outcome];
    const char *path = repair->work->path;

    if (run->from == run->to)
        return;
    if (outcome == LOST)
        sb_report(options->notify, SB_PROBLEM, "lost", path,
                  "bytes %" PRId64 " to %" PRId64 " are damaged beyond repair; bring them back "
                  "from a copy",
                  run->from, run->to - 1);
    else if (options->act == SB_PROTECT_CHECK)
        sb_report(options->notify, SB_PROBLEM, "damaged", path,
                  "bytes %" PRId64 " to %" PRId64 " are damaged; --repair makes them as they were",
                  run->from, run->to - 1);
    else if (!options->dry_run)
        sb_report(options->notify, SB_NOTE, "repaired", path,
                  "bytes %" PRId64 " to %" PRId64 " were repaired", run->from, run->to - 1);
}

static void add_run(struct repair *repair, enum outcome outcome, int64_t offset, size_t size)
{
    struct run *run = &repair->runs[outcome];

    if (run->to != offset) {
        say_run(repair, outcome);
        run->from = offset;
    }
    run->to = offset + (int64_t)size;
    repair->pieces[outcome]++;
}

static bool is_past_end(const struct repair *repair, int64_t offset, size_t size)
{
    return offset + (int64_t)size > repair->work->file->st.st_size;
}

static enum sb_code take_lost(void *context, int64_t offset, size_t size)
{
    struct repair *repair = context;

    repair->cannot = true;
    repair->keep_size |= is_past_end(repair, offset, size);
    if (repair->last)
        add_run(repair, LOST, offset, size);
    return SB_OK;
}

static enum sb_code take_mended(void *context, int64_t offset, const void *bytes, size_t size)
{
    struct repair *repair = context;
    struct sb_file *file = repair->work->file;
    const struct sb_protect_guard *guard = repair->work->guard;
    unsigned char there[SB_PARITY_PIECE_MOST];
    bool allowed = true;
    size_t got;

    if (guard) {
        TRY(sb_file_read(file, there, size, offset, &got));
        TRY(guard->allows(guard->context, offset, bytes, there, got, size, &allowed));
    }
    repair->contradicted |= !allowed;
    repair->can |= allowed;
    if (!repair->last || !allowed)
        return SB_OK;
    /* Zeros in between would look like bytes of the file. */
    if (repair->keep_size && is_past_end(repair, offset, size))
        return take_lost(context, offset, size);
    add_run(repair, MENDED, offset, size);
    return repair->writes ? sb_rewrite_add(&repair->rewrite, file, offset, bytes, size) : SB_OK;
}

static enum sb_code run_pass(struct repair *repair)
{
    struct sb_protected *work = repair->work;
    const struct sb_parity_mender mender = {
        .mended = take_mended, .lost = take_lost, .context = repair};

    return sb_parity_mend(work->parity, work->file, repair->bad, &mender);
}

static enum verdict judge(const struct repair *repair)
{
    const struct sb_protected *work = repair->work;

    /* Of an index a later commit has rows that only it knows. */
    if (repair->commit == SB_COMMIT_OTHER &&
        (!work->options->trust || sb_protect_is_index(work->path)))
        return IT_IS_A_CHANGE;
    if (work->options->trust || repair->commit != SB_COMMIT_NONE ||
        sb_protect_is_current(&work->parity->super, &work->file->st))
        return IT_IS_DAMAGE;
    return IT_MAY_BE_DAMAGE;
}

/* Of an index that has lost its first bytes: may its shards be of a later one? */
static bool may_be_later(const struct repair *repair)
{
    const struct sb_protected *work = repair->work;

    return repair->commit == SB_COMMIT_LOST && sb_protect_is_index(work->path) &&
           !sb_protect_is_current(&work->parity->super, &work->file->st);
}

/* The index as it was protected, and the record that its shards may be of a later one. */
static enum sb_code make_older(const struct repair *repair, struct sb_out_lock *made)
{
    const struct sb_protected *work = repair->work;

    TRY(sb_out_temporary_make(made, work->path, work->path));
    sb_parity_adopt(made->fd, &work->file->st);
    TRY(sb_pieces_write(work->parity, work->file, made->fd));
    return sb_remade_record(made->path, sb_protect_noted_time(&work->parity->super).tv_sec);
}

/* Its beginning comes last: until then the file has lost that, and a run after a kill goes on. */
static enum sb_code write_older(struct repair *repair)
{
    struct sb_protected *work = repair->work;
    CLEANUP(sb_out_lock_drop) struct sb_out_lock made = {.fd = -1};
    unsigned char bytes[SB_PARITY_PIECE_MOST];
    struct stat st;
    size_t got;

    TRY(make_older(repair, &made));
    if (fstat(made.fd, &st))
        return sb_fail_errno(errno, "%s", work->path);
    for (off_t at = st.st_size - st.st_size % SB_PARITY_PIECE_MOST; at >= 0;
         at -= SB_PARITY_PIECE_MOST) {
        TRY(sb_pread_full(made.fd, bytes, sizeof(bytes), at, &got, work->path));
        if (at == 0)
            TRY(sb_rewrite_end(&repair->rewrite));
        TRY(sb_rewrite_add(&repair->rewrite, work->file, at, bytes, got));
    }
    return SB_OK;
}

/* The second pass, which writes if that is requested. */
static enum sb_code write_pieces(struct repair *repair)
{
    struct sb_protected *work = repair->work;
    bool later = may_be_later(repair);

    if (!repair->writes)
        return run_pass(repair);
    TRY(sb_rewrite_begin(&repair->rewrite, work->path, work->options->parity_dir));
    if (repair->commit != SB_COMMIT_NONE)
        TRY(sb_rewrite_announce(&repair->rewrite, work->path,
                                (int64_t)sb_protect_noted_commits(&work->parity->super) + later));
    repair->writes = !later;
    TRY(run_pass(repair));
    repair->writes = true;
    if (later)
        TRY(write_older(repair));
    return sb_rewrite_end(&repair->rewrite);
}

static enum sb_code write_what_can(struct repair *repair)
{
    const struct sb_protected *work = repair->work;
    const struct sb_protect_options *options = work->options;
    enum sb_code code;

    repair->last = true;
    repair->writes = options->act == SB_PROTECT_REPAIR && !options->dry_run && repair->can;
    code = write_pieces(repair);
    sb_rewrite_release(&repair->rewrite);
    if (code)
        return code;
    say_run(repair, MENDED);
    say_run(repair, LOST);
    if (repair->contradicted)
        sb_report(options->notify, SB_WARNING, "changed", work->path,
                  "has files that match their checksums, but not its parity file, which is older "
                  "than it; 'shardbox protect --remove' and 'protect' make another");
    if (repair->writes && !work->guard && judge(repair) == IT_MAY_BE_DAMAGE)
        sb_report(options->notify, SB_WARNING, "undo", work->path,
                  "is damaged, and has another time than when it was protected; if it was changed "
                  "since, 'shardbox verify --undo-repair' puts back what was there");
    if (repair->keep_size)
        sb_report(options->notify, SB_PROBLEM, "cut", work->path,
                  "is cut short after %" PRId64 " bytes, and grows only if all that is missing can "
                  "be made",
                  (int64_t)work->file->st.st_size);
    if (options->dry_run && repair->pieces[MENDED] > 0)
        sb_report(options->notify, SB_NOTE, "would-repair", work->path, "would be repaired");
    return SB_OK;
}

static enum sb_code fail_changed(const struct repair *repair)
{
    const struct sb_protected *work = repair->work;

    if (work->guard)
        return sb_fail(SB_CHANGED,
                       "%s: has files without a checksum that changed since its parity file was "
                       "made, or are damaged; if they are, --trust-parity makes them as they were",
                       work->path);
    if (sb_protect_base_of_shard(work->path) > 0)
        return sb_fail(SB_CHANGED,
                       "%s: changed since its parity file was made, or is damaged; 'shardbox "
                       "verify --repair' of its archive knows by the checksums of the index",
                       work->path);
    if (repair->commit == SB_COMMIT_OTHER)
        return sb_fail(SB_CHANGED,
                       "%s: changed since its parity file was made, which says nothing about it "
                       "now; 'shardbox protect --update' makes it anew",
                       work->path);
    return sb_fail(SB_CHANGED,
                   "%s: changed since its parity file was made, or is damaged: nothing but its "
                   "time says which; if it is right, 'shardbox protect --update' makes that anew; "
                   "if it is damaged, --repair --trust-parity makes it as it was",
                   work->path);
}

static enum sb_code refuse_another(const struct repair *repair)
{
    const struct sb_protected *work = repair->work;
    bool another = false;

    if (repair->commit == SB_COMMIT_SAME && repair->bad->data > 0 &&
        (!work->options->trust || sb_protect_is_index(work->path)))
        TRY(sb_pieces_is_another(work->parity, work->file, &another));
    if (!another)
        return SB_OK;
    return sb_fail(SB_CHANGED,
                   "%s: is another file than its parity file is of, though it counts as many "
                   "commits; if it is the right one, 'shardbox protect --update' makes that anew",
                   work->path);
}

/* Is what differs to be repaired? SB_CHANGED: no. */
static enum sb_code judge_damage(const struct repair *repair)
{
    const struct sb_protected *work = repair->work;
    const struct sb_parity_super *super = &work->parity->super;
    int64_t bad = repair->bad->data;
    enum verdict verdict = judge(repair);
    bool damaged = verdict == IT_IS_DAMAGE;

    /* So much differs where a file that has lost its first bytes is in a later state, or another
     * one. */
    if (damaged && repair->commit == SB_COMMIT_LOST && !work->options->trust &&
        (bad > SPARED_PIECES || bad * 2 > sb_parity_pieces(&super->shape)) &&
        !sb_protect_is_current(super, &work->file->st))
        return fail_changed(repair);
    /* A longer file was written to since; of a shard the index knows. */
    if (verdict == IT_MAY_BE_DAMAGE && work->file->st.st_size <= super->shape.size &&
        sb_protect_base_of_shard(work->path) == 0)
        TRY(sb_prove_own(work, &damaged));
    return damaged ? refuse_another(repair) : fail_changed(repair);
}

/* It is made again of a file that is known to be right: by its pieces, or by what proves it. */
static enum sb_code tend_parity(struct repair *repair)
{
    struct sb_protected *work = repair->work;
    const struct sb_protect_options *options = work->options;
    const struct sb_parity_bad *bad = repair->bad;

    if (work->guard) {
        work->guard->again = bad->rest > 0 || bad->unknown > 0;
        return SB_OK;
    }
    if (bad->unknown > 0)
        sb_report(options->notify, SB_PROBLEM, "unchecked", work->path,
                  "%" PRId64 " of its bytes cannot be checked: their table in the parity file is "
                  "lost; if it is right, --remove that and make it anew",
                  bad->unknown);
    if (bad->rest == 0 || repair->cannot || bad->unknown > 0)
        return SB_OK;
    if (options->act == SB_PROTECT_CHECK) {
        sb_report(options->notify, SB_PROBLEM, "damaged", work->name.data,
                  "%" PRId64 " of its parts are damaged; --repair makes it again", bad->rest);
        return SB_OK;
    }
    if (options->dry_run) {
        sb_report(options->notify, SB_NOTE, "would-repair", work->name.data, "would be made again");
        return SB_OK;
    }
    sb_file_free(TAKE(work->file));
    TRY(sb_protected_open(work, false));
    return sb_protect_write_parity(work);
}

static void count(const struct repair *repair)
{
    struct sb_protect_result *result = repair->work->options->result;

    if (!result)
        return;
    result->files += !repair->changed;
    result->changed += repair->changed;
    result->pieces += repair->bad->data + repair->bad->rest;
    result->repaired += repair->pieces[MENDED] + repair->bad->rest;
    result->lost += repair->pieces[LOST];
}

static enum sb_code run(struct repair *repair)
{
    struct sb_protected *work = repair->work;
    const struct sb_protect_guard *guard = work->guard;
    const struct sb_parity_check_options all = {.parity = true,
                                                .chooses = guard ? guard->chooses : NULL,
                                                .chooses_section =
                                                    guard ? guard->chooses_section : NULL,
                                                .chooser = guard ? guard->context : NULL,
                                                .progress = work->options->progress,
                                                .context = work->options->context};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;

    TRY(sb_parity_check(&bad, work->parity, work->file, &all));
    repair->bad = bad;
    if (repair->bad->of_another)
        return sb_fail(SB_DAMAGED,
                       "%s: its tables belong to another state of it; --remove it, and make it "
                       "again",
                       work->name.data);
    /* A longer file may have changed there. */
    if (repair->bad->data > 0 ||
        (!guard && work->file->st.st_size > work->parity->super.shape.size))
        TRY(judge_damage(repair));
    if (repair->bad->data > 0)
        TRY(run_pass(repair));
    if (repair->cannot && may_be_later(repair))
        return sb_fail(SB_DAMAGED,
                       "%s: has lost its first bytes, and not all of it can be made; bring it back "
                       "from a copy",
                       work->path);
    if (repair->can || repair->cannot || repair->contradicted)
        TRY(write_what_can(repair));
    TRY(tend_parity(repair));
    count(repair);
    if (repair->bad->data == 0 && repair->bad->rest == 0)
        sb_report(work->options->notify, SB_NOTE, "sound", work->path,
                  "is sound, and its parity file");
    return SB_OK;
}

enum sb_code sb_protect_repair(struct sb_protected *work)
{
    bool to_write = work->options->act == SB_PROTECT_REPAIR && !work->options->dry_run;
    struct repair repair = {.work = work};

    TRY(sb_protected_open(work, to_write));
    TRY(sb_protected_open_parity(work));
    TRY(sb_protect_commit_of(&work->parity->super, work->file, &repair.commit));
    /* It cannot be the one that is protected, and is not read. */
    if (judge(&repair) == IT_IS_A_CHANGE)
        return fail_changed(&repair);
    repair.changed = work->guard && judge(&repair) == IT_MAY_BE_DAMAGE;
    return run(&repair);
}
