#include "task/restore/impl.h"

/* One file of the list, which is looked up by its name. */
static enum sb_code take(struct sb_restore *restore, const struct sb_restore_item *item,
                         struct sb_restore_piece *piece)
{
    enum sb_code code = sb_restore_copy_read(restore->copy, item, piece);

    /* What cannot be kept ends the work; what cannot be read is missed. */
    if (code && (piece->lost || code == SB_NOMEM || code == SB_INTERRUPT))
        return code;
    if (code == SB_NOENT) {
        sb_restore_passed(restore, item->size);
        return SB_OK;
    }
    return sb_restore_give(restore, item, piece, code == SB_OK);
}

enum sb_code sb_restore_named(struct sb_restore *restore)
{
    struct sb_restore_piece piece = SB_RESTORE_PIECE(restore->hold.path);
    struct sb_restore_item item = {0};
    enum sb_code code = SB_OK;

    while (!code && !(code = sb_restore_list_next(restore->list, item.id, SB_RESTORE_WANTED,
                                                  SB_RESTORE_WANTED, &item)))
        code = take(restore, &item, &piece);
    sb_restore_piece_release(&piece);
    return code == SB_END ? SB_OK : code;
}
