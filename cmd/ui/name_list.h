/*
 * Looking up the names of a list, in batches that share one transaction.
 */
#ifndef SB_CMD_UI_NAME_LIST_H
#define SB_CMD_UI_NAME_LIST_H

#include "archive/archive.h"
#include "core/list.h"

/*
 * Calls `each` for every name of the list, in its order, when no lock is held: text is the name as
 * the list has it, entry what the archive has under it, NULL for nothing. A batch ends when the
 * next name would have to be waited for.
 */
enum sb_code look_up_names(struct sb_archive *archive, struct sb_list *list,
                           void (*each)(void *context, const char *text,
                                        const struct sb_entry *entry),
                           void *context, struct sb_error *err) SB_CHECKED;

#endif
