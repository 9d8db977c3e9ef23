/*
 * Removes files and directories from an archive's index. Their bytes remain in the shards, as gaps,
 * until they are defragmented; shards are not read.
 */
#ifndef SB_TASK_CHANGE_REMOVE_H
#define SB_TASK_CHANGE_REMOVE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_filter;

struct sb_remove_options {
    char *const
        *args; /* PATHs and GLOBs (archive/select.h); one that means the root is SB_INVALID */
    size_t arg_count;
    const char *list; /* a file of names instead ("-": standard input), each ended by list_end */
    char list_end;
    const struct sb_filter *filter; /* what it does not select is kept; NULL selects everything */
    bool recursive;                 /* directories are removed, with all that is below them */
    bool empty;                     /* without recursive: empty directories are removed */
    bool force;                     /* a missing name is not a problem */
    bool dry_run;                   /* nothing is changed or locked */
    unsigned threads;               /* that look up the names of the list, or read ahead */

    /*
     * SB_PROBLEM "missing" (no such name), "directory" (neither recursive nor empty), "row" (one
     * whose name does not identify it).
     */
    const struct sb_notify *notify;

    /*
     * Optional; called for each removed name. Under dry_run with a filter, only for files: which
     * directories become empty is known only at the end.
     */
    void (*removed)(void *context, const char *path, size_t size);
    void *context;
};

struct sb_remove_counts {
    int64_t files; /* and links */
    int64_t bytes;
    int64_t dirs;
};

/*
 * One transaction: at SB_OK all is removed that could be, else nothing is. A directory with
 * something left below it stays; one that becomes empty by the removal of its members stays too.
 */
enum sb_code sb_remove(const char *archive, const struct sb_remove_options *options,
                       struct sb_remove_counts *counts) SB_CHECKED;

#endif
