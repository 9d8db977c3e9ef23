#include "task/transfer/impl.h"
#include "task/transfer/merge.h"
#include "task/transfer/seen.h"

#include <inttypes.h>
#include <stdio.h>

enum sb_code sb_transfer_heed(const struct sb_transfer_run *transfer, struct sb_error *err)
{
    if (!transfer->options->strict || *transfer->options->problems == 0)
        return SB_OK;
    return sb_fail(err, SB_INVALID, "%s: not everything can be held; given up, as --strict asks",
                   transfer->sink->name);
}

enum sb_code sb_transfer_count(struct sb_transfer_run *transfer, int64_t size, struct sb_error *err)
{
    int64_t most = transfer->options->max_size;

    transfer->bytes += size;
    if (most <= 0 || transfer->bytes <= most)
        return SB_OK;
    return sb_fail(err, SB_LIMIT, "%s: more than --max-size, %" PRId64 " bytes, comes out of it",
                   transfer->source->name, most);
}

void sb_transfer_tell_lost(const struct sb_transfer_run *transfer, const struct sb_member *member)
{
    unsigned lost = member->has & ~transfer->sink->holds;

    if (lost && transfer->options->lost)
        transfer->options->lost(transfer->options->context, member->entry.path, lost);
}

static enum sb_code meet_duplicate(struct sb_transfer_run *transfer, struct sb_error *err)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_entry *entry = &transfer->member.entry;
    bool before;

    if (options->merged)
        return sb_transfer_meet(options, &transfer->member, transfer->source->name,
                                &transfer->sink->counts.left, err);
    if (options->duplicates == SB_DUPLICATE_LAST || !options->seen || entry->type == SB_DIR)
        return SB_OK;
    if (sb_seen_add(options->seen, entry->path, entry->path_size, &before, err))
        return err->code;
    if (!before)
        return SB_OK;
    if (options->duplicates == SB_DUPLICATE_ERROR)
        sb_tell(transfer->options->notify, SB_PROBLEM, "duplicate", entry->path,
                "comes more than once; only the first is taken (see --duplicates)");
    else
        transfer->sink->counts.left++;
    return SB_END;
}

void sb_transfer_describe_long_link(char text[SB_LONG_LINK_TEXT])
{
    snprintf(text, SB_LONG_LINK_TEXT, "is a link whose target is longer than %zu bytes; left out",
             SB_LINK_BYTES_MOST);
}

enum sb_code sb_transfer_admit(struct sb_transfer_run *transfer, struct sb_item *item,
                               struct sb_error *err)
{
    struct sb_member *member = &transfer->member;
    char text[SB_LONG_LINK_TEXT];
    enum sb_code code = SB_OK;

    if (member->entry.type == SB_LINK && member->entry.size > (int64_t)SB_LINK_BYTES_MOST) {
        sb_transfer_describe_long_link(text);
        sb_tell(transfer->options->notify, SB_PROBLEM, "link", member->entry.path, "%s", text);
        return SB_END;
    }
    if (member->special && !(transfer->sink->holds & SB_KEEPS_SPECIAL)) {
        sb_tell(transfer->options->notify, SB_PROBLEM, "special", member->entry.path,
                "is a %s, which cannot be held here; left out", member->special);
        return SB_END;
    }
    /* Names that the sink has are all names that came before: it knows its own ones. */
    if (item->again && transfer->sink->ops->accept)
        code = transfer->sink->ops->accept(transfer->sink, member, item, err);
    if (!code)
        code = meet_duplicate(transfer, err);
    if (!code && !item->again && transfer->sink->ops->accept)
        code = transfer->sink->ops->accept(transfer->sink, member, item, err);
    return code;
}
