/*
 * How far a run has come that stores into an archive stretch by stretch.
 *
 * It stands in rows of config (shardbox_progress_*), which each commit writes in the transaction
 * that adds the files: so both speak of the same moment.
 */
#ifndef SB_ARCHIVE_OWN_PROGRESS_H
#define SB_ARCHIVE_OWN_PROGRESS_H

#include "core/buf.h"
#include "core/error.h"

#include <stdint.h>

struct sqlite3;

enum sb_progress_state {
    SB_PROGRESS_UNDERWAY,
    SB_PROGRESS_WHOLE,     /* all is stored; only renames are to come */
    SB_PROGRESS_DISCARDED, /* it is being removed */
};

/* A place in the shards. */
struct sb_address {
    int64_t shard;
    int64_t offset;
};

struct sb_progress {
    int64_t state;           /* enum sb_progress_state */
    struct sb_buf requested; /* what the run was asked to do, as its caller says it */
    int64_t checkpoint;      /* bytes of a stretch */
    struct sb_address begin; /* what stands here or behind it was stored by the run */
    int64_t input;           /* the input it is at, from 0; those before it are done */
    struct sb_address input_begin;
    int64_t members;    /* of that input, taken */
    int64_t bytes;      /* that came out of it */
    struct sb_buf last; /* the name of the last member taken, as the input has it; size 0: none */
    int64_t problems;   /* that the run has told */
};

void sb_progress_release(struct sb_progress *progress);

/* Into an empty one. SB_NOENT when no run is under way; SB_DAMAGED for rows that
 * make no sense. */
enum sb_code sb_progress_load(struct sqlite3 *db, struct sb_progress *progress,
                              struct sb_error *err) SB_CHECKED;

/* The same from the index file of an archive. SB_NOENT also for one that cannot be written to. */
enum sb_code sb_progress_read(const char *file, struct sb_progress *progress,
                              struct sb_error *err) SB_CHECKED;

/* Replaces the rows, inside the caller's transaction; NULL: there are none afterwards. */
enum sb_code sb_progress_save(struct sqlite3 *db, const struct sb_progress *progress,
                              struct sb_error *err) SB_CHECKED;

#endif
