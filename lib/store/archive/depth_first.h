/*
 * All of an archive, each directory followed by what is in it and by nothing else before that is
 * over: as tar walks a tree, and as tar wants it. GNU tar sets the times of a directory when it
 * meets a member that is not below it; others need a directory before what is in it.
 *
 * That is the order of paths but for one thing: "a" comes before "a-b", which comes before "a/c".
 * So a directory waits until the next entry is below it, or would come behind all that is. Those
 * that wait all begin the name of that entry, so they are few.
 */
#ifndef SB_STORE_ARCHIVE_DEPTH_FIRST_H
#define SB_STORE_ARCHIVE_DEPTH_FIRST_H

#include "archive/archive.h"

struct sb_depth_first;

enum sb_code sb_depth_first_open(struct sb_depth_first **out, struct sb_archive *archive,
                                 struct sb_error *err) SB_CHECKED;
void sb_depth_first_free(struct sb_depth_first *walk); /* NULL is allowed */

/* As sb_cursor_next. */
enum sb_code sb_depth_first_next(struct sb_depth_first *walk, struct sb_entry *entry,
                                 struct sb_error *err) SB_CHECKED;

#endif
