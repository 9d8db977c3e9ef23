#!/usr/bin/env bats
# shardbox verify of a part: --subset, --part, --shards, --max-time, --state, --max-age

load helper

MAKE_ARCHIVE=$(realpath -- "${MAKE_ARCHIVE:-$PROJECT/build/release/tests/bench/make_archive}")

# 30 files of 1000 bytes in 10 shards, which are as many units: f00 to f02 are in the first shard.
make_sharded() {
    mkdir files
    for i in {00..29}; do
        fill 1000 "${i: -1}" >"files/f$i"
    done
    printf '%s\n' files/* | sed 's|.*/||' | sb pack --shard-size=3000 -C files -T - a.barecat
}

# Every byte of the shards becomes another one, so that each file that is read is named.
spoil() {
    local shard
    for shard in a.barecat-shard-*; do
        head -c "$(stat -c %s "$shard")" /dev/zero | dd of="$shard" conv=notrunc status=none
    done
}

# The names of the files that were found damaged by the last run.
named() {
    sed -n 's/^checksum: \([^:]*\): .*/\1/p' <<<"$output"
}

# older SECONDS: what the state knows becomes older by so much.
older() {
    sql state "UPDATE units SET checked = checked - $1"
}

summary() {
    grep ': read ' <<<"$stderr" | sed 's/.*: read //'
}

@test "all shares together read each file exactly once, whatever their number" {
    local count share
    make_sharded
    spoil
    for count in 1 2 3 7 16; do
        : >all
        for ((share = 1; share <= count; share++)); do
            run --separate-stderr sb verify -v --subset="$share/$count" a.barecat
            ((status == (share > 10 ? 0 : 1))) || fail "share $share of $count"
            named >>all
        done
        diff <(LC_ALL=C sort all) <(ls files) || fail "in $count shares"
    done
}

@test "a file at the last address that there can be is in a unit of its own" {
    make_sharded
    spoil
    sql a.barecat "UPDATE files SET offset = 9223372036854770000 WHERE path = 'f05'"
    run_fail 1 sb verify --subset=1/1 a.barecat
    [[ $(named | sort | uniq -d) == '' ]] || fail "files were read twice"
    output_has 'bounds: f05'
}

@test "shares are of about as many files, and --part says the same as --subset" {
    local share
    make_sharded
    spoil
    for share in 1 2 3; do
        run_fail 1 sb verify -v --part=$share/3 a.barecat
        named >part
        [[ $(wc -l <part) == @(9|12) ]] || fail "share $share"
        run_fail 1 sb verify -v --subset=$share/3 a.barecat
        diff part <(named)
    done
}

@test "--part=auto is the share that the scheduler says" {
    make_sharded
    spoil
    run_fail 1 sb verify --part=2/4 a.barecat
    named >wanted
    run_fail 1 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 "$SHARDBOX" verify --part=auto a.barecat
    diff wanted <(named)
    run_fail 2 sb verify --part=auto a.barecat
    stderr_has '--part: '
}

@test "one flipped byte is found by exactly one share" {
    local share found=''
    make_sharded
    flip_byte a.barecat-shard-00004 1500
    for share in 1 2 3 4; do
        run --separate-stderr sb verify --subset=$share/4 a.barecat
        found+=$status
        [[ $status == 0 || $(named) == f13 ]] || fail "share $share"
    done
    [[ $found =~ ^0*10*$ ]] || fail "found by: $found"
}

@test "the first share checks the index, the others only what they read" {
    make_sharded
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers'"
    run_fail 1 sb verify --subset=1/3 a.barecat
    output_has 'triggers: '
    run_ok sb verify --subset=2/3 -v a.barecat
    output_is ''
    stderr_has 'share 2/3 is sound; 9 files (8.8K) checked; share 1 checks the index'
}

@test "a shard that is missing or short is seen by every share, its files by those who read them" {
    local share
    make_sharded
    rm a.barecat-shard-00005
    truncate -s 2500 a.barecat-shard-00007
    for share in 2 3; do
        run_fail 1 sb verify -v --subset=$share/3 a.barecat
        output_has "shard: $PWD/a.barecat-shard-00005: is not there"
        output_has "shard: $PWD/a.barecat-shard-00007: has 2500 bytes, of the 3000 that files are in"
        (($(grep -c '^shard: ' <<<"$output") == 2)) || fail 'each once'
    done
    [[ $(grep -c '^bounds: f1[567]: ' <<<"$output") == 3 ]] || fail 'read by share 3'
    run_ok sb verify --subset=2/3 --shards=0-4 a.barecat
}

