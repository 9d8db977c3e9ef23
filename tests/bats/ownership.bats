#!/usr/bin/env bats
# Whose file is it: no command loses, mixes or touches what is not its own.

load helper

setup() {
    need_shim
    cd "$BATS_TEST_TMPDIR" || return
    mkdir tree more
    echo one >tree/one
    echo two >tree/two
    echo three >more/three
}

# killed CALLS AT COMMAND...: kills the command before that call, of those kinds.
killed() {
    local status=0
    LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=$1 FAULT_AT=$2 \
        "$SHARDBOX" "${@:3}" || status=$?
    ((status == 137)) || fail "not killed at call $2 of $1: ${*:3}"
}

# meanwhile SCRIPT CALLS AT COMMAND...: the script runs to its end before that call of the command.
# Status 1: there is no such call.
meanwhile() {
    run --separate-stderr env SHARDBOX_LOCK_WAIT=0 LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=run \
        FAULT_RUN="$1" FAULT_RUN_LOG=meanwhile.log FAULT_RUN_STATUS=meanwhile.status \
        FAULT_CALLS="$2" FAULT_AT="$3" "$SHARDBOX" "${@:4}"
    [[ -e meanwhile.status ]]
}

# What stands here, to the byte.
describe() {
    find . -type f ! -name 'separate-stderr-*' -exec sha256sum {} + | LC_ALL=C sort -k 2
    find . ! -type f -printf '%p %l\n' | LC_ALL=C sort
}

@test "an archive in the tree that is packed keeps its lock, by whatever name it is met" {
    local options
    for options in '' '-L'; do
        rm -rf tree/d.barecat* tree/alias
        sb pack tree/d.barecat -C more .
        [[ -z $options ]] || ln -s d.barecat tree/alias
        # A second append, when the walk has been past the index.
        # shellcheck disable=SC2086 # none, or one
        meanwhile "echo 4 >four; '$SHARDBOX' pack --append tree/d.barecat four" write 2 \
            pack --append $options tree/d.barecat -C tree .
        ((status == 0))
        [[ $(cat meanwhile.status) == 2 ]] || fail 'the second append was not refused'
        grep -q 'is writing this archive; wait for it' meanwhile.log
        stderr_has 'is the archive itself; left out'
        [[ $(sb ls tree/d.barecat) == $'one\nthree\ntwo' ]]
        run_ok sb verify tree/d.barecat
    done
}

@test "an archive in the tree that is packed is left out with its shards that are links" {
    local options
    sb pack other -C more .
    for options in '' '-L'; do
        rm -rf tree/d.barecat*
        sb pack tree/d.barecat -C tree .
        sb merge-symlink --append -o tree/d.barecat other
        # shellcheck disable=SC2086 # none, or one
        run_ok sb pack --append --duplicates=last $options tree/d.barecat -C tree .
        stderr_has 'd.barecat-shard-00001: is the archive itself; left out'
        [[ $(sb ls tree/d.barecat) == $'one\nthree\ntwo' ]]
    done
}

@test "an index that is a link is read, and refused by every writer, under its old name too" {
    sb pack real -C tree .
    sb pack other -C more .
    cp real kept
    for name in a a-sqlite-index; do
        rm -f a a-sqlite-index
        ln -s real $name
        ln -sf real-shard-00000 a-shard-00000
        run_ok sb cat a one
        output_is one
        for command in 'rm a one' 'mv a one x' 'defrag a' 'defrag --quick a' 'upgrade a' \
            'pack --append a more/three' 'pack --force a more/three' 'split --shard-size=1M a' \
            'merge --append -o a other' 'verify --repair-from=other a' 'convert --to=archive --force tree a'; do
            # shellcheck disable=SC2086 # words
            run_fail 2 sb $command
            stderr_has "shardbox ${command%% *}: $name: a symbolic link; give the name of the archive itself to write to it"
        done
        cmp kept real
    done
}

