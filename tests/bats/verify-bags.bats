#!/usr/bin/env bats
# shardbox verify of bags

load helper
load bag

words=(alpha '' gamma delta epsilon zeta)

# set of three shards, of two records each: s@3.bagz
make_set() {
    make_bagz s-00000-of-00003.bagz "${words[@]:0:2}"
    make_bagz s-00001-of-00003.bagz "${words[@]:2:2}"
    make_bagz s-00002-of-00003.bagz "${words[@]:4:2}"
}

# limit_at FILE RECORDS RECORD: where the limit of a record stands in the file.
limit_at() {
    echo $(($(stat -c %s "$1") - 8 * ($2 - $3)))
}

@test "a sound bag whose frames have checksums is passed in silence" {
    make_bagz a.bagz "${words[@]}"
    run_ok sb verify a.bagz
    output_is ''
    stderr_is ''
    run_ok sb verify -v --strict a.bagz
    output_is ''
    stderr_has 'shardbox verify: a.bagz: 6 records ('
    stderr_has 'in 1 file; sound'
    run_ok sb verify --progress a.bagz
    stderr_has ', 6 records, '
    run_ok sb convert --progress a.bagz b.bagz
    stderr_has ', 6 records, '
}

@test "what no checksum vouches for is said, and is a defect under --strict" {
    make_bag a.bag "${words[@]}"
    run_ok sb verify a.bag
    output_is ''
    stderr_is 'shardbox verify: a.bag: limits are sound, and all records can be read; a bag has no checksums, and frames need not: bytes that changed may go unnoticed'
    run_fail 1 sb verify --strict a.bag
    output_is 'unchecked: 5 of 6 records have no checksum'
    ZSTD_FLAGS=--no-check make_bagz b.bagz "${words[@]}"
    run_ok sb verify b.bagz
    stderr_has 'limits are sound, and all records can be read'
}

@test "empty bags: of no bytes, and of empty records" {
    : >none.bag
    make_bagz empty.bagz '' '' ''
    run_ok sb verify -v none.bag
    stderr_has 'none.bag: 0 records (0) in 1 file; sound'
    run_ok sb verify -v empty.bagz
    stderr_has '3 records (0) in 1 file; sound'
}

