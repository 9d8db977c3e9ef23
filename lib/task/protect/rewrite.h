/*
 * Bytes of a protected file and its parity file that are written again in place: in batches, each
 * synced, read back and compared. The file is given its time again after each write, so that the
 * parity file stays current whenever a run ends; that it is written to is noted in the parity file,
 * for a run that is killed in between.
 */
#ifndef SB_TASK_PROTECT_REWRITE_H
#define SB_TASK_PROTECT_REWRITE_H

#include "task/protect/impl.h"

struct sb_rewrite {
    struct sb_protected *work;
    struct stat st; /* of the file by now */
    bool noted;     /* in the parity file */
    unsigned char *bytes;
    size_t used;
    struct sb_rewrite_part *parts;
    size_t count;
    bool touched[2]; /* since the last sync: the file, the parity file */
};

/*
 * Both files are open to be written, and must stay. data: bytes of the file, too; then that is
 * noted in the parity file, and all its superblocks are whole. SB_SYSTEM: the file's time cannot be
 * set, as by somebody who is not its owner. To be released also after a failure.
 */
enum sb_code sb_rewrite_begin(struct sb_rewrite *rewrite, struct sb_protected *work, bool data,
                              struct sb_error *err) SB_CHECKED;
void sb_rewrite_release(struct sb_rewrite *rewrite); /* {0} is allowed */

/*
 * All bytes are as they are protected: gives the file the time that is noted, and removes the note
 * of a run that was killed. SB_CHANGED: it was written to since it was opened.
 */
enum sb_code sb_rewrite_settle(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/* Bytes of the file, or of the parity file. SB_CHANGED: somebody else writes the file; SB_DAMAGED:
 * something does not read back as it was written. */
enum sb_code sb_rewrite_add(struct sb_rewrite *rewrite, bool parity, int64_t offset,
                            const void *bytes, size_t size, struct sb_error *err) SB_CHECKED;

/* What was added is on disk; nothing more will be. */
enum sb_code sb_rewrite_end(struct sb_rewrite *rewrite, struct sb_error *err) SB_CHECKED;

#endif
