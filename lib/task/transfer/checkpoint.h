/*
 * A run into an archive that commits as it goes, and one that goes on where an interrupted one was.
 *
 * The archive stands as ARCHIVE.part (archive/part.h) until it is whole; with SB_APPEND additions
 * are committed into the archive itself. Each stretch is a sink of its own, so that what is on disk
 * after each step is what shardbox-archive(5) says of pack and pack --append. Members come from
 * several inputs, in an order that is the same each time. One thread.
 */
#ifndef SB_TASK_TRANSFER_CHECKPOINT_H
#define SB_TASK_TRANSFER_CHECKPOINT_H

#include "store/sinks.h"
#include "task/transfer/transfer.h"

#include <stdatomic.h>

struct sb_checkpoint;

struct sb_checkpoint_wish {
    int64_t size; /* bytes after which it commits; 0: none, or as the interrupted run had it */
    bool resume;  /* go on if there is something to go on with */
    const char *requested; /* NULL: nothing of ARCHIVE.part is this run's business. A line for each
                          thing that decides what is stored: those of a run that is gone on with
                          must be the same */
};

/*
 * For all runs, also those without a wish, since ARCHIVE.part may be in the way. `archive` is what
 * the sink of a run without stretches would be opened with, and lives as long. *out is NULL at
 * SB_OK where that is what is to be done. SB_END: the archive stands already, which was told.
 * SB_EXISTS: an interrupted run left ARCHIVE.part, and it was not said what is to become of it.
 * SB_INVALID: it was asked to do something else. problems: where notify counts them.
 */
enum sb_code sb_checkpoint_open(struct sb_checkpoint **out,
                                const struct sb_archive_sink_options *archive,
                                const struct sb_checkpoint_wish *wish, const int64_t *problems,
                                struct sb_error *err) SB_CHECKED;

/* Undoes what was not committed. NULL is allowed. */
void sb_checkpoint_free(struct sb_checkpoint *run);

/* Is this input, counted from 0, done with? Then it need not be opened. */
bool sb_checkpoint_passes(const struct sb_checkpoint *run, size_t input);

/* Adds the names that the archive holds by now. */
enum sb_code sb_checkpoint_see(const struct sb_checkpoint *run, struct sb_seen *seen,
                               struct sb_error *err) SB_CHECKED;

/*
 * The input that comes now, once for each that is not passed. by_name: it is a tree, which may have
 * changed meanwhile; of what an interrupted run stored, only its names are looked at again. Of
 * others that run's members are passed over, and the source is to be just opened.
 */
enum sb_code sb_checkpoint_begin(struct sb_checkpoint *run, size_t input, bool by_name,
                                 struct sb_source *source, struct sb_error *err) SB_CHECKED;

/* *shards is from now on what sb_sink_shards says, for each stretch anew, and may be read from any
 * thread. */
void sb_checkpoint_watch_shards(struct sb_checkpoint *run, atomic_uint *shards);

/* sb_transfer of all of the source into stretches. */
enum sb_code sb_checkpoint_transfer(struct sb_checkpoint *run, struct sb_source *source,
                                    const struct sb_transfer_options *options, int64_t *members,
                                    struct sb_error *err) SB_CHECKED;

/* Behind the last input. At SB_OK the archive is whole, under its own name. */
enum sb_code sb_checkpoint_commit(struct sb_checkpoint *run, struct sb_error *err) SB_CHECKED;

/* Of all stretches of this run. */
struct sb_sink_counts sb_checkpoint_counts(const struct sb_checkpoint *run);

/* The archive that keeps what was committed, and that --resume goes on with; NULL: none does. */
const char *sb_checkpoint_kept(const struct sb_checkpoint *run);

#endif
