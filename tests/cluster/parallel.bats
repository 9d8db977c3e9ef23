# The script of shardbox-cluster(7) for GNU parallel.

load cluster

@test "the job that failed is run again by itself" {
    kill_where PARALLEL_SEQ=3
    run_fail 1 run_script pack-parallel.sh
    third_was_killed
    kill_where none
    run_ok parallel --retry-failed --joblog pack.log
    whole
}

@test "SHARDBOX_PARTS tells what GNU parallel does not" {
    SHARDBOX_PARTS=4 parallel -N0 shardbox pack --part=auto lustre/photos.barecat -C lustre/photos . ::: {1..4}
    whole
}
