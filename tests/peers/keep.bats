#!/usr/bin/env bats
# rm, mv and merge: Barecat 0.3.1 reads and changes what they leave, and they what it leaves.

load barecat

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    make_wide_tree 2000
    find tree -type l -delete
    mkdir -p tree/wide/deep/er
    (cd tree/wide/deep/er && seq 300 | split -l 1 -a 4 -d)
}

# same ARCHIVE TREE: both programs find in it what the tree holds, and no defect.
same() {
    peer check "$1" "$2"
    barecat verify "$1"
    run_ok sb verify --strict "$1"
}

# goes_on ARCHIVE: Barecat changes it, and both still find no defect.
goes_on() {
    peer change "$1"
    barecat verify "$1"
    run_ok sb verify --strict "$1"
}

@test "rm: what Barecat packed" {
    barecat_made a.barecat tree -s 400K
    run_ok sb rm -r a.barecat wide/deep 'wide/x0[0-4]*'
    rm -r tree/wide/deep tree/wide/x0[0-4]*
    same a.barecat tree
    run_ok sb rm a.barecat 'wide/x*'
    rm tree/wide/x*
    same a.barecat tree
    goes_on a.barecat
    run_ok sb rm -r a.barecat '*'
    mkdir empty
    same a.barecat empty
}

@test "rm of all that is in the last shards: Barecat defragments, and an append goes on" {
    barecat_made a.barecat tree/wide -s 2000
    last=$(sql a.barecat "SELECT max(shard) FROM files")
    sql a.barecat "SELECT path FROM files WHERE shard > $last - 2" >gone
    run_ok sb rm -T gone a.barecat
    (cd tree/wide && xargs rm <../../gone)
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shardbox_shard_count'") == $((last + 1)) ]]
    run_ok sb verify --strict a.barecat
    barecat defrag a.barecat
    same a.barecat tree/wide
    echo more >tree/wide/more
    run_ok sb pack --append a.barecat -C tree/wide more
    same a.barecat tree/wide
}

@test "Barecat has removed all that was in the last shard: an append says how to go on" {
    barecat_made a.barecat tree/wide -s 2000
    last=$(sql a.barecat "SELECT max(shard) FROM files")
    sql a.barecat "SELECT path FROM files WHERE shard = $last ORDER BY offset" >gone
    "$NEW/python" -c 'from barecat import Barecat
with Barecat("a.barecat", readonly=False) as bc:
    for name in open("gone").read().split(): bc.remove(name)'
    (cd tree/wide && xargs rm <../../gone)
    shard=$(printf 'a.barecat-shard-%05d' "$last")
    [[ -s $shard ]] || fail "Barecat cuts off only what the last file had"
    echo more >tree/wide/more
    run_fail 2 sb pack --append a.barecat -C tree/wide more
    stderr_has "no index says what is in $shard"
    stderr_has "run 'shardbox defrag --force "
    run_ok sb defrag --force a.barecat
    run_ok sb pack --append a.barecat -C tree/wide more
    same a.barecat tree/wide
}

@test "mv: as on disk, in what Barecat packed" {
    barecat_made a.barecat tree -s 400K
    run_ok sb mv a.barecat wide/deep/er er
    mv tree/wide/deep/er tree/er
    run_ok sb mv a.barecat wide/x0000 wide/x0001 er/x0002 wide/deep
    mv tree/wide/x0000 tree/wide/x0001 tree/er/x0002 tree/wide/deep
    run_ok sb mv -f -T a.barecat wide/x0003 wide/x0004
    mv -f tree/wide/x0003 tree/wide/x0004
    run_ok sb mv a.barecat wide/deep er
    mv tree/wide/deep tree/er
    same a.barecat tree
    goes_on a.barecat
}

@test "merge of what Barecat packed is what Barecat merges" {
    for part in one two three; do
        mkdir -p "$part/both/$part"
        (cd "$part/both/$part" && seq 200 | split -l 1 -a 3 -d)
        echo "$part" >"$part/both/$part.txt"
        barecat_made "$part.barecat" "$part" -s 100
    done
    run_ok sb merge -o ours.barecat one.barecat two.barecat three.barecat
    barecat merge -o theirs.barecat one.barecat two.barecat three.barecat
    mkdir theirs
    peer dump theirs.barecat theirs
    same ours.barecat theirs
    goes_on ours.barecat
    run_ok sb merge --as-subdirs --prefix=p -o sub.barecat one.barecat two.barecat three.barecat
    barecat merge --as-subdirs --prefix=p -o theirs2.barecat one.barecat two.barecat three.barecat
    mkdir theirs2
    peer dump theirs2.barecat theirs2
    same sub.barecat theirs2
}

@test "Barecat merges what we merged, removed from and renamed" {
    barecat_made a.barecat tree -s 400K
    run_ok sb merge --prefix=p --shard-size=10K -o m.barecat a.barecat
    run_ok sb rm -r m.barecat p/wide/deep
    run_ok sb mv m.barecat p/wide q
    barecat merge --prefix=in -o theirs.barecat m.barecat
    run_ok sb verify --strict theirs.barecat
    mkdir after
    peer dump theirs.barecat after
    rm -r tree/wide/deep
    diff -r after/in/q tree/wide
    mv after/in/q after/in/p/wide
    diff -r after/in/p tree
}
