/*
 * ARCHIVE.part: the archive that a run with checkpoints writes, until it is complete.
 *
 * It is an ordinary archive, with shards ARCHIVE.part-shard-NNNNN; rows of its config
 * (shardbox_progress_*) show that it is one of ours. Meanwhile a writer of ARCHIVE (SB_CREATE or
 * SB_REPLACE) is open as the lock; its sb_writer_commit_part turns the part into ARCHIVE. The rows
 * say how far that run has come; each commit writes them in the transaction that adds the files: so
 * both are of the same moment.
 */
#ifndef SB_ARCHIVE_OWN_PART_H
#define SB_ARCHIVE_OWN_PART_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

enum sb_progress_state {
    SB_PROGRESS_UNDERWAY,
    SB_PROGRESS_WHOLE,     /* all is stored; only the renames remain */
    SB_PROGRESS_DISCARDED, /* it is being removed */
};

/* A position in the shards. */
struct sb_address {
    int64_t shard;
    int64_t offset;
};

struct sb_progress {
    int64_t state;           /* enum sb_progress_state */
    struct sb_buf requested; /* the run's options, as its caller describes them */
    int64_t checkpoint;      /* bytes from one commit to the next */
    struct sb_address begin; /* what is at this address or later was stored by the run */
    int64_t input;           /* number of the current input, from 0; those before it are done */
    struct sb_address input_begin;
    int64_t members;    /* of that input, processed */
    int64_t bytes;      /* read from it */
    struct sb_buf last; /* name of the last member processed, as in the input; size 0: none */
    int64_t problems;   /* that the run has reported */
    int64_t commit;     /* the index's change counter as of this commit; 0: unknown */
};

void sb_progress_release(struct sb_progress *progress);

/* Into an empty one. SB_NOENT if no run is in progress; SB_DAMAGED for rows that make no sense. */
enum sb_code sb_progress_load(struct sqlite3 *db, struct sb_progress *progress) SB_CHECKED;

/* The same from the index file of an archive. SB_NOENT also if it is not writable. */
enum sb_code sb_progress_read(const char *file, struct sb_progress *progress) SB_CHECKED;

/* Replaces the rows, inside the caller's transaction; NULL: removes them. */
enum sb_code sb_progress_save(struct sqlite3 *db, const struct sb_progress *progress) SB_CHECKED;

/* "ARCHIVE.part", as sb_hold_path has it; the caller frees it. */
char *sb_part_path(const char *archive);

/*
 * *there: it exists, and progress, which the caller releases, is how far it is. SB_EXISTS for
 * something of that name that no run of ours left.
 */
enum sb_code sb_part_look(const char *part, bool *there, struct sb_progress *progress) SB_CHECKED;

/* Removes the part with its shards. If this is killed, the next run completes it. */
enum sb_code sb_part_remove(const char *part) SB_CHECKED;

#endif
