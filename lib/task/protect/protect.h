/*
 * Files of any kind, each with a parity file beside it (archive/parity/format.h): made, brought up
 * to date, checked, used and removed.
 *
 * The parity file notes size and time of the file. If these differ, or the parity file is marked,
 * the file changed since: nothing is checked or mended then, so that a parity file never brings
 * back old bytes. A file that became shorter, but kept its time, is damaged.
 *
 * An update writes what changed in place: sections of the parity file whose bytes are all as they
 * were stay as they are on disk. A killed one leaves the parity file of before, which is known not
 * to be that of the file any more, or the new one. In the sections that are made anew of a shard
 * that changed, the archive's files are checked first.
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
 * One run at a time has the parity file, by a lock beside it (store/out/lock.h), except for checks.
 */
#ifndef SB_TASK_PROTECT_PROTECT_H
#define SB_TASK_PROTECT_PROTECT_H

#include "archive/parity/note.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum sb_protect_act {
    SB_PROTECT_MAKE,   /* SB_EXISTS: it has one */
    SB_PROTECT_UPDATE, /* makes it, brings it up to date, or makes it anew if another redundancy is
                          requested */
    SB_PROTECT_CHECK,
    SB_PROTECT_REPAIR, /* in place, also the parity file; the file keeps its time */
    SB_PROTECT_REMOVE, /* the parity file; the file may be missing */
};

/* What was found, added up. Pieces are parts of a file, or of its parity file. */
struct sb_protect_result {
    int64_t files;        /* that have a parity file which belongs to them as they are */
    int64_t changed;      /* that changed since it was made */
    int64_t without;      /* that have none, or none that can be used */
    int64_t repaired;     /* pieces; in a dry run and a check: could be */
    int64_t lost;         /* pieces beyond repair */
    int64_t remade;       /* indexes, or files by themselves, that were gone and are made again */
    int64_t contradicted; /* files whose parity file would change bytes that must stay */
    int64_t unsettled; /* files that may be as they were protected, but for their time or a note */
};

struct sb_protect_options {
    enum sb_protect_act act;
    unsigned per_mille; /* parity per thousand bytes; 0: as the parity file has, or 50. An archive's
                           index has 1000 at least, to come back when all of it is lost */
    unsigned threads;
    bool hard_links;        /* repair files that have several names */
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

/* The index that says which bytes of a shard are right. */
struct sb_protect_index {
    const char *path;
    uint32_t commits; /* SQLite's counter: sb_archive_generation */
};

/* Which bytes of a file a repair may write. */
struct sb_protect_guard {
    /* The next of them from `from` on, up to `to`, as *begin to *end; both are `to` after the last.
     * In the order of the file, several times over. */
    enum sb_code (*next)(void *context, int64_t from, int64_t to, int64_t *begin, int64_t *end,
                         struct sb_error *err);
    /* Optional: is a stretch of the file, from `from` up to `to`, looked at? */
    bool (*looks_at)(void *context, int64_t from, int64_t to);
    void *context;
    const struct sb_protect_index *index; /* NULL: there is none yet */
    bool rewritten; /* the caller wrote what the file had: it may be as it was protected */
};

/* The name of the file's parity file, in this directory or, if it is NULL, beside the file, if a
 * file of that name is there; else the buffer is empty. Replaces what it holds. */
enum sb_code sb_protect_find(const char *path, const char *parity_dir, struct sb_buf *out,
                             struct sb_error *err) SB_CHECKED;

enum sb_protect_state {
    SB_PROTECT_NONE,    /* there is no parity file */
    SB_PROTECT_CURRENT, /* by size and time of the file: nothing says that it changed */
    SB_PROTECT_CUT,     /* likewise, but its end is missing, or all of it */
    SB_PROTECT_CHANGED,
};

struct sb_protect_status {
    enum sb_protect_state state;
    unsigned per_mille; /* parity per thousand bytes */
    int64_t size;       /* of the file when it was protected */
};

/* Of a file; of a link, of what it leads to. parity_dir as in the options. Reads neither the file
 * nor parity. SB_NOMEM. */
enum sb_code sb_protect_look(const char *path, const char *parity_dir,
                             struct sb_protect_status *out, struct sb_error *err) SB_CHECKED;

/* How many bytes will be read for this file, about: for progress. */
int64_t sb_protect_work(const char *path, const struct sb_protect_options *options);

/*
 * SB_FORMAT: the file is no regular one, or a link, or what is there under the name of its parity
 * file is none; SB_EXISTS: it has one, or what is there is that of another file of its name;
 * SB_NOENT; SB_LOCKED; SB_CHANGED: it changed since the parity file was made, or while it was read;
 * SB_DAMAGED: the tables of the parity file contradict each other, or an update would protect
 * damaged bytes, or cannot know, as the archive's index is damaged; SB_INVALID: a parity file
 * itself.
 */
enum sb_code sb_protect(const char *path, const struct sb_protect_options *options,
                        struct sb_error *err) SB_CHECKED;

/* Has a check found anything that a repair has to look at, or to report? */
bool sb_protect_has_found(const struct sb_protect_result *result);

/* Does the error concern more than this file and its parity file (sb_ends_work)? */
bool sb_protect_ends_work(const struct sb_error *err);

/*
 * SB_PROTECT_REPAIR of a file whose other bytes are known by something better, as by the checksums
 * of an index: only pieces with bytes that may be written are checked, and one is mended only where
 * it agrees with the bytes that must stay. If that file changed, its parity file alone is repaired,
 * by what they still have in common. The caller keeps writers away.
 *
 * A repair that was killed goes on here: then, as for a file that was rewritten, all pieces are
 * checked, and if all are right, the file gets the time that is noted.
 */
enum sb_code sb_protect_guarded(const char *path, const struct sb_protect_options *options,
                                const struct sb_protect_guard *guard,
                                struct sb_error *err) SB_CHECKED;

/*
 * Calls `each` for the path, and if it has the name or the beginning of an archive's index, for the
 * shards beside it. They are known by their names alone, as the index may be damaged. A missing
 * shard comes if its parity file is there, in this directory or, if it is NULL, beside it. Links do
 * not come: they lead to shards of other archives, which are protected there.
 */
enum sb_code sb_protect_walk(const char *path, const char *parity_dir,
                             void (*each)(void *context, const char *path), void *context,
                             struct sb_error *err) SB_CHECKED;

/* Is this file one of those that a walk from the path `index` comes to as shards, or passes over?
 */
bool sb_protect_has_shard(const char *index, const char *path);

#endif