@test "--subset=P% and --subset=SIZE read so much, the same files each time" {
    make_sharded
    spoil
    run_fail 1 sb verify --subset=30% a.barecat
    named >first
    (($(wc -l <first) == 9)) || fail '30% of 30 files'
    run_fail 1 sb verify --subset=30% a.barecat
    diff first <(named)
    run_fail 1 sb verify --subset=9000 a.barecat
    diff first <(named)
    run_fail 1 sb verify --subset=1 a.barecat
    (($(named | wc -l) == 3)) || fail 'one unit at least'
    run_fail 1 sb verify -v --subset=100% a.barecat
    (($(named | wc -l) == 30)) || fail 'all'
}

@test "--shards=A-B, A, A- and -B read the files in these shards" {
    make_sharded
    spoil
    run_fail 1 sb verify --shards=3-4 a.barecat
    [[ $(named | tr '\n' ' ') == 'f09 f10 f11 f12 f13 f14 ' ]] || fail '3-4'
    run_fail 1 sb verify --shards=0 a.barecat
    [[ $(named | tr '\n' ' ') == 'f00 f01 f02 ' ]] || fail '0'
    run_fail 1 sb verify --shards=9- a.barecat
    [[ $(named | tr '\n' ' ') == 'f27 f28 f29 ' ]] || fail '9-'
    run_fail 1 sb verify --shards=-0 a.barecat
    (($(named | wc -l) == 3)) || fail '-0'
    run_fail 1 sb verify --shards=0-1 --subset=2/2 a.barecat
    [[ $(named | tr '\n' ' ') == 'f03 f04 f05 ' ]] || fail 'a share of them'
    run_fail 1 sb verify --shards=12 a.barecat
    stderr_is 'shardbox verify: a.barecat: no file has bytes and a checksum in the requested shards'
}

@test "--state: in as many nights as it takes everything is read once, then again" {
    make_sharded
    spoil
    for _ in 1 2 3 4 5; do
        # What is bad is read again each time: here only what comes first is of interest.
        run_fail 1 sb verify --subset=6000 --state=state a.barecat
        named
        sql state 'UPDATE units SET bad = 0'
        older 86400
    done >all
    diff <(LC_ALL=C sort all) <(ls files)
    run_fail 1 sb verify --subset=6000 --state=state a.barecat
    diff <(named) <(head -n 6 all)
}

@test "--state -v: how many runs a round takes, where a run does not read all that is due" {
    make_sharded
    run_ok sb verify -v --subset=25% --state=state a.barecat
    stderr_has 'at this pace all bytes are read once in '
    flip_byte a.barecat-shard-00000 100
    run_fail 1 sb verify -v --state=state a.barecat
    [[ $stderr != *pace* ]] || fail 'everything was read'
    run_fail 1 sb verify -v --max-age=30d --state=state a.barecat
    [[ $stderr != *pace* ]] || fail 'no more was due'
}

@test "--state --max-age: what was found sound since is left out, until it is older" {
    make_sharded
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == '30K of 30K, 10 of 10 units' ]] || fail 'all'
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == '0 of 30K, 0 of 10 units' ]] || fail 'nothing'
    sql state "UPDATE units SET checked = checked - 31 * 86400 WHERE shard IN (2, 3)"
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == '5.9K of 30K, 2 of 10 units' ]] || fail 'two'
}

@test "--state: a time that has not come yet is no time when something was read" {
    make_sharded
    sb verify --state=state a.barecat
    older -1000000
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == '30K of 30K, 10 of 10 units' ]] || fail 'all'
}

@test "--state: after an append only what is new, and the unit that it went into, is read" {
    make_sharded
    sb verify --state=state a.barecat
    printf 'new\n' >files/new
    sb pack --append a.barecat -C files new
    run_ok sb verify -v --state=state --max-age=1d a.barecat
    [[ $(summary) == *', 1 of 11 units' ]] || fail 'one'
}

@test "--state: a shard that was replaced, or changed in place, counts as never read" {
    make_sharded
    sb verify --state=state a.barecat
    cp a.barecat-shard-00003 copy
    mv copy a.barecat-shard-00003
    touch -d '2001-01-01' a.barecat-shard-00006
    run_ok sb verify -v --state=state --max-age=1d a.barecat
    [[ $(summary) == '5.9K of 30K, 2 of 10 units' ]] || fail 'two'
}

