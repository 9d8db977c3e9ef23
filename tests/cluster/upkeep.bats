# Scripts of shardbox-cluster(7) for parts that have been packed: joined, brought up to date, merged,
# and taken elsewhere.

load cluster

# Leaves the four parts, and lustre/photos.barecat over them.
setup() {
    make_cluster_tree
    for i in 1 2 3 4; do
        sb pack --part=$i/4 lustre/photos.barecat -C lustre/photos .
    done
    sb merge-symlink -o lustre/photos.barecat lustre/photos-?????-of-00004.barecat
}

# The archive that everybody reads is sound, and holds what the tree does.
up_to_date() {
    sb verify lustre/photos.barecat
    sb diff -C lustre/photos lustre/photos.barecat
}

@test "a part is packed once more, and replaces itself alone" {
    changed=$(sb find --type=f lustre/photos-00002-of-00004.barecat | tail -n 1)
    echo changed >"lustre/photos/$changed"
    others >before
    run_ok run_script again.sh
    others | cmp before -
    up_to_date
}

@test "what is new or has changed goes into the parts" {
    for i in {1..20}; do
        echo "later $i" >"lustre/photos/later $i"
    done
    echo 'has grown' >>lustre/photos/a.txt
    run_ok submit update.sbatch
    up_to_date
}

@test "the parts become one archive, which takes their place" {
    run_ok submit merge.sbatch
    [[ $(cd lustre && echo ph*) == 'photos photos-whole.barecat photos-whole.barecat-shard-00000 photos.barecat photos.barecat-shard-00000' ]]
    up_to_date
}

@test "gaps are closed in each part by itself" {
    rm -r lustre/photos/sub.d
    for part in lustre/photos-?????-of-00004.barecat; do
        sb rm -r -q "$part" sub.d
    done
    run_ok submit defrag.sbatch
    for part in lustre/photos-?????-of-00004.barecat; do
        [[ $(stat -c %s "$part"-shard-*) == "$(sql "$part" 'SELECT sum(size) FROM files')" ]]
    done
    sb merge-symlink --force -o lustre/photos.barecat lustre/photos-?????-of-00004.barecat
    up_to_date
}

@test "a node takes what it needs to its own disk" {
    mkdir -p lustre/photos/train local
    echo image >lustre/photos/train/1.jpg
    submit update.sbatch
    printf '#!/bin/sh\nshardbox cat "$1" train/1.jpg >seen && ls local >staged\n' >train
    chmod +x train
    TMPDIR=$PWD/local run_ok submit stage.sbatch
    [[ $(<seen) == image && $(<staged) == photos-*.barecat* ]]
    [[ -z $(ls local) ]]
}

@test "ranks get their shares of a list of names on pipes" {
    sb find lustre/photos.barecat | grep ^sub.d/ >names.txt
    printf '#!/bin/sh\ncat >"seen.$SLURM_PROCID"\n' >train
    chmod +x train
    run_ok submit stream.sbatch
    for rank in 0 1 2 3; do
        [[ -s seen.$rank ]] || fail "rank $rank has nothing"
    done
    cmp <(cat seen.* | sort) <(sb cat --batch -T names.txt lustre/photos.barecat | sort)
}

@test "an archive is sent to another cluster, and what comes to it is sent after it" {
    mkdir lustre/copy
    printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >bin/ssh
    chmod +x bin/ssh
    submit merge.sbatch
    RSYNC_RSH=ssh run_ok run_script send.sh
    run_ok sb verify --present lustre/copy/photos-whole.barecat
    sb diff -C lustre/photos lustre/copy/photos-whole.barecat
    echo later >lustre/photos/later
    sb pack --append --seal lustre/photos-whole.barecat -C lustre/photos later
    RSYNC_RSH=ssh run_ok run_script send.sh
    sb diff -C lustre/photos lustre/copy/photos-whole.barecat
}

@test "without locks on the shared file system, parts are packed on the disks of nodes" {
    rm lustre/photos*barecat*
    mkdir local
    TMPDIR=$PWD/local run_ok submit local.sbatch
    [[ -z $(ls local) ]]
    [[ $(parts) == "$all_parts" ]] || fail "parts: $(parts)"
    up_to_date
}

@test "every script of the page is run by a test" {
    names=$(sed -n '/^#!/{n;s/^# \([^ ]*\): .*/\1/p}' "$PROJECT/man/shardbox-cluster.7")
    ((${#names} > 50))
    for name in $names; do
        grep -q " $name\( \|\$\)" "$PROJECT"/tests/cluster/*.bats || fail "$name is not"
    done
}
