#include "task/transfer/impl.h"

#include "core/buf.h"
#include "core/crc32c.h"
#include "core/number.h"
#include "store/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(const char *source)
{
    return strcmp(source, "-") == 0 ? "standard input" : source;
}

/* The text about a name that this source shares with an earlier one, number `first`. */
static void describe_duplicate(const struct sb_transfer_options *options, const char *source,
                               int64_t first, char *text, size_t size)
{
    const char *others = options->sink_dirs ? "" : ", --prefix and --as-subdirs";

    snprintf(text, size, "is in %s and in %s; only the first is taken (see --duplicates%s)",
             name_of(options->merged[first]), source, others);
}

static enum sb_code note_conflict(struct sb_transfer_run *transfer, const char *name, size_t size)
{
    if (transfer->source->unique)
        return SB_OK;
    return sb_names_put(&transfer->conflicts, transfer->options->beside, name, size);
}

/* Names a conflict with the earlier source `first`; SB_OK: the run goes on without this one. */
static enum sb_code refuse_duplicate(struct sb_transfer_run *transfer, const struct sb_entry *entry,
                                     int64_t first)
{
    const struct sb_transfer_options *options = transfer->options;
    char text[512];

    describe_duplicate(options, transfer->source->name, first, text, sizeof(text));
    sb_report(options->notify, SB_PROBLEM, "duplicate", entry->path, "%s", text);
    return note_conflict(transfer, entry->path, entry->path_size);
}

/*
 * The name came from an earlier source. SB_OK: the bytes are to be compared with those of that one,
 * or, of a hard link, what became of its target is to be known first.
 */
static enum sb_code meet_rival(struct sb_transfer_run *transfer, int64_t first,
                               struct sb_item *item)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_member *member = &transfer->member;
    const struct sb_entry *entry = &member->entry;
    bool knows = (entry->has & SB_HAS_CRC) && !item->original;
    struct sb_name_bytes old;

    if (options->duplicates != SB_DUPLICATE_ERROR) {
        transfer->sink->counts.left++;
        return SB_END;
    }
    TRY(sb_names_find_bytes(options->seen, entry->path, entry->path_size, &old));
    if (member->hard_link && old.known && !transfer->sink->unread) {
        item->compares = true;
        item->rival = first + 1;
        return SB_OK;
    }
    if (old.known && !member->hard_link && !member->special &&
        old.link == (entry->type == SB_LINK) &&
        (item->original || entry->size < 0 || entry->size == old.size) &&
        (knows ? entry->crc32c == old.crc32c : !transfer->sink->unread)) {
        item->compares = !knows;
        item->rival = first + 1;
        item->old_size = old.size;
        item->old_crc = old.crc32c;
        transfer->sink->counts.left += knows;
        return knows ? SB_END : SB_OK;
    }
    return refuse_duplicate(transfer, entry, first) ? sb_error()->code : SB_END;
}

/*
 * A hard link with a rival, once all that comes before it is known. Has its target, in the earlier
 * source, the bytes that the link has there? And is it the same file in this source?
 */
static enum sb_code judge_link(struct sb_transfer_run *transfer, const struct sb_item *item)
{
    struct sb_names *seen = transfer->options->seen;
    const struct sb_entry *entry = &item->member.entry;
    const char *target = item->member.hard_link;
    struct sb_name_bytes link, bytes;
    bool conflict;

    TRY(sb_names_find_bytes(seen, entry->path, entry->path_size, &link));
    TRY(sb_names_find_bytes(seen, target, strlen(target), &bytes));
    TRY(sb_names_has(transfer->conflicts, target, strlen(target), &conflict));
    if (conflict || !bytes.known || !link.known || bytes.size != link.size ||
        bytes.crc32c != link.crc32c)
        return refuse_duplicate(transfer, entry, item->rival - 1);
    transfer->sink->counts.left++;
    return SB_OK;
}

/* On a worker: is an item with a rival the same, or a conflict? */
static enum sb_code judge(const struct sb_transfer_run *transfer, struct sb_batch *batch,
                          struct sb_item *item)
{
    const struct sb_transfer_options *options = transfer->options;
    char text[512];
    enum sb_code code = sb_item_sum_all(batch, item);

    if (code == SB_END)
        item->state = SB_ITEM_FAILED;
    if (code)
        return code == SB_END ? SB_OK : code;
    item->is_same = item->summed_size == item->old_size && item->sum == item->old_crc;
    if (item->is_same) {
        item->state = SB_ITEM_FAILED;
        return SB_OK;
    }
    describe_duplicate(options, transfer->source->name, item->rival - 1, text, sizeof(text));
    return sb_item_fail(batch, item, "duplicate", text);
}