@test "an archive that was moved away keeps its shards, whatever --force was killed at" {
    local at
    for at in 1 2 3; do
        rm -rf a a.* a-* b
        sb pack a -C tree .
        LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=rename FAULT_AT=$at \
            run sb pack --force a -C more .
        ((status == 137)) || break
        mv a b
        before=$(sha256sum a-shard-*)
        for command in 'pack a more/three' 'pack --append a more/three'; do
            # shellcheck disable=SC2086 # words
            run_fail 2 sb $command
            [[ ! -e a && $(sha256sum a-shard-*) == "$before" ]] || fail "$command after rename $at"
        done
        mv b a
        run_ok sb pack --force a -C more .
        [[ $(sb ls a) == three && $(echo a*) == 'a a-shard-00000' ]]
    done
    ((at > 1))
}

@test "what appears while an archive is made stays, and so does what was made before" {
    for appears in a a-shard-00000; do
        for at in 1 2 3 4 5 6 7 8 9 10; do
            rm -rf a a.* a-* meanwhile.*
            run --separate-stderr env LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=run \
                FAULT_RUN="echo mine >$appears" FAULT_RUN_LOG=meanwhile.log \
                FAULT_RUN_STATUS=meanwhile.status FAULT_CALLS=rename,sync FAULT_AT=$at \
                "$SHARDBOX" pack a -C tree .
            # It came over what had its name already.
            ((status != 0)) || break
            ((status == 2)) || fail "at $at"
            [[ $(cat $appears) == mine ]] || fail "$appears is lost, at $at"
            [[ $(echo a*) == "$appears" ]] || fail "left behind, at $at: $(echo a*)"
        done
        ((at > 3))
    done
}

# letters LETTER COUNT
letters() {
    head -c "$2" /dev/zero | tr '\0' "$1"
}

@test "bytes without a checksum are all of one archive, or the reader says that they are not" {
    local command
    letters o 20000 >tree/f
    letters o 20000 >tree/g
    # Of another layout: by the old rows its bytes are those of several files.
    letters a 5000 >more/a
    letters n 20000 >more/f
    letters n 20000 >more/g
    for command in 'cat a f g' 'cat --no-check a f g' 'cat --range=100:19000 a f' \
        'unpack --no-check -C out a f g' 'convert --no-check --force a a.tar'; do
        for ((at = 1; ; at++)); do
            rm -rf a a-* a.* out meanwhile.*
            sb pack --shard-size=20000 a -C tree f g
            [[ $command == *no-check* ]] || sql a 'UPDATE files SET crc32c = NULL'
            # shellcheck disable=SC2086 # words
            run --separate-stderr env LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=run \
                FAULT_RUN="'$SHARDBOX' pack --force --shard-size=25000 a -C more ." \
                FAULT_RUN_LOG=meanwhile.log FAULT_RUN_STATUS=meanwhile.status \
                FAULT_CALLS=read,open FAULT_AT=$at "$SHARDBOX" $command
            [[ -e meanwhile.status ]] || break
            case $command in
            unpack*) output=$(cat out/f out/g 2>/dev/null || true) ;;
            convert*) output=$(tar xOf a.tar 2>/dev/null || true) ;;
            esac
            ((status != 0)) || [[ $output =~ ^(o+|a*n+(three)?)$ ]] || fail "mixed bytes, at $at: $command"
        done
        ((at > 3)) || fail "no calls: $command"
    done
}

@test "a reader finds a shard that is given its final name before any call of the reader" {
    local at
    for ((at = 1; ; at++)); do
        rm -rf a a.* a-* meanwhile.*
        sb pack a -C tree .
        killed rename 2 pack --force a -C more .
        meanwhile 'mv a.new-shard-00000 a-shard-00000' stat,open,read "$at" cat a three ||
            break
        ((status == 0)) && [[ $output == three ]] || fail "at $at: $stderr"
    done
    ((at > 3))
}

@test "a reader whose archive was replaced does not take the journal of the new one for its own" {
    every_third_day
    local at
    for ((at = 1; ; at++)); do
        rm -rf a a.* a-* meanwhile.*
        sb pack a -C tree .
        meanwhile "'$SHARDBOX' pack --force a -C more . &&
            ! LD_PRELOAD='$FAULT_SHIM' FAULT_HOW=kill FAULT_CALLS=unlink FAULT_AT=1 '$SHARDBOX' rm a three" \
            stat,open,read,lock "$at" verify a || break
        [[ $(cat meanwhile.status) == 0 ]] || continue
        ((status < 2)) || [[ $stderr == *replaced* || $stderr == *locked* ]] || fail "at $at: $stderr"
    done
    ((at > 10))
}

