/*
 * A run into an archive that commits at checkpoints, and that can resume an interrupted one.
 *
 * The archive is ARCHIVE.part (archive/own/part.h) until it is complete; with SB_APPEND additions
 * are committed to the archive itself. Between two checkpoints members go into a sink of their own,
 * so that what is on disk after each step is as shardbox-archive(5) says of pack and pack --append.
 * Members come from several inputs, in an order that is the same each time. Belongs to one thread.
 */
#ifndef SB_TASK_TRANSFER_CHECKPOINT_H
#define SB_TASK_TRANSFER_CHECKPOINT_H

#include "store/sinks.h"
#include "task/transfer/transfer.h"

#include <stdatomic.h>

struct sb_checkpoint;

struct sb_checkpoint_wish {
    int64_t size;          /* commit after so many bytes; 0: never, or as the interrupted run did */
    bool resume;           /* resume if there is something to resume */
    const char *requested; /* NULL: ignore ARCHIVE.part. A line for each option that decides what is
                              stored: a run can only be resumed if all are the same */
};

/*
 * For all runs, also those without checkpoints, because ARCHIVE.part may be in the way. `archive`:
 * the options of the sink for a run without checkpoints; must live as long. *out is NULL at SB_OK
 * if the run needs no checkpoints. SB_END: the archive is complete already, which was reported.
 * SB_EXISTS: an interrupted run left ARCHIVE.part, and the options do not say what to do with it.
 * SB_INVALID: that run had other options. problems: the counter of notify.
 */
enum sb_code sb_checkpoint_open(struct sb_checkpoint **out,
                                const struct sb_archive_sink_options *archive,
                                const struct sb_checkpoint_wish *wish,
                                const int64_t *problems) SB_CHECKED;

/* Undoes what was not committed. NULL is allowed. */
void sb_checkpoint_free(struct sb_checkpoint *run);
FREEP(sb_checkpoint_free, struct sb_checkpoint)

/* Was this input, counted from 0, finished? Then it need not be opened. */
bool sb_checkpoint_passes(const struct sb_checkpoint *run, size_t input);

/* Adds the names that the archive has so far. */
enum sb_code sb_checkpoint_see(const struct sb_checkpoint *run, struct sb_names *seen) SB_CHECKED;

/*
 * Begins the next input, once for each that was not finished. by_name: it is a tree, which may have
 * changed meanwhile; files that an interrupted run stored are checked by name. For other inputs
 * that run's members are skipped; the source must be just opened.
 */
enum sb_code sb_checkpoint_begin(struct sb_checkpoint *run, size_t input, bool by_name,
                                 struct sb_source *source) SB_CHECKED;

/*
 * From now on *shards is the current value of sb_writer_shards_before, updated for each sink; any
 * thread may read it.
 */
void sb_checkpoint_watch_shards(struct sb_checkpoint *run, atomic_uint *shards);

/* Transfers all of the source, committing at checkpoints. */
enum sb_code sb_checkpoint_transfer(struct sb_checkpoint *run, struct sb_source *source,
                                    const struct sb_transfer_options *options,
                                    int64_t *members) SB_CHECKED;

/* After the last input. At SB_OK the archive is complete, under its own name. */
enum sb_code sb_checkpoint_commit(struct sb_checkpoint *run) SB_CHECKED;

/* All counts of this run. */
struct sb_sink_counts sb_checkpoint_counts(const struct sb_checkpoint *run);

/* The archive that keeps what was committed, for --resume; NULL: none. */
const char *sb_checkpoint_kept(const struct sb_checkpoint *run);

#endif
