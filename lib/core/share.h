/*
 * One share of a work that is cut among several processes, which know nothing of each other.
 *
 * All shares of one work are disjoint, and together they are the whole, whatever their number. Pure
 * but for sb_share_parse, which reads the environment; thread-safe.
 */
#ifndef SB_CORE_SHARE_H
#define SB_CORE_SHARE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_SHARES_MAX 99999 /* five digits in the names of parts */

struct sb_share {
    int64_t index; /* from 0 */
    int64_t count; /* 0: the work is not cut */
};

/*
 * "I/N", where I counts from 1 as for split(1) and restic; or "auto": by the first of these that is
 * set as a pair in the environment
 *
 *     SLURM_PROCID, SLURM_NTASKS                     srun (counts from 0)
 *     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE     Open MPI
 *     PMI_RANK, PMI_SIZE                             MPICH, Intel MPI, Cray
 *     SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT an array of jobs
 *     PARALLEL_SEQ and SHARDBOX_PARTS                GNU parallel, which tells no total
 *
 * SB_INVALID names what is wrong: no such form, I beyond N, no variable set, half of a pair. A task
 * of a job array with several ranks is refused where both would cut.
 */
enum sb_code sb_share_parse(struct sb_share *out, const char *text,
                            struct sb_error *err) SB_CHECKED;

/* Of `total` things in a row: a run whose length differs by at most one between the shares. */
void sb_share_run(struct sb_share share, int64_t total, int64_t *first, int64_t *count);

/* Of things that come one by one: is the one with this number, from 0, of the share? */
bool sb_share_has(struct sb_share share, int64_t number);

#endif
