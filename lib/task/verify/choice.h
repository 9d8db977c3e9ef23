/*
 * The part of an archive that a run of verify reads: a subset, what is due, as much as there is
 * time for.
 *
 * The bytes of an archive are divided into units: SB_VERIFY_UNIT bytes of one shard's addresses,
 * with the files that begin there. Units depend only on the archive: they are the same in each run
 * and on each machine, and adding files changes only the last one of a shard.
 *
 * The choice concerns only the reading of bytes: each run checks the whole index, which takes
 * seconds, unless max_seconds are over before (sb_verify_result.index_unfinished): then no unit is
 * known, none is read, and the state stays as it was. With shares only the first does so for all;
 * the others check only that all shards exist, and are long enough. Files that are moved meanwhile
 * may be skipped; no state counts them as read.
 *
 * An index without an index by address (sb_archive_is_addressed) is refused: SB_INVALID.
 */
#ifndef SB_TASK_VERIFY_CHOICE_H
#define SB_TASK_VERIFY_CHOICE_H

#include "core/error.h"
#include "core/share.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_VERIFY_UNIT (INT64_C(4) << 20)

/* All zero: everything. All conditions that are set must hold, and are applied in this order. */
struct sb_verify_choice {
    bool has_shards; /* only shards first_shard to last_shard */
    int64_t first_shard, last_shard;
    struct sb_share share; /* --part, or --subset=I/N: units are dealt out in turn; all shares have
                              about as many bytes */
    const char *state;     /* NULL, or the file of the state, see below */
    int64_t
        max_age; /* with state: seconds; what was found undamaged since then is skipped. 0: all */
    double percent; /* above 0: so much of the bytes of those shards and that share, */
    int64_t bytes;  /* or so many bytes; at least one unit, and all that were bad. 0: no limit */
    int64_t max_seconds; /* no unit is begun later, and the checks of the index end; 0: no limit */
};

/*
 * The state is an SQLite file of its own (application_id SB_VERIFY_STATE_ID). For each unit it
 * records when it was read, the result, and a digest of the rows of its files. A unit whose files,
 * addresses or checksums have changed since counts as never read; so do all units of a shard that
 * was replaced or changed in place. (Size, mtime and inode are remembered; a shard that grew while
 * its index changed was appended to, and a repair keeps its mtime.) Units that
 * were never read come first, then those unread for longest, each by address; without a state,
 * percent and bytes choose by a hash, the same units in each run.
 *
 * Results are committed every few seconds: a killed run loses at most those. A state of another
 * archive (by the path of its index, links resolved) is refused: SB_INVALID; so is a damaged one
 * (SB_FORMAT, which says to remove it); SB_LOCKED while another run has it. If it can no longer be
 * written, the reading continues, and that is reported as SB_PROBLEM "state".
 */
#define SB_VERIFY_STATE_ID 0x73627673 /* "sbvs" */

/* Progress of a run; part of sb_verify_result. */
struct sb_verify_progress {
    bool chosen;          /* a choice excluded something */
    bool out_of_time;     /* max_seconds ended it */
    int64_t units;        /* all units of those shards and that share */
    int64_t units_read;   /* by this run */
    int64_t units_due;    /* to be read by this run, or would have been, had there been time */
    int64_t bytes_in_all; /* of files in all those units */
    int64_t oldest; /* with state: when the unit unread for longest was read, in seconds since the
                       epoch; 0: one was never read; -1: there is no unit */
    int64_t known_bad; /* with state: units that an earlier run found damaged, and that this run did
                          not read */
};

#endif
