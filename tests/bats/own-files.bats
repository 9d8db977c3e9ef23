#!/usr/bin/env bats
# The files of a command's own inputs and output, in a tree that it reads, writes or removes from:
# left out, and left as they are.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p data/photos data/sub
    seq 1000 >data/photos/1
    seq 2000 >data/photos/2
    seq 3000 >data/sub/3
    find data -depth -exec touch -d '2024-05-06 07:08:09.123456789' {} +
}

# Keeps what an archive, or another file, is: to be called before what must not touch it.
keep() {
    sha256sum "$@" >"$BATS_TEST_TMPDIR/kept"
}

# Nothing that was kept has changed.
whole() {
    sha256sum --quiet -c "$BATS_TEST_TMPDIR/kept" || fail 'an own file changed'
}

# What sync printed, but for the time of the directory that holds the archive.
changes_are() {
    [[ $(grep -vF '.d..t...... ./' <<<"$output") == "$1" ]] || fail "changes: $output"
}

members() {
    sb ls -R "$1" | sort
}

@test "pack, sync and diff leave the archive in the tree out, with parity, wherever that is" {
    every_third_day
    run_ok sb pack --protect data/all.a -C data .
    members data/all.a >first
    run ! grep all.a first
    for _ in 1 2; do
        run_ok sb sync -i --protect data data/all.a
        changes_are ''
    done
    run_ok sb pack --append --update --protect data/all.a -C data .
    [[ $(members data/all.a) == "$(<first)" ]]
    run_ok sb diff -C data data/all.a
    # Other names of the same directory
    ln -s data alias
    run_ok sb sync -i alias/. data/../alias/all.a
    changes_are ''
    run_ok sb sync -L -i alias data/all.a
    changes_are ''
    # The parity files elsewhere in the tree
    rm data/*-parity
    mkdir data/parity
    run_ok sb protect --parity-dir=data/parity data/all.a
    touch data/parity/all.a-before-repair
    run_ok sb sync -i data data/all.a
    output_has 'parity'
    output_lacks 'all.a'
    run_ok sb diff -C data data/all.a
    run_ok sb verify --strict data/all.a
}

@test "another archive in the tree is data, with its parity, and so is what only has a similar name" {
    sb pack --protect data/other.a -C data/photos .
    sb pack data/all.a -C data/photos .
    touch data/all.a-shard-00007 data/all.a-shard-00007-parity data/all.a.csv data/all.a-parity.txt
    run_ok sb sync data data/all.a
    [[ $(members data/all.a | grep -E '^(other|all)' | tr '\n' ' ') == \
        'all.a-parity.txt all.a-shard-00007 all.a-shard-00007-parity all.a.csv other.a other.a-parity other.a-shard-00000 other.a-shard-00000-parity ' ]]
}

@test "own members of earlier releases go with --delete" {
    sb pack data/all.a -C data .
    : >all.a-parity
    sb pack --append data/all.a all.a-parity
    run_ok sb sync -i --delete data data/all.a
    changes_are '*deleting   all.a-parity'
}

@test "sync --delete does not begin where its source lies in the target" {
    sb pack --protect data/all.a -C data .
    mkdir below
    tar cf data/sub/t.tar -C data photos
    zip -q data/z.zip data/photos/1
    keep data/*.a* data/sub/t.tar data/z.zip data/photos/* data/sub/3
    cd data || return
    for source in all.a:photos all.a ../data/all.a:photos sub/t.tar z.zip; do
        run_fail 2 sb sync --delete "$source" ./
        stderr_has "${source%:*}: lies in ./, where --delete would remove its "
        stderr_has 'move it elsewhere, or exclude what belongs to it'
        run_fail 2 sb sync -n --delete "$source" ./
    done
    run_fail 2 sb sync --delete ../data/all.a ../data
    cd "$BATS_TEST_TMPDIR" || return
    whole
    mkdir deep
    mv data deep
    run_fail 2 sb sync --delete deep/data/all.a deep/
    # A link to the archive, and one that leads back
    ln -s deep/data/all.a link.a
    run_fail 2 sb sync --delete link.a:photos deep/data/
    mv deep/data .
    whole
    # What is excluded is not removed.
    run_ok sb sync --delete --exclude='all.a*' data/all.a:photos data/
    [[ $(cd data && echo *) == '1 2 all.a all.a-parity all.a-shard-00000 all.a-shard-00000-parity' ]]
    run_ok sb verify --strict data/all.a
}

@test "a member that is named like the archive, or what it may have yet, is not written over it" {
    local name names=(all.a all.a-shard-00000 all.a-shard-00001 all.a-journal all.a-wal all.a.new
        all.a-parity all.a-before-repair all.a-linked-by all.a.new-shard-00000)
    mkdir m m/all.a-shm
    for name in "${names[@]}" all.a-shm/x; do
        echo bad >"m/$name"
    done
    echo good >m/good
    sb pack data/all.a -C m .
    keep data/all.a*
    for command in 'unpack -v --existing=replace -C data' 'unpack -v -C data' 'sync -v' \
        'convert -v --existing=replace' 'unpack -v --existing=newer -C ./data/../data'; do
        # shellcheck disable=SC2086 # words
        case $command in
        unpack*) run_fail 1 sb $command data/all.a ;;
        *) run_fail 1 sb $command data/all.a data/ ;;
        esac
        for name in "${names[@]}" all.a-shm/x; do
            stderr_has "$name: belongs to the input data/all.a, and is left as it is"
        done
        whole
        [[ $(cd data && echo *) == 'all.a all.a-shard-00000 good photos sub' ]] || fail "$(ls data)"
        [[ $(<data/good) == good ]]
        rm data/good
    done
    run_ok sb verify --strict data/all.a
}

make_inputs() {
    rm -f data/in.*
    tar cf data/in.tar -C m .
    tar czf data/in.tgz -C m .
    (cd m && zip -q ../data/in.zip ./*)
}

@test "a tar, zip, bag or cache is not overwritten by what it holds" {
    mkdir m
    for name in in.tar in.tgz in.zip in.bagz limits.in.bagz; do
        echo bad >m/$name
    done
    echo good >m/good
    for input in in.tar in.tgz in.zip; do
        make_inputs
        run_fail 1 sb unpack --existing=replace -C data "data/$input"
        stderr_has "$input: belongs to the input data/$input, and is left as it is"
        [[ $(<data/in.bagz) == bad ]]
        for other in in.tar in.tgz in.zip; do
            [[ $other == "$input" || $(<data/$other) == bad ]]
        done
    done
    # Standard input
    make_inputs
    keep data/in.tar
    run_fail 1 bash -c '"$SHARDBOX" unpack --existing=replace -C data - <data/in.tar'
    stderr_has 'in.tar: belongs to the input '
    whole
    # An input that comes later
    make_inputs
    keep data/in.tar data/in.tgz
    run_fail 1 sb convert --existing=replace --duplicates=last data/in.tar data/in.tgz data/
    whole
}

@test "hard links of shards, and shards that are links: what an archive reads is not touched" {
    sb pack data/x.a -C data/photos .
    sb merge-symlink -o m.a data/x.a
    keep data/x.a* m.a*
    run_fail 2 sb sync --delete m.a data/
    stderr_has 'm.a: lies in data/, where --delete would remove its x.a-shard-00000'
    whole
    # Members with the names of what the links lead to
    mkdir m
    echo bad >m/x.a-shard-00000
    sb pack n.a -C m .
    sb merge-symlink --append -o m.a n.a
    keep data/x.a* m.a*
    run_fail 1 sb sync m.a data/
    stderr_has 'x.a-shard-00000: belongs to the input m.a, and is left as it is'
    whole
    # By another name
    sb pack h.a -C m .
    ln h.a-shard-00000 data/x.a-shard-00001
    echo 'other bytes' >m/x.a-shard-00001
    sb pack --append h.a -C m x.a-shard-00001
    run_fail 1 sb sync h.a data/
    stderr_has 'x.a-shard-00001: belongs to the input h.a'
    run_ok sb verify --strict h.a
}

@test "convert of a directory into one that it lies in, and of an archive within a directory" {
    mkdir data/in
    echo in >data/in/file
    mkdir -p m/in
    echo bad >m/in/file
    sb pack m.a -C m .
    sb pack data/all.a -C data/photos .
    # The directory's own files, by a member of the other input
    run_fail 1 sb convert --existing=replace --duplicates=last m.a data/in data/
    stderr_has 'in/file: belongs to the input data/in, and is left as it is'
    [[ $(<data/in/file) == in ]]
    run_ok sb merge --duplicates=first data data/all.a out.a
    run ! grep all.a <(members out.a)
}
