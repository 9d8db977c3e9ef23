#include "store/naming.h"
#include "task/restore/impl.h"

#include <string.h>

struct sequence {
    struct sb_restore *restore;
    struct sb_source *source;
    struct sb_loader *loader; /* NULL: bytes come in sequence, too */
    struct sb_restore_piece piece;
    struct sb_buf target; /* of a hard link */
    bool by_target;       /* the second pass: for hard links in the copy */
    bool linked;          /* there are hard links */
};

/* The bytes of the current member. */
static enum sb_code feed(struct sequence *sequence, struct sb_member *member)
{
    struct sb_events ignored = {0};
    enum sb_code code = SB_OK;
    const void *data;
    size_t got;

    if (sequence->loader) {
        code = sb_loader_stream_sparse(sequence->loader, member, sb_restore_piece_add,
                                       &sequence->piece, &ignored);
        sb_events_release(&ignored);
        return code;
    }
    while (code == SB_OK) {
        code = sb_source_block_sparse(sequence->source, &data, &got);
        if (code == SB_OK)
            code = sb_restore_piece_add(&sequence->piece, data, got);
    }
    return code;
}

static enum sb_code read_member(struct sequence *sequence, struct sb_member *member, int64_t size)
{
    enum sb_code code;

    sb_restore_piece_begin(&sequence->piece, size);
    code = feed(sequence, member);
    if (code != SB_LIMIT && !(code == SB_DAMAGED && sequence->source->goes_on))
        return code == SB_END ? SB_OK : code;
    /* Longer than its header says, or damaged: it is none of the requested files. */
    sequence->piece.expected = -1;
    return SB_OK;
}

/* Restores every item that the member's name is for: rows of one name, and links to one file. */
static enum sb_code give(struct sequence *sequence, const char *name, size_t size,
                         struct sb_member *member)
{
    struct sb_restore_list *list = sequence->restore->list;
    struct sb_restore_item item = {0};
    bool read = false;
    enum sb_code code;

    while (!(code = sb_restore_list_find(list, name, size, sequence->by_target, item.id, &item))) {
        if (!read && member->entry.size == item.size)
            code = read_member(sequence, member, item.size);
        read = read || member->entry.size == item.size;
        if (!code)
            code = sb_restore_give(sequence->restore, &item, &sequence->piece, read);
        if (code)
            return code;
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

    if (sb_naming_clean(raw_target, strlen(raw_target), false, &sequence->target, &problem))
        return sb_fail_memory();
    if (problem)
        return SB_OK;
    while (!(code = sb_restore_list_find(restore->list, name, size, false, item.id, &item))) {
        TRY(sb_restore_list_link(restore->list, item.id, sequence->target.data,
                                 sequence->target.size));
        sequence->linked = true;
    }
    return code == SB_END ? SB_OK : code;
}

/* In the second pass: by the full name of the links' target in the copy. */
static enum sb_code take_target(struct sequence *sequence, struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    const char *problem;

    if (sb_naming_clean(entry->path, entry->path_size, false, &sequence->target, &problem))
        return sb_fail_memory();
    return problem ? SB_OK : give(sequence, sequence->target.data, sequence->target.size, member);
}

static enum sb_code take_member(struct sequence *sequence, struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    const char *name;
    size_t size;
    enum sb_code code;

    if (entry->type == SB_DIR || member->special || (sequence->by_target && member->hard_link))
        return SB_OK;
    if (sequence->by_target)
        return take_target(sequence, member);
    code =
        sb_restore_copy_name(sequence->restore->copy, entry->path, entry->path_size, &name, &size);
    if (code)
        return code == SB_END ? SB_OK : code;
    return member->hard_link ? note_link(sequence, name, size, member->hard_link)
                             : give(sequence, name, size, member);
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
    if ((code == SB_DAMAGED || code == SB_FORMAT) && !sequence->piece.lost) {
        sb_report(restore->notify, SB_WARNING, "damaged", NULL,
                  "%s; what comes after it is not read", sb_error()->text);
        return SB_OK;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code read_copy(struct sequence *sequence)
{
    enum sb_code code = sb_restore_copy_source(sequence->restore->copy, &sequence->source);

    if (code == SB_OK && sequence->source->loads)
        code = sb_loader_open(sequence->source, &sequence->loader);
    if (code == SB_OK)
        code = run_pass(sequence);
    sb_loader_free(sequence->loader);
    sequence->loader = NULL;
    sb_source_free(sequence->source);
    sequence->source = NULL;
    return code;
}

enum sb_code sb_restore_sequence(struct sb_restore *restore)
{
    struct sequence sequence = {
        .restore = restore,
        .piece = SB_RESTORE_PIECE(restore->hold.path),
    };
    enum sb_code code = read_copy(&sequence);

    if (code == SB_OK && sequence.linked && sb_restore_list_open(restore->list) > 0) {
        sequence.by_target = true;
        code = read_copy(&sequence);
        if (code == SB_END) {
            sb_report(
                restore->notify, SB_WARNING, "link", NULL,
                "files that are hard links in the copy are not restored from a pipe; give the "
                "copy as a file");
            code = SB_OK;
        }
    }
    sb_restore_piece_release(&sequence.piece);
    sb_buf_release(&sequence.target);
    return code;
}
