/*
 * One file that is protected, and its parity file.
 */
#ifndef SB_TASK_PROTECT_IMPL_H
#define SB_TASK_PROTECT_IMPL_H

#include "archive/parity/parity.h"
#include "store/out/lock.h"
#include "task/protect/protect.h"

struct sb_protected {
    const char *path;
    const struct sb_protect_options *options;
    struct sb_buf name; /* of the parity file */
    struct sb_file *file;
    struct sb_parity *parity;
    struct sb_out_lock lock;
    int archive; /* see sb_protect_hold; -1: not held */
};

/* For a repair: to be written. SB_FORMAT: no regular file, a link, or of several names. */
enum sb_code sb_protected_open(struct sb_protected *work, enum sb_parity_access access,
                               struct sb_error *err) SB_CHECKED;

/* SB_NOENT: there is none; SB_FORMAT: none that was made by sb_protect. */
enum sb_code sb_protected_open_parity(struct sb_protected *work, enum sb_parity_access access,
                                      struct sb_error *err) SB_CHECKED;

/* What the parity file notes of a file: SB_PARITY_USER bytes. */
void sb_protect_note(unsigned char *user, const struct stat *st);

/*
 * Adds to it that a repair is writing at this time, or with 0 that none is. A run may be killed
 * after it wrote and before it set the time of the file: so a file that has the time of a repair
 * counts as one that did not change.
 */
void sb_protect_note_repair(unsigned char *user, int64_t seconds);
#define SB_PROTECT_REPAIR_SECONDS 5 /* after which a repair notes a later time */

/* The time that the file is to have. */
struct timespec sb_protect_time(const struct sb_parity_super *super, const struct stat *st);
bool sb_protect_has_note(const struct sb_parity_super *super);

/* Is the parity file that of the file as it is, apart from damage? */
bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st);

enum sb_code sb_protect_make(struct sb_protected *work, struct sb_error *err) SB_CHECKED;
enum sb_code sb_protect_update(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/* Checks, and repairs if that is requested. */
enum sb_code sb_protect_repair(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

#endif
