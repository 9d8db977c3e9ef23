#include "archive/parity/check.h"
#include "archive/parity/mend.h"
#include "task/protect/impl.h"
#include "task/protect/rewrite.h"

#include <inttypes.h>
#include <string.h>

/* Bytes that follow each other, about which there is one message. */
struct run {
    int64_t from, to;
};

enum outcome { MENDED, LOST, OUTCOMES };

/* Arrays: of the file, and of its parity file. */
struct repair {
    struct sb_protected *work;
    struct sb_parity_bad *bad;
    bool last;                 /* of two passes: the first finds out what can be made */
    struct sb_rewrite rewrite; /* in the last, if anything is to be written */
    bool changed;              /* the file, since its parity file was made */
    bool rewritten;            /* only by repairs, or so it seems: all of it is checked */
    bool contradicted;         /* by bytes that must stay */
    bool keep_size;            /* what is missing at the end of the file cannot all be made */
    bool can[2], cannot[2];
    struct run runs[OUTCOMES][2];
    int64_t pieces[OUTCOMES];
    int64_t unchecked; /* up to there it was reported */
};

static const char *name_of(const struct repair *repair, bool parity)
{
    return parity ? repair->work->name.data : repair->work->path;
}

static void say_mended(const struct repair *repair, bool parity, const struct run *run)
{
    const struct sb_protect_options *options = repair->work->options;

    if (options->act == SB_PROTECT_CHECK)
        sb_report(options->notify, SB_PROBLEM, "damaged", name_of(repair, parity),
                  "bytes %" PRId64 " to %" PRId64 " are damaged; --repair makes them as they were",
                  run->from, run->to - 1);
    else if (!options->dry_run)
        sb_report(options->notify, SB_NOTE, "repaired", name_of(repair, parity),
                  "bytes %" PRId64 " to %" PRId64 " were repaired", run->from, run->to - 1);
}

static void say_lost(const struct repair *repair, bool parity, const struct run *run)
{
    /* What is written anew need not have what lay between files. */
    bool odd = repair->rewritten && !parity;
    const char *advice = parity ? "if the file is right, --remove them and make them anew"
                         : odd  ? "if the file is right, 'shardbox protect --update' it"
                                : "bring them back from a copy";

    sb_report(repair->work->options->notify, odd ? SB_WARNING : SB_PROBLEM, "lost",
              name_of(repair, parity),
              "bytes %" PRId64 " to %" PRId64 " are damaged beyond repair; %s", run->from,
              run->to - 1, advice);
}

static void say_run(const struct repair *repair, enum outcome outcome, bool parity)
{
    const struct run *run = &repair->runs[outcome][parity];

    if (run->from == run->to)
        return;
    if (outcome == MENDED)
        say_mended(repair, parity, run);
    else
        say_lost(repair, parity, run);
}

static void end_runs(const struct repair *repair)
{
    for (int parity = 0; parity < 2; parity++) {
        say_run(repair, MENDED, parity);
        say_run(repair, LOST, parity);
    }
}

static void add_run(struct repair *repair, enum outcome outcome, bool parity,
                    const struct sb_parity_part *part)
{
    struct run *run = &repair->runs[outcome][parity];

    if (run->to != part->offset) {
        say_run(repair, outcome, parity);
        run->from = part->offset;
    }
    run->to = part->offset + part->size;
    repair->pieces[outcome] += part->count;
}

/* The second copy of a page comes, too. */
static void say_unchecked(struct repair *repair, const struct sb_parity_part *page)
{
    int64_t from, to;

    sb_parity_page_bytes(repair->work->parity, page, &from, &to);
    if (to <= repair->unchecked || from == to)
        return;
    repair->unchecked = to;
    sb_report(repair->work->options->notify, SB_PROBLEM, "unchecked", repair->work->path,
              "bytes %" PRId64 " to %" PRId64 " cannot be checked: their table in the parity file "
              "is lost",
              from, to - 1);
}

