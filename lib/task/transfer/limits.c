#include "task/transfer/impl.h"

#include "core/buf.h"
#include "core/number.h"
#include "task/transfer/seen.h"
#include "task/transfer/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const char *source)
{
    return strcmp(source, "-") == 0 ? "standard input" : source;
}

/* The name came from an earlier source. */
static enum sb_code refuse(const struct sb_transfer_options *options, const char *name,
                           const char *source, int64_t first, int64_t *left, struct sb_error *err)
{
    const char *other = name_of(options->merged[first]);

    if (options->duplicates != SB_DUPLICATE_ERROR) {
        ++*left;
        return SB_END;
    }
    if (!options->dry_run)
        return sb_fail(err, SB_EXISTS,
                       "%s: is in %s and in %s (see --duplicates, --prefix and --as-subdirs)", name,
                       other, source);
    sb_report(options->notify, SB_PROBLEM, "duplicate", name, "is in %s and in %s", other, source);
    return SB_END;
}

/* A hard link to a file that another source replaces would get bytes that it never had. */
static enum sb_code meet_link(const struct sb_transfer_options *options,
                              const struct sb_member *member, struct sb_error *err)
{
    const char *target = member->hard_link;
    int64_t first;

    if (sb_seen_find(options->seen, target, strlen(target), &first, err))
        return err->code;
    if (first < 0 || (size_t)first == options->merged_number)
        return SB_OK;
    sb_report(options->notify, SB_PROBLEM, "missing", member->entry.path,
              "hard link to %s, which is taken from %s; left out", target,
              name_of(options->merged[first]));
    return SB_END;
}

/* A directory is noted under its name with a '/', and only by a source that has metadata of it. */
static enum sb_code meet_dir(const struct sb_transfer_options *options,
                             const struct sb_entry *entry, struct sb_error *err)
{
    struct sb_buf key = {0};
    int64_t first = -1;
    enum sb_code code;

    if (!entry->has)
        return SB_OK;
    if (sb_buf_add(&key, entry->path, entry->path_size) || sb_buf_add_char(&key, '/'))
        code = sb_fail_memory(err);
    else
        code = sb_seen_add_from(options->seen, key.data, key.size, (int64_t)options->merged_number,
                                &first, err);
    sb_buf_release(&key);
    return code ? code : (size_t)first == options->merged_number ? SB_OK : SB_END;
}

/*
 * Notes the member, which has its stored name, as options->merged says. SB_END: it is skipped,
 * which *left counts if it is a file, or left out, which was reported; SB_EXISTS names both
 * sources.
 */
static enum sb_code transfer_meet(const struct sb_transfer_options *options,
                                  const struct sb_member *member, const char *source, int64_t *left,
                                  struct sb_error *err)
{
    const struct sb_entry *entry = &member->entry;
    int64_t first;
    enum sb_code code;

    if (entry->type == SB_DIR)
        return meet_dir(options, entry, err);
    code = sb_seen_add_from(options->seen, entry->path, entry->path_size,
                            (int64_t)options->merged_number, &first, err);
    if (code == SB_OK && (size_t)first != options->merged_number)
        code = refuse(options, entry->path, source, first, left, err);
    if (code == SB_OK && member->hard_link)
        code = meet_link(options, member, err);
    return code;
}

enum sb_code sb_transfer_heed(const struct sb_transfer_run *transfer, struct sb_error *err)
{
    if (!transfer->options->strict || *transfer->options->problems == 0)
        return SB_OK;
    return sb_fail(err, SB_INVALID, "%s: not everything can be held; stopped because of --strict",
                   transfer->sink->name);
}

enum sb_code sb_transfer_count(struct sb_transfer_run *transfer, int64_t size, struct sb_error *err)
{
    int64_t most = transfer->options->max_size;

    sb_count_up(&transfer->bytes, size);
    if (most <= 0 || transfer->bytes <= most)
        return SB_OK;
    return sb_fail(err, SB_LIMIT, "%s: more than --max-size, %" PRId64 " bytes, comes out of it",
                   transfer->source->name, most);
}

void sb_transfer_report_lost(const struct sb_transfer_run *transfer, const struct sb_member *member)
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
        return transfer_meet(options, &transfer->member, transfer->source->name,
                             &transfer->sink->counts.left, err);
    if (options->duplicates == SB_DUPLICATE_LAST || !options->seen || entry->type == SB_DIR)
        return SB_OK;
    if (sb_seen_add(options->seen, entry->path, entry->path_size, &before, err))
        return err->code;
    if (!before)
        return SB_OK;
    if (options->duplicates == SB_DUPLICATE_ERROR)
        sb_report(transfer->options->notify, SB_PROBLEM, "duplicate", entry->path,
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
        sb_report(transfer->options->notify, SB_PROBLEM, "link", member->entry.path, "%s", text);
        return SB_END;
    }
    if (member->special && !(transfer->sink->holds & SB_KEEPS_SPECIAL)) {
        sb_report(transfer->options->notify, SB_PROBLEM, "special", member->entry.path,
                  "is a %s, which cannot be held here; left out", member->special);
        return SB_END;
    }
    /* The names in `seen` include those that the interrupted run stored, which the sink skips. */
    if (item->again && transfer->sink->ops->accept)
        code = transfer->sink->ops->accept(transfer->sink, member, item, err);
    if (!code)
        code = meet_duplicate(transfer, err);
    if (!code && !item->again && transfer->sink->ops->accept)
        code = transfer->sink->ops->accept(transfer->sink, member, item, err);
    return code;
}