@test "a stranger under a name that is to be given stays, and every writer names it" {
    sb pack --shard-size=3 a -C tree .
    killed rename 1 pack --force --shard-size=3 a -C more .
    # The new index stands, and its shards wait.
    killed rename 2 pack --force a -C more .
    rm a-shard-00000
    echo mine >a-shard-00000
    for command in 'rm a three' 'pack --append a tree/one' 'defrag a' 'pack --force a -C tree .'; do
        # shellcheck disable=SC2086 # words
        run_fail 2 sb $command
        stderr_has "a-shard-00000: in the way of"
        [[ $(cat a-shard-00000) == mine ]]
    done
    run_ok sb cat a three
    output_is three
    mv a-shard-00000 elsewhere
    run_ok sb rm -f a nothing
    run_ok sb verify a
    [[ $(echo a*) == 'a a-shard-00000' ]]
}

@test "an appended shard has its name before the commit, or a stranger keeps it" {
    sb pack a -C tree .
    killed rename 1 pack --append --seal a -C more .
    echo mine >a-shard-00001
    for command in 'rm a one' 'mv a two 2'; do
        # shellcheck disable=SC2086 # words
        run_ok sb $command
        [[ $(cat a-shard-00001) == mine ]]
    done
    run_fail 2 sb pack --append --seal a -C more .
    stderr_has "no index says what is in a-shard-00001"
    [[ $(cat a-shard-00001) == mine && $(echo a*) == 'a a-shard-00000 a-shard-00001' ]]
}

@test "a copy that was made in the middle is read, and nothing in it is taken for proved" {
    need_copy() { rm -rf copy && mkdir copy && cp -a a* copy; }
    sb pack --shard-size=3 a -C tree .
    killed rename 2 pack --force --shard-size=3 a -C more .
    need_copy
    before=$(cd copy && describe)
    run_ok sb cat copy/a three
    output_is three
    for command in 'rm copy/a three' 'pack --append copy/a tree/one' 'defrag copy/a'; do
        # shellcheck disable=SC2086 # words
        run_fail 2 sb $command
        stderr_has "in the way of"
        [[ $(cd copy && describe) == "$before" ]] || fail "$command changed something"
    done
    # The one that was copied is finished.
    run_ok sb rm -f a nothing
    run_ok sb verify a
}

@test "a note of another index claims nothing, and no writer begins while its files stand" {
    sb pack a -C tree .
    sb pack b -C more .
    for ((at = 1; ; at++)); do
        killed rename,sync $at pack --append --seal a -C more .
        [[ ! -e a-shard-00001 ]] || break
    done
    [[ ! -e a-journal ]]
    mv a elsewhere
    cp b a
    before=$(describe)
    run_fail 2 sb rm a three
    stderr_has "a-shard-00001: a run that was killed left this, and nothing proves"
    [[ $(describe) == "$before" ]]
    mv elsewhere a
    run_ok sb rm -f a nothing
    [[ $(echo a*) == 'a a-shard-00000' ]]
    run_ok sb verify a
}

@test "calls that keep failing end in an error, and not never" {
    sb pack a -C tree .
    for command in 'pack --append a more/three' 'pack b more/three' 'rm a one' 'cat a one' 'ls a'; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr timeout -s KILL 20 env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=stat \
            FAULT_AT=1 FAULT_HOW=EIO FAULT_ONWARD=1 "$SHARDBOX" $command
        ((status == 2 || status == 1)) || fail "status $status: $command"
        [[ -n $stderr ]]
    done
}

@test "a run that commits on the way has the archive to its end" {
    local at
    for at in one two three four; do
        letters "${at:0:1}" 3000 >"more/$at"
    done
    for ((at = 1; ; at++)); do
        rm -rf a a.* a-* meanwhile.*
        sb pack a -C tree .
        run --separate-stderr env SHARDBOX_LOCK_WAIT=0 LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=run \
            FAULT_RUN="'$SHARDBOX' pack --force a -C tree two" FAULT_RUN_LOG=meanwhile.log \
            FAULT_RUN_STATUS=meanwhile.status FAULT_CALLS=truncate,sync,unlink FAULT_AT=$at \
            "$SHARDBOX" pack -q -j1 --append --duplicates=last --checkpoint=3000 a -C more .
        ((status == 0)) || fail "at $at"
        [[ -e meanwhile.status ]] || break
        [[ $(cat meanwhile.status) == 2 || $(grep -c writing meanwhile.log) == 1 ]] || fail "at $at"
        run_ok sb verify a
        [[ $(sb ls a) == $'four\none\nthree\ntwo' ]] || fail "at $at"
    done
    ((at > 10))
}

