#include "core/choice.h"
#include "core/glob.h"
#include "core/name.h"
#include "store/naming.h"
#include "task/stored_names.h"
#include "task/transfer_impl.h"

#include <string.h>

/* A name as it is stored in the source. SB_END: it cannot be stored, and that was told. */
static enum sb_code clean_name(struct sb_transfer_run *transfer, const char **name, size_t *size,
                               bool is_dir, struct sb_error *err)
{
    if (transfer->options->stored_names)
        return SB_OK;
    return sb_naming_map(&transfer->naming, *name, *size, is_dir, name, size, err);
}

/* The name that a clean one gets in the sink. SB_END: none. */
static enum sb_code map_name(struct sb_transfer_run *transfer, const char *name, size_t size,
                             struct sb_buf *out, struct sb_error *err)
{
    const struct sb_buf *mapped;
    enum sb_code code;

    if (transfer->names) {
        code = sb_stored_names_map(transfer->names, name, size, name, &mapped, err);
        if (code)
            return code;
        name = mapped->data;
        size = mapped->size;
    }
    return sb_buf_set(out, name, size) ? sb_fail_memory(err) : SB_OK;
}

static bool wanted(const struct sb_transfer_run *transfer, const char *name, size_t size,
                   bool is_dir)
{
    const struct sb_transfer_options *options = transfer->options;

    return sb_filter_takes(options->filter, name, size, is_dir) &&
           (!options->choice || sb_choice_takes(options->choice, name, size));
}

/*
 * Files whose bytes change have another name; so have hard links to them. SB_END: the suffix makes
 * it too long, which was told.
 */
static enum sb_code recode_name(struct sb_transfer_run *transfer, struct sb_buf *name,
                                const char **original, struct sb_error *err)
{
    const struct sb_recode *recode = &transfer->options->recode;
    struct sb_buf new_name = {0};
    const char *problem;
    unsigned layers;
    enum sb_code code;

    *original = NULL;
    code = sb_recode_name(recode, name->data, name->size, &new_name, &layers, err);
    problem = code ? NULL : sb_name_problem(new_name.data, new_name.size);
    if (problem) {
        sb_tell(transfer->options->notify, SB_PROBLEM, "name", name->data,
                "left out: the name, with the suffix of its compression, %s", problem);
        code = SB_END;
    }
    if (!code && (layers > 0 || recode->compress != SB_FILTER_NONE)) {
        sb_buf_release(&transfer->recoded);
        transfer->recoded = *name;
        *name = new_name;
        new_name = (struct sb_buf){0};
        *original = transfer->recoded.data;
    }
    sb_buf_release(&new_name);
    return code;
}

/*
 * What the member at hand links to, as it is called in the sink. SB_END: nothing there can have
 * that name, which was told.
 */
static enum sb_code name_hard_link(struct sb_transfer_run *transfer, bool recodes,
                                   struct sb_error *err)
{
    const char *target = transfer->member.hard_link, *problem, *ignored;
    struct sb_buf clean = {0};
    enum sb_code code;

    if (sb_naming_clean(target, strlen(target), false, &clean, &problem))
        code = sb_fail_memory(err);
    else
        code = problem ? SB_END
                       : map_name(transfer, clean.data, clean.size, &transfer->hard_link, err);
    sb_buf_release(&clean);
    if (!code && recodes)
        code = recode_name(transfer, &transfer->hard_link, &ignored, err);
    if (code == SB_END)
        sb_tell(transfer->options->notify, SB_PROBLEM, "missing", transfer->path.data,
                "hard link to %s, which is not there; left out", target);
    transfer->member.hard_link = transfer->hard_link.data;
    return code;
}

enum sb_code sb_transfer_name(struct sb_transfer_run *transfer, struct sb_error *err)
{
    struct sb_member *member = &transfer->member;
    struct sb_entry *entry = &member->entry;
    bool is_dir = entry->type == SB_DIR;
    bool recodes =
        entry->type == SB_FILE && !member->special && sb_recode_works(&transfer->options->recode);
    const char *name = entry->path;
    size_t size = entry->path_size;
    enum sb_code code = clean_name(transfer, &name, &size, is_dir, err);

    if (!code && !wanted(transfer, name, size, is_dir))
        return SB_END;
    if (!code)
        code = map_name(transfer, name, size, &transfer->path, err);
    if (!code && member->hard_link)
        code = name_hard_link(transfer, recodes, err);
    transfer->original = NULL;
    if (!code && recodes)
        code = recode_name(transfer, &transfer->path, &transfer->original, err);
    if (member->hard_link)
        transfer->original = NULL;
    entry->path = transfer->path.data;
    entry->path_size = transfer->path.size;
    return code;
}