@test "one flipped byte: exactly that record is named, and what follows is still checked" {
    make_bagz a.bagz "${words[@]}"
    flip_byte a.bagz 12
    flip_byte a.bagz $(($(limit_at a.bagz 6 0) - 3))
    run_fail 1 sb verify a.bagz
    ((${#lines[@]} == 2)) || fail 'not two lines'
    [[ ${lines[0]} == 'frame: a.bagz: record 0: its zstd data are damaged' ]] || fail 'first line'
    [[ ${lines[1]} == 'frame: a.bagz: record 5: its zstd data are damaged' ]] || fail 'second line'
    stderr_is 'shardbox verify: a.bagz: 2 defects; take it from another copy, or keep what is sound with --repair-to=BAG'
}

@test "an offset and a number come with each defect in JSON, and a summary behind them" {
    make_set
    flip_byte s-00001-of-00003.bagz 10
    run_fail 1 sb verify --json s@3.bagz
    ((${#lines[@]} == 2)) || fail 'not two lines'
    [[ ${lines[0]} == '{"kind":"frame","path":"s-00001-of-00003.bagz","shard":1,"record":2,"offset":0,"text":"record 2: '*'"}' ]] ||
        fail 'the defect'
    [[ ${lines[1]} == '{"kind":"summary","container":"bag","defects":1,"shards":3,"records":6,"damaged":1,"bytes_read":'*',"unchecked":0,"unproved":"'*'"}' ]] ||
        fail 'the summary'
}

@test "a limit beyond the end concerns the two records beside it" {
    make_bag a.bag "${words[@]}"
    le64 1000 | put a.bag "$(limit_at a.bag 6 2)"
    run_fail 1 sb verify a.bag
    output_is 'limits: a.bag: record 2: its limit, 1000, lies beyond the records, which end at 26'
    run_fail 1 sb verify --quick a.bag
    output_is 'limits: a.bag: record 2: its limit, 1000, lies beyond the records, which end at 26'
    run_fail 1 sb verify --json a.bag
    output_has '"records":6,"damaged":2,'
}

@test "of two limits that are out of order, the one is wrong without which all are in order" {
    make_bag a.bag "${words[@]}"
    le64 1 | put a.bag "$(limit_at a.bag 6 3)"
    run_fail 1 sb verify a.bag
    output_is 'limits: a.bag: record 3: its limit, 1, is out of order with those beside it'
    make_bag a.bag "${words[@]}"
    le64 25 | put a.bag "$(limit_at a.bag 6 2)"
    run_fail 1 sb verify a.bag
    output_is 'limits: a.bag: record 2: its limit, 25, is out of order with those beside it'
}

@test "a frame that is whole shows that a record is sound though a limit is not" {
    local limit
    make_bagz a.bagz "${words[@]}"
    limit=$(limit_at a.bagz 6 3)
    le64 1 | put a.bagz "$limit"
    run_fail 1 sb verify --json a.bagz
    output_has '"kind":"limits"'
    output_has '"damaged":2,'
}

@test "a missing shard is named, and the others are checked" {
    make_set
    rm s-00001-of-00003.bagz
    flip_byte s-00002-of-00003.bagz 10
    run_fail 1 sb verify s@3.bagz
    [[ ${lines[0]} == 'shard: s-00001-of-00003.bagz: is not there' ]] || fail 'first line'
    [[ ${lines[1]} == 'frame: s-00002-of-00003.bagz: record 0 of this shard: '* ]] ||
        fail 'second line'
    ((${#lines[@]} == 2)) || fail 'not two lines'
    stderr_is 'shardbox verify: s@3.bagz: 2 defects; fetch the missing shards, then verify again'
    run_fail 1 sb verify 's-*.bagz'
    output_has 'shard: s-00001-of-00003.bagz: is not there, while others of its set are'
    run_fail 1 sb verify 's@*.bagz'
    output_has 'shard: s-00001-of-00003.bagz: is not there'
}

@test "one shard of a set may be verified by itself" {
    make_set
    rm s-00000-of-00003.bagz
    run_ok sb verify s-00001-of-00003.bagz
    output_is ''
    stderr_is ''
}

@test "a shard that is no bag concerns only itself" {
    make_bag s-00000-of-00002.bag alpha beta
    printf 'short' >s-00001-of-00002.bag
    run_fail 1 sb verify s@2.bag
    output_is 'shard: s-00001-of-00002.bag: is no bag: it has only 5 bytes'
}

@test "interleaved shards whose sizes cannot be" {
    make_bagz s-00000-of-00002.bagz a
    make_bagz s-00001-of-00002.bagz b c d
    run_fail 1 sb verify --layout=interleaved s@2.bagz
    output_has 'layout: s-00001-of-00002.bagz: has 3 records, the first shard 1 and the one before it 1: these cannot be interleaved'
    run_ok sb verify s@2.bagz
}

@test "numbers of interleaved records are those of the set" {
    make_bagz s-00000-of-00002.bagz a b c
    make_bagz s-00001-of-00002.bagz d e
    flip_byte s-00001-of-00002.bagz "$(($(limit_at s-00001-of-00002.bagz 2 0) - 3))"
    run_fail 1 sb verify --layout=interleaved s@2.bagz
    [[ $output == 'frame: s-00001-of-00002.bagz: record 3: '* ]] || fail 'the line'
}

@test "of an interleaved set without one of its shards the others are checked" {
    make_bagz s-00000-of-00003.bagz a d g
    make_bagz s-00002-of-00003.bagz c f
    run_fail 1 sb verify --layout=interleaved s@3.bagz
    output_is 'shard: s-00001-of-00003.bagz: is not there'
    run_fail 1 sb verify --layout=interleaved --records=1 s@3.bagz
    stderr_has 's@3.bagz: the requested records have no certain number while shards are missing, and were not looked at'
    run_fail 1 sb verify --layout=interleaved --keep-numbers --repair-to=b.bagz s@3.bagz
    stderr_has 'b.bagz: 7 records; 2 of them, which could not be read, are empty'
    make_bagz whole.bagz a '' c d '' f g
    cmp b.bagz whole.bagz
}

@test "a part of another set beside it is a left-over; a whole one is told" {
    make_set
    make_bagz s-00001-of-00002.bagz x
    run_fail 1 sb verify s@3.bagz
    output_is 'leftover: s-00000-of-00003.bagz: is of a set of 3 shards, and 1 shards of a set of 2, which is not whole, are beside it: remove those that are not wanted'
    make_bagz s-00000-of-00002.bagz x
    run_ok sb verify s@3.bagz
    stderr_has 's-00000-of-00003.bagz: is of a set of 3 shards, and another of 2 is beside it'
}

@test "temporary files of a writer that was killed" {
    make_set
    : >.s-00004.bagz.shardbox-new
    : >.limits.s-00005.bagz.shardbox-new
    : >.other-00005.bagz.shardbox-new
    run_fail 1 sb verify s@3.bagz
    output_has 'leftover: s-00000-of-00003.bagz: beside it are temporary files of a writer that was killed (.'
    stderr_has 'a writer was interrupted; what can be read is sound'
    make_bagz a.bagz x
    : >.a.bagz.shardbox-new
    run_fail 1 sb verify a.bagz
    output_is 'leftover: a.bagz: beside it is a temporary file of a writer that was killed (.a.bagz.shardbox-new); the next writer of this name removes it'
}

@test "limits of a writer that died: the records that are there count" {
    make_bag a.bag "${words[@]}"
    separate a.bag 6
    truncate -s 12 a.bag
    run_fail 1 sb verify a.bag
    output_is 'unfinished: a.bag: its writing was broken off: of 6 records in its limits file, the first 3 are there'
}

@test "what stands behind the last of separate limits" {
    make_bag a.bag "${words[@]}"
    tail -c 48 a.bag >limits.a.bag
    run_fail 1 sb verify a.bag
    output_is 'leftover: a.bag: its limits are at its tail too, as a writer leaves it that was killed in the end; remove limits.a.bag'
    printf 'more' >>a.bag
    run_fail 1 sb verify a.bag
    output_is 'leftover: a.bag: has 52 bytes after its 6 records, as a writer leaves them that was killed; limits.a.bag is what counts'
}

# While somebody appends to a.bag, who waits for his input: runs the command.
beside_append() {
    mkfifo pipe
    sb convert --append --frame=line - a.bag <pipe &
    exec 5>pipe
    # More than what is held back, so that some of it is written.
    yes line | head -c 9000000 >&5
    until [[ -e limits.a.bag ]]; do
        sleep 0.02
    done
    "$@"
    exec 5>&-
    wait $!
}

@test "a bag that is appended to: the old records, and a word about it" {
    make_bag a.bag "${words[@]}"
    run_ok beside_append sb verify -v a.bag
    output_is ''
    stderr_has 'a.bag: is being written just now'
    stderr_has 'a.bag: 6 records ('
}

@test "--records and -T: only these are looked at" {
    make_bagz a.bagz "${words[@]}"
    flip_byte a.bagz 12
    run_ok sb verify --records=1: a.bagz
    run_fail 1 sb verify --records=::-1 a.bagz
    output_has 'record 0: '
    printf '%s\n' 4 0 | run_fail 1 sb verify -T - a.bagz
    output_has 'record 0: '
    run_fail 1 sb verify --records=99 a.bagz
    output_is ''
    stderr_has 'record 99'
}

@test "--repair-to: what is sound is written, and what is not is left out and named" {
    make_bagz a.bagz "${words[@]}"
    flip_byte a.bagz 12
    cp a.bagz before.bagz
    run_fail 1 sb verify --repair-to=b.bagz a.bagz
    output_is 'frame: a.bagz: record 0: its zstd data are damaged'
    stderr_has 'shardbox verify: b.bagz: 5 records; 1 could not be read and were left out'
    cmp a.bagz before.bagz
    run_ok sb verify --strict b.bagz
    [[ $(sb cat --frame=line b.bagz) == $'\ngamma\ndelta\nepsilon\nzeta' ]]
    run_fail 2 sb verify --repair-to=b.bagz a.bagz
    stderr_has 'b.bagz: exists already'
    run_fail 1 sb verify --repair-to=b.bagz --force --keep-numbers a.bagz
    stderr_has 'b.bagz: 6 records; 1 of them, which could not be read, are empty'
    [[ $(sb cat --frame=line b.bagz) == $'\n\ngamma\ndelta\nepsilon\nzeta' ]]
    for option in --keep-numbers --force; do
        run_fail 2 sb verify $option a.bagz
        stderr_is 'shardbox verify: --keep-numbers and --force go with --repair-to=BAG'
    done
}

@test "--repair-to does not replace what is repaired, which may hold more than could be saved" {
    make_bag a.bag one two
    make_bag s-00000-of-00002.bag one
    make_bag s-00001-of-00002.bag two
    ln -s a.bag link.bag
    for saved in a.bag link.bag; do
        run_fail 2 sb verify --force --repair-to=$saved a.bag
        stderr_is "shardbox verify: $saved: is what is to be repaired, or a part of it; choose another output"
    done
    for saved in s@2.bag s-00001-of-00002.bag 's@*.bag'; do
        run_fail 2 sb verify --force --repair-to="$saved" s@2.bag
        stderr_has "$saved: is what is to be repaired, or a part of it"
    done
    make_bag expected one two
    cmp a.bag expected
}

@test "--repair-to of a sound set joins it, frames as they are" {
    make_set
    run_ok sb verify --repair-to=b.bagz s@3.bagz
    make_bagz whole.bagz "${words[@]}"
    cmp b.bagz whole.bagz
}

@test "--repair-to of an interleaved set keeps the order" {
    make_bagz s-00000-of-00002.bagz a c e
    make_bagz s-00001-of-00002.bagz b d
    run_ok sb verify --layout=interleaved --repair-to=b.bagz s@2.bagz
    make_bagz whole.bagz a b c d e
    cmp b.bagz whole.bagz
}

@test "--repair-to of a file that was cut: its frames are found again" {
    make_bagz a.bagz "${words[@]}"
    truncate -s "$(($(limit_at a.bagz 6 0) - 2))" a.bagz
    run_fail 1 sb verify --repair-to=b.bagz a.bagz
    output_has 'shard: a.bagz: is no bag, or was cut: '
    output_has '; the 4 frames at its beginning, '
    run_ok sb verify b.bagz
    [[ $(sb cat --frame=line b.bagz) == $'alpha\ngamma\ndelta\nepsilon' ]]
    run_fail 2 sb verify --repair-to=c.bagz --keep-numbers a.bagz
    stderr_has 'a.bagz: how many records it had is not known, so that numbers cannot be kept'
}

@test "a file that was cut within its limits, but looks like a bag" {
    make_bagz a.bagz one two three four five six seven eight
    # Without six limits the rest begins, as it seems, at a multiple of 8.
    for cut in 1 2 3 4 5 6; do
        cp a.bagz b.bagz
        truncate -s -$((8 * cut)) b.bagz
        run_fail 1 sb verify b.bagz
        [[ ${lines[0]} == 'shard: b.bagz: '*'; the 8 frames at its beginning, '* ]] || fail "cut $cut"
    done
}

@test "--repair-to a name that would not be compressed as the records are" {
    make_bagz a.bagz x
    run_fail 2 sb verify --repair-to=b.bag a.bagz
    stderr_has 'b.bag: would not be compressed, and a.bagz is; records are repaired as they are stored: call it *.bagz'
    [[ ! -e b.bag ]]
    run_fail 2 sb verify --quick --repair-to=b.bagz a.bagz
    stderr_has 'b.bagz: what is repaired is read, and all of it'
}

# bats test_tags=threads
@test "bytes do not depend on the number of threads" {
    every_third_day
    local record records=()
    for record in {1..300}; do
        records+=("record number $record")
    done
    make_bag a.bag "${records[@]}"
    run_ok sb verify -j 1 --repair-to=one.bag a.bag
    run_ok sb verify -j 4 --repair-to=four.bag a.bag
    cmp one.bag a.bag
    cmp four.bag a.bag
}

@test "options of bags are refused where there is none, and those of archives for bags" {
    make_archive
    run_fail 2 sb verify --repair-to=x a.barecat
    stderr_has 'a.barecat: is no bag, and --repair-to is for bags'
    make_bag a.bag x
    run_fail 2 sb verify a.bag name
    stderr_has 'a.bag: has records, not names; --records chooses them'
    run_fail 2 sb verify --present a.bag
    stderr_has 'a.bag: is no archive'
}

@test "records that are compressed otherwise than was said" {
    make_bag a.bagz "${words[@]}"
    run_fail 1 sb verify a.bagz
    output_has 'frame: a.bagz: record 0: is not zstd data'
    stderr_is 'shardbox verify: a.bagz: 5 defects; was it compressed with a dictionary (--dictionary=FILE), or is it not compressed (--compression=none)?'
    run_ok sb verify --compression=none a.bagz
    # Limits that are wrong say nothing about that.
    { printf abc && le64 3 1 0 3; } >b.bag
    run_fail 1 sb verify b.bag
    stderr_is 'shardbox verify: b.bag: 2 defects; take it from another copy, or keep what is sound with --repair-to=BAG'
}

@test "a bag on a pipe is named by --from, and spooled" {
    make_bagz a.bagz "${words[@]}"
    run_ok bash -c '"$SHARDBOX" verify --strict -v --from=bagz - <a.bagz'
    stderr_has 'standard input: 6 records ('
    run_ok bash -c 'cat a.bagz | "$SHARDBOX" verify --strict --from=bagz -'
    stderr_is ''
    flip_byte a.bagz 12
    run_fail 1 bash -c 'cat a.bagz | "$SHARDBOX" verify --from=bagz --repair-to=b.bagz -'
    output_is 'frame: standard input: record 0: its zstd data are damaged'
    run_ok sb verify --strict b.bagz
    run_fail 1 bash -c 'head -c 60 a.bagz | "$SHARDBOX" verify --from=bagz -'
    output_has 'shard: standard input: is no bag, or was cut'
    run_fail 2 bash -c 'printf x | "$SHARDBOX" verify --from=bag -'
    stderr_has 'standard input: is no bag'
}

@test "what is no bag at all is an error, 2" {
    printf 'no bag' >a.bag
    run_fail 2 sb verify a.bag
    output_is ''
    stderr_has 'a.bag: is no bag'
    run_fail 2 sb verify absent.bagz
    run_fail 2 sb verify absent@4.bagz
    run_fail 2 sb verify 'absent@*.bagz'
}

@test "on a slow file system chosen records are checked alike with any number of threads" {
    need_slow
    seq 3000 >lines
    sb convert --frame=line lines a.bagz
    shuf --random-source=<(yes) -i 0-2999 -n 300 >list
    echo 7 >>list
    printf 'XXXX' | dd of=a.bagz bs=1 conv=notrunc status=none \
        seek="$(sb ls -l --records=7 a.bagz | awk '{ print $NF }')"
    run_fail 1 sb verify --json -T list a.bagz
    wanted=$output
    for threads in 1 2 8; do
        run_fail 1 slow_sb verify --json -T list "-j$threads" a.bagz
        output_is "$wanted"
    done
}
