/*
 * Opening an archive for a command that looks at it, with the words that go with it.
 */
#ifndef CMD_OPENING_H
#define CMD_OPENING_H

#include "archive/archive.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "core/buf.h"

/* As sb_archive_open; warns of a schema that is newer than this program. */
enum sb_code open_archive(struct sb_archive **out, const char *path,
                          struct sb_error *err) SB_CHECKED;

/* Names, as problems, the arguments that matched nothing. */
void complain_of_unmatched(const struct sb_select *select, char *const *args, size_t count);

/* The problem of rows that could not be used and were left out: how many, and the first one. */
struct left_out {
    int64_t count;
    struct sb_buf first; /* "PATH: what is wrong" */
};

void leave_out(struct left_out *left_out, const struct sb_entry *entry);
void complain_of_left_out(struct left_out *left_out); /* and releases it */

/*
 * Where a link points: its bytes. False, with *out empty, where they cannot be had: the shard is
 * not there, or the target is longer than any.
 */
bool read_target(struct sb_shards *shards, const struct sb_entry *entry, struct sb_buf *out);

#endif