static bool is_past_end(const struct repair *repair, const struct sb_parity_part *part)
{
    return part->kind == SB_PARITY_DATA &&
           part->offset + part->size > repair->work->file->st.st_size;
}

static enum sb_code take_lost(void *context, const struct sb_parity_part *part,
                              struct sb_error *err)
{
    struct repair *repair = context;
    bool parity = part->kind != SB_PARITY_DATA;

    (void)err;
    if (repair->changed && (part->kind == SB_PARITY_DATA || part->kind == SB_PARITY_CHECK))
        return SB_OK;
    repair->cannot[parity] = true;
    repair->keep_size |= is_past_end(repair, part);
    if (!repair->last)
        return SB_OK;
    add_run(repair, LOST, parity, part);
    if (part->kind == SB_PARITY_PAGE)
        say_unchecked(repair, part);
    return SB_OK;
}

/* Bytes from `from` up to `to` of a piece that was made. */
static enum sb_code is_as_made(const struct repair *repair, const struct sb_parity_part *part,
                               const unsigned char *made, int64_t from, int64_t to, bool *as_made,
                               struct sb_error *err)
{
    unsigned char there[SB_PARITY_PIECE_MOST];
    size_t size = (size_t)(to - from), got;

    if (size == 0)
        return SB_OK;
    if (sb_file_read(repair->work->file, there, size, from, &got, err))
        return err->code;
    *as_made = *as_made && got == size && memcmp(there, made + (from - part->offset), size) == 0;
    return SB_OK;
}

/* Bytes that must stay prove that a piece which was made is not an old one. */
static enum sb_code is_allowed(const struct repair *repair, const struct sb_parity_part *part,
                               const void *made, bool *allowed, struct sb_error *err)
{
    const struct sb_protect_guard *guard = repair->work->guard;
    int64_t at = part->offset, to = at + part->size, begin, end;
    enum sb_code code = SB_OK;

    *allowed = true;
    for (; !code && guard && at < to; at = end) {
        code = guard->next(guard->context, at, to, &begin, &end, err);
        if (!code)
            code = is_as_made(repair, part, made, at, begin, allowed, err);
    }
    return code;
}

static enum sb_code write_data(struct repair *repair, const struct sb_parity_part *part,
                               const unsigned char *made, struct sb_error *err)
{
    const struct sb_protect_guard *guard = repair->work->guard;
    int64_t at = part->offset, to = at + part->size, begin = at, end = to;
    enum sb_code code = SB_OK;

    for (; !code && at < to; at = end) {
        if (guard)
            code = guard->next(guard->context, at, to, &begin, &end, err);
        if (!code && begin < end)
            code = sb_rewrite_add(&repair->rewrite, false, begin, made + (begin - part->offset),
                                  (size_t)(end - begin), err);
    }
    return code;
}

static enum sb_code take_mended(void *context, const struct sb_parity_part *part, const void *bytes,
                                struct sb_error *err)
{
    struct repair *repair = context;
    bool parity = part->kind != SB_PARITY_DATA, allowed = parity;

    if (!parity && repair->changed)
        return SB_OK;
    if (!parity && is_allowed(repair, part, bytes, &allowed, err))
        return err->code;
    if (!allowed) {
        repair->contradicted = true;
        repair->keep_size |= is_past_end(repair, part);
        return SB_OK;
    }
    if (!repair->last) {
        repair->can[parity] = true;
        return SB_OK;
    }
    /* Zeros in between would look like bytes of the file. */
    if (repair->keep_size && is_past_end(repair, part))
        return take_lost(context, part, err);
    add_run(repair, MENDED, parity, part);
    if (!repair->rewrite.bytes)
        return SB_OK;
    if (!parity)
        return write_data(repair, part, bytes, err);
    return sb_rewrite_add(&repair->rewrite, true, part->offset, bytes, (size_t)part->size, err);
}

