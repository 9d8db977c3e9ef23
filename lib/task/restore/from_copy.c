/*
 * Finds the items in the copy, and writes them.
 */
#include "store/naming.h"
#include "task/restore/impl.h"

#include <string.h>

/* An item, for which the copy has this; complete: it could be read, and has the size. Written if it
 * is right. */
static enum sb_code give(struct sb_restore *restore, const struct sb_restore_item *item,
                         struct sb_restore_piece *piece, bool complete)
{
    struct sb_restore_put put = {
        .target = restore->target, .shard = item->shard, .offset = item->offset};

    if (!complete || !sb_restore_piece_is(piece, item->size, item->crc32c))
        return sb_restore_list_set(restore->list, item->id, SB_RESTORE_OTHER);
    if (!restore->options->dry_run) {
        TRY(sb_restore_target_ready(restore->target, item->shard));
        TRY(sb_spool_feed_sparse(&piece->bytes, sb_restore_put_block, &put));
    }
    sb_restore_passed(restore, item->size);
    return sb_restore_list_set(restore->list, item->id, SB_RESTORE_WRITTEN);
}

/* Files that are looked up by their names. */
static enum sb_code take_named(struct sb_restore *restore, struct sb_restore_piece *piece)
{
    struct sb_restore_item item = {0};
    enum sb_code code;

    while (!(code = sb_restore_list_next(restore->list, item.id, SB_RESTORE_WANTED,
                                         SB_RESTORE_WANTED, &item))) {
        code = sb_restore_copy_read(restore->copy, &item, piece);
        /* What cannot be kept ends the work; what cannot be read is missed. */
        if (code && (piece->lost || code == SB_NOMEM || code == SB_INTERRUPT))
            return code;
        if (code == SB_NOENT)
            sb_restore_passed(restore, item.size);
        else
            TRY(give(restore, &item, piece, code == SB_OK));
    }
    return code == SB_END ? SB_OK : code;
}

struct sequence {
    struct sb_restore *restore;
    struct sb_source *source;
    struct sb_loader *loader; /* NULL: bytes come in sequence, too */
    struct sb_restore_piece *piece;
    struct sb_buf target; /* of a hard link */
    bool by_target;       /* the second pass: for hard links in the copy */
    bool linked;          /* there are hard links */
};

/* The bytes of the current member; SB_END after the last. */
static enum sb_code feed(struct sequence *sequence, struct sb_member *member)
{
    CLEANUP(sb_events_release) struct sb_events ignored = {0};
    const void *data;
    size_t got;

    if (sequence->loader)
        return sb_loader_stream_sparse(sequence->loader, member, sb_restore_piece_add,
                                       sequence->piece, &ignored);
    for (;;) {
        TRY(sb_source_block_sparse(sequence->source, &data, &got));
        TRY(sb_restore_piece_add(sequence->piece, data, got));
    }
}

static enum sb_code read_member(struct sequence *sequence, struct sb_member *member, int64_t size)
{
    enum sb_code code;

    sb_restore_piece_begin(sequence->piece, size);
    code = feed(sequence, member);
    if (code != SB_LIMIT && !(code == SB_DAMAGED && sequence->source->goes_on))
        return code == SB_END ? SB_OK : code;
    /* Longer than its header says, or damaged: it is none of the requested files. */
    sequence->piece->expected = -1;
    return SB_OK;
}

/* Restores every item that the member's name is for: rows of one name, and links to one file. */
static enum sb_code give_all(struct sequence *sequence, const char *name, size_t size,
                             struct sb_member *member)
{
    struct sb_restore_list *list = sequence->restore->list;
    struct sb_restore_item item = {0};
    bool read = false;
    enum sb_code code;

    while (!(code = sb_restore_list_find(list, name, size, sequence->by_target, item.id, &item))) {
        if (!read && member->entry.size == item.size) {
            TRY(read_member(sequence, member, item.size));
            read = true;
        }
        TRY(give(sequence->restore, &item, sequence->piece, read));
    }
    return code == SB_END ? SB_OK : code;
}

