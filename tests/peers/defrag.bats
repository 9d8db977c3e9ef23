#!/usr/bin/env bats
# Defragmenting what Barecat 0.3.1 has packed and deleted from; Barecat reads and changes the result.

load barecat

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    make_wide_tree 2000
    find tree -type l -delete
}

# Barecat and shardbox read the same bytes from it, which are those from before, and find no defect.
same_as_before() {
    rm -rf after
    mkdir after
    peer dump a.barecat after
    diff -r before after
    barecat verify a.barecat
    run_ok sb verify --strict a.barecat
    run_ok sb unpack -C ours a.barecat
    diff -r before ours
    rm -rf ours
}

remember() {
    rm -rf before
    mkdir before
    peer dump a.barecat before
}

gaps() {
    sb ls --shards --json a.barecat | jq -s 'map(.gaps) | add'
}

@test "what Barecat packed and changed is closed up, and Barecat goes on with it" {
    barecat_made a.barecat tree -s 400K
    for way in '' --quick ''; do
        peer change a.barecat
        remember
        run_ok sb defrag ${way:+"$way"} a.barecat
        [[ $way ]] || [[ $(gaps) == 0 ]]
        same_as_before
    done
    barecat defrag a.barecat
    same_as_before
    barecat reshard -s 500K a.barecat
    same_as_before
}

@test "what we packed, and Barecat deleted from, is closed up" {
    sb pack --shard-size=50K a.barecat -C tree .
    peer change a.barecat
    remember
    run_ok sb defrag a.barecat
    [[ $(gaps) == 0 ]]
    same_as_before
}

@test "of one shard our defrag and Barecat's make the same" {
    sb pack a.barecat -C tree .
    peer change a.barecat
    for file in a.barecat*; do cp "$file" "b${file#a}"; done
    sb defrag a.barecat
    barecat defrag b.barecat
    cmp a.barecat-shard-00000 b.barecat-shard-00000
}

@test "last shards that Barecat emptied are the archive's with --force" {
    sb pack --shard-size=50K a.barecat -C tree .
    "$NEW/python" -c 'from barecat import Barecat
with Barecat("a.barecat", readonly=False) as bc:
    files = list(bc.index.iter_all_fileinfos())
    last = max(file.shard for file in files)
    for file in files:
        if file.shard >= last - 1:
            bc.remove(file.path)'
    remember
    run_fail 2 sb defrag a.barecat
    stderr_has "run 'shardbox defrag --force"
    run_ok sb defrag --force a.barecat
    same_as_before
}
