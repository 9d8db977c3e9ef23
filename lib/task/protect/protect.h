/*
 * Files of any kind, each with a parity file beside it (archive/parity/parity.h): made, checked,
 * used and removed.
 *
 * Bytes decide, not times and inodes. What a shard's index has a CRC32C of is right if it matches
 * that. An SQLite file, as an index, is the one that is protected if it counts as many commits;
 * what differs then is damage. Any other file that has not the time that is noted may have changed:
 * then what differs is damage if checks of its own say so, as those of a gzip file, or if the
 * caller does.
 *
 * Before parity is made the bytes are proved, by the index, by the commits, or by the file's own
 * checks: damage is never protected. It is made beside the parity file of before, which it replaces
 * at the end.
 *
 * An index is read under the locks of a writer, so that a state is protected that was committed.
 * The parity of an index is written before that of the shards: a run that is killed in between
 * leaves an index that can be brought back as it is, with shards that are as it says, and not an
 * older one beside them.
 *
 * Parity files may be in another directory, under the names that they would have beside their
 * files. Each notes the absolute path of its file then, so that two files of one name from two
 * directories are not taken for each other.
 *
 * One run at a time makes the parity file, by a lock beside it (store/out/lock.h).
 */
#ifndef SB_TASK_PROTECT_PROTECT_H
#define SB_TASK_PROTECT_PROTECT_H

#include "archive/parity/note.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_protect_act {
    SB_PROTECT_MAKE,   /* SB_EXISTS: it has one */
    SB_PROTECT_UPDATE, /* makes it if it is missing, cannot be read, is not of the file as it is, or
                          has another redundancy than is requested */
    SB_PROTECT_CHECK,
    SB_PROTECT_REPAIR, /* the file in place; its parity file is made again if it is damaged */
    SB_PROTECT_REMOVE, /* the parity file; the file may be missing */
};

/* What was found, added up. Pieces are parts of a file, or of its parity file. */
struct sb_protect_result {
    int64_t files;    /* that have a parity file which belongs to them as they are */
    int64_t changed;  /* that changed since it was made */
    int64_t without;  /* that have none, or none that can be used */
    int64_t repaired; /* pieces; in a dry run and a check: could be */
    int64_t lost;     /* pieces beyond repair */
    int64_t pieces;   /* of all kinds that are not as they were */
    int64_t remade;   /* indexes, or files by themselves, that were gone and are made again */
};

struct sb_protect_options {
    enum sb_protect_act act;
    unsigned per_mille; /* parity per thousand bytes; 0: as the parity file has, or 50. An archive's
                           index has 1000 at least, to come back when all of it is lost */
    unsigned threads;
    bool anew;              /* an update makes it again in any case */
    bool hard_links;        /* repair files that have several names */
    bool trust;             /* what differs from what is protected is damage */
    bool one;               /* SB_INVALID for a parity file; else it is passed over */
    const char *parity_dir; /* where parity files are; NULL: beside their files */
    bool dry_run;           /* report changes by kinds that begin with "would-", and make none */
    struct sb_protect_result *result; /* of checks and repairs; may be NULL */

    /* "damaged", "lost" (beyond repair), "unchecked", "cut": SB_PROBLEM, with byte ranges. Others
     * are notes. */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes); /* so many more were read; may be NULL */
    void *context;
};

/* The name of the file's parity file, in this directory or, if it is NULL, beside the file, if a
 * file of that name is there; else the buffer is empty. Replaces what it holds. */
enum sb_code sb_protect_find(const char *path, const char *parity_dir,
                             struct sb_buf *out) SB_CHECKED;

/* Is there such a file? */
bool sb_protect_has_parity(const char *path, const char *parity_dir);

enum sb_protect_state {
    SB_PROTECT_NONE,    /* there is no parity file */
    SB_PROTECT_CURRENT, /* nothing says that the file changed: size and time, or the commits */
    SB_PROTECT_CUT,     /* likewise, but its end is missing, or all of it */
    SB_PROTECT_CHANGED,
};

struct sb_protect_status {
    enum sb_protect_state state;
    unsigned per_mille; /* parity per thousand bytes */
    int64_t size;       /* of the file when it was protected */
};

/* Of a file; of a link, of what it leads to. parity_dir as in the options. Reads the file's first
 * bytes, and no parity. SB_NOMEM. */
enum sb_code sb_protect_look(const char *path, const char *parity_dir,
                             struct sb_protect_status *out) SB_CHECKED;

