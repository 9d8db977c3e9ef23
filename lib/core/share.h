/*
 * One share of work that is divided among several processes, which do not communicate.
 *
 * The shares are disjoint, and together they are the whole, whatever their number. Pure but for
 * sb_share_parse, which reads the environment; thread-safe.
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
    int64_t count; /* 0: the work is not divided */
};

/*
 * "I/N", where I counts from 1 as in split(1) and restic; or "auto", which reads the environment:
 *
 *     PARALLEL_SEQ with SHARDBOX_PARTS              GNU parallel, which sets no total (from 1)
 *     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE    Open MPI's mpirun (from 0, as those below)
 *     PMI_RANK, PMI_SIZE                            MPICH, Intel MPI, Cray
 *     SLURM_PROCID, SLURM_STEP_NUM_TASKS            srun
 *     SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT  an array of jobs
 *
 * The first of these that is set counts. The order puts a launcher that others start before them:
 * mpirun starts its daemons by srun, whose variables in them describe the daemons. srun is
 * recognised by SLURM_STEP_NUM_TASKS, because a batch script, which runs once, has a SLURM_PROCID
 * too.
 *
 * SB_INVALID names the problem: malformed, I above N, no variable set, half of a pair, an array
 * with gaps (so that a position in it is unknown). An array of jobs with several ranks each is
 * refused, as either might be meant to divide the work; one rank in each is fine. SHARDBOX_PARTS,
 * if set, must equal the total of any of these sources: a single job of an array that is started
 * again alone believes that it is the whole.
 */
enum sb_code sb_share_parse(struct sb_share *out, const char *text) SB_CHECKED;

/*
 * Of `total` items in a row: the run of this share. Runs follow each other, and their lengths
 * differ by at most one, the longer ones first, as those of a set of bags do. All items when the
 * work is not divided.
 */
void sb_share_run(struct sb_share share, int64_t total, int64_t *first, int64_t *count);

/* Of items that come one by one: is number `number`, from 0, in the share? */
bool sb_share_has(struct sb_share share, int64_t number);

/*
 * Of items with a name: is this one in the share? Decided by a hash of the name alone, so that
 * other items make no difference: the same as `split --ratio` with as many equal ratios.
 */
bool sb_share_has_name(struct sb_share share, const char *name, size_t size);

/*
 * The position of a name in [0, 1), which never changes: shardbox-split(1) says how it is computed.
 */
double sb_name_fraction(int64_t seed, const char *name, size_t size);

#endif
