/*
 * One file that is protected, and its parity file.
 */
#ifndef SB_TASK_PROTECT_IMPL_H
#define SB_TASK_PROTECT_IMPL_H

#include "archive/parity/parity.h"
#include "store/out/lock.h"
#include "task/protect/protect.h"

/* Locks on indexes. */
struct sb_protect_holds {
    int fds[3];
    unsigned count;
};

struct sb_protected {
    const char *path;
    const struct sb_protect_options *options;
    const struct sb_protect_guard *guard; /* NULL: all bytes */
    struct sb_buf name;                   /* of the parity file */
    struct sb_file *file;
    struct sb_parity *parity;
    struct sb_out_lock lock;
    struct sb_protect_holds holds;
};

/* For a repair: to be written. SB_FORMAT: no regular file, a link, or of several names. */
enum sb_code sb_protected_open(struct sb_protected *work, enum sb_parity_access access,
                               struct sb_error *err) SB_CHECKED;

/* SB_NOENT: there is none; SB_FORMAT: none that was made by sb_protect. */
enum sb_code sb_protected_open_parity(struct sb_protected *work, enum sb_parity_access access,
                                      struct sb_error *err) SB_CHECKED;

/* The length of a name without the end of a parity file's; 0: it does not end so. */
size_t sb_protect_base_size(const char *name);

/* What the parity file notes of a file: SB_PARITY_USER bytes. */
void sb_protect_note(unsigned char *user, const struct stat *st);

/* Adds that the file was lost, and made again as it was then: until it is protected anew, others
 * may be newer than it. */
void sb_protect_note_old(unsigned char *user);
bool sb_protect_noted_old(const struct sb_parity_super *super);

/* What a run that was killed was doing to the file. */
enum sb_protect_repairing {
    SB_REPAIRING_NOTHING,
    SB_REPAIRING,         /* what the parity file protects */
    SB_REPAIRING_CHANGED, /* a file that had changed since, by what an index says of it */
};

/* Adds that to it. */
void sb_protect_note_repair(unsigned char *user, enum sb_protect_repairing repairing);
enum sb_protect_repairing sb_protect_noted_repair(const struct sb_parity_super *super);
bool sb_protect_has_note(const struct sb_parity_super *super);

/* The time of the file that is noted. */
struct timespec sb_protect_noted_time(const struct sb_parity_super *super);

/* Is the parity file that of the file as it is, apart from damage? */
bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st);

/*
 * Of one that is not: SB_CHANGED. A repair may have been killed after it wrote and before it gave
 * the file its time again, which looks like a change by others: only the user knows, and with that
 * time it can go on. `always`: else SB_OK where no repair was under way.
 */
enum sb_code sb_protect_refuse_changed(const struct sb_protected *work, bool always,
                                       struct sb_error *err) SB_CHECKED;

/*
 * A repair was killed, and the file has another time than is noted: did only that write to it? Of
 * an index it can be known: each commit of others counts in SQLite's header, which the parity file
 * has, too. *only is false also where it is not known.
 */
enum sb_code sb_protect_was_only_repaired(const struct sb_protected *work, bool *only,
                                          struct sb_error *err) SB_CHECKED;

/* May this be the index of an archive? It may be damaged: then it has shards. */
bool sb_protect_is_index(const char *path);

/* SB_NOENT, and what to do about the parity file, if there is one. */
enum sb_code sb_protect_fail_missing(const struct sb_protected *work, int error_number,
                                     struct sb_error *err);

enum sb_code sb_protect_make(struct sb_protected *work, struct sb_error *err) SB_CHECKED;
enum sb_code sb_protect_update(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/* Checks, and repairs if that is requested. */
enum sb_code sb_protect_repair(struct sb_protected *work, struct sb_error *err) SB_CHECKED;

/*
 * Keeps others away while a file that may be an archive's index, or a shard, or both, is changed:
 * its writers, ours by their lock and Barecat by SQLite's, and of an index readers, too. Released
 * also after a failure. SB_LOCKED: somebody has it, or a change was interrupted; waits as the
 * context allows.
 */
enum sb_code sb_protect_hold(struct sb_protect_holds *holds, const char *path,
                             struct sb_error *err) SB_CHECKED;
void sb_protect_release(struct sb_protect_holds *holds);

#endif
