/*
 * ARCHIVE-before-repair: the bytes that repairs have replaced, so that they can be put back
 * (shardbox-archive(5)). Of a file that is no part of an archive: FILE-before-repair.
 *
 * It grows by each repair. What a repair replaces is synced here, and then the head, which counts
 * it, before it is replaced: the bytes of what comes after that are still in their place. The
 * head has 24 bytes; numbers are little-endian:
 *
 *        0    8  "SBREPAIR"
 *        8    8  the end of what is synced
 *       16    4  CRC32C of the 16 bytes before it
 *       20    4  in --parity-dir: CRC32C of the absolute path of the archive; else 0
 *
 * Records follow. Each is a header of 40 bytes, a name and the bytes:
 *
 *        0    8  "SBBEFORE"
 *        8    4  CRC32C of the rest of the header and of the name
 *       12    4  length of the name
 *       16    8  offset
 *       24    8  how many bytes
 *       32    4  CRC32C of the bytes
 *       36    4  CRC32C of what the repair writes in their place
 *
 * The name is that of the file, in the directory of the archive. Without bytes it says of a
 * database how many commits it has once it is repaired, as the offset. Belongs to one thread at a
 * time.
 */
#ifndef SB_TASK_PROTECT_BEFORE_H
#define SB_TASK_PROTECT_BEFORE_H

#include "core/buf.h"
#include "core/error.h"
#include "core/file.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Puts back, of the archive or the file at `path`, all bytes that are still as the repairs wrote
 * them, the last repair first, and then removes the file. Bytes that changed since are skipped,
 * SB_PROBLEM "changed" by the name of their file, and then it stays; of an index, or another
 * database, all are, if a commit came since, or it is missing. SB_NOENT: there is none.
 */
enum sb_code sb_before_undo(const char *path, const char *parity_dir, bool dry_run,
                            const struct sb_notify *notify) SB_CHECKED;

/*
 * Bytes of files that are replaced in place by a repair: in batches. Of each what it replaces is
 * kept first; then it is written, synced, read back and compared. Bytes that are there
 * already are left alone. A file keeps its time, where that is possible, so that it does not look
 * new to others. Nobody else may write to it; where somebody does, the repair ends.
 *
 * Thread-safe, but for begin, end and release.
 */

/* It, while it is written. */
struct sb_before {
    struct sb_buf name;
    int fd; /* -1: nothing was added yet */
    bool is_ours;
    uint32_t origin;
    int64_t size, synced;
};

struct sb_rewrite {
    struct sb_before before;
    pthread_mutex_t mutex;
    unsigned char *bytes;
    size_t used;
    struct sb_rewrite_part *parts;
    size_t count;
};

/* path: the file, or any of the archive whose files are written. To be released also after a
 * failure. SB_INVALID, here and later: what is replaced cannot be kept. */
enum sb_code sb_rewrite_begin(struct sb_rewrite *rewrite, const char *path,
                              const char *parity_dir) SB_CHECKED;
/* A repair of a database follows, which counts so many commits then: its pages go back only if it
 * still does. */
enum sb_code sb_rewrite_announce(struct sb_rewrite *rewrite, const char *path,
                                 int64_t commits) SB_CHECKED;
void sb_rewrite_release(struct sb_rewrite *rewrite);

/* The file is open to be written. bytes NULL: zeros, past its end as a hole. SB_CHANGED: somebody
 * else writes it; SB_DAMAGED: something does not read back as it was written. */
enum sb_code sb_rewrite_add(struct sb_rewrite *rewrite, struct sb_file *file, int64_t offset,
                            const void *bytes, size_t size) SB_CHECKED;

/* All that was added is on disk. */
enum sb_code sb_rewrite_end(struct sb_rewrite *rewrite) SB_CHECKED;

#endif
