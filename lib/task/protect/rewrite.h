/*
 * Bytes of files that are replaced in place by a repair: in batches. Of each what it replaces is
 * kept first (before.h); then it is written, synced, read back and compared. Bytes that are there
 * already are left alone. A file keeps its time, where that is possible, so that it does not look
 * new to others. Nobody else may write to it; where somebody does, the repair ends.
 *
 * Thread-safe, but for begin, end and release.
 */
#ifndef SB_TASK_PROTECT_REWRITE_H
#define SB_TASK_PROTECT_REWRITE_H

#include "core/file.h"
#include "task/protect/before.h"

#include <pthread.h>

struct sb_rewrite {
    struct sb_before before;
    pthread_mutex_t mutex;
    unsigned char *bytes;
    size_t used;
    struct sb_rewrite_part *parts;
    size_t count;
};

/* path: the file, or any of the archive whose files are written. To be released also after a
 * failure. */
enum sb_code sb_rewrite_begin(struct sb_rewrite *rewrite, const char *path,
                              const char *parity_dir) SB_CHECKED;
void sb_rewrite_release(struct sb_rewrite *rewrite);

/* The file is open to be written. bytes NULL: zeros, past its end as a hole. SB_CHANGED: somebody
 * else writes it; SB_DAMAGED: something does not read back as it was written. */
enum sb_code sb_rewrite_add(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                            const void *bytes, size_t size) SB_CHECKED;

/* All that was added is on disk. */
enum sb_code sb_rewrite_end(struct sb_rewrite *rewrite) SB_CHECKED;

#endif