static enum sb_code run_pass(struct repair *repair, struct sb_error *err)
{
    struct sb_protected *work = repair->work;
    const struct sb_parity_mender mender = {
        .mended = take_mended, .lost = take_lost, .context = repair};

    return sb_parity_mend(work->parity, work->file, repair->bad, &mender, err);
}

/* Superblocks that a mark has made whole do not come from mend any more. */
static enum sb_code begin_writing(struct repair *repair, struct sb_error *err)
{
    const struct sb_parity *parity = repair->work->parity;
    bool was[SB_PARITY_COPIES];

    memcpy(was, parity->whole, sizeof(was));
    if (sb_rewrite_begin(&repair->rewrite, repair->work, repair->can[0], err))
        return err->code;
    for (unsigned copy = 0; copy < SB_PARITY_COPIES; copy++) {
        const struct sb_parity_part part = {
            .kind = SB_PARITY_SUPER,
            .offset = sb_parity_super_offset(&parity->super, copy),
            .size = SB_PARITY_BLOCK,
        };

        if (!was[copy] && parity->whole[copy])
            add_run(repair, MENDED, true, &part);
    }
    return SB_OK;
}

static bool is_writing(const struct sb_protected *work)
{
    return work->options->act == SB_PROTECT_REPAIR && !work->options->dry_run;
}

static enum sb_code write_what_can(struct repair *repair, struct sb_error *err)
{
    const struct sb_protect_options *options = repair->work->options;
    enum sb_code code = SB_OK;

    repair->last = true;
    if (is_writing(repair->work) && (repair->can[0] || repair->can[1]))
        code = begin_writing(repair, err);
    if (!code)
        code = run_pass(repair, err);
    if (!code && repair->rewrite.bytes)
        code = sb_rewrite_end(&repair->rewrite, err);
    sb_rewrite_release(&repair->rewrite);
    if (code)
        return code;
    end_runs(repair);
    if (repair->keep_size)
        sb_report(options->notify, SB_PROBLEM, "cut", repair->work->path,
                  "is cut short after %" PRId64 " bytes, and grows only if all that is missing can "
                  "be made",
                  (int64_t)repair->work->file->st.st_size);
    for (int parity = 0; parity < 2 && options->dry_run; parity++) {
        if (repair->runs[MENDED][parity].from < repair->runs[MENDED][parity].to)
            sb_report(options->notify, SB_NOTE, "would-repair", name_of(repair, parity),
                      "would be repaired");
    }
    return SB_OK;
}

/* Other bytes are known by something better than a parity file. */
static enum sb_code has_free_bytes(void *chooser, int64_t from, int64_t to, bool *chosen,
                                   struct sb_error *err)
{
    const struct repair *repair = chooser;
    const struct sb_protect_guard *guard = repair->work->guard;
    int64_t begin = to, end;

    if (!repair->changed && guard->next(guard->context, from, to, &begin, &end, err))
        return err->code;
    *chosen = begin < to;
    return SB_OK;
}

static bool looks_at(void *chooser, int64_t from, int64_t to)
{
    const struct sb_protect_guard *guard = ((const struct repair *)chooser)->work->guard;

    return guard->looks_at(guard->context, from, to);
}

/* It has the size and the time of the file that is protected. */
static enum sb_code refuse_another(const struct repair *repair, struct sb_error *err)
{
    struct sb_protected *work = repair->work;
    int64_t bad = sb_parity_bad_count(repair->bad, SB_PARITY_DATA);
    bool another;

    sb_protect_find_evidence(work, bad);
    if (bad == 0 || repair->rewritten)
        return SB_OK;
    if (sb_protect_is_another(work, repair->bad, &another, err))
        return err->code;
    return another ? sb_fail(err, SB_CHANGED,
                             "%s: is another file than its parity file is of, with the same size "
                             "and time; if it is the right one, remove that with 'shardbox protect "
                             "--remove' and protect it",
                             work->path)
                   : SB_OK;
}

