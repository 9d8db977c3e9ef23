# --part=auto: what real launchers put into the environment.

load cluster

# Its log is the file log; the job has these options.
job() {
    sbatch --wait --output=log "$@" --wrap \
        'shardbox pack --part=auto lustre/photos.barecat -C lustre/photos .'
}

# No part was made.
nothing() {
    [[ $(echo lustre/*) == lustre/photos ]]
}

@test "srun by PMI-2, and by itself without a batch script" {
    run_ok srun --ntasks=4 --mpi=pmi2 shardbox pack --part=auto lustre/photos.barecat -C lustre/photos .
    whole
}

@test "an array of jobs, of any numbers in even steps" {
    run_ok job --array=10-40:10
    whole
}

@test "one rank in each job of an array is no cut" {
    run_ok sbatch --wait --array=1-4 --wrap \
        'srun shardbox pack --part=auto lustre/photos.barecat -C lustre/photos .'
    whole
}

@test "a batch script is one process, whatever the job has, and is told so" {
    run_fail 2 job --ntasks=4
    grep -q 'a batch script is one process: start this by srun' log
    nothing
}

@test "a job of an array that is started by itself is refused where SHARDBOX_PARTS tells the total" {
    SHARDBOX_PARTS=4 run_fail 2 job --array=3
    grep -q 'SHARDBOX_PARTS says 4 parts, but the scheduler 1' log
    nothing
}

@test "several ranks in each job of an array are refused" {
    run_fail 2 sbatch --wait --output=log --ntasks=2 --array=1-2 --wrap \
        'srun shardbox pack --part=auto lustre/photos.barecat -C lustre/photos .'
    grep -q 'one of 2 ranks in one of 2 jobs of an array' log
    nothing
}

@test "whom nothing has started takes no part" {
    run_fail 2 shardbox pack --part=auto lustre/photos.barecat -C lustre/photos .
    stderr_has 'nothing in the environment says which part this is'
    nothing
}
