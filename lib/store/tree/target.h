/*
 * The tree that unpack writes: nothing outside of it, through no link, nothing overwritten in
 * place.
 *
 * New things are made with O_EXCL; what replaces something is made under a temporary name in the
 * same directory and renamed. Directories come from a struct sb_walk over target.fd. Thread-safe,
 * but one thread opens and releases it.
 *
 * That files are created with the mode they are to have, the umask is 0 while a target is open, for
 * the thread that opened it and those that it starts; sb_target_release puts it back. So that it
 * stays for the rest of the process, the thread is parted from it (CLONE_FS of unshare(2)), for
 * good: a chdir of either is not the other's any more. Where the kernel refuses that, as in a
 * container that allows no unshare, the umask of the whole process is 0 meanwhile: then a program
 * with other threads that make files does not open a target, or sets their modes itself.
 */
#ifndef SB_STORE_TREE_TARGET_H
#define SB_STORE_TREE_TARGET_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/existing.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct sb_own_files;

/*
 * Reaching directories below a root, one component at a time and through no link, so that no name
 * and no other process can lead outside of it.
 *
 * A walk remembers the way to where it was last, as a few open directories; neighbouring names are
 * therefore reached with one call or none. It belongs to one thread; several walks may share a
 * root.
 */

#define SB_WALK_KEPT 5

struct sb_walk {
    int root; /* of the caller, open as long as the walk is used */
    const struct sb_own_files *own;
    struct sb_buf path;
    struct sb_walk_level {
        size_t size; /* of its name, the beginning of path */
        int fd;
        mode_t note;
    } levels[SB_WALK_KEPT]; /* the innermost directories of path */
    unsigned count;
    mode_t root_note;
};

#define SB_WALK_NO_MAKING ((mode_t)-1)

/* own: no directory is made in their place; NULL: none. */
void sb_walk_init(struct sb_walk *walk, int root, const struct sb_own_files *own);
void sb_walk_release(struct sb_walk *walk);

/*
 * The directory called dir ("" is the root), as an O_PATH descriptor that lives until the next call
 * on this walk. What is missing on the way is made with mode make, unless that is
 * SB_WALK_NO_MAKING. SB_NOENT when it is not there; SB_INVALID when something on the way is a link
 * or no directory; also where something missing would take the place of an own file; SB_SYSTEM. The
 * text does not name dir.
 */
enum sb_code sb_walk_to(struct sb_walk *walk, const char *dir, size_t size, mode_t make,
                        int *fd) SB_CHECKED;

/*
 * The directory that holds `name`, as above, and the last component of name.
 */
enum sb_code sb_walk_to_parent(struct sb_walk *walk, const char *name, size_t size, mode_t make,
                               int *fd, const char **component) SB_CHECKED;

/*
 * A word of the caller's about the directory that the walk is in; 0 when it has come there anew.
 * Lives until the next call on this walk.
 */
mode_t *sb_walk_note(struct sb_walk *walk);

/* What is written below the root. */

struct sb_target {
    int fd;    /* of DIR; -1 when a dry run did not find it */
    bool made; /* DIR was made by sb_target_open */
    uid_t uid; /* the effective ones, which new files have */
    gid_t gid;
    mode_t mask; /* the context's umask, for modes that the archive does not know */
    mode_t former;

    /* The caller's, after sb_target_open. */
    bool touch;    /* times are left as they are made */
    bool preserve; /* where an owner is known: owner and set-id bits too */
};

#define SB_PERMISSIONS    0777
#define SB_MODE_BITS      07777
#define SB_OWNER_MAY_FILL 0700

/* What the metadata of one entry becomes. */
struct sb_attributes {
    mode_t mode;
    bool mode_known; /* else mode is what a new file gets, and an old directory keeps its own */
    bool preserve;   /* owner, and all mode bits */
    bool as_made;    /* ... which a new file has anyhow, in most directories */
    uid_t uid;       /* (uid_t)-1, (gid_t)-1: unchanged */
    gid_t gid;
    bool set_time;
    struct timespec times[2]; /* for utimensat */
};

/* DIR is made when it is missing (its parent is not), unless dry. */
enum sb_code sb_target_open(struct sb_target *target, const char *dir, bool dry) SB_CHECKED;
void sb_target_release(struct sb_target *target);

/* Times that the file system cannot hold become the nearest ones. */
struct sb_attributes sb_target_attributes(const struct sb_target *target,
                                          const struct sb_entry *entry);

/* SB_INVALID: what has this name, or would, belongs to an input or output: see own_files.h. */
enum sb_code sb_target_spare(const struct sb_own_files *own, int dir_fd, const char *component,
                             const struct stat *st) SB_CHECKED;

/* What a newcomer is made as: a symbolic link, a further name for the file or link `from`, which is
 * not followed, or else a file. */
struct sb_making {
    const char *link_target;
    const char *from;
    int from_fd;
};

/* A file or link on its way into the target. */
struct sb_newcomer {
    int dir_fd;
    const char *component; /* of the caller */
    int fd;                /* open for writing; -1 for links of both kinds */
    char temporary[32];    /* its name until it replaces another; "" when it has its own */
    bool owner_refused;    /* after finish: it is ours, without set-id bits */

    mode_t *kept_mode;
};

/*
 * SB_EXISTS when something is there and replace is false; SB_SYSTEM where the file system has no
 * such links. A further name is finished with attributes that set nothing. kept_mode: NULL, or the
 * caller's, 0 before the first file in this directory: S_IFREG once one was made here that kept its
 * owner, with the mode of the last one that kept that too. Another of that mode need not be looked
 * at.
 */
enum sb_code sb_newcomer_open(struct sb_newcomer *newcomer, int dir_fd, const char *component,
                              const struct sb_making *making,
                              const struct sb_attributes *attributes, bool replace,
                              mode_t *kept_mode) SB_CHECKED;

/*
 * After each part of a file that is written in parts: dates it to the epoch, or to before its own
 * time if that is no later, so that what a killed run leaves under the file's name is older than
 * what the archive holds. Does nothing where a temporary name says so already, or where the archive
 * knows no time that finish would set.
 */
void sb_newcomer_backdate(const struct sb_newcomer *newcomer,
                          const struct sb_attributes *attributes);

/* Sets its metadata, syncs it if `sync`, closes it and gives it its name; removes it on failure. */
enum sb_code sb_newcomer_finish(struct sb_newcomer *newcomer,
                                const struct sb_attributes *attributes, bool sync) SB_CHECKED;

/* Closes and removes it: what had its name before is unchanged. */
void sb_newcomer_drop(struct sb_newcomer *newcomer);

/*
 * Lets the owner, who is this process, change what is in a directory. *before: the mode that it
 * had; *opened: it was another one. False: the directory is another's.
 */
bool sb_target_open_up(int dir_fd, mode_t *before, bool *opened);

/* Sets a mode of a directory again; one that is gone has none. */
void sb_target_close_up(int dir_fd, mode_t mode);

/* unlinkat, also in a directory that its owner may not write to, as rsync does it; errno. */
bool sb_target_unlink(int dir_fd, const char *component, int flags);

#endif
