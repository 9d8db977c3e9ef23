/*
 * The items of a pack with the sizes and times of their files, which threads look up while the
 * caller is busy with earlier ones. A few hundred items are kept for each thread.
 *
 * Belongs to one thread.
 */
#ifndef SB_TASK_PACK_LOOK_AHEAD_H
#define SB_TASK_PACK_LOOK_AHEAD_H

#include "task/pack/source.h"

struct sb_look_ahead;

/* Without threads (0 or 1) the caller looks. `items` must live as long. dereference: as for these.
 */
enum sb_code sb_look_ahead_new(struct sb_look_ahead **out, struct sb_pack_source *items,
                               unsigned threads, bool dereference) SB_CHECKED;
void sb_look_ahead_free(struct sb_look_ahead *ahead); /* NULL is allowed */

/*
 * As sb_pack_source_next. *looked: item->stat is of the file, link or directory; else it could not
 * be looked up, or is an implied directory.
 */
enum sb_code sb_look_ahead_next(struct sb_look_ahead *ahead, struct sb_pack_item *item,
                                bool *looked) SB_CHECKED;

#endif