@test "what has the name of one of SQLite's files and is none stays, and is named" {
    local suffix mode
    for suffix in journal wal shm; do
        for mode in delete wal; do
            rm -rf a a-* a.*
            sb pack a -C tree .
            [[ $mode == delete ]] || sql a 'PRAGMA journal_mode=wal' >/dev/null
            echo mine >a-$suffix
            for command in 'ls a' 'rm a one' 'pack --append a more/three' 'pack --force a more/three' \
                'defrag a' 'verify a'; do
                # shellcheck disable=SC2086 # words
                run --separate-stderr sb $command
                ((status == 0)) || stderr_has ": a-$suffix: in the way, and SQLite would take it for its own"
                [[ $(cat a-$suffix) == mine ]] || fail "$suffix $mode $command"
            done
        done
        rm -rf a a-* a.*
        [[ $suffix != shm ]] || continue
        echo mine >a-$suffix
        run_fail 2 sb pack a -C tree .
        stderr_has ": a-$suffix: in the way"
        [[ $(echo a*) == "a-$suffix" && $(cat a-$suffix) == mine ]]
    done
}

@test "a journal that waits for an index that is made is not played into it" {
    sb pack a -C tree .
    printf '\331\325\005\371\040\241\143\327' >a.new-index-journal
    run_fail 2 sb pack --force a -C more .
    stderr_has 'a.new-index-journal: a journal is where the new index is to be'
    [[ $(sb ls a) == $'one\ntwo' && $(echo a*) == 'a a-shard-00000 a.new-index-journal' ]]
}

@test "names that files of another archive have are no archives'" {
    for name in a.new a-journal a-wal a-shm a-sqlite-index; do
        run_fail 2 sb pack "$name" -C tree .
        [[ $(echo a*) == 'a*' ]]
    done
    mkdir a
    run_fail 2 sb pack a -C tree .
    stderr_has 'a: is a directory, not an archive'
    rmdir a
    # As Barecat would write it, of that very name.
    sb pack b -C tree .
    mv b a-sqlite-index
    mv b-shard-00000 a-sqlite-index-shard-00000
    before=$(describe)
    for command in 'pack --force a' 'pack --append a' 'pack a'; do
        # shellcheck disable=SC2086 # words
        run_fail 2 sb $command more/three
        stderr_has 'a-sqlite-index: an archive with shards of its own, and not the index of'
        [[ $(describe) == "$before" ]]
    done
}

@test "what is undone stays undone, wherever it is killed" {
    local at
    # The last rename fails, and the run that undoes is killed.
    for ((at = 1; ; at++)); do
        rm -rf a a.* a-*
        killed rename 2 pack --shard-size=3 a -C tree .
        [[ -e a.new-index && ! -e a ]]
        LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=truncate,sync,unlink FAULT_AT=$at \
            run sb pack a -C more .
        ((status == 137)) || break
        run --separate-stderr sb pack --append a more/three
        ((status == 0)) || stderr_has 'no such archive'
        [[ ! -e a ]] || run_ok sb verify a
        run sb pack --force a -C more .
        run_ok sb verify a
        [[ $(sb ls a) == three && $(echo a*) == 'a a-shard-00000' ]] || fail "at $at"
    done
    ((at > 4))
}

@test "a note of another user proves nothing where everybody may make files" {
    ((UID == 0)) || skip 'needs root, to give a file away'
    mkdir shared
    chmod 1777 shared
    sb pack shared/a -C tree .
    printf 'shardbox 1 by 1 host\nchange 1.1\ngone 0 %s.0\n' "$(stat -c %i shared/a-shard-00000)" \
        >shared/a.new
    chown 12345 shared/a.new
    run_fail 2 sb rm shared/a one
    stderr_has 'a.new: of user 12345, and in this directory everybody may make files'
    # He could do as much without it in any other.
    chmod 0777 shared
    run_ok sb rm shared/a one
    run_ok sb verify shared/a
}

