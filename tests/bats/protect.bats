#!/usr/bin/env bats
# shardbox protect: parity files, and what they repair.

load helper

# make_file NAME [LINES]: a file with a copy in good/, and its parity file.
make_file() {
    mkdir -p good
    seq "${2-400000}" >"$1"
    touch -d '2001-02-03 04:05:06.123456789Z' "$1"
    cp -p "$1" good/
    run_ok sb protect "$1"
    cp -p "$1-parity" good/
}

# The damage of a disk does not change the time of a file.
keep_time() {
    touch -r good/f f
}

# zero FILE OFFSET SIZE
zero() {
    head -c "$3" /dev/zero | dd of="$1" bs=1M seek="$2" oflag=seek_bytes conv=notrunc status=none
}

# Bytes and times are as they were, and the parity file is sound.
is_as_before() {
    cmp f good/f || fail 'bytes'
    [[ $(stat -c '%y %a' f) == "$(stat -c '%y %a' good/f)" ]] || fail 'time'
    run_ok sb protect --check f
    stderr_is ""
}

# Nothing but these names is here.
only() {
    [[ $(find . -maxdepth 1 -mindepth 1 ! -name 'separate-stderr*' -printf '%P\n' | LC_ALL=C sort | paste -sd' ') == "$*" ]] ||
        fail "$(ls -A)"
}

@test "a parity file is made beside the file, of a twentieth of its size, and the check finds nothing" {
    make_file f
    output_is ""
    stderr_is ""
    only f f-parity good
    local size
    size=$(stat -c %s f-parity)
    ((size > 2688895 / 20 && size < 2688895 / 20 + 150000)) || fail "$size"
    cmp f good/f
    run_ok sb protect --check -v f
    stderr_is "shardbox protect: f: is sound, and its parity file"
    run_ok sb protect --repair -v f
    stderr_is "shardbox protect: f: is sound, and its parity file"
    is_as_before
}

@test "an empty file, one of a byte and one of odd size have parity files" {
    : >empty
    printf x >one
    head -c 5001 /dev/urandom >odd
    run_ok sb protect empty one odd
    run_ok sb protect --check empty one odd
    stderr_is ""
    cp -p one good
    printf y | dd of=one conv=notrunc status=none
    touch -r good one
    run_fail 1 sb protect --check one
    stderr_is "shardbox protect: one: bytes 0 to 0 are damaged; --repair makes them as they were"
    run_ok sb protect --repair one
    cmp one good
}

