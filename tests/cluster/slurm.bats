# The scripts of shardbox-cluster(7) for SLURM.

load cluster

@test "the ranks of a job: one is killed, and the same job again packs its part alone" {
    kill_where SLURM_PROCID=2
    run_killed submit pack.sbatch
    third_was_killed
    others >before

    kill_where none
    run_ok submit pack.sbatch
    others | cmp before -
    whole
}

@test "an array: the job that failed is run again by itself" {
    kill_where SLURM_ARRAY_TASK_ID=3
    run_killed submit array.sbatch
    third_was_killed
    kill_where none
    run_ok submit array.sbatch --array=3
    whole
}

@test "a chain of jobs packs, joins and reads every byte" {
    script pack.sbatch
    script join.sbatch
    run_ok run_script submit.sh
    job=${output##* }
    sbatch --wait --dependency=afterany:"$job" --wrap true
    [[ $(scontrol show job "$job") == *'JobState=COMPLETED'* ]] || fail "$(cat ./*.log)"
    [[ ! -s join-$job.log ]] || fail "$(cat "join-$job.log")"
    sb diff -C lustre/photos lustre/photos.barecat
}

@test "a byte that is wrong is found by one of the ranks, and the job fails" {
    submit pack.sbatch
    flip_byte lustre/photos-00001-of-00004.barecat-shard-00000 1000
    run_fail 1 submit join.sbatch
    [[ $(grep -c ': checksum: ' join-*.log) == 1 ]] || fail "$(cat join-*.log)"
}

@test "a part that is missing fails the job that joins, before anything is read" {
    submit array.sbatch --array=1,2,4
    run_fail 1 submit join.sbatch
    grep -F 'photos-*-of-00004.barecat: parts are missing: 3 of 4;' join-*.log
}
