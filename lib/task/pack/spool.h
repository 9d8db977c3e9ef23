/*
 * Items to pack, sorted and each name once, in a temporary database whose memory is bounded.
 */
#ifndef SB_TASK_PACK_SPOOL_H
#define SB_TASK_PACK_SPOOL_H

#include "task/pack/source.h"

struct sb_pack_spool;

enum sb_code sb_pack_spool_new(struct sb_pack_spool **out, enum sb_pack_order order,
                               enum sb_duplicates duplicates, const char *beside,
                               const struct sb_notify *notify) SB_CHECKED;
void sb_pack_spool_free(struct sb_pack_spool *spool);
FREEP(sb_pack_spool_free, struct sb_pack_spool)

/*
 * Copies the item; a directory that is not in the share is returned only if something below it is.
 * base_fd, to which its disk_path is relative, must stay open. The same file under the same name
 * again is skipped; other conflicts are decided by `duplicates`, or reported as a problem.
 */
enum sb_code sb_pack_spool_add(struct sb_pack_spool *spool, const struct sb_pack_item *item,
                               int base_fd) SB_CHECKED;

/* After the last add, before the first next. */
enum sb_code sb_pack_spool_rewind(struct sb_pack_spool *spool) SB_CHECKED;

/* As sb_pack_source_next. */
enum sb_code sb_pack_spool_next(struct sb_pack_spool *spool, struct sb_pack_item *item) SB_CHECKED;

#endif
