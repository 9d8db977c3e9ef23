/*
 * One file that is protected, and its parity file.
 */
#ifndef SB_TASK_PROTECT_IMPL_H
#define SB_TASK_PROTECT_IMPL_H

#include "archive/parity/make.h"
#include "archive/parity/note.h"
#include "store/out/lock.h"
#include "task/protect/protect.h"

/* Locks on indexes. */
struct sb_protect_holds {
    int fds[3];
    unsigned count;
    bool only_reads; /* goes on where locks do not work, since no writer can write there */
};

struct sb_protected {
    const char *path;
    const struct sb_protect_options *options;
    struct sb_protect_guard *guard; /* NULL: none */
    struct sb_buf name;             /* of the parity file */
    char *origin; /* the absolute path, if the parity file is elsewhere; else NULL */
    struct sb_file *file;
    struct sb_parity *parity;
    struct sb_out_lock lock;
    struct sb_protect_holds holds;
};

/* The absolute path of a file, for what is in another directory. The directory is resolved, the
 * name is not: links are refused. The caller frees it. */
enum sb_code sb_protect_find_origin(char **out, const char *path) SB_CHECKED;

/* Finds the name of the parity file, and the origin. */
enum sb_code sb_protected_begin(struct sb_protected *work, const char *path,
                                const struct sb_protect_options *options) SB_CHECKED;

/* Closes all of it, drops the locks. */
void sb_protected_end(struct sb_protected *work);

/* For a repair: to be written. SB_FORMAT: no regular file, a link, or of several names. */
enum sb_code sb_protected_open(struct sb_protected *work, bool to_write) SB_CHECKED;

/* SB_NOENT: there is none; SB_DAMAGED: it has lost its superblocks; SB_FORMAT: none that was made
 * by sb_protect; SB_EXISTS: that of another file. */
enum sb_code sb_protected_open_parity(struct sb_protected *work) SB_CHECKED;

/* make.c: removes what a killed run left under the name of a file that is made (out/lock.h),
 * and refuses what none did. The name goes to the buffer. */
enum sb_code sb_protect_clear(const char *path, struct sb_buf *temporary) SB_CHECKED;

/*
 * Of the file, which is open, once its bytes are proved. SB_DAMAGED: the file is, or files in it,
 * or the index of a shard that had a parity file; SB_NOENT: that index is missing.
 */
enum sb_code sb_protect_write_parity(struct sb_protected *work) SB_CHECKED;
enum sb_code sb_protect_make(struct sb_protected *work) SB_CHECKED;
enum sb_code sb_protect_update(struct sb_protected *work) SB_CHECKED;

/* repair.c: checks, and repairs if that is requested. */
enum sb_code sb_protect_repair(struct sb_protected *work) SB_CHECKED;

/*
 * Keeps others away while a file that may be an archive's index, or a shard, or both, is changed:
 * its writers, ours by their lock and Barecat by SQLite's, and of an index readers, too. to_read:
 * while it is read; readers of an index go on, and its state is one that was committed. Released
 * also after a failure. SB_LOCKED: somebody has it, or a change was interrupted; waits as the
 * context allows.
 */
enum sb_code sb_protect_hold(struct sb_protect_holds *holds, const char *path,
                             bool to_read) SB_CHECKED;
void sb_protect_release(struct sb_protect_holds *holds);

/* Is it an archive's index, by its beginning or by the shards beside it? */
bool sb_protect_is_index(const char *path);

/* How many shards the index in this file counts; name: of it, for messages. */
enum sb_code sb_protect_count_shards(const char *index, const char *name,
                                     uint32_t *count) SB_CHECKED;

/* Has a shard of the index in this file bytes after its last file? name: of the archive. */
enum sb_code sb_protect_has_tail(const char *index, const char *name, bool *has) SB_CHECKED;

/* The length of an archive's name in that of its shard; 0: it is no name of a shard. */
size_t sb_protect_base_of_shard(const char *path);

/* Do the checks of the file itself call it damaged? False also where it has none. */
enum sb_code sb_prove_own(const struct sb_protected *work, bool *damaged) SB_CHECKED;

#endif