@test "--state: files that were moved, or have another checksum, count as never read" {
    make_sharded
    sb verify --state=state a.barecat
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE files SET crc32c = crc32c + 1 WHERE path = 'f10';
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
    run_fail 1 sb verify -v --state=state --max-age=1d a.barecat
    [[ $(named) == f10 ]] || fail 'f10'
    sb rm a.barecat f10 f00
    sb defrag a.barecat
    run_ok sb verify -v --state=state --max-age=1d a.barecat
    [[ $(summary) == '4.0K of 28K, 2 of 10 units' ]] || fail 'the shards of the two'
}

@test "--state: what is bad is read again each time, first, until it is repaired" {
    make_sharded
    sb verify --state=state a.barecat
    flip_byte a.barecat-shard-00004 1500
    touch -r a.barecat-shard-00003 a.barecat-shard-00004
    sql state "UPDATE units SET checked = 1 WHERE shard = 4; UPDATE shards SET mtime_ns =
        (SELECT mtime_ns FROM shards WHERE shard = 3) WHERE shard = 4"
    run_fail 1 sb verify --subset=1 --state=state a.barecat
    output_has 'checksum: f13: '
    [[ $(sql state 'SELECT shard, kind, path FROM defects') == '4|checksum|f13' ]] || fail 'defects'
    run_fail 1 sb verify --max-age=30d --state=state a.barecat
    output_has 'checksum: f13: '
    run_ok sb verify --max-age=30d --shards=0-3 --state=state a.barecat
    flip_byte a.barecat-shard-00004 1500
    run_ok sb verify --max-age=30d --state=state a.barecat
    [[ $(sql state 'SELECT count(*) FROM defects') == 0 ]] || fail 'still known'
}

@test "--state: a run that was interrupted has lost nothing that was there" {
    need_shim
    make_sharded
    sb verify --state=state --shards=0-4 a.barecat
    run --separate-stderr env LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=kill FAULT_CALLS=write,sync,unlink \
        FAULT_AT=9 FAULT_MARK=mark "$SHARDBOX" verify --state=state a.barecat
    [[ -e mark ]] || fail 'it was not killed'
    run_ok sb verify -v --state=state --max-age=1d a.barecat
    [[ $(summary) == '15K of 30K, 5 of 10 units' || $(summary) == '0 of 30K, 0 of 10 units' ]] ||
        fail 'the rest'
}

@test "--state: a link is followed, and a new file is for its owner to write" {
    make_sharded
    mkdir elsewhere
    ln -s elsewhere/state link
    run_ok sb verify --state=link a.barecat
    [[ -L link && $(stat -c %a elsewhere/state) == 644 ]] || fail 'not where the link leads'
    : >empty
    run_ok sb verify --state=empty a.barecat
}