/* The target's bytes came before; in the second pass they are known to be needed. */
static enum sb_code note_link(struct sequence *sequence, const char *name, size_t size,
                              const char *raw_target)
{
    struct sb_restore *restore = sequence->restore;
    struct sb_restore_item item = {0};
    const char *problem;
    enum sb_code code = SB_OK;

    TRY(sb_naming_clean(raw_target, strlen(raw_target), false, &sequence->target, &problem));
    if (problem)
        return SB_OK;
    while (!(code = sb_restore_list_find(restore->list, name, size, false, item.id, &item))) {
        TRY(sb_restore_list_link(restore->list, item.id, sequence->target.data,
                                 sequence->target.size));
        sequence->linked = true;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code take_member(struct sequence *sequence, struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    struct sb_buf *target = &sequence->target;
    const char *name, *problem;
    size_t size;
    enum sb_code code;

    if (entry->type == SB_DIR || member->special || (sequence->by_target && member->hard_link))
        return SB_OK;
    /* In the second pass: by the full name of the links' target in the copy. */
    if (sequence->by_target) {
        TRY(sb_naming_clean(entry->path, entry->path_size, false, target, &problem));
        return problem ? SB_OK : give_all(sequence, target->data, target->size, member);
    }
    code =
        sb_restore_copy_name(sequence->restore->copy, entry->path, entry->path_size, &name, &size);
    if (code)
        return code == SB_END ? SB_OK : code;
    return member->hard_link ? note_link(sequence, name, size, member->hard_link)
                             : give_all(sequence, name, size, member);
}

/* Reads members up to the last one needed. A truncated copy still yields the members before. */
static enum sb_code run_pass(struct sequence *sequence)
{
    struct sb_restore *restore = sequence->restore;
    struct sb_member member;
    enum sb_code code = SB_OK;

    while (code == SB_OK && sb_restore_list_open(restore->list) > 0) {
        code = sb_source_next(sequence->source, &member);
        if (code == SB_OK)
            code = take_member(sequence, &member);
    }
    if ((code == SB_DAMAGED || code == SB_FORMAT) && !sequence->piece->lost) {
        sb_report(restore->notify, SB_WARNING, "damaged", NULL,
                  "%s; what comes after it is not read", sb_error()->text);
        return SB_OK;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code read_copy(struct sequence *sequence)
{
    enum sb_code code = sb_restore_copy_source(sequence->restore->copy, &sequence->source);

    if (!code && sequence->source->loads)
        code = sb_loader_open(sequence->source, &sequence->loader);
    if (!code)
        code = run_pass(sequence);
    sb_loader_free(TAKE(sequence->loader));
    sb_source_free(TAKE(sequence->source));
    return code;
}

static void release(struct sequence *sequence)
{
    sb_buf_release(&sequence->target);
}

static enum sb_code take_sequence(struct sb_restore *restore, struct sb_restore_piece *piece)
{
    CLEANUP(release) struct sequence sequence = {.restore = restore, .piece = piece};
    enum sb_code code;

    TRY(read_copy(&sequence));
    if (!sequence.linked || sb_restore_list_open(restore->list) == 0)
        return SB_OK;
    sequence.by_target = true;
    code = read_copy(&sequence);
    if (code != SB_END)
        return code;
    sb_report(restore->notify, SB_WARNING, "link", NULL,
              "files that are hard links in the copy are not restored from a pipe; give the copy "
              "as a file");
    return SB_OK;
}

enum sb_code sb_restore_from_copy(struct sb_restore *restore)
{
    CLEANUP(sb_restore_piece_release)
    struct sb_restore_piece piece = SB_RESTORE_PIECE(restore->hold.path);

    if (sb_restore_list_open(restore->list) == 0)
        return SB_OK;
    return sb_restore_copy_in_sequence(restore->copy) ? take_sequence(restore, &piece)
                                                      : take_named(restore, &piece);
}
