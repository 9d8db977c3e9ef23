# Scripts of shardbox-cluster(7) that read an archive as files.

load cluster

setup() {
    make_cluster_tree
    { : <>/dev/fuse; } 2>/dev/null || skip '/dev/fuse cannot be opened'
    sb pack lustre/photos.barecat -C lustre/photos .
}

teardown() {
    grep -F " $BATS_TEST_TMPDIR/" /proc/mounts | cut -d' ' -f2 | while read -r point; do
        timeout 5 umount -l "$point" || true
    done
}

@test "a job has the archive as files while it runs" {
    run_ok submit mount.sbatch
    [ "$(tail -n 1 mount-*.log)" -eq "$(find lustre/photos -type f | wc -l)" ]
    run ! grep shardbox-mount- /proc/mounts
}

@test "the prolog mounts for all users, and the epilog ends that, also while it is in use" {
    run_ok run_script prolog.sh
    timeout 20 diff -r --no-dereference lustre/photos lustre/mounted
    exec {held}<lustre/mounted/numbers
    run_ok run_script epilog.sh
    [ -z "$(ls lustre/mounted)" ]
    exec {held}<&-
    run_ok run_script prolog.sh
    timeout 20 cmp lustre/photos/numbers lustre/mounted/numbers
    run_ok run_script epilog.sh
}