@test "only the file that was made becomes the index, or goes with it" {
    echo precious >p
    cp p stranger
    meanwhile 'mv p a.new-index' rename 2 pack a -C tree .
    ((status == 2))
    stderr_has 'a.new-index: was replaced by another file while it was made'
    [[ ! -e a ]] && cmp stranger a.new-index
    rm -f a*
    sb pack a -C tree .
    cp stranger p
    meanwhile 'mv p a.new-index' rename 1 pack --force a -C more .
    ((status == 2))
    cmp stranger a.new-index
    [[ $(sb ls a) == $'one\ntwo' ]]
    run_ok sb verify a
    rm -f a*
    cp stranger p
    meanwhile 'mv p a.new-index' write 9 pack --checkpoint=1M a -C more .
    ((status == 2))
    cmp stranger a.new-index
}

@test "a FIFO or directory that has the name of a journal is named, and not waited for" {
    local make
    for make in mkfifo mkdir; do
        rm -rf a*
        sb pack a -C tree .
        $make a-journal
        for command in 'ls a' 'rm a one' 'pack --force a more/three'; do
            # shellcheck disable=SC2086 # words
            run --separate-stderr within 10 "$SHARDBOX" $command
            ((status == 2)) || fail "$make $command"
            stderr_has 'a-journal: in the way, and SQLite would take it for its own'
        done
        [[ $(stat -c %F a-journal) == @(fifo|directory) ]]
    done
}

@test "an archive that has the name of a journal is read" {
    sb pack a -C tree .
    mv a x-wal
    mv a-shard-00000 x-wal-shard-00000
    [[ $(sb ls x-wal) == $'one\ntwo' ]]
}

# make_add: add.py SHARD adds a file to that shard as Barecat does.
make_add() {
    cat >add.py <<'END'
import os, sqlite3, sys
shard = int(sys.argv[1])
name = f"a-shard-{shard:05}"
db = sqlite3.connect("a", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
offset = os.path.getsize(name)
with open(name, "ab") as file:
    file.write(b"barecat\n")
db.execute("INSERT INTO files (path, shard, offset, size) VALUES ('added', ?, ?, 8)", (shard, offset))
db.execute("COMMIT")
END
}

@test "what Barecat adds to a shard that is to go, between a kill and the next run, stays" {
    local at
    make_add
    for ((at = 1; ; at++)); do
        rm -rf a a.* a-*
        sb pack a -C tree .
        killed rename "$at" pack --force a -C more .
        [[ $(sb ls a) != three ]] || break
    done
    python3 add.py 0
    before=$(sha256sum a-shard-00000)
    for command in 'rm a three' 'pack --append a tree/one' 'pack --force a -C tree .'; do
        # shellcheck disable=SC2086 # words
        run_fail 2 sb $command
        stderr_has 'a-shard-00000: was written to since a run was killed that is to replace it by'
        [[ $(sha256sum a-shard-00000) == "$before" ]]
    done
    mv a-shard-00000 elsewhere
    run_ok sb rm a added
    run_ok sb cat a three
    output_is three
    run_ok sb verify a
    [[ $(tail -n 1 elsewhere) == barecat ]]
}

@test "what Barecat adds to a new shard when the commit failed stays" {
    sb pack a -C tree .
    make_add
    # SQLite rolls back by itself when a file may not grow.
    run --separate-stderr bash -c 'trap "" XFSZ; ulimit -S -f 40; exec "$@"' - \
        env LD_PRELOAD="$FAULT_SHIM" FAULT_HOW=run FAULT_CALLS=unlink FAULT_AT=2 \
        FAULT_RUN='ulimit -S -f unlimited; python3 add.py 1' FAULT_RUN_LOG=meanwhile.log \
        FAULT_RUN_STATUS=meanwhile.status "$SHARDBOX" pack --append --seal a -C more .
    [[ ! -e meanwhile.status ]] || {
        cat meanwhile.log >&2
        [[ $(cat meanwhile.status) == 0 ]]
        run_ok sb cat a added
        output_is barecat
    }
    run_ok sb verify a
}
