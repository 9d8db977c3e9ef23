/*
 * Bytes are proved before they are protected: those of a shard by its index, while they are read;
 * an SQLite file by SQLite, and a container by its own checks, before that.
 */
#ifndef SB_TASK_PROTECT_PROVE_H
#define SB_TASK_PROTECT_PROVE_H

#include "task/protect/impl.h"

struct sb_prove;

/*
 * Of the open file, before its parity is made. *out is NULL: nothing knows of its bytes. Else other
 * writers of its archive are kept out until it is freed. SB_DAMAGED: the file is, or the index of a
 * shard that had a parity file; SB_NOENT: that index is missing.
 */
enum sb_code sb_prove_begin(struct sb_prove **out, const struct sb_protected *work) SB_CHECKED;

/* context: the struct. As `read` and `proved` of archive/parity/make.h. Both report files that are
 * damaged; then the second is SB_DAMAGED. */
enum sb_code sb_prove_read(void *context, int64_t offset, const void *bytes,
                           size_t size) SB_CHECKED;
enum sb_code sb_prove_end(void *context) SB_CHECKED;
void sb_prove_free(struct sb_prove *prove); /* NULL is allowed */

/* Do the checks of the file itself call it damaged? False also where it has none. */
enum sb_code sb_prove_own(const struct sb_protected *work, bool *damaged) SB_CHECKED;

#endif
