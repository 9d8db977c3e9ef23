/*
 * What of an archive a run of verify reads: a subset, what is due, as much as there is time for.
 *
 * The bytes of an archive are cut into units: SB_VERIFY_UNIT bytes of one shard's addresses, and
 * the files that begin there. Units are a property of the archive alone: they are the same in each
 * run and on each machine, and adding files changes none but the last of a shard.
 *
 * What is chosen is only about the reading of bytes: the index is looked at as a whole each time,
 * which takes seconds, unless there is a share, of which the first does that for all: others see
 * only that all shards are there, and long enough. Files that are moved meanwhile may be passed
 * over; no state takes them for read.
 *
 * An index without one of addresses (sb_archive_is_addressed) is refused: SB_INVALID.
 */
#ifndef SB_TASK_VERIFY_CHOICE_H
#define SB_TASK_VERIFY_CHOICE_H

#include "core/error.h"
#include "core/share.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_VERIFY_UNIT (INT64_C(4) << 20)

/* All zero: everything. What is given must hold at once, and is applied in this order. */
struct sb_verify_choice {
    bool has_shards; /* only these */
    int64_t first_shard, last_shard;
    struct sb_share share; /* --part, or --subset=I/N: units dealt out in turn; all shares are of
                              about as many bytes */
    const char *state;     /* NULL, or the file that remembers, see below */
    int64_t max_age;       /* with state: seconds; what was found sound since is left out. 0: all */
    double percent;        /* above 0: so much of the bytes of those shards and that share, */
    int64_t bytes;         /* or so many bytes; at least one unit, and all that were bad. 0: any */
    int64_t max_seconds;   /* no unit is begun later; 0: any */
};

/*
 * The state is an SQLite file of its own (application_id SB_VERIFY_STATE_ID) that tells of each
 * unit when it was read, with which result, and by what it is known: a digest of the rows of its
 * files. A unit whose files, addresses or checksums are others now counts as never read; so do all
 * units of a shard that was replaced or changed in place (size, mtime and inode are remembered; a
 * shard that grew while its index changed was appended to, and restore.h tells the state of what it
 * writes). Those never read come first, then the
 * longest unread, each by address; without a state, percent and bytes choose by a hash, the same
 * units in each run.
 *
 * Results are committed every few seconds: a run that is killed has lost at most those. A state of
 * another archive (by the path of its index, links resolved) is refused: SB_INVALID; one that is
 * damaged, too (SB_FORMAT, which says to remove it); SB_LOCKED while another run has it. When it
 * cannot be written any more, the reading goes on, and that is told as SB_PROBLEM "state".
 */
#define SB_VERIFY_STATE_ID 0x73627673 /* "sbvs" */

/* How far it came; part of sb_verify_result. */
struct sb_verify_progress {
    bool chosen;          /* a choice left something out */
    bool out_of_time;     /* max_seconds ended it */
    int64_t units;        /* in all, of those shards and that share */
    int64_t units_read;   /* by this run */
    int64_t units_due;    /* that it was to read, or would have, had there been time */
    int64_t bytes_in_all; /* of files in all those units */
    int64_t oldest;       /* with state: seconds since the epoch, when the longest unread unit was
                             read; 0: one was never; -1: there is none */
    int64_t known_bad;    /* with state: units in which an earlier run found damage, and that this
                             run did not read */
};

#endif
