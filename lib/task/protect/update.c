#include "archive/parity/check.h"
#include "archive/parity/make.h"
#include "task/protect/impl.h"

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

/*
 * In place; but a parity file that has another name, too, as in a snapshot made of links, keeps
 * what it has under that.
 */
static enum sb_code renew(struct sb_protected *work, struct sb_error *err)
{
    sb_protect_write *write =
        work->parity->file->st.st_nlink > 1 ? sb_parity_make_all : sb_parity_update;
    struct sb_protect_vet *vet = NULL;
    enum sb_code code = SB_OK;

    if (!work->options->dry_run)
        code = sb_protect_vet_begin(&vet, work, err);
    if (!code)
        code = sb_protect_write_parity(work, write, vet, err);
    sb_protect_vet_free(vet);
    return code;
}

/* A run that was killed at its end has not written all superblocks. */
static enum sb_code complete_supers(struct sb_protected *work, struct sb_error *err)
{
    const struct sb_parity *parity = work->parity;

    if ((parity->whole[0] && parity->whole[1] && parity->whole[2]) || parity->file->st.st_nlink > 1)
        return SB_OK;
    sb_parity_free(work->parity);
    work->parity = NULL;
    if (sb_protected_open_parity(work, SB_PARITY_WRITE, err))
        return err->code;
    return sb_parity_mark(work->parity, work->parity->super.valid, NULL, err);
}

static enum sb_code leave(struct sb_protected *work, struct sb_error *err)
{
    struct sb_buf temporary = {0};
    enum sb_code code = SB_OK;

    sb_report(work->options->notify, SB_NOTE, "current", work->path,
              "its parity file is up to date");
    if (work->options->dry_run)
        return SB_OK;
    code = sb_protect_clear(work, &temporary, err);
    sb_buf_release(&temporary);
    return code ? code : complete_supers(work, err);
}

enum sb_code sb_protect_update(struct sb_protected *work, struct sb_error *err)
{
    struct sb_parity_options wanted = {0};
    enum sb_code code;

    if (sb_protected_open(work, SB_PARITY_READ, err))
        return err->code;
    code = sb_protected_open_parity(work, SB_PARITY_READ, err);
    if (code == SB_NOENT)
        return sb_protect_write_parity(work, sb_parity_make, NULL, err);
    if (!code)
        code = sb_protect_choose_words(work, &wanted, err);
    if (!code && !sb_protect_is_current(&work->parity->super, &work->file->st)) {
        code = sb_protect_refuse_changed(work, false, err);
        return code ? code : renew(work, err);
    }
    if (code)
        return code;
    if (is_as_requested(work, &wanted))
        return leave(work, err);
    code = refuse_damage(work, err);
    return code ? code : sb_protect_write_parity(work, sb_parity_make, NULL, err);
}