@test "--state: what no run made is refused, and left as it was" {
    make_sharded
    head -c 5000 /dev/urandom >random
    sqlite3 foreign 'CREATE TABLE units(shard, unit)'
    sb verify --state=more a.barecat
    cp more viewed
    sqlite3 more 'CREATE TRIGGER t AFTER INSERT ON units BEGIN DELETE FROM shards; END'
    sqlite3 viewed 'DROP TABLE shards; CREATE VIEW shards AS SELECT 1 AS shard'
    mkfifo fifo
    for file in random foreign more viewed a.barecat fifo /dev/null .; do
        [[ ! -f $file ]] || cp "$file" before
        run_fail 2 within 10 env "$SHARDBOX" verify --state="$file" a.barecat
        output_is ''
        ((${#stderr_lines[@]} == 1)) || fail "$file"
        [[ ! -f $file ]] || cmp "$file" before
    done
    run_fail 2 sb verify --state=random a.barecat
    stderr_is "shardbox verify: random: is no state of 'shardbox verify'; choose another name for it"
}

@test "--state: one that is damaged is refused, and says what to do" {
    make_sharded
    sb verify --state=state a.barecat
    for size in 100 4096 5000 8192; do
        head -c $size state >cut
        run_fail 2 sb verify --state=cut a.barecat
        stderr_has 'cut: '
    done
    cp state spoilt
    dd if=/dev/urandom of=spoilt bs=4096 seek=1 count=1 conv=notrunc status=none
    run_fail 2 sb verify --state=spoilt a.barecat
    stderr_is 'shardbox verify: spoilt: the state is damaged; remove it, and all will count as never read'
}

@test "--state: that of another archive is refused" {
    make_sharded
    sb verify --state=state a.barecat
    sb pack b.barecat -C files .
    run_fail 2 sb verify --state=state b.barecat
    stderr_has "state: is the state of $PWD/a.barecat, and this is b.barecat; give each archive a state of its own"
}

@test "--state: one run at a time" {
    make_sharded
    sb verify --state=state a.barecat
    python3 - "$SHARDBOX" <<'EOF'
import fcntl, struct, subprocess, sys
with open("state", "r+b") as state:
    fcntl.fcntl(state, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))
    run = subprocess.run([sys.argv[1], "verify", "--state=state", "a.barecat"], capture_output=True, text=True)
assert run.returncode == 2, run
assert "state: another run of verify has this state; wait for it" in run.stderr, run
EOF
}

@test "--state where nothing can be written is an error before anything is read" {
    need_read_only
    make_sharded
    spoil
    mkdir ro
    sb verify --state=ro/state a.barecat || true
    for state in ro/state ro/new; do
        run_fail 2 read_only ro "$SHARDBOX" verify --state="$PWD/$state" a.barecat
        output_is ''
        stderr_has 'Read-only file system'
    done
    run_fail 2 sb verify --state=no/such/dir/state a.barecat
    stderr_is 'shardbox verify: no/such/dir/state: No such file or directory'
}

@test "--state that cannot be written any more: what is found is said all the same" {
    local at told=0
    need_shim
    make_sharded
    sb verify --state=state a.barecat
    flip_byte a.barecat-shard-00004 1500
    cp state before
    : >mark
    for ((at = 1; at < 100; at += 3)); do
        cp before state
        rm mark
        run --separate-stderr env LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=ENOSPC FAULT_CALLS=write,sync \
            FAULT_AT=$at FAULT_MARK="$PWD/mark" "$SHARDBOX" verify --state=state a.barecat
        [[ -e mark ]] || break
        refuse_crash verify
        [[ $status == 2 && -z $output || $status == 1 && $output == 'checksum: f13: '* ]] || fail "$at"
        [[ $stderr != *'No space left on device: not all of what was read is remembered'* ]] || told=1
    done
    run_fail 1 sb verify --state=state a.barecat
    [[ $(named) == f13 ]] || fail 'the next run'
    ((told)) || fail 'none failed while files were read'
}

@test "--max-time: what there is time for" {
    make_sharded
    spoil
    run_fail 1 sb verify --max-time=1h a.barecat
    (($(named | wc -l) == 10)) || fail 'ten of a kind'
    stderr_has "20 more of the kind 'checksum'; -v shows them all"
    stderr_lacks 'the index was looked through'
    run_fail 1 sb verify -v --max-time=1h a.barecat
    [[ $stderr =~ 'a.barecat: the index was looked through in '[0-9]+' s'$'\n' ]] || fail 'the index'
    # A limit at which all of it takes longer than that.
    run sb verify -v -j 1 --max-time=1s --bwlimit=9K a.barecat
    (($(named | wc -l) < 30)) || fail 'it went on'
    output_has 'the time was over'
}

# slowly COMMAND...: each read of the index takes so long that all of them take many seconds.
slowly() {
    env LD_PRELOAD="$SLOW_SHIM" SLOW_ROOT="$PWD/a.barecat" SLOW_MICROSECONDS=10000 "$@"
}

@test "--max-time: the checks of the index end with it, and the next run begins there again" {
    local known
    need_slow
    "$MAKE_ARCHIVE" a.barecat 12000 >seconds
    SECONDS=0
    run_ok slowly "$SHARDBOX" verify --max-time=1s --report=r.jsonl --state=state a.barecat
    stderr_is 'shardbox verify: a.barecat: the time was over before the index was checked to its end, and no file was read: that takes longer than --max-time=1s'
    ((SECONDS <= 4)) || fail "it took $SECONDS seconds"
    [[ $(jq -c 'select(.kind == "summary") | [.index_unfinished, .out_of_time, .bytes_read]' r.jsonl) == '[true,true,0]' ]]
    [[ $(sql state 'SELECT count(*) FROM units') == 0 ]] || fail 'a unit counts as read'
    flip_byte a.barecat-shard-00000 0
    run_fail 1 sb verify -v --report=r.jsonl --state=state a.barecat
    [[ $(jq -c 'select(.kind == "summary") | [.index_unfinished, .out_of_time]' r.jsonl) == '[false,false]' ]]
    # What was known before such a run is known after it.
    known=$(sql state 'SELECT * FROM units; SELECT * FROM defects')
    run_fail 1 slowly "$SHARDBOX" verify -v --max-time=1s --state=state a.barecat
    stderr_has 'the time was over before the index was checked to its end, and no file was read'
    stderr_has '1 unit in which an earlier run found damage has not been read again'
    stderr_lacks ' units'$'\n'
    [[ $(sql state 'SELECT * FROM units; SELECT * FROM defects') == "$known" ]] || fail 'the state changed'
    flip_byte a.barecat-shard-00000 0
    run_ok sb verify --max-time=1h --state=state a.barecat
}

@test "--present: what has not arrived is not taken for read" {
    make_sharded
    mv a.barecat-shard-00009 away
    run_fail 1 sb verify --present --state=state a.barecat
    mv away a.barecat-shard-00009
    run_ok sb verify -v --max-age=1d --state=state a.barecat
    [[ $(summary) == '3.0K of 30K, 1 of 10 units' ]] || fail 'one'
}

@test "options that cannot be, or not together, are refused" {
    make_sharded
    refused() {
        run_fail 2 sb verify "${@:2}" a.barecat
        [[ $stderr == "shardbox verify: $1"* ]] || fail "$*"
    }
    refused '--subset=8/7: ' --subset=8/7
    refused '--subset=0/7: ' --subset=0/7
    refused '--subset=many: is no share (2/7), no percentage (5%) and no size (10G)' --subset=many
    refused '--subset=0%: ' --subset=0%
    refused '--subset=101%: ' --subset=101%
    refused '--subset=0: ' --subset=0
    refused '--part: ' --part=3
    refused '--subset=1/2 and --part=1/2 both cut into shares; give one' --subset=1/2 --part=1/2
    refused '--shards=4-3: is no range of shards, as 3, 0-9 or 10- are' --shards=4-3
    refused '--shards=-: ' --shards=-
    refused '--shards=100000: ' --shards=100000
    refused '--max-time=soon: is no time, such as 90m, 2h or 1d' --max-time=soon
    refused '--max-age=1y: is no time' --state=s --max-age=1y
    refused '--state: the name is empty; give it a file' --state=
    refused '--max-age goes with --state=FILE' --max-age=30d
    refused "--quick reads no file's bytes, and --subset says which are read; give one" --quick --subset=5%
    run_fail 2 sb verify --state=s a.barecat f00
    stderr_is 'shardbox verify: names and --state both say what is read; give one of them'
    [[ ! -e s ]] || fail 'a state was made'
    tar -cf a.tar files
    run_fail 2 sb verify --subset=5% a.tar
    stderr_has 'a.tar: is no archive, and read from its beginning to its end: --subset is for archives and bags'
}

@test "an index without an order of addresses is refused, as no part of it can be found" {
    make_sharded
    sql a.barecat 'DROP INDEX idx_files_shard_offset'
    for choice in --subset=1/2 --part=2/2 --subset=5% --shards=0 --max-time=1h --state=state; do
        run_fail 2 sb verify "$choice" a.barecat
        output_is ''
        stderr_is "shardbox verify: a.barecat: its index has no order of addresses, by which parts of it could be read; 'shardbox upgrade' makes one"
    done
    [[ ! -e state ]] || fail 'a state was made'
    sb upgrade a.barecat
    run_ok sb verify --state=state a.barecat
}

# bag@4.bagz of 40 records, ten in each shard.
make_set() {
    seq -f 'record %03.0f of the bag' 40 | sb convert --frame=line - bag@4.bagz
}

# What the last run had to say of records.
records() {
    sed -n 's/.*"kind":"summary".*"records":\([0-9]*\).*/\1/p' <<<"$output"
}

@test "of a bag, shares are runs of its records: each is in one" {
    local share count sum
    make_set
    for count in 1 3 7 50; do
        sum=0
        for ((share = 1; share <= count; share++)); do
            run_ok sb verify -q --json --subset="$share/$count" bag@4.bagz
            sum=$((sum + $(records)))
        done
        ((sum == 40)) || fail "$sum in $count shares"
    done
}

@test "of a bag, a frame that is wrong is found by one share, and in its shard" {
    local share found=''
    make_set
    flip_byte bag-00002-of-00004.bagz 0
    for share in 1 2 3 4 5; do
        run --separate-stderr sb verify --part=$share/5 bag@4.bagz
        found+=$status
    done
    [[ $found =~ ^0*10*$ ]] || fail "found by: $found"
    run_fail 1 sb verify --shards=2 bag@4.bagz
    output_has 'record 20'
    run_ok sb verify -q --json --shards=0-1 bag@4.bagz
    (($(records) == 20)) || fail '0-1'
    run_ok sb verify -q --json --shards=3- --layout=interleaved bag@4.bagz
    (($(records) == 10)) || fail '3-, interleaved'
}

@test "of a bag, what is not cut by records is refused" {
    make_set
    run_fail 2 sb verify --subset=5% bag@4.bagz
    stderr_is 'shardbox verify: bag@4.bagz: is a bag, whose records are chosen by --subset=I/N, --part and --shards, but not by --subset=P% or SIZE'
    run_fail 2 sb verify --state=state bag@4.bagz
    stderr_has 'but not by --state'
    [[ ! -e state ]] || fail 'a state was made'
    run_fail 2 sb verify --part=1/2 --records=3 bag@4.bagz
    stderr_has 'give one of them'
    run_fail 2 sb verify --part=1/2 --repair-to=new.bagz bag@4.bagz
    stderr_has 'what is repaired is read, and all of it'
}

@test "--repair-from restores what the choice has read, and nothing else" {
    make_sharded
    flip_byte a.barecat-shard-00001 100
    flip_byte a.barecat-shard-00004 1500
    run_ok sb verify --shards=0-1 --repair-from=files a.barecat
    [[ $(named) == f03 ]] || fail 'only f03 was read'
    run_ok sb verify --part=1/2 --repair-from=files a.barecat
    [[ $(named) == f13 ]] || fail 'and f13 by that share'
    run_ok sb verify a.barecat
    rm a.barecat-shard-00005
    run_ok sb verify -v --subset=2/2 --repair-from=files a.barecat
    output_has 'bounds: f15: '
    run_ok sb verify a.barecat
}

# Three units in one shard: a, b and c, of which b alone is repaired.
make_repairable() {
    mkdir files
    for i in a b c; do
        head -c 4200000 /dev/zero | tr '\0' "$i" >"files/$i"
    done
    sb pack -C files a.barecat .
    sb verify --state=state a.barecat
    flip_byte a.barecat-shard-00000 4200100
}

@test "--repair-from --state: after a repair only what was repaired is read again, first" {
    make_repairable
    run_fail 1 sb verify --state=state a.barecat
    run_ok sb verify -v --state=state --subset=1 --repair-from=files a.barecat
    [[ $(summary) == *', 1 of 3 units' ]] || fail 'the bad one comes first'
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == *', 1 of 3 units' ]] || fail 'what was repaired'
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == *', 0 of 3 units' ]] || fail 'it is sound now'
}

@test "--repair-from --state: a shard that was changed before it was repaired counts as never read" {
    make_repairable
    run_ok sb verify --shards=0 --repair-from=files a.barecat
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == *', 3 of 3 units' ]] || fail 'nobody told the state'
    flip_byte a.barecat-shard-00000 4200100
    run_fail 1 sb verify --state=state --dry-run --repair-from=files a.barecat
    run_ok sb verify --state=state --repair-from=files a.barecat
    rm a.barecat-shard-00000
    run_ok sb verify --state=state --repair-from=files a.barecat
    run_ok sb verify -v --state=state --max-age=30d a.barecat
    [[ $(summary) == *', 3 of 3 units' ]] || fail 'it was made anew'
}

@test "defects that are not found again are forgotten, though the clock was ahead when they were found" {
    make_sharded
    flip_byte a.barecat-shard-00000 0
    flip_byte a.barecat-shard-00000 1500
    run_fail 1 sb verify --state=state a.barecat
    sql state 'UPDATE defects SET last_found = last_found + 1000000'
    flip_byte a.barecat-shard-00000 0
    run_fail 1 sb verify --state=state a.barecat
    [[ $(sql state 'SELECT path FROM defects') == f01 ]]
}
