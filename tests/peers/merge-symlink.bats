#!/usr/bin/env bats
# Barecat 0.3.1 reads the views that we make, and what its `merge --symlink` makes we read.

load barecat

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    mkdir -p x/d y/d y/e
    echo one >x/a
    seq 1000 >x/d/1
    : >x/d/empty
    echo two >y/b
    seq 2000 >y/d/2
    echo three >y/e/3
    sb pack --shard-size=4k x.barecat -C x .
    sb pack --shard-size=4k y.barecat -C y .
    mkdir both
    cp -a x/. y/. both
}

# reads_as ARCHIVE TREE: Barecat reads these names and bytes, and finds no defect.
reads_as() {
    rm -rf theirs
    mkdir theirs
    peer dump "$1" theirs
    diff -r theirs "$2"
    run_ok barecat verify "$1"
}

@test "Barecat reads and verifies a view, whatever its links are" {
    for kind in '' --absolute --hardlink; do
        # shellcheck disable=SC2086 # no option, or one
        sb merge-symlink --force $kind -o v.barecat x.barecat y.barecat
        reads_as v.barecat both
    done
}

@test "Barecat reads a view that was added to, and one whose files were removed" {
    sb merge-symlink -o v.barecat x.barecat
    sb merge-symlink --append -o v.barecat y.barecat
    reads_as v.barecat both
    mkdir more
    echo more >more/m
    sb pack --append v.barecat -C more .
    sb rm v.barecat b
    rm both/b
    cp more/m both
    reads_as v.barecat both
}

@test "Barecat merges a view, with links and without" {
    sb merge-symlink -o v.barecat x.barecat y.barecat
    run_ok barecat merge --symlink -o w.barecat v.barecat
    reads_as w.barecat both
    run_ok sb verify --strict w.barecat
    run_ok barecat merge -o c.barecat v.barecat
    reads_as c.barecat both
}

@test "what Barecat merges with links we read, verify, and make views of" {
    run_ok barecat merge --symlink -o theirs.barecat x.barecat y.barecat
    # A directory that both have is counted twice.
    run_fail 1 sb verify --strict theirs.barecat
    output_is "statistics: root directory: tree statistics are 3 subdirectories, 2 files, 6 files \
and 12800 bytes in all; should be 2, 2, 6, 12800"
    run_ok sb upgrade theirs.barecat
    run_ok sb verify --strict theirs.barecat
    run_ok sb diff -C both theirs.barecat
    sb merge-symlink -o ours.barecat theirs.barecat
    run_ok sb verify --strict ours.barecat
    [[ $(readlink ours.barecat-shard-00000) == [xy].barecat-shard-0000? ]]
    reads_as ours.barecat both
}

@test "what both make of the same sources has the same rows" {
    sb merge-symlink --prefix=p --as-subdirs -o ours.barecat x.barecat y.barecat
    barecat merge --symlink --prefix p --as-subdirs -o theirs.barecat x.barecat y.barecat
    rows="SELECT path, size, crc32c, mode, mtime_ns FROM files ORDER BY path"
    cmp <(sql ours.barecat "$rows") <(sql theirs.barecat "$rows")
    dirs="SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM dirs ORDER BY path"
    cmp <(sql ours.barecat "$dirs") <(sql theirs.barecat "$dirs")
}