/* How many bytes will be read for this file, about: for progress. */
int64_t sb_protect_work(const char *path, const struct sb_protect_options *options);

/*
 * SB_FORMAT: the file is no regular one, or a link, or what is there under the name of its parity
 * file is none; SB_EXISTS: it has one, or what is there is that of another file of its name;
 * SB_NOENT; SB_LOCKED; SB_CHANGED: it changed since the parity file was made, or while it was read;
 * SB_DAMAGED: the parity file is of no use, or it would protect damage; SB_INVALID: a parity file
 * itself.
 */
enum sb_code sb_protect(const char *path, const struct sb_protect_options *options) SB_CHECKED;

/*
 * Before a container is opened: what is about it that is gone, or damaged so that it cannot be
 * opened, comes from parity files.
 *
 * Any file that is there is repaired (sb_protect) if it, or its parity file, is damaged. If it is
 * an archive's index and is missing, it is made again as it was when it was protected; so are
 * shards that its index has and that are missing. That takes a redundancy of 100 %. A shard that
 * was cut grows again if all that is missing can be made. What is missing is made under a temporary
 * name (store/out/lock.h), synced, gets the time that is noted, and is renamed: SB_WARNING
 * "remade". It belongs to whom its parity file does.
 *
 * An index whose shards are not as they were protected may be older than they are: then that is
 * recorded in it (archive/own/state.h). What a killed run left is settled with it
 * (sb_settle_remade).
 *
 * What cannot be done by a parity file is reported as SB_PROBLEM "parity", or SB_WARNING "changed"
 * if the file changed since, and left to who opens it. Without a parity file nothing is done. An
 * index is not made again beside a journal, which is of a later one: SB_LOCKED.
 */
enum sb_code sb_protect_bring_back(const char *path,
                                   const struct sb_protect_options *options) SB_CHECKED;

/* What knows better than a parity file which bytes of a file are right, as an index. */
struct sb_protect_guard {
    /* As of archive/parity/check.h: is this looked at? */
    enum sb_code (*chooses)(void *context, int64_t from, int64_t to, bool *chosen);
    bool (*chooses_section)(void *context, int64_t from, int64_t to);
    /* May a piece be written over the `got` bytes of it that are there? */
    enum sb_code (*allows)(void *context, int64_t from, const unsigned char *made,
                           const unsigned char *there, size_t got, size_t size, bool *allowed);
    void *context;
    bool again; /* set: the parity file is damaged, and to be made again */
};

/*
 * Checks a file, and repairs it if there is something to do, as these options say: others are kept
 * away only then, after `before`, which may be NULL as the guard may. With a guard the caller keeps
 * writers of the file away, and makes its parity file again.
 */
enum sb_code sb_protect_mend(const char *path, const struct sb_protect_options *options,
                             struct sb_protect_guard *guard, enum sb_code (*before)(void *context),
                             void *context) SB_CHECKED;

/* The parity file of a file, in whatever state that is. Errors as above. */
struct sb_parity;
enum sb_code sb_protect_open(struct sb_parity **out, const char *path,
                             const char *parity_dir) SB_CHECKED;

/*
 * Has this index fewer commits than its parity file, and have its shards bytes after its last
 * files? Then it was put back, and a later one has files there, as that parity file may say.
 */
enum sb_code sb_protect_is_older(const char *index, const char *parity_dir, bool *older) SB_CHECKED;
extern const char sb_protect_older[]; /* says so, and what to do */

/* Does the error concern more than this file and its parity file (sb_ends_work)? */
bool sb_protect_ends_work(void);

/*
 * Calls `each` for the path, and if it has the name or the beginning of an archive's index, for the
 * shards beside it that it counts; where it is damaged, for all that have the name of one. Those
 * that are missing, or not counted, come if their parity file is there, in this directory or, if it
 * is NULL, beside them. Links do not come: they lead to shards of other archives, which are
 * protected there.
 */
enum sb_code sb_protect_walk(const char *path, const char *parity_dir,
                             void (*each)(void *context, const char *path),
                             void *context) SB_CHECKED;

/* Is this file one of those that a walk from the path `index` comes to as shards, or passes over?
 */
bool sb_protect_has_shard(const char *index, const char *path, const char *parity_dir);

/* Is it one of those, or what records something about the file `index`, and is not protected: what
 * repairs replaced, and which archives have links to its shards? */
bool sb_protect_has_own(const char *index, const char *path, const char *parity_dir);

#endif
