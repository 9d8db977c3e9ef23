/*
 * The lists of an incremental dump of GNU tar: what was in each of its directories. What a tree has
 * beside that was deleted before the dump, or has another name since.
 */
#ifndef SB_TASK_PACK_DUMPS_H
#define SB_TASK_PACK_DUMPS_H

#include "store/member.h"
#include "store/tree/walk.h"
#include "task/pack/unpack.h"

struct sb_names;
struct sqlite3;
struct sqlite3_stmt;

/* The caller sets the first three; notify: sb_dumps_pass_event, for the tree's sink. */
struct sb_dumps {
    const struct sb_unpack_options *options;
    const struct sb_own_files *own;
    struct sb_notify notify;
    int root;                       /* of the tree; -1 in a dry run that did not find it */
    bool renames;                   /* there are renamed directories */
    bool complete;                  /* all was written, and is deleted */
    char marker[32], temporary[40]; /* with them: files in the root; else "" */
    struct sb_walk walk;
    struct sqlite3 *db; /* NULL: no list came yet */
    struct sqlite3_stmt *add;
    struct sb_names *gone;   /* a dry run: what would make way */
    struct sb_names *listed; /* in the directory that is at hand: what stays */
    uint64_t aside;          /* so much has */
    struct sb_buf name;
    unsigned depth;
};

void sb_dumps_release(struct sb_dumps *dumps);

/*
 * For a tree sink's `dumped`, whose context is a struct sb_dumps, before something of the dump is
 * written: renames, below `root` and through no link, the directories that the first list says were
 * renamed, and puts aside what is a directory where the dump has none, or the other way round. A
 * dry run reports both ("renamed", "removed": SB_WARNING), a real one as SB_NOTE.
 *
 * Failures end the work: a damaged list (SB_DAMAGED), a first one that comes after something that
 * could not be read, renames in another one than the first, a directory that cannot be renamed. The
 * same dump, again, completes what was broken off: a file in the root of the tree says how many
 * directories have been renamed.
 */
enum sb_code sb_dumps_apply(void *context, int root, const struct sb_member *member) SB_CHECKED;

/* What a dry run finds in the way of the dump, but would be put aside, is no problem. */
void sb_dumps_pass_event(void *context, enum sb_level level, const char *kind, const char *subject,
                         const char *text);

/*
 * When all was written: deletes from each directory what its last list does not name, and what was
 * put aside; but no own file, and nothing on another file system: SB_PROBLEM ("remove"). Nothing at
 * all if there were problems ("incremental").
 */
enum sb_code sb_dumps_remove(struct sb_dumps *dumps) SB_CHECKED;

/* When directories have their times. */
void sb_dumps_finish(const struct sb_dumps *dumps);

#endif
