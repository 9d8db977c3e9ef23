#!/usr/bin/env bats
# shardbox verify --repair: an archive heals by its parity files.

load helper

# An archive of several shards, the first one with a gap, as it was when it was protected, and a copy of it.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p tree copy
    seq 100000 >tree/a
    for i in 1 2 3 4 5 6; do
        seq "$i" 20000 >"tree/b$i"
    done
    seq 60000 >tree/c
    sb pack -q --shard-size=500K set tree
    sb rm -q set tree/b2
    touch -d '2001-02-03 04:05:06.123456789Z' set set-shard-*
    sb protect -q --redundancy=100% set
    sb protect -q --update --redundancy=10% set-shard-*
    cp -p set* copy
}

# keep_time FILE COMMAND...: the damage of a disk does not change the time of a file.
keep_time() {
    local time
    time=$(stat -c %y "$1")
    "${@:2}"
    touch -d "$time" "$1"
}

write_over() {
    head -c "$3" /dev/zero | tr '\0' '#' | dd of="$1" bs=1M seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# spoil FILE OFFSET SIZE
spoil() {
    keep_time "$1" write_over "$@"
}

cut_to() {
    keep_time "$1" truncate -s "$2" "$1"
}

# of NAME COLUMN
of() {
    sql set "SELECT $2 FROM files WHERE path = 'tree/$1'"
}

# Index and shards have their bytes and times, and every parity file is sound.
is_as_before() {
    local file
    for file in set set-shard-0000{0,1,2}; do
        cmp "$file" "copy/$file" || fail "bytes of $file"
        [[ $(stat -c '%y %a' "$file") == "$(stat -c '%y %a' "copy/$file")" ]] || fail "time of $file"
    done
    run_ok sb protect --check set
    stderr_is ""
    [[ $(echo .*shardbox*) == '.*shardbox*' ]] || fail 'something is left behind'
}

@test "a sound archive stays as it is, with its parity files, and nothing is printed" {
    run_ok sb verify --repair set
    output_is ""
    stderr_is ""
    is_as_before
    for file in copy/*; do
        cmp "$file" "${file#copy/}"
    done
}

@test "a damaged file is made again, a warning says so, and the shard keeps its time" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    run_ok sb verify --repair set
    [[ $output == 'checksum: tree/a: '* && ${#lines[@]} == 1 ]] || fail 'the defect is not named'
    stderr_is "shardbox verify: set: 1 damaged file (576K) restored by parity files"
    is_as_before
    run_ok sb verify --repair set
    stderr_is ""
}

@test "many damaged files are made again, each named with -v" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 10
    spoil set-shard-00001 $(($(of b3 offset) + 100)) 10
    spoil set-shard-00001 $(($(of b4 offset) + 100)) 10
    run_ok sb verify --repair -v set
    stderr_has 'tree/a: restored'
    stderr_has 'tree/b3: restored'
    stderr_has 'tree/b4: restored'
    is_as_before
}

@test "with a dry run nothing is written or locked" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    spoil set-shard-00001-parity 6000 100
    mkdir before
    cp -p set* before
    run_fail 1 sb verify --repair -n set
    output_is "tree/a"$'\n'"$PWD/set-shard-00001-parity"
    stderr_has "1 of 1 damaged file (576K) can be restored by parity files; nothing was written (--dry-run)"
    for file in before/*; do
        cmp "$file" "${file#before/}"
    done
}

@test "damage beyond its parity file is named, and what can be made is made" {
    spoil set-shard-00000 "$(of a offset)" 300000
    spoil set-shard-00001 $(($(of b4 offset) + 5)) 5
    run_fail 1 sb verify --repair set
    stderr_has "shardbox verify: tree/a: 303104 of its 588895 bytes are damaged beyond what its parity file can make"
    stderr_has "shardbox verify: tree/a: not restored: no parity file can make it; --repair-from=COPY takes it from a copy"
    stderr_has "shardbox verify: set: 1 of 2 damaged files"
    cmp set-shard-00001 copy/set-shard-00001
}

@test "what a parity file cannot make comes from a copy, if one is given" {
    spoil set-shard-00000 "$(of a offset)" 300000
    spoil set-shard-00001 $(($(of b4 offset) + 5)) 5
    run_ok sb verify --repair --repair-from=copy/set set
    stderr_has "2 damaged files (682K) restored by parity files or from copy/set"
    is_as_before
}

@test "a shard that is cut grows again" {
    size=$(stat -c %s set-shard-00001)
    cut_to set-shard-00001 $((size - size / 25))
    run_ok sb verify --repair set
    is_as_before
}

@test "a damaged index is repaired before it is opened" {
    spoil set 0 8000
    run_ok sb verify --repair -v set
    stderr_has 'set: bytes 0 to 8191 were repaired'
    is_as_before
}

@test "an index that was cut is made whole" {
    cut_to set 100
    run_ok sb verify --repair set
    is_as_before
}

@test "a lost index is made again, and it is said of which time" {
    rm set
    run_ok sb verify --repair set
    stderr_is "shardbox verify: set: was missing, and is made again as it was when it was protected, at 2001-02-03 04:05:06"
    is_as_before
}

@test "an index that is empty is no sound one" {
    cut_to set 0
    run_ok sb verify --repair set
    is_as_before
}

@test "a lost index is not made again beside the journal of a later one" {
    rm set
    { printf '\xd9\xd5\x05\xf9\x20\xa1\x63\xd7'; head -c 1016 /dev/zero; } >set-journal
    run_fail 2 sb verify --repair set
    stderr_has 'set-journal'
    [[ ! -e set ]]
}

@test "a lost shard is made again, if its parity file has all of it" {
    run_ok sb protect --update --redundancy=100% set-shard-00001
    rm set-shard-00001
    run_ok sb verify --repair set
    stderr_is "shardbox verify: set-shard-00001: was missing, and is made again as it was when it was protected, at 2001-02-03 04:05:06"
    is_as_before
}

# The bytes alone: a shard that came from a copy has a time of its own.
has_bytes_as_before() {
    local file
    for file in set set-shard-0000{0,1,2}; do
        cmp "$file" "copy/$file" || fail "bytes of $file"
    done
    run_ok sb protect --check set
}

@test "a lost shard that its parity file cannot make is named, and comes from a copy" {
    rm set-shard-00002
    run_fail 1 sb verify --repair set
    stderr_has "set-shard-00002: is missing, and of its 217770 bytes its parity file can make 0; bring it back from a copy"
    [[ ! -e set-shard-00002 ]] || fail 'half a shard'
    run_ok sb verify --repair --repair-from=copy/set set
    has_bytes_as_before
}

@test "the parity file of a shard that the index does not have brings nothing back" {
    run_ok sb protect --update --redundancy=100% set-shard-00002
    cp -p set-shard-00002-parity set-shard-00009-parity
    run_ok sb verify --repair set
    [[ ! -e set-shard-00009 ]] || fail 'a shard of nobody'
}

@test "damage where no file is comes out right, too" {
    gap=$(sql set "SELECT max(offset + size) FROM files WHERE path = 'tree/b1'")
    spoil set-shard-00001 "$((gap + 30000))" 4000
    run_ok sb verify --repair -v set
    stderr_has 'were repaired'
    is_as_before
}

@test "damage of a file without a checksum is repaired by the parity file's own" {
    sql set "UPDATE files SET crc32c = NULL WHERE path = 'tree/a'"
    touch -d '2001-02-03 04:05:06.123456789Z' set
    cp -p set copy
    run_ok sb protect --update set
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    run_ok sb verify --repair set
    cmp set-shard-00000 copy/set-shard-00000
}

@test "damaged parity files are repaired: tables, superblocks, pieces" {
    spoil set-shard-00000-parity 0 4096
    spoil set-shard-00001-parity 4096 4096
    spoil set-shard-00002-parity 10000 50
    spoil set-parity 20000 500
    run_ok sb verify --repair set
    output_is ""
    is_as_before
}

@test "bytes that match the index's checksums are never touched, whatever a parity file says" {
    # Another program replaces a file in place, and keeps the time.
    sql set "UPDATE files SET crc32c = NULL WHERE path = 'tree/b4'"
    printf 'other bytes' | keep_time set-shard-00001 dd of=set-shard-00001 bs=1M seek="$(of b4 offset)" oflag=seek_bytes conv=notrunc status=none
    sb upgrade -q --checksums set
    touch -d '2001-02-03 04:05:07Z' set
    sb protect -q --update set
    cp set-shard-00001 as-it-is
    # In the same piece, where no file is.
    gap=$(sql set "SELECT offset + size FROM files WHERE path = 'tree/b1'")
    spoil set-shard-00001 "$((gap + 10))" 10
    run --separate-stderr sb verify --repair set
    cmp -n "$gap" set-shard-00001 as-it-is
    cmp <(tail -c +"$(($(of b4 offset) + 1))" set-shard-00001) <(tail -c +"$(($(of b4 offset) + 1))" as-it-is)
}

@test "what was appended after the archive was protected stays, and old files are repaired" {
    mkdir more
    seq 30000 >more/new
    run_ok sb pack -q --append set more
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    run_ok sb verify --repair set
    stderr_has 'set: changed since its parity file was made'
    stderr_has '1 damaged file (576K) restored by parity files'
    run_ok sb cat set more/new
    cmp <(printf '%s\n' "$output") more/new
    run_ok sb verify set
}

@test "what the index confirms is repaired, whatever the times: after dd, cp, cp -r and touch" {
    cp -p copy/set* .
    printf XYZ | dd of=set-shard-00000 bs=1M seek=$(($(of a offset) + 100)) oflag=seek_bytes conv=notrunc status=none
    run_ok sb verify --repair set
    stderr_is "shardbox verify: set: 1 damaged file (576K) restored by parity files"
    cmp set-shard-00000 copy/set-shard-00000
    mkdir elsewhere
    cp set* elsewhere
    printf XYZ | dd of=elsewhere/set-shard-00001 bs=1M seek=$(($(of b4 offset) + 100)) oflag=seek_bytes conv=notrunc status=none
    printf XYZ | dd of=elsewhere/set bs=1M seek=5000 oflag=seek_bytes conv=notrunc status=none
    run_ok sb verify --repair elsewhere/set
    cmp elsewhere/set copy/set
    cmp elsewhere/set-shard-00001 copy/set-shard-00001
    cp -r elsewhere further
    touch -d 1999-01-01 further/set-shard-00002
    printf XYZ | dd of=further/set-shard-00002 bs=1M seek=$(($(of b5 offset) + 100)) oflag=seek_bytes conv=notrunc status=none
    run_ok sb verify --repair further/set
    cmp further/set-shard-00002 copy/set-shard-00002
}

@test "after an append that failed, and was rolled back, files are repaired" {
    head -c 3000000 /dev/urandom >large
    run --separate-stderr bash -c "ulimit -f 1000; trap '' XFSZ; exec \"\$SHARDBOX\" pack -q --append --shard-size=50M set large"
    ((status == 2))
    printf XYZ | dd of=set-shard-00002 bs=1M seek=$(($(of b5 offset) + 100)) oflag=seek_bytes conv=notrunc status=none
    run_ok sb verify --repair set
    cmp set-shard-00002 copy/set-shard-00002
}

@test "what a repair replaces can be put back, and what changed since is skipped by name" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    spoil set-shard-00001 $(($(of b4 offset) + 100)) 30
    spoil set 5000 20
    mkdir damaged
    cp -p set set-shard-0000? damaged
    run_ok sb verify --repair set
    [[ -e set-before-repair ]]
    run_ok sb verify --undo-repair -n set
    output_has set-shard-00000
    run_ok sb verify --undo-repair set
    for file in damaged/*; do
        cmp "$file" "${file#damaged/}"
    done
    [[ ! -e set-before-repair ]] || fail 'it stays'
    run_fail 2 sb verify --undo-repair set
    stderr_is 'shardbox verify: set-before-repair: no repair has left it; nothing can be put back'
    run_ok sb verify --repair set
    printf new | dd of=set-shard-00001 bs=1M seek=$(($(of b4 offset) + 500)) oflag=seek_bytes conv=notrunc status=none
    cp set-shard-00001 as-it-is
    run_fail 1 sb verify --undo-repair set
    [[ $stderr == 'shardbox verify: set-shard-00001: bytes '*' changed since the repair, and are left as they are' ]] || fail 'skipped'
    cmp set-shard-00000 damaged/set-shard-00000
    cmp set-shard-00001 as-it-is
    [[ -e set-before-repair ]]
}

@test "what a repair replaced is put back in the shards, also while the index is missing" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 30
    cp set-shard-00000 damaged-shard
    run_ok sb verify --repair set
    mv set aside
    run_ok sb verify -n --undo-repair set
    cmp set-shard-00000 copy/set-shard-00000
    run_ok sb verify --undo-repair set
    cmp set-shard-00000 damaged-shard
    [[ ! -e set-before-repair && ! -e set && ! -e set.new ]]
    mv aside set
    spoil set 5000 20
    run_ok sb verify --repair set
    cmp set-shard-00000 copy/set-shard-00000
    mv set aside
    run_fail 1 sb verify --undo-repair set
    [[ $stderr == 'shardbox verify: set: bytes '*' are missing, and are left as they are' ]] || fail "$stderr"
    cmp set-shard-00000 damaged-shard
    [[ -e set-before-repair ]]
}

@test "what repairs have kept and a disk spoils is named, and what is kept after it is not lost" {
    local end
    spoil set-shard-00000 $(($(of a offset) + 100)) 30
    run_ok sb verify --repair set
    end=$(stat -c %s set-before-repair)
    mkdir damaged
    spoil set-shard-00001 $(($(of b4 offset) + 100)) 30
    cp set-shard-00001 damaged
    run_ok sb verify --repair set
    # The header of the first record; a third repair adds to what is there.
    spoil set-before-repair 44 4
    spoil set-shard-00002 $(($(of b5 offset) + 100)) 30
    cp set-shard-00002 damaged
    run_ok sb verify --repair set
    run_fail 1 sb verify --undo-repair set
    stderr_is "shardbox verify: set-before-repair: bytes 24 to $((end - 1)) of it are damaged, and what they kept is lost"
    cmp set-shard-00000 copy/set-shard-00000
    cmp set-shard-00001 damaged/set-shard-00001
    cmp set-shard-00002 damaged/set-shard-00002
    [[ -e set-before-repair ]]
}

@test "what is kept is found, too, where the head of it is spoiled, and its last record is named" {
    local end
    spoil set-shard-00000 $(($(of a offset) + 100)) 30
    mkdir damaged
    cp set-shard-00000 damaged
    run_ok sb verify --repair set
    end=$(stat -c %s set-before-repair)
    spoil set-shard-00001 $(($(of b4 offset) + 100)) 30
    run_ok sb verify --repair set
    spoil set-before-repair $((end + 12)) 4
    run_fail 1 sb verify -n --undo-repair set
    stderr_is "shardbox verify: set-before-repair: bytes $end to $(($(stat -c %s set-before-repair) - 1)) of it are damaged, and what they kept is lost"
    spoil set-before-repair 10 4
    run_fail 1 sb verify --undo-repair set
    cmp set-shard-00000 damaged/set-shard-00000
}

@test "where the end of what a repair has kept is missing that is named" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 30
    run_ok sb verify --repair set
    truncate -s -10 set-before-repair
    run_fail 1 sb verify --undo-repair set
    stderr_has 'were not kept as they were, and are left as they are'
    cmp set-shard-00000 copy/set-shard-00000
    [[ -e set-before-repair ]]
}

@test "a disk that fails does not take what earlier repairs have kept" {
    need_shim
    spoil set-shard-00000 $(($(of a offset) + 100)) 30
    run_ok sb verify --repair set
    cp set-before-repair kept
    spoil set-shard-00001 $(($(of b4 offset) + 100)) 30
    run_fail 2 env LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=error FAULT_CALLS=write FAULT_AT=1 "$SHARDBOX" verify --repair set
    stderr_has 'set-before-repair: cannot write: Input/output error'
    cmp set-before-repair kept
}

@test "where what is replaced cannot be kept nothing is repaired" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    cp set-shard-00000 as-it-is
    seq 10 >set-before-repair
    run_fail 2 sb verify --repair set
    stderr_has 'set-before-repair: is not of bytes that a repair has replaced; move it away'
    cmp set-shard-00000 as-it-is
    cmp set-before-repair <(seq 10)
    rm set-before-repair
    run_fail 2 bash -c "ulimit -f 1; trap '' XFSZ; exec \"\$SHARDBOX\" verify --repair set"
    stderr_is 'shardbox verify: set-before-repair: cannot write: File too large'
    cmp set-shard-00000 as-it-is
    [[ ! -e set-before-repair ]] || fail 'it stays, empty'
}

@test "an older index put back, then repair: what it replaces is kept" {
    run_ok sb protect --update --redundancy=100% "set-shard-0000$(of c shard)"
    run_ok sb mv set tree/b1 tree/x
    cp set older
    run_ok sb rm set tree/c
    seq 60000 | tr 0-9 a-j >precious
    cp set newer
    # What is written to the place of a file that was removed: by Barecat, or after a defrag.
    python3 - <<'EOF_PYTHON'
import sqlite3
row = sqlite3.connect('older').execute("SELECT shard, offset FROM files WHERE path = 'tree/c'").fetchone()
with open(f'set-shard-{row[0]:05}', 'r+b') as shard:
    shard.seek(row[1])
    shard.write(open('precious', 'rb').read())
EOF_PYTHON
    cp set-shard-* damaged 2>/dev/null || { mkdir damaged; cp set-shard-* damaged; }
    cp older set
    run --separate-stderr sb verify --repair set
    [[ -e set-before-repair ]]
    run --separate-stderr sb verify --undo-repair set
    for file in damaged/set-shard-0000?; do
        cmp "$file" "${file#damaged/}"
    done
}

@test "a parity file that is missing, or has lost its superblocks, is made again, and named" {
    rm set-parity
    run_ok sb verify --repair set
    stderr_is "shardbox verify: set: its parity file was missing, and is made again"
    rm set-shard-00001-parity
    size=$(stat -c %s set-shard-00000-parity)
    middle=$((size / 2))
    for at in 0 $((middle - middle % 4096)) $((size - 4096)); do
        head -c 4096 /dev/zero | dd of=set-shard-00000-parity bs=1M seek="$at" oflag=seek_bytes conv=notrunc status=none
    done
    for page in $(seq 0 $((size / 4096 - 1))); do
        [[ $(dd if=set-shard-00000-parity bs=4096 skip="$page" count=1 status=none | head -c 8) != SBPARITY ]] ||
            head -c 4096 /dev/zero | dd of=set-shard-00000-parity bs=4096 seek="$page" conv=notrunc status=none
    done
    run_ok sb verify --repair set
    stderr_has "shardbox verify: set-shard-00001: its parity file was missing, and is made again"
    stderr_has "shardbox verify: set-shard-00000: its parity file was damaged, and is made again"
    run_ok sb protect --check set
}

@test "an older index, copied without its time, confirms nothing in a shard that changed" {
    mkdir old more
    cp set old
    seq 30 >more/new
    run_ok sb pack -q --append set more
    run_ok sb rm -q set tree/b1 tree/b3
    run_ok sb defrag -q set
    cp set-shard-* copy
    cp old/set set
    run --separate-stderr sb verify --repair set
    ((status == 1))
    for file in set-shard-0000?; do
        cmp "$file" "copy/$file"
    done
}

@test "a file without a checksum that was moved after a repair was killed stays as it is" {
    need_shim
    sql set "UPDATE files SET crc32c = NULL WHERE path = 'tree/b4'"
    touch -d '2001-02-03 04:05:07Z' set
    sb protect -q --update set
    spoil set-shard-00001 100 10
    for at in 3 6 9 12; do
        FAULT_CALLS=write,sync FAULT_AT=$at FAULT_HOW=kill LD_PRELOAD=$FAULT_SHIM "$SHARDBOX" verify --repair set || :
        run_ok sb rm -q -f set tree/b1 tree/b3
        run_ok sb defrag -q set
        run --separate-stderr sb verify --repair set
        run_ok sb cat set tree/b4
        cmp <(printf '%s\n' "$output") tree/b4
    done
}

@test "another index of the same size and time, which is sound, is not set back" {
    seq 2 20001 >tree/b1
    for i in 3 4 5 6; do
        seq "$((i + 1))" 20001 >"tree/b$i"
    done
    mkdir new
    (cd new && sb pack -q --shard-size=500K set ../tree 2>/dev/null || sb pack -q --shard-size=500K set -C .. tree)
    [[ $(stat -c %s new/set) == "$(stat -c %s set)" ]] || skip 'the new index has another size'
    touch -r set new/set
    cp -p new/set set
    run --separate-stderr sb verify --repair set
    cmp set new/set
}

@test "a file is made again only as a whole, tables included" {
    # Both copies of its table are lost.
    pages=$(($(stat -c %s set-parity) / 4096))
    for page in $(seq 1 $((pages - 2))); do
        [[ $(dd if=set-parity bs=4096 skip="$page" count=1 status=none | head -c 8) != SBPARTAB ]] ||
            spoil set-parity $((page * 4096)) 4096
    done
    rm set
    run_fail 2 sb verify --repair set
    stderr_has 'set: is missing, and of its '
    [[ ! -e set ]]
}

@test "with --parity-dir parity files are elsewhere" {
    run_ok sb protect --remove set
    mkdir parity
    run_ok sb protect --parity-dir=parity --redundancy=10% set
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    rm set
    run_ok sb verify --repair --parity-dir=parity set
    cmp set copy/set
    cmp set-shard-00000 copy/set-shard-00000
    run_fail 2 sb verify --parity-dir=parity set
    stderr_is 'shardbox verify: --parity-dir goes with --repair and --repair-from'
}

@test "an index that was made again, and is older than its shards, says so until it is accepted" {
    mkdir more
    seq 3000 >more/new
    run_ok sb pack -q --append set more
    rm set
    run_fail 1 sb verify --repair set
    stderr_has 'shardbox verify: set: was missing, and is made again as it was when it was protected, at 2001-02-03 04:05:06'
    stderr_has "shardbox verify: set: its index was lost, and is one of before, which may not know all files of its shards; 'shardbox upgrade --accept' takes it as it is"
    run_fail 1 sb verify set
    # Readers go on.
    run_ok sb cat set tree/c
    stderr_is "shardbox cat: set: its index was lost, and is one of before, which may not know all files of its shards; 'shardbox upgrade --accept' takes it as it is"
    # Nothing is removed, moved or cut off.
    last=$(ls set-shard-0000? | tail -n1)
    cp "$last" as-it-is
    for act in 'rm set tree/a' 'defrag set' 'defrag --quick set' 'split --shard-size=100K set' 'sync --delete more set'; do
        # shellcheck disable=SC2086
        run_fail 2 sb $act
        stderr_has "upgrade --accept' says so"
    done
    seq 10 >further
    run_ok sb pack -q --append set further
    cmp -n "$(stat -c %s as-it-is)" "$last" as-it-is
    run_ok sb upgrade --accept set
    run_ok sb verify set
    stderr_is ""
    run_ok sb rm set further
    run_ok sb protect --update set
}

@test "bytes after the last file of a shard are never cut off, but for those of a killed run" {
    need_shim
    last=set-shard-00002
    printf precious >>"$last"
    size=$(stat -c %s "$last")
    seq 10 >new
    for n in 1 2 3 4 5 6 8 10 12 15 20; do
        run --separate-stderr env FAULT_CALLS=write,sync,rename FAULT_AT="$n" FAULT_HOW=kill \
            LD_PRELOAD="$FAULT_SHIM" "$SHARDBOX" pack -q --append set new
        cmp <(tail -c +$((size - 7)) "$last" | head -c 8) <(printf precious) || fail "at $n"
        ((status != 0)) || break
    done
    run_ok sb rm -f set new
    run_ok sb pack -q --append set new
    cmp <(tail -c +$((size - 7)) "$last" | head -c 8) <(printf precious)
    run_ok sb verify set
}

@test "an index whose first bytes are damaged is repaired, and says so if it may have been a later one" {
    spoil set 0 100
    cp -p set as-it-is
    run_ok sb verify --repair set
    cmp set copy/set
    run_ok sb verify --undo-repair set
    cmp set as-it-is
    # With a new time, it may have been a later one.
    touch set
    run_fail 1 sb verify --repair set
    stderr_has 'its index was lost, and is one of before'
    run_ok sb upgrade --accept set
    run_ok sb verify set
    # And where more of it differs, it is left alone.
    cp -p copy/set* .
    write_over set 0 8000
    cp set as-it-is
    run_fail 2 sb verify --repair set
    stderr_has "set: changed since its parity file was made; if it is right, 'shardbox protect --update' makes that anew; if it cannot be opened, move it away, and --repair makes it again as it was then"
    cmp set as-it-is
    mv set aside
    run_ok sb verify --repair set
    is_as_before
}

@test "killed at any call, the repair of such an index never leaves it without that mark, and is undone as a whole" {
    need_shim
    spoil set 0 100
    touch set
    cp -p set damaged
    for ((n = 1;; n++)); do
        rm -f set-before-repair
        cp -p damaged set
        cp -p copy/set-parity .
        run env FAULT_CALLS=write,sync,rename,unlink,truncate FAULT_AT="$n" FAULT_HOW=kill \
            LD_PRELOAD="$FAULT_SHIM" "$SHARDBOX" verify -q --repair set
        ((status == 137)) || break
        ! sb ls set &>log || [[ $(sql set "SELECT count(*) FROM config WHERE key = 'shardbox_remade'") == 1 ]] || fail "at call $n"
        run_fail 1 sb verify --repair set
        stderr_has 'its index was lost, and is one of before'
        run_fail 2 sb defrag set
    done
    ((n > 9)) || fail "$n"
    rm set-before-repair
    cp -p damaged set
    cp -p copy/set-parity .
    run_fail 1 sb verify --repair set
    sb verify --undo-repair set
    cmp -n "$(stat -c %s damaged)" set damaged
}

@test "an index that was committed since is never rolled back" {
    run_ok sb mv set tree/b1 tree/x
    spoil set 9000 10
    cp set as-it-is
    run --separate-stderr sb verify --repair set
    stderr_has "set: changed since its parity file was made; if it is right, 'shardbox protect --update' makes that anew; if it cannot be opened, move it away, and --repair makes it again as it was then"
    cmp set as-it-is
}

@test "an archive without parity files is verified, and it is said that it has none" {
    rm set*-parity
    run_ok sb verify --repair set
    stderr_is "shardbox verify: set: has no parity file to be repaired by; 'shardbox protect' makes it"
    flip_byte set-shard-00000 100
    run_fail 1 sb verify --repair set
    stderr_has 'not restored: no parity file can make it'
    # It would refuse to protect what is damaged.
    [[ $stderr != *"'shardbox protect"* ]] || fail "$stderr"
}

@test "somebody else's file under the name of a parity file is not used and not touched" {
    seq 10 >set-shard-00000-parity
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    run_fail 1 sb verify --repair set
    stderr_has 'set-shard-00000-parity: is no parity file'
    cmp set-shard-00000-parity <(seq 10)
}

@test "a shard that is a link, or has several names, is not written to" {
    mv set-shard-00000 elsewhere
    ln -s elsewhere set-shard-00000
    spoil elsewhere $(($(of a offset) + 100)) 3000
    cp elsewhere as-it-is
    run_fail 1 sb verify --repair set
    cmp elsewhere as-it-is
    rm set-shard-00000
    ln elsewhere set-shard-00000
    run_fail 1 sb verify --repair set
    cmp elsewhere as-it-is
}

@test "an index whose shards are all links is made again, and needs no other parity file" {
    run_ok sb merge-symlink set linked
    run_ok sb protect linked
    rm linked
    run_ok sb verify --repair linked
    [[ $stderr == 'shardbox verify: linked: was missing, and is made again as it was when it was protected, at '* ]]
    [[ $stderr != *'no parity file'* ]] || fail "$stderr"
}

@test "any other file is repaired by its parity file, and then verified" {
    tar -cf a.tar tree
    touch -d '2001-02-03 04:05:06.123456789Z' a.tar
    cp -p a.tar good.tar
    run_ok sb protect a.tar
    spoil a.tar 0 3000
    run_ok sb verify --repair a.tar
    cmp a.tar good.tar
    spoil a.tar 100000 400000
    run_fail 1 sb verify --repair a.tar
    stderr_has 'a.tar: bytes 98304 to '
    stderr_has 'are damaged beyond repair; bring them back from a copy'
}

@test "standard input cannot be repaired, and what is not read cannot be found damaged" {
    run_fail 2 sb verify --repair - <set
    stderr_is 'shardbox verify: standard input cannot be repaired; give a file'
    run_fail 2 sb verify --repair --quick set
    stderr_is 'shardbox verify: --repair: what is damaged is found by reading it; leave out --quick'
    run_fail 2 sb verify -n set
    stderr_is 'shardbox verify: --dry-run goes with --repair and --repair-from'
}

@test "with --state only what was read is repaired, and the rest stays known" {
    run_ok sb verify --repair --state=state set
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    run_ok sb verify --repair --state=state --max-time=1h set
    stderr_has 'restored by parity files'
    is_as_before
    run_ok sb verify --state=state --max-age=1d -v set
    stderr_has 'sound'
}

@test "of a part of an archive the parity files of that part are checked and repaired" {
    spoil set-shard-00001-parity 6000 100
    run_ok sb verify --repair --shards=0 --state=state set
    run_fail 1 sb protect --check set-shard-00001
    run_ok sb verify --repair --max-age=1d --state=state --shards=0 set
    run_fail 1 sb protect --check set-shard-00001
    run_ok sb verify --repair --max-age=1d --state=state set
    stderr_is 'shardbox verify: set-shard-00001: its parity file was damaged, and is made again
shardbox verify: set: 1 damaged piece of its files or their parity files repaired'
    is_as_before
}

@test "the report and the metrics count what was repaired" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    spoil set-shard-00001-parity 6000 100
    run_ok sb verify --repair --report=report --prom=prom.prom set
    grep -q '"restored":1,.*"protected_files":5,"unprotected_files":0,"repaired_pieces":1,"lost_pieces":0' report
    grep -q '^shardbox_verify_protected_files{.*} 5$' prom.prom
    grep -q '^shardbox_verify_restored_files{.*} 1$' prom.prom
    grep -q '^shardbox_verify_repaired_pieces{.*} 1$' prom.prom
}

@test "while another process writes the archive nothing is repaired" {
    spoil set-shard-00000 $(($(of a offset) + 100)) 3000
    cp set-shard-00000 as-it-is
    run_fail 2 holding set 0 "$SHARDBOX" verify --repair --wait=0 set
    cmp set-shard-00000 as-it-is
}

@test "what repairs have replaced goes with the archive that is replaced, and a foreign file of the name stays" {
    spoil_one() {
        printf XYZ | dd of=set-shard-00000 bs=1 seek=700 conv=notrunc status=none
    }
    mkdir again
    cd again
    sb pack -q set -C ../tree .
    sb protect -q set
    spoil_one
    sb verify -q --repair set
    [[ -s set-before-repair ]]
    run_ok sb pack --force set -C ../tree .
    [[ ! -e set-before-repair ]]
    run_fail 2 sb verify --undo-repair set
    run_ok sb verify set
    echo foreign >set-before-repair
    run_ok sb pack --force set -C ../tree .
    [[ $(cat set-before-repair) == foreign ]]
}