static enum sb_code examine(struct repair *repair, struct sb_error *err)
{
    struct sb_protected *work = repair->work;
    bool chooses = work->guard && !repair->rewritten;
    const struct sb_parity_check_options wanted = {
        .parity = true,
        .chooses_section = chooses && work->guard->looks_at ? looks_at : NULL,
        .chooses = chooses ? has_free_bytes : NULL,
        .chooser = repair,
        .progress = work->options->progress,
        .context = work->options->context,
    };
    enum sb_code code = sb_parity_check(&repair->bad, work->parity, work->file, &wanted, err);

    if (!code && !work->guard)
        code = refuse_another(repair, err);
    if (!code)
        code = run_pass(repair, err);
    if (code)
        return code;
    if (repair->can[0] || repair->can[1] || repair->cannot[0] || repair->cannot[1])
        return write_what_can(repair, err);
    if (!repair->changed && !repair->contradicted)
        sb_report(work->options->notify, SB_NOTE, "sound", work->path,
                  "is sound, and its parity file");
    return SB_OK;
}

static void count(const struct repair *repair)
{
    struct sb_protect_result *result = repair->work->options->result;

    if (!result)
        return;
    result->files += !repair->changed;
    result->changed += repair->changed;
    result->unsettled +=
        repair->rewritten ||
        (!repair->changed &&
         sb_protect_noted_repair(&repair->work->parity->super) != SB_REPAIRING_NOTHING);
    result->contradicted += repair->contradicted;
    result->repaired += repair->pieces[MENDED];
    if (!repair->rewritten)
        result->lost += repair->pieces[LOST];
}

static enum sb_code run(struct repair *repair, struct sb_error *err)
{
    struct sb_protected *work = repair->work;
    enum sb_code code = examine(repair, err);

    if (code)
        return code;
    count(repair);
    if (!is_writing(work) || repair->changed || repair->contradicted || repair->cannot[0] ||
        (!repair->rewritten &&
         sb_protect_noted_repair(&work->parity->super) == SB_REPAIRING_NOTHING))
        return SB_OK;
    return sb_rewrite_settle(work, err);
}

/* Of a file that changed: only by repairs? */
static enum sb_code see_rewritten(struct repair *repair, struct sb_error *err)
{
    struct sb_protected *work = repair->work;
    const struct sb_parity_super *super = &work->parity->super;
    bool noted = sb_protect_noted_repair(super) == SB_REPAIRING;

    if (!work->guard && sb_protect_was_only_repaired(work, &work->resumes, err))
        return err->code;
    if (work->guard && work->file->st.st_size <= super->shape.size)
        work->resumes = noted && sb_protect_trusts(super, work->guard->index);
    repair->rewritten = work->resumes || (work->guard && work->guard->rewritten &&
                                          work->file->st.st_size <= super->shape.size);
    repair->changed = !repair->rewritten;
    return SB_OK;
}

enum sb_code sb_protect_repair(struct sb_protected *work, struct sb_error *err)
{
    enum sb_parity_access access = is_writing(work) ? SB_PARITY_WRITE : SB_PARITY_READ;
    struct repair repair = {.work = work};
    enum sb_code code;

    if (sb_protected_open(work, access, err) || sb_protected_open_parity(work, access, err))
        return err->code;
    if (work->guard && work->guard->index)
        sb_protect_find_index_evidence(&work->evidence, work->guard->index);
    repair.changed = !sb_protect_is_current(&work->parity->super, &work->file->st);
    code = repair.changed ? see_rewritten(&repair, err) : SB_OK;
    if (!code && repair.changed && !work->guard)
        code = sb_protect_refuse_changed(work, true, err);
    if (code)
        return code;
    code = run(&repair, err);
    sb_parity_bad_free(repair.bad);
    return code;
}