enum sb_code sb_transfer_sum(const struct sb_transfer_run *transfer, struct sb_batch *batch)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        bool read = item->state == SB_ITEM_READ || item->state == SB_ITEM_PART;

        if (item->rival && (read || item->state == SB_ITEM_LARGE))
            code = judge(transfer, batch, item);
        else if (item->rival && item->member.hard_link)
            item->state = SB_ITEM_FAILED;
        else if (item->sums && !item->member.hard_link && (read || item->only_sums))
            code = sb_item_sum_all(batch, item);
        if (item->only_sums)
            item->state = SB_ITEM_FAILED;
        if (code == SB_END && item->only_sums)
            code = SB_OK;
    }
    return code;
}

/* Those that are stored are what later ones are compared with. */
static enum sb_code note_item(struct sb_transfer_run *transfer, const struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;
    struct sb_name_bytes *bytes = &transfer->part_bytes;

    if (item->part_offset == 0)
        *bytes = (struct sb_name_bytes){.link = entry->type == SB_LINK};
    bytes->crc32c = sb_crc32c_combine(bytes->crc32c, item->sum, item->summed_size);
    bytes->size += item->summed_size;
    if (item->state == SB_ITEM_PART && !item->part_last)
        return SB_OK;
    return sb_names_set_bytes(transfer->options->seen, entry->path, entry->path_size, bytes);
}

/* A hard link has the bytes of its target, which was before it. */
static enum sb_code note_link(const struct sb_transfer_run *transfer, const struct sb_item *item)
{
    struct sb_names *seen = transfer->options->seen;
    const struct sb_entry *entry = &item->member.entry;
    const char *target = item->member.hard_link;
    struct sb_name_bytes bytes;

    TRY(sb_names_find_bytes(seen, target, strlen(target), &bytes));
    return bytes.known ? sb_names_set_bytes(seen, entry->path, entry->path_size, &bytes) : SB_OK;
}

enum sb_code sb_transfer_note_sums(struct sb_transfer_run *transfer, const struct sb_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct sb_item *item = &batch->items[i];

        transfer->sink->counts.left += item->is_same;
        if (item->rival && item->member.hard_link)
            TRY(judge_link(transfer, item));
        else if (item->rival && !item->is_same)
            TRY(note_conflict(transfer, item->member.entry.path, item->member.entry.path_size));
        else if (item->sums && item->member.hard_link)
            TRY(note_link(transfer, item));
        else if (item->sums && item->summed && !item->rival &&
                 (item->state != SB_ITEM_FAILED || item->part_offset > 0 || item->only_sums))
            TRY(note_item(transfer, item));
    }
    return SB_OK;
}

/* A hard link to a file that another source replaces would get bytes that it never had. */
static enum sb_code meet_link(const struct sb_transfer_options *options,
                              const struct sb_member *member)
{
    const char *target = member->hard_link;
    int64_t first;

    TRY(sb_names_find(options->seen, target, strlen(target), &first));
    if (first < 0 || (size_t)first == options->merged_number)
        return SB_OK;
    sb_report(options->notify, SB_PROBLEM, "missing", member->entry.path,
              "hard link to %s, which is taken from %s; left out", target,
              name_of(options->merged[first]));
    return SB_END;
}

/* A directory is noted under its name with a '/', and only by a source that has metadata of it. */
static enum sb_code meet_dir(const struct sb_transfer_options *options,
                             const struct sb_entry *entry)
{
    CLEANUP(sb_buf_release) struct sb_buf key = {0};
    int64_t first = -1;

    if (!entry->has)
        return SB_OK;
    TRY(sb_buf_add(&key, entry->path, entry->path_size));
    TRY(sb_buf_add_char(&key, '/'));
    TRY(sb_names_add_from(options->seen, key.data, key.size, (int64_t)options->merged_number,
                          &first));
    return (size_t)first == options->merged_number ? SB_OK : SB_END;
}

/*
 * Notes the member, which has its stored name, as options->merged says. SB_END: it is skipped,
 * which *left counts if it is a file, or left out, which was reported.
 */
