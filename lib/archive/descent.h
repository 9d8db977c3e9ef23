/*
 * Walks a directory of an archive from the top down, the children of each in bytewise order of
 * name, as ls -R, a tree or du need it.
 *
 * Memory grows with the depth only. No lock is held between calls. Belongs to the archive's thread,
 * and is freed before the archive.
 */
#ifndef SB_ARCHIVE_DESCENT_H
#define SB_ARCHIVE_DESCENT_H

#include "archive/archive.h"

#define SB_DESCENT_MAX 4096 /* levels; a directory at this depth is not entered */

enum sb_visit {
    SB_VISIT_ENTRY, /* a file or link, or a directory too deep to be entered */
    SB_VISIT_ENTER, /* a directory, before what is in it */
    SB_VISIT_LEAVE, /* the same directory, after it */
};

struct sb_step {
    enum sb_visit visit;
    struct sb_entry entry;
    size_t depth; /* 0: child of the directory where the descent began */
    bool last;    /* last of its directory */
};

struct sb_descent_options {
    bool files;       /* else only directories */
    bool recorded;    /* as sb_query.recorded */
    size_t max_depth; /* directories at this depth are not entered, but have both visits; SIZE_MAX:
                         no limit */
};

struct sb_descent;

/* Begins at directory `top` ("" for the root), which itself is not visited. */
enum sb_code sb_descent_open(struct sb_descent **out, struct sb_archive *archive, const char *top,
                             const struct sb_descent_options *options) SB_CHECKED;
void sb_descent_free(struct sb_descent *descent);
FREEP(sb_descent_free, struct sb_descent)

/* SB_END after the last. The step's strings live until the next call. */
enum sb_code sb_descent_next(struct sb_descent *descent, struct sb_step *step) SB_CHECKED;

/* After SB_VISIT_ENTER: does not enter that directory; the next step leaves it. */
void sb_descent_skip(struct sb_descent *descent);

/* Was the entry at level `depth` above the current step the last of its directory? */
bool sb_descent_was_last(const struct sb_descent *descent, size_t depth);

#endif