@test "flipped bytes are named by --check and -n, which change nothing, and repaired byte for byte" {
    make_file f
    flip_byte f 100000
    flip_byte f 2000000
    keep_time
    cp -p f damaged
    run_fail 1 sb protect --check f
    output_is ""
    [[ $stderr =~ ^'shardbox protect: f: bytes '([0-9]+)' to '([0-9]+)' are damaged; --repair makes them as they were'$'\n' ]] || fail 'named'
    ((BASH_REMATCH[1] <= 100000 && BASH_REMATCH[2] >= 100000))
    [[ ${#stderr_lines[@]} == 2 ]] || fail 'lines'
    run_ok sb protect --repair -n f
    output_is f
    cmp f damaged
    run_ok sb protect --repair f
    stderr_is ""
    is_as_before
}

@test "sectors of zeros, and as many bytes in a row as there is parity, are repaired" {
    make_file f
    zero f 1000000 100000
    keep_time
    run_ok sb protect --repair -v f
    stderr_has ' were repaired'
    is_as_before
}

@test "a file whose end was cut off grows again" {
    make_file f
    truncate -s 2600001 f
    keep_time
    run_fail 1 sb protect --check f
    stderr_has 'to 2688894 are damaged; --repair'
    run_ok sb protect --repair f
    is_as_before
}

@test "damage of the parity file is repaired: superblocks, tables and parity, and its end" {
    make_file f
    local size at
    size=$(stat -c %s f-parity)
    for at in 0 4096 $((size / 3)) $((size / 2)) $((size - 8192)) $((size - 4096)); do
        cp -p good/f-parity .
        zero f-parity "$at" 4096
        run_fail 1 sb protect --check f
        stderr_has 'f-parity: '
        stderr_has 'damaged; --repair makes it again'
        run_ok sb protect --repair f
        is_as_before
        cmp f-parity good/f-parity
    done
    truncate -s -10000 f-parity
    run_ok sb protect --repair f
    is_as_before
    cmp f-parity good/f-parity
    truncate -s -10000 f-parity
    flip_byte f 7
    keep_time
    run_ok sb protect --repair f
    is_as_before
}

@test "more than can be repaired is named by its bytes, and nothing is touched" {
    make_file f
    zero f 1000000 500000
    keep_time
    cp -p f damaged
    run_fail 1 sb protect --repair f
    stderr_has 'are damaged beyond repair; bring them back from a copy'
    [[ ${#stderr_lines[@]} == 1 ]] || fail 'one line'
    cmp f damaged
    cmp f-parity good/f-parity
    run_fail 1 sb protect --check f
    stderr_has 'are damaged beyond repair'
    [[ $(stat -c %y f) == "$(stat -c %y good/f)" ]]
}

# Pieces that are as far apart as there are words belong to one word, of which 12 may be lost.
@test "where one word has lost too much, the others are repaired" {
    make_file f 3000000
    flip_byte f 0
    keep_time
    run_fail 1 sb protect --check f
    [[ $stderr =~ 'bytes 0 to '([0-9]+)' are damaged; --repair' ]] || fail 'piece'
    local piece=$((BASH_REMATCH[1] + 1)) words i
    words=$((($(stat -c %s f) / piece + 240) / 240))
    ((words > 1))
    for ((i = 1; i < 13; i++)); do
        flip_byte f $((i * words * piece))
    done
    cp -p f lost
    flip_byte f $((piece + 5))
    flip_byte f $(((5 * words + 1) * piece))
    keep_time
    run_fail 1 sb protect --repair -v f
    [[ $(grep -c 'f: bytes .* were repaired' <<<"$stderr") == 2 ]] || fail 'repaired'
    [[ $(grep -c 'f: bytes .* are damaged beyond repair' <<<"$stderr") == 13 ]] || fail 'lost'
    cmp f lost
}

@test "a file does not grow if not all of its end can be made" {
    make_file f
    truncate -s 1500001 f
    keep_time
    cp -p f damaged
    run_fail 1 sb protect --repair f
    stderr_has 'to 2688894 are damaged beyond repair'
    stderr_has 'f: is cut short after 1500001 bytes, and grows only if all that is missing can be made'
    cmp f damaged
    run_fail 1 sb protect --repair -n f
    output_is ""
}

@test "lost tables are named with the bytes that they are of" {
    make_file f
    zero f-parity 4096 $(($(stat -c %s f-parity) - 12288))
    run_fail 1 sb protect --check f
    stderr_is "shardbox protect: f: 2688895 of its bytes cannot be checked: their table in the parity file is lost; if it is right, --remove that and make it anew"
    cmp f good/f
}

changed_or_damaged="shardbox protect: f: changed since its parity file was made, or is damaged: nothing but its time says which; if it is right, 'shardbox protect --update' makes that anew; if it is damaged, --repair --trust-parity makes it as it was"

@test "other bytes in a file of another time are a change or damage, which only the user can tell" {
    make_file f
    flip_byte f 100000
    cp -p f changed
    for act in --check --repair; do
        run_fail 1 sb protect $act f
        stderr_is "$changed_or_damaged"
        cmp f changed
        cmp f-parity good/f-parity
    done
    # Longer, with the time of before.
    echo more >>f
    keep_time
    run_fail 1 sb protect --repair f
    cp changed f
    run_ok sb protect --repair --trust-parity -v f
    stderr_has 'were repaired'
    cmp f good/f
    run_ok sb verify --undo-repair f
    cmp f changed
    run_ok sb protect --update -v f
    stderr_is "shardbox protect: f-parity: written"
    run_ok sb protect --check f
    only changed f f-parity good
}

@test "a file that has the bytes which are protected is sound, whatever its time" {
    make_file f
    touch -d 1999-01-01 f
    run_ok sb protect --check -v f
    stderr_is "shardbox protect: f: is sound, and its parity file"
    mkdir elsewhere
    cp f f-parity elsewhere
    run_ok sb protect --repair elsewhere/f
}

# spoil FILE: where a tar has the header of its third member, and a bag its first frame.
spoil() {
    head -c 600 /dev/zero | tr '\0' X | dd of="$1" bs=1M seek="$([[ $1 == *.bagz ]] && echo 0 || echo 51700)" oflag=seek_bytes conv=notrunc status=none
}

@test "a container that its own checks call damaged is damaged, whatever its time" {
    every_third_day
    mkdir tree
    for i in 1 2 3 4; do
        head -c 50000 /dev/urandom >"tree/$i"
    done
    cat tree/[12] >two
    tar -czf a.tgz tree
    tar -cJf a.txz tree
    gzip -c two >a.gz
    run_ok sb convert tree a.zip
    run_ok sb convert tree a.bagz
    tar -cf a.tar tree
    for f in a.tgz a.txz a.gz a.zip a.bagz a.tar; do
        run_ok sb protect "$f"
        cp -p "$f" good
        spoil "$f"
        ! cmp -s "$f" good || fail "$f"
        # Damage is not protected, and the parity file of before stays.
        cp "$f-parity" parity
        run_fail 1 sb protect --update "$f"
        stderr_is "shardbox protect: $f: is damaged, as 'shardbox verify' says, and is not protected so; repair it first, or take it from a copy"
        cmp "$f-parity" parity
        run_ok sb protect --repair "$f"
        cmp "$f" good || fail "$f"
        [[ -e $f-before-repair ]]
        # Nor is that of a file which has no parity file yet.
        spoil "$f"
        rm "$f-parity"
        run_fail 1 sb protect "$f"
        [[ ! -e $f-parity ]]
    done
}

@test "a write right after the parity file was made is seen as a change" {
    for _ in 1 2 3 4 5; do
        echo one >f
        run_ok sb protect f
        echo two >f
        run_fail 1 sb protect --repair f
        [[ $(<f) == two ]]
        rm f*
    done
}

@test "a write right after a repair is seen as a change" {
    make_file f
    flip_byte f 100000
    keep_time
    run_ok sb protect --repair f
    flip_byte f 100000
    run_fail 1 sb protect --repair f
    stderr_is "$changed_or_damaged"
}

# torn_repair: f is damaged, and its repair is killed in the middle of the write to it.
torn_repair() {
    need_shim
    make_file f
    zero f 100000 20000
    keep_time
    local n
    cp -p f damaged
    cp -p f-parity damaged-parity
    for ((n = 1; n < 50; n++)); do
        cp -p damaged f
        cp -p damaged-parity f-parity
        FAULT_CALLS=write FAULT_AT=$n FAULT_HOW=torn LD_PRELOAD=$FAULT_SHIM "$SHARDBOX" protect --repair f || true
        [[ $(stat -c %Y f) == $(stat -c %Y damaged) ]] || break
    done
    ((n < 50)) || fail 'no write of the file'
    ! cmp -s f good/f || fail 'a whole write'
}

# Only the user knows whether somebody else wrote to it, too.
@test "a repair that was killed between a write and the setting of the time goes on by the user's word" {
    torn_repair
    for how in --check --repair; do
        run_fail 1 sb protect $how f
        stderr_is "$changed_or_damaged"
    done
    run_ok sb protect --repair --trust-parity f
    cmp f good/f
    run_ok sb protect --check f
}

@test "a write right after a repair that was killed, or was interrupted, is a change, and stays" {
    need_shim
    local n
    make_file f
    flip_byte f 100000
    flip_byte f 1000000
    keep_time
    cp -p f damaged
    for ((n = 1; ; n++)); do
        cp -p damaged f
        cp -p good/f-parity f-parity
        run --separate-stderr env FAULT_CALLS=write,sync FAULT_AT="$n" FAULT_HOW=kill \
            LD_PRELOAD="$FAULT_SHIM" "$SHARDBOX" protect --repair f
        ((status != 0)) || break
        printf new | dd of=f bs=1 seek=500000 conv=notrunc status=none
        cp -p f written
        run --separate-stderr sb protect --repair f
        ((status == 1)) || fail "at $n"
        cmp f written || fail "at $n"
    done
    ((n > 5))
}

@test "a copy that kept whole seconds of the time is checked and repaired" {
    make_file f
    flip_byte f 5
    touch -d '2001-02-03 04:05:06Z' f
    run_ok sb protect --repair f
    cmp f good/f
    [[ $(stat -c %y f) == '2001-02-03 04:05:06.000000000 +0000' ]]
}

@test "--update makes what is missing and what changed anew, and leaves the rest alone" {
    make_file f
    echo new >g
    run_ok sb protect --update -n f g
    output_is g-parity
    only f f-parity g good
    run_ok sb protect -u -v f g
    stderr_is "shardbox protect: f: its parity file is up to date
shardbox protect: g-parity: written"
    cmp f-parity good/f-parity
    run_fail 2 sb protect f
    stderr_is "shardbox protect: f: has a parity file already; --update brings it up to date"
    cmp f-parity good/f-parity
}

@test "--update keeps the redundancy, or changes it, but not of a damaged file" {
    make_file f
    run_ok sb protect --update --redundancy=20% f
    local size
    size=$(stat -c %s f-parity)
    ((size > 2688895 / 5)) || fail "$size"
    echo more >>f
    run_ok sb protect --update f
    (($(stat -c %s f-parity) >= size)) || fail 'kept'
    cp -p f-parity f good/
    flip_byte f 5
    keep_time
    run_fail 1 sb protect --update --redundancy=5% f
    stderr_is "shardbox protect: f: is damaged; repair it first, with --repair"
    cmp f-parity good/f-parity
    run_ok sb protect --repair f
    run_ok sb protect --update --redundancy=0.5 f
    (($(stat -c %s f-parity) < 100000)) || fail 'smaller'
}

@test "--remove removes parity files, also of files that are gone, and nothing else" {
    make_file f
    make_file g
    run_ok sb protect --remove -n f
    output_is f-parity
    rm g
    run_ok sb protect --remove -v f g
    stderr_is "shardbox protect: f-parity: removed
shardbox protect: g-parity: removed"
    only f good
    run_fail 2 sb protect --remove f
    stderr_is "shardbox protect: f: has no parity file; 'shardbox protect' makes it"
    echo foreign >f-parity
    run_fail 2 sb protect --remove f
    [[ $(<f-parity) == foreign ]]
}

@test "parity files among the files are passed over; one by itself is a mistake" {
    make_file f
    rm -r good
    run_ok sb protect --update f*
    run_ok sb protect --check f*
    stderr_is ""
    only f f-parity
    run_fail 2 sb protect f-parity
    stderr_is "shardbox protect: f-parity: is a parity file; give the file that it protects"
    run_ok sb protect --remove f*
    only f
    # The name alone says nothing.
    echo text >x-parity
    run_ok sb protect x-parity
    only f x-parity x-parity-parity
}

@test "symbolic links, directories and missing files are refused and left alone, and the others are done" {
    mkdir dir
    echo 1 >f
    ln -s f link
    ln -s nowhere dangling
    run_fail 2 sb protect link dir nosuch dangling f
    stderr_is "shardbox protect: link: is a symbolic link; give the file that it leads to
shardbox protect: dir: is a directory; give the files in it
shardbox protect: nosuch: No such file or directory
shardbox protect: dangling: is a symbolic link; give the file that it leads to"
    only dangling dir f f-parity link
    mkfifo fifo
    run_fail 2 within 5 "$SHARDBOX" protect fifo
    cp -p f-parity link-parity
    run_fail 2 sb protect --repair link
    stderr_has 'link: is a symbolic link'
}

@test "what is there under the name of a parity file, and is none, is refused and left alone" {
    local act
    echo 1 >f
    echo foreign >f-parity
    for act in --redundancy=5% --update --check --repair --remove; do
        run_fail 2 sb protect $act f
        stderr_is "shardbox protect: f-parity: is no parity file, or nothing of its superblocks is left; move it away"
        [[ $(<f-parity) == foreign ]]
    done
    rm f-parity
    mkdir f-parity
    for act in --redundancy=5% --update --check --repair --remove; do
        run_fail 2 sb protect $act f
        stderr_is "shardbox protect: f-parity: is no parity file; move it away"
    done
    rmdir f-parity
    make_file g
    ln -s g-parity f-parity
    for act in --redundancy=5% --update --check --repair --remove; do
        run_fail 2 sb protect $act f
        stderr_is "shardbox protect: f-parity: is no parity file; move it away"
        [[ -L f-parity ]]
        cmp g-parity good/g-parity
    done
}

@test "a file with several names is repaired only with --hard-links" {
    make_file f
    flip_byte f 5
    keep_time
    ln f again
    cp -p f damaged
    run_fail 2 sb protect --repair f
    stderr_is "shardbox protect: f: has 2 names (hard links), and would change under all of them; 'shardbox protect --repair --hard-links' allows it"
    cmp f damaged
    run_fail 1 sb protect --check f
    run_ok sb protect --repair --hard-links f
    cmp again good/f
    is_as_before
}

@test "in a read-only directory nothing is made or repaired, but checks go on" {
    need_read_only
    mkdir d
    (
        cd d
        make_file f
        make_file g
        rm g-parity
        flip_byte f 5
        keep_time
    )
    cp -a d before
    run_fail 2 read_only d "$SHARDBOX" protect d/g
    stderr_has 'Read-only file system'
    run_fail 2 read_only d "$SHARDBOX" protect --repair d/f
    stderr_has 'Read-only file system'
    run_fail 2 read_only d "$SHARDBOX" protect --remove d/f
    run_fail 1 read_only d "$SHARDBOX" protect --check d/f
    stderr_has 'are damaged; --repair'
    diff -r d before
}

@test "what a killed run left is removed by the next, and foreign files of that name are refused" {
    echo 1 >f
    echo half >.f-parity.shardbox-out
    run_ok sb protect f
    only f f-parity
    echo 2 >f
    mkdir .f-parity.shardbox-out
    cp f-parity before
    run_fail 2 sb protect --update f
    stderr_has '.f-parity.shardbox-out is in the way'
    cmp f-parity before
}

@test "SIGTERM leaves neither half a parity file nor a lock" {
    seq 2000000 >f
    run --separate-stderr timeout --signal=TERM 0.4 "$SHARDBOX" protect --bwlimit=5M f
    stderr_is "shardbox protect: interrupted"
    only f
}

# bats test_tags=threads
@test "the number of threads does not matter to what is protected" {
    make_file f
    rm f-parity
    for threads in 1 3; do
        run_ok sb protect -j $threads f
        flip_byte f 99
        keep_time
        run_ok sb protect --repair f
        cmp f good/f
        rm f-parity
    done
}

@test "progress counts the bytes of all files, also of those that need not be read" {
    make_file f
    seq 1000000 >g
    run_ok sb protect --update --progress f g
    stderr_has ' of 9.2M, 100%'
    run_ok sb protect --check --progress f g
    stderr_has ', 100%'
    run_ok sb protect --check g
    stderr_is ""
}

@test "wrong use is named" {
    run_fail 2 sb protect
    stderr_has "give at least one FILE"
    run_fail 2 sb protect --check --repair f
    stderr_has "--update, --check, --repair and --remove cannot be given together"
    run_fail 2 sb protect --check --redundancy=5% f
    stderr_has "--redundancy is for parity files that are made"
    run_fail 2 sb protect --hard-links f
    stderr_has "--hard-links is for --repair"
    run_fail 2 sb protect --check -n f
    stderr_has "--check changes nothing; -n does not go with it"
    for value in '' x 0 0% 5.x 5%% -1 1001 1000.1 1e3; do
        run_fail 2 sb protect --redundancy="$value" f
        stderr_has "--redundancy: '$value' is not like 5% or 0.5%, from 0.1% to 1000%"
    done
}

# An archive a of three shards and its parity files, and a copy of all in good/.
make_protected_archive() {
    mkdir tree good
    for i in 1 2 3 4 5 6; do
        seq "$i" 6000 >"tree/$i"
    done
    run_ok sb pack --shard-size=60K a -C tree .
    run_ok sb protect a
    cp -p a* good/
}

# damage FILE OFFSET: as a disk does, which leaves the time of the file.
damage() {
    touch -r "$1" time
    head -c 700 /dev/zero | tr '\0' X |
        dd of="$1" bs=1M seek="$2" oflag=seek_bytes conv=notrunc status=none
    touch -r time "$1"
}

# bats test_tags=threads
@test "an archive is protected with its shards, also if these are named, too" {
    make_protected_archive
    stderr_is ""
    [[ $(echo a*) == 'a a-parity a-shard-00000 a-shard-00000-parity a-shard-00001 a-shard-00001-parity a-shard-00002 a-shard-00002-parity' ]]
    rm a*-parity
    run_ok sb protect -v a*
    stderr_is 'shardbox protect: a-parity: written
shardbox protect: a-shard-00000-parity: written
shardbox protect: a-shard-00001-parity: written
shardbox protect: a-shard-00002-parity: written'
    run_ok sb protect --check a*
    run_ok sb protect --remove a
    [[ $(echo a*) == 'a a-shard-00000 a-shard-00001 a-shard-00002' ]]
    run_ok sb verify a
}

@test "what an archive records beside its index is passed over, and a foreign file of such a name is not" {
    make_protected_archive
    run_ok sb merge-symlink a -o view
    damage a-shard-00001 5000
    run_ok sb protect --repair a
    echo mine >view-linked-by
    run_ok sb protect --update a* view*
    [[ $(echo a-[bl]*) == 'a-before-repair a-linked-by' ]]
    [[ -e view-linked-by-parity ]]
}

# bats test_tags=threads
@test "a damaged shard and a damaged index are repaired, also where the index cannot be opened" {
    local at
    make_protected_archive
    for at in 0 5000 60; do
        damage a "$at"
        damage a-shard-00001 "$at"
        run_fail 1 sb protect --check a
        stderr_has 'a: bytes'
        stderr_has 'a-shard-00001: bytes'
        run_ok sb protect --repair a
        cmp a good/a
        cmp a-shard-00001 good/a-shard-00001
        run_ok sb verify a
    done
}

@test "an archive that changed is not set back, and --update makes what changed anew" {
    make_protected_archive
    seq 7 >tree/7
    run_ok sb pack --append a -C tree 7
    cp -p a* good/
    run_fail 1 sb protect --repair a
    stderr_has 'a: changed since'
    stderr_has 'a-shard-00002: changed since'
    cmp a good/a
    cmp a-shard-00002 good/a-shard-00002
    run_ok sb protect --update -v a
    stderr_has 'a-shard-00001: its parity file is up to date'
    stderr_has 'a-shard-00002-parity: written'
    run_ok sb protect --check a
}

@test "a shard that is missing is named, whatever comes after it, and what to do" {
    make_protected_archive
    rm a-shard-00001
    damage a-shard-00002 100
    for how in --check --repair --update; do
        run --separate-stderr sb protect $how a
        ((status == 2))
        stderr_has 'a-shard-00001: '
    done
    stderr_has 'a-shard-00001: is missing, and has a parity file, which cannot make it again'
    cmp a-shard-00002 good/a-shard-00002
    run_ok sb protect --remove a-shard-00001
    run_ok sb protect --check a
}

@test "an index is repaired when nobody has it, whatever of it is damaged" {
    every_third_day
    make_protected_archive
    damage a 0
    # A byte of those that SQLite's readers lock, also of a WAL.
    run_fail 2 holding a 1073741900 "$SHARDBOX" protect --repair --wait=0 a
    stderr_is 'shardbox protect: a: another process is using this archive; wait for it, or give --wait'
    run_ok sb protect --repair a
    cmp a good/a
    damage a-shard-00001 100
    run_ok holding a 1073741900 "$SHARDBOX" protect --repair a-shard-00001
    cmp a-shard-00001 good/a-shard-00001
}

@test "a lock is taken on the index, under its old name and under that of a shard, too" {
    make_protected_archive
    for name in a-sqlite-index a-shard-00007; do
        mv a "$name"
        ln "$name" locked
        run_fail 2 holding locked 1073741825 "$SHARDBOX" protect --repair --hard-links --wait=0 \
            "$([[ $name == *index ]] && echo a-shard-00001 || echo $name)"
        stderr_has 'another process is'
        rm locked
        mv "$name" a
    done
}

@test "without its index an archive's shards are still done, and what is missing is named" {
    make_protected_archive
    mv a elsewhere
    run_fail 2 sb protect --check a
    stderr_has 'a: is missing, and has a parity file'
    damage a-shard-00001 100
    run_fail 2 sb protect --repair a
    cmp a-shard-00001 good/a-shard-00001
    run_ok sb protect --remove a
    [[ $(echo a*) == 'a-before-repair a-shard-00000 a-shard-00001 a-shard-00002' ]]
    run_fail 2 sb protect --check a a-shard-00009
    stderr_has 'a-shard-00009: No such file or directory'
}

@test "a file that has the name of a shard, and that the index does not count, is left alone" {
    make_protected_archive
    run_ok sb protect --remove a
    echo foreign >a-shard-00007
    echo foreign >a-shard-00099
    run_ok sb protect a
    run_ok sb protect --update a
    run_ok sb protect --check a
    [[ ! -e a-shard-00007-parity && ! -e a-shard-00099-parity ]]
    seq 7 >tree/7
    run_ok sb pack --append --protect a -C tree 7
    [[ ! -e a-shard-00007-parity && ! -e a-shard-00099-parity ]]
    # By its own name it is protected like any other file.
    run_ok sb protect --update a a-shard-00099
    [[ ! -e a-shard-00007-parity && -e a-shard-00099-parity ]]
    run_ok sb protect --check a-shard-00099
}

# Whether the archive needs it only the index knows, which may be damaged.
@test "the parity file of a shard that is gone stays until it is removed by name" {
    make_protected_archive
    run_ok sb rm a 4 5 6
    mv a-shard-00002-parity aside
    run_ok sb defrag a
    mv aside a-shard-00002-parity
    [[ ! -e a-shard-00002 && -e a-shard-00002-parity ]]
    run_fail 2 sb protect --update a*
    stderr_is "shardbox protect: a-shard-00002: is missing, and has a parity file, which cannot make it again; bring it back from a copy, or, if it is not needed, remove that with 'shardbox protect --remove'"
    run_ok sb protect --remove a-shard-00002
}

@test "a shard is done, or named, if what is given as its index is none" {
    make_protected_archive
    run_ok sb protect --remove a
    rm a-shard-00000
    damage a 0
    run_ok sb protect -v a a-shard-00001
    stderr_has 'a-shard-00001-parity: written'
}

@test "a repair that finds nothing more to do forgets the one that was killed" {
    torn_repair
    cp -p good/f f
    run_ok sb protect --repair f
    printf more >>f
    run_ok sb protect --update f
    run_ok sb protect --check f
}

@test "nothing is repaired while somebody writes the archive, nor while a change of it is unfinished" {
    make_protected_archive
    damage a-shard-00001 100
    # The lock of our writers, and that of SQLite's.
    for byte in 0 1073741825; do
        run_fail 2 holding a "$byte" "$SHARDBOX" protect --repair --wait=0 a-shard-00001
        stderr_is 'shardbox protect: a: another process is writing this archive; wait for it, or give --wait'
    done
    printf '\331\325\005\371\040\241\143\327' >a-journal
    head -c 600 /dev/zero >>a-journal
    run_fail 2 sb protect --repair a-shard-00001
    stderr_has 'a: a change of this archive was interrupted; finish it first'
    rm a-journal
    run_ok sb protect --repair a-shard-00001
    cmp a-shard-00001 good/a-shard-00001
}

@test "a file whose name is that of an index, and which is none, is protected as any other" {
    seq 1000 >f
    cp f f-shard-00000
    run_ok sb protect f
    damage f 100
    damage f-shard-00000 100
    run_ok sb protect --repair f
    cmp f f-shard-00000
    seq 1000 | cmp - f
}

@test "ls --rsync-list names parity files after their files, and what it names is a whole copy" {
    make_protected_archive
    rm a-shard-00001-parity
    run_ok sb ls --rsync-list a
    output_is $'a-shard-00000\na-shard-00000-parity\na-shard-00001\na-shard-00002\na-shard-00002-parity\na\na-parity'
    mkdir copy
    sb ls --rsync-list a | xargs cp -p -t copy
    run_fail 2 sb protect --check copy/a
    stderr_is "shardbox protect: copy/a-shard-00001: has no parity file; 'shardbox protect' makes it"
    run_ok sb convert a b.bag
    run_ok sb protect b.bag
    run_ok sb ls --rsync-list b.bag
    output_is $'b.bag\nb.bag-parity'
}