static enum sb_code transfer_meet(struct sb_transfer_run *transfer, struct sb_item *item)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_member *member = &transfer->member;
    const struct sb_entry *entry = &member->entry;
    int64_t first;
    enum sb_code code;

    if (entry->type == SB_DIR)
        return options->sink_dirs ? SB_OK : meet_dir(options, entry);
    item->sums = options->duplicates == SB_DUPLICATE_ERROR;
    code = sb_names_add_from(options->seen, entry->path, entry->path_size,
                             (int64_t)options->merged_number, &first);
    if (code == SB_OK && (size_t)first != options->merged_number)
        code = meet_rival(transfer, first, item);
    if (code || !member->hard_link || item->rival)
        return code;
    code = meet_link(options, member);
    return code == SB_END && sb_transfer_leave(transfer) ? sb_error()->code : code;
}

enum sb_code sb_transfer_heed(const struct sb_transfer_run *transfer)
{
    if (!transfer->options->strict || *transfer->options->problems == 0)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: not everything can be held; stopped because of --strict",
                   transfer->sink->name);
}

enum sb_code sb_transfer_count(struct sb_transfer_run *transfer, int64_t size)
{
    int64_t most = transfer->options->max_size;

    sb_count_up(&transfer->bytes, size);
    if (most <= 0 || transfer->bytes <= most)
        return SB_OK;
    return sb_fail(SB_LIMIT, "%s: more than --max-size, %" PRId64 " bytes, comes out of it",
                   transfer->source->name, most);
}

void sb_transfer_report_lost(const struct sb_transfer_run *transfer, const struct sb_member *member)
{
    unsigned lost = member->has & ~transfer->sink->holds;

    if (lost && transfer->options->lost)
        transfer->options->lost(transfer->options->context, member->entry.path, lost);
}

static enum sb_code meet_duplicate(struct sb_transfer_run *transfer, struct sb_item *item)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_entry *entry = &transfer->member.entry;
    int64_t first;
    bool before;

    if (options->merged && !options->each_once)
        return transfer_meet(transfer, item);
    if (options->duplicates == SB_DUPLICATE_LAST || !options->seen || entry->type == SB_DIR)
        return SB_OK;
    if (options->merged) {
        TRY(sb_names_find(options->seen, entry->path, entry->path_size, &first));
        if (first < 0 || (size_t)first != options->merged_number)
            return transfer_meet(transfer, item);
    }
    TRY(sb_names_add(options->seen, entry->path, entry->path_size, &before));
    if (!before)
        return SB_OK;
    if (options->duplicates == SB_DUPLICATE_ERROR)
        sb_report(transfer->options->notify, SB_PROBLEM, "duplicate", entry->path,
                  "comes more than once; only the first is taken (see --duplicates)");
    else
        transfer->sink->counts.left++;
    return sb_transfer_leave(transfer) ? sb_error()->code : SB_END;
}

void sb_transfer_describe_long_link(char text[SB_LONG_LINK_TEXT])
{
    snprintf(text, SB_LONG_LINK_TEXT, "is a link whose target is longer than %zu bytes; left out",
             SB_LINK_BYTES_MOST);
}

/* In a dry run, where nothing is stored that could be summed on its way. */
static enum sb_code sum_dry(const struct sb_transfer_run *transfer, struct sb_item *item)
{
    const struct sb_member *member = &transfer->member;
    const struct sb_entry *entry = &member->entry;
    const struct sb_name_bytes bytes = {
        .size = entry->size, .crc32c = entry->crc32c, .link = entry->type == SB_LINK};

    if (entry->type == SB_DIR || member->special || transfer->sink->unread)
        return SB_OK;
    if ((entry->has & SB_HAS_CRC) && !item->original && !member->hard_link)
        return sb_names_set_bytes(transfer->options->seen, entry->path, entry->path_size, &bytes);
    item->compares = true;
    item->only_sums = true;
    return SB_OK;
}

enum sb_code sb_transfer_admit(struct sb_transfer_run *transfer, struct sb_item *item)
{
    struct sb_member *member = &transfer->member;
    char text[SB_LONG_LINK_TEXT];

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
        TRY(transfer->sink->ops->accept(transfer->sink, member, item));
    TRY(meet_duplicate(transfer, item));
    if (item->rival)
        return SB_OK;
    if (!item->again && transfer->sink->ops->accept)
        TRY(transfer->sink->ops->accept(transfer->sink, member, item));
    if (transfer->target_left) {
        /* What has the target's name, if anything has it, is another file. */
        sb_report(transfer->options->notify, SB_PROBLEM, "missing", member->entry.path,
                  "hard link to %s, which was left out; left out", transfer->target.data);
        TRY(sb_transfer_leave(transfer));
        return SB_END;
    }
    if (transfer->options->dry_run && item->sums && !item->compares)
        TRY(sum_dry(transfer, item));
    return SB_OK;
}
