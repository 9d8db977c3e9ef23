/*
 * The bytes of a file as they were when it was protected, made by its parity file: for somebody who
 * knows which of them are right, and has them written.
 *
 * The file may have changed since, other than `sb_protect` allows: what is made of pieces that
 * changed is old, or nothing. Belongs to one thread.
 */
#ifndef SB_TASK_PROTECT_MENDER_H
#define SB_TASK_PROTECT_MENDER_H

#include "task/protect/protect.h"

struct sb_mender;

/*
 * index: that has the checksums. beside: of the temporary file (sb_temp_directory). With
 * options->dry_run nothing is locked or can be written. The caller keeps other writers of the file
 * away. SB_NOENT: it, or its parity file, is missing; SB_FORMAT: either is not a file that may be
 * used, or be written; SB_LOCKED. The strings must outlive it.
 */
enum sb_code sb_mender_open(struct sb_mender **out, const char *path,
                            const struct sb_protect_index *index, const char *beside,
                            const struct sb_protect_options *options,
                            struct sb_error *err) SB_CHECKED;
void sb_mender_free(struct sb_mender *mender); /* NULL is allowed */

/*
 * May its bytes be replaced by what the index confirms? Only if the file is as it was protected, or
 * is not newer than the index, which then knows of all that was written to it; and only the first
 * of both if the index was brought back (lost.h), or has no commit since it was protected.
 */
enum sb_mender_verdict {
    SB_MENDER_MAY_WRITE,
    SB_MENDER_NEWER,     /* it is newer than the index */
    SB_MENDER_CHANGED,   /* it changed since it was protected, and the index did not */
    SB_MENDER_OLD_INDEX, /* likewise, or that was lost and made again */
};

enum sb_mender_verdict sb_mender_judge(struct sb_mender *mender);

/* The time that it had when it was protected. */
struct timespec sb_mender_time(const struct sb_mender *mender);

/* Makes what is bad of these bytes; what was made before is dropped. */
enum sb_code sb_mender_find(struct sb_mender *mender, int64_t from, int64_t to,
                            struct sb_error *err) SB_CHECKED;

/* How many bytes of these, which were found, could not be made. */
int64_t sb_mender_lost(const struct sb_mender *mender, int64_t from, int64_t to);

/*
 * Reads bytes that were found: as they are in the file, or as they were made. SB_DAMAGED: some
 * could not be made.
 */
enum sb_code sb_mender_read(struct sb_mender *mender, void *data, size_t size, int64_t offset,
                            struct sb_error *err) SB_CHECKED;

/*
 * Writes bytes that differ from those in the file, which keeps its time (rewrite.h). SB_CHANGED:
 * somebody else writes it; SB_DAMAGED: something does not read back.
 */
enum sb_code sb_mender_write(struct sb_mender *mender, const void *data, size_t size,
                             int64_t offset, struct sb_error *err) SB_CHECKED;

/* What was written is on disk; nothing more will be. */
enum sb_code sb_mender_end(struct sb_mender *mender, struct sb_error *err) SB_CHECKED;

#endif
