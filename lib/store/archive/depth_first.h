/*
 * All of an archive. Each directory is followed by what is in it, and nothing else comes in
 * between: so tar walks a tree, and so tar wants it. GNU tar sets the times of a directory when it
 * meets a member that is not below it; other programs need a directory before what is in it.
 *
 * That is the order of paths with one exception: "a" comes before "a-b", which comes before "a/c".
 * So a directory waits until the next entry is below it, or is past all that could be below it. The
 * directories that wait are few: the name of that entry begins with each of their names.
 */
#ifndef SB_STORE_ARCHIVE_DEPTH_FIRST_H
#define SB_STORE_ARCHIVE_DEPTH_FIRST_H

#include "archive/archive.h"

struct sb_depth_first;

enum sb_code sb_depth_first_open(struct sb_depth_first **out,
                                 struct sb_archive *archive) SB_CHECKED;
void sb_depth_first_free(struct sb_depth_first *walk); /* NULL is allowed */
FREEP(sb_depth_first_free, struct sb_depth_first)

/* Do the files lie in the shards in the order of this walk? Not where others packed them in another
 * order, as that of a shuffled tar. Files without bytes have no place of their own. */
enum sb_code sb_depth_first_is_stored(struct sb_archive *archive, bool *is) SB_CHECKED;

/* As sb_cursor_next. */
enum sb_code sb_depth_first_next(struct sb_depth_first *walk, struct sb_entry *entry) SB_CHECKED;

#endif
