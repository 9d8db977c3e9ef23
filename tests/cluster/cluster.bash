# What the tests of a cluster load, beside helper.bash. A test starts in an empty directory of its
# own with a tree lustre/photos, and runs the scripts of shardbox-cluster(7) as they stand there, but
# for /lustre, in whose place comes the directory lustre of the test.
#
#   script NAME                writes the page's script called NAME to the file NAME
#   run_script NAME            bash NAME
#   submit NAME [OPTION...]    sbatch NAME, and waits for its end
#   run_killed COMMAND...      runs it; it must exit as one whose rank or job was killed by SIGKILL
#   kill_where VARIABLE=VALUE  from now on `shardbox pack` is killed in the middle of its work where
#                              the environment has this; nobody for none

load ../bats/helper

# mpirun as root, and with more ranks than cores
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

setup() {
    make_cluster_tree
}

make_cluster_tree() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir bin lustre
    PATH=$PWD/bin:$PATH
    kill_where none
    make_tree lustre/photos
    for i in {1..100}; do
        yes "file $i" | head -c "$((i * 20))" >"lustre/photos/sub.d/$i.txt"
    done
}

script() {
    # shellcheck disable=SC2094 # what is written has only its name from the page
    "$PROJECT/scripts/page-example" "$PROJECT/man/shardbox-cluster.7" "$1" |
        sed "s,/lustre\>,$PWD/lustre,g" >"$1"
    [[ -s $1 ]] || fail "no script $1 in shardbox-cluster(7)"
}

run_script() {
    script "$1" && timeout 120 bash "$1"
}

submit() {
    script "$1" && timeout 120 sbatch --wait "${@:2}" "$1"
}

run_killed() {
    run --separate-stderr "$@"
    ((status == 137)) || fail "not killed: $*"
}

# The shim kills at the first rename: all bytes are there, and the archive is not yet.
kill_where() {
    cat >bin/shardbox <<END
#!/bin/bash
if [[ \$1 == pack ]] && env | grep -qx '$1'; then
    export LD_PRELOAD=$FAULT_SHIM FAULT_CALLS=rename FAULT_AT=1 FAULT_HOW=kill
fi
exec '$SHARDBOX' "\$@"
END
    chmod +x bin/shardbox
}

all_parts='photos-00000-of-00004.barecat photos-00001-of-00004.barecat photos-00002-of-00004.barecat photos-00003-of-00004.barecat'

parts() {
    (cd lustre && echo photos-?????-of-00004.barecat)
}

# Files of the parts other than the third, and when they were written.
others() {
    (cd lustre && stat -c '%n %.Y %i' photos-0000[013]-of-00004.barecat*)
}

# The third part has been begun, and was not finished; the others are there.
third_was_killed() {
    [[ $(parts) == "${all_parts/photos-00002-of-00004.barecat /}" ]] || fail "parts: $(parts)"
    compgen -G 'lustre/photos-00002-of-00004.barecat.*new-shard-00000' >/dev/null ||
        fail "what the third left: $(ls -s lustre)"
}

# Joined in both ways, the parts hold what a pack of the whole holds, and what the tree does.
whole() {
    [[ $(parts) == "$all_parts" ]] || fail "parts: $(parts)"
    sb pack whole.barecat -C lustre/photos .
    sb merge-symlink -o joined.barecat lustre/photos-?????-of-00004.barecat
    sb merge -o merged.barecat lustre/photos-?????-of-00004.barecat
    for archive in joined merged; do
        sb verify $archive.barecat
        sb diff -C whole.barecat $archive.barecat
        sb diff -C lustre/photos $archive.barecat
    done
}
