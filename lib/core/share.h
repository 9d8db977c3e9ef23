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
 * "I/N", where I counts from 1 as for split(1) and restic; or "auto", which reads the environment:
 *
 *     PARALLEL_SEQ with SHARDBOX_PARTS              GNU parallel, which tells no total (from 1)
 *     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE    Open MPI's mpirun (from 0, as those below)
 *     PMI_RANK, PMI_SIZE                            MPICH, Intel MPI, Cray
 *     SLURM_PROCID, SLURM_STEP_NUM_TASKS            srun
 *     SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT  an array of jobs
 *
 * The first that is there counts: one that others start within itself comes before them, since
 * mpirun starts its daemons by srun, which leaves in them what is true of the daemons. srun is told
 * by SLURM_STEP_NUM_TASKS: a batch script has a SLURM_PROCID too, and there is only one of it.
 *
 * SB_INVALID names what is wrong: no such form, I beyond N, no variable set, half of a pair, an
 * array with gaps (so that a place in it is not known). An array of jobs with several ranks each
 * is refused, as both might be meant to cut; one rank in each is no cut. SHARDBOX_PARTS, where it
 * is set, must be the total whoever tells it: a single job of an array that is started once more
 * by itself believes that it is the whole.
 */
enum sb_code sb_share_parse(struct sb_share *out, const char *text,
                            struct sb_error *err) SB_CHECKED;

/* Of `total` things in a row: a run whose length differs by at most one between the shares, and
 * that begins where the run of the share before it ends; the first ones are the longer, as those of
 * a set of bags are. All of them when the work is not cut. */
void sb_share_run(struct sb_share share, int64_t total, int64_t *first, int64_t *count);

/* Of things that come one by one: is the one with this number, from 0, of the share? */
bool sb_share_has(struct sb_share share, int64_t number);

/*
 * Of things with a name: is this one of the share? By a hash of the name alone, so that whether
 * others are there makes no difference: the same as `split --ratio` with so many equal ratios.
 */
bool sb_share_has_name(struct sb_share share, const char *name, size_t size);

/* Where in [0, 1) a name is, the same for ever: shardbox-split(1) says how it is computed. */
double sb_name_fraction(int64_t seed, const char *name, size_t size);

#endif
