#!/usr/bin/env bats
# Bytes are proved before they are protected, moved or replaced; parity files belong to whom their file does.

load helper

# An archive a of 20 files and a large one, its parity files, and a copy of all in good/.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir tree good
    for i in $(seq 10 29); do
        head -c 20000 /dev/urandom >"tree/f$i"
    done
    head -c 6000000 /dev/urandom >tree/large
    sb pack -q a -C tree .
    sb protect -q a
    cp -p a* good
}

# of NAME COLUMN
of() {
    sql a "SELECT $2 FROM files WHERE path = '$1'"
}

# spoil FILE OFFSET: with a new time.
spoil() {
    printf XYZ | dd of="$1" bs=1M seek="$2" oflag=seek_bytes conv=notrunc status=none
}

spoil_file() {
    spoil "a-shard-0000$(of "$1" shard)" $(($(of "$1" offset) + 777))
}

# All files of an archive are those of the tree, but for these.
has_tree() {
    rm -rf out
    run --separate-stderr sb unpack -q -C out "$1"
    for file in tree/*; do
        [[ " $2 " == *" ${file#tree/} "* ]] || cmp "$file" "out/${file#tree/}" || fail "$file"
    done
}

@test "a writer with --protect does not change a damaged index, and others do" {
    spoil a 9000
    cp a as-it-is
    seq 10 >new
    for act in 'pack --append --protect a new' 'rm --protect a f10' 'mv --protect a f10 f9' 'upgrade --protect a' 'defrag --protect --quick a'; do
        # shellcheck disable=SC2086
        run_fail 1 sb $act || run_fail 2 sb $act
        stderr_has "a: is not as it was protected, though no commit came since: it is damaged, and would be protected so; repair it first, with 'shardbox verify --repair'"
        cmp a as-it-is
    done
    run_ok sb verify --repair a
    cmp a good/a
    run_ok sb pack --append --protect a new
    run_ok sb protect --check a
    run_ok sb verify a
}

@test "an index that Barecat has written since is protected" {
    sql a "UPDATE files SET mtime_ns = 1 WHERE path = 'f10'"
    seq 10 >new
    run_ok sb pack --append --protect a new
    run_ok sb protect --check a
}

@test "a damaged shard gets no parity file, and keeps the one that it has" {
    spoil_file f12
    spoil_file f15
    rm a-shard-00000-parity
    run_fail 1 sb protect --update a
    stderr_is "shardbox protect: f12: is damaged, in a-shard-00000
shardbox protect: f15: is damaged, in a-shard-00000
shardbox protect: a-shard-00000: damage would be protected; repair it first, with 'shardbox verify --repair' or from a copy"
    [[ ! -e a-shard-00000-parity ]]
    cp -p good/a-shard-00000-parity .
    run_fail 1 sb protect --update --redundancy=10% a-shard-00000
    cmp a-shard-00000-parity good/a-shard-00000-parity
    run_fail 1 sb pack --append --protect a tree/f10 || run_fail 1 sb rm --protect a f10
    stderr_has "a: is written, but not all of its parity is current; run 'shardbox protect --update' on it"
    run_ok sb verify --repair a
    run_ok sb protect --update a
    run_ok sb protect --check a
}

@test "a file past the end of its shard is damage, too" {
    run_ok sb protect --remove a
    truncate -s -5 a-shard-00000
    run_fail 1 sb protect a
    stderr_has 'is damaged, in a-shard-00000'
}

@test "defrag and split repair what is damaged before they move files" {
    for act in 'defrag a' 'split --shard-size=1M a'; do
        cp -p good/* .
        run_ok sb rm a f11
        spoil_file f12
        spoil_file large
        # shellcheck disable=SC2086
        run_ok sb $act
        run_ok sb verify a
        has_tree a f11
        [[ -e a-before-repair ]]
        rm -f a*
    done
}

@test "what they cannot repair stays where it is, with all that could help it" {
    for act in 'defrag a' 'split --shard-size=1M a'; do
        cp -p good/* .
        run_ok sb rm a f11
        spoil_file f12
        rm a-shard-00000-parity
        cp a-shard-00000 as-it-is
        # shellcheck disable=SC2086
        run_fail 1 sb $act
        stderr_has "a: has damaged files, which its parity files could still help, but not once files are moved; bring them back with 'shardbox verify --repair' or --repair-from, or remove them"
        cmp a-shard-00000 as-it-is
        run_ok sb rm a f12
        # shellcheck disable=SC2086
        run_ok sb $act
        run_ok sb verify a
        has_tree a 'f11 f12'
        rm -f a*
    done
}

@test "without any parity file a damaged file ends a defrag, and is not moved" {
    run_ok sb protect --remove a
    run_ok sb rm a f11
    spoil_file f20
    offset=$(of f20 offset)
    for act in 'defrag a' 'split --shard-size=1M a'; do
        # shellcheck disable=SC2086
        run_fail 1 sb $act
        stderr_has 'f20: its bytes do not match its checksum, and no parity file makes them; it stays where it is'
        stderr_has "a: ended at a damaged file, which is not moved; bring it back with 'shardbox verify --repair' or --repair-from, or remove it, and run this again"
        [[ $(of f20 offset) == "$offset" ]]
        run_fail 1 sb verify a
        has_tree a 'f11 f20'
    done
    run_ok sb rm a f20
    run_ok sb defrag a
    run_ok sb verify a
    has_tree a 'f11 f20'
}

@test "merge and split -o put what parity makes into the output, and leave out what it does not" {
    spoil_file f12
    spoil_file large
    cp a-shard-00000 as-it-is
    run_ok sb merge -o m a
    stderr_has 'f12: is damaged; its bytes are made by the parity file of its shard'
    stderr_has 'large: is damaged; its bytes are made by the parity file of its shard'
    run_ok sb verify m
    has_tree m
    run_ok sb split --parts=2 -o 'p{}' a
    run_ok sb merge -o both p0 p1
    has_tree both
    cmp a-shard-00000 as-it-is
    rm a-shard-00000-parity
    run_fail 1 sb merge -o n a
    stderr_has 'f12: its bytes do not match their checksum; left out'
    stderr_has 'large: '
    run_ok sb verify n
    has_tree n 'f12 large'
}

@test "after a run was killed and the index lost, all is settled by the repair" {
    every_third_day
    need_shim
    head -c 100000 /dev/urandom >new
    local n
    for n in 1 2 3 4 5 6 8 10 12 15; do
        rm -f a*
        cp -p good/* .
        run --separate-stderr env FAULT_CALLS=write,sync,rename FAULT_AT="$n" FAULT_HOW=kill \
            LD_PRELOAD="$FAULT_SHIM" "$SHARDBOX" pack --append --seal a new
        ((status != 0)) || break
        rm -f a a-journal
        spoil a-shard-00000 30000
        # With what has a shard's name, and is not known to be of a commit.
        run --separate-stderr sb verify --repair a
        ((status == 1)) || fail "at $n"
        run_ok sb upgrade --accept a
        mkdir aside
        if [[ -e a-shard-00001 ]]; then
            run_fail 2 sb pack --append a new
            stderr_has 'move it away'
            mv a-shard-00001 aside
        fi
        [[ ! -e a.new ]] || fail "at $n: a note"
        run_ok sb pack --append a new
        run_ok sb verify a
        run_ok sb protect --update a
        run_ok sb protect --check a
        has_tree a
        rm -r aside
    done
    ((n > 5))
}

@test "parity files have the owner and the mode of their file, whoever makes them" {
    ((EUID == 0)) || skip 'only root gives files away'
    run_ok sb protect --remove a
    chown 12345:12345 a a-shard-00000
    chmod 640 a-shard-00000
    run_ok sb protect a
    [[ $(stat -c '%u:%g %a' a-parity) == '12345:12345 644' ]]
    [[ $(stat -c '%u:%g %a' a-shard-00000-parity) == '12345:12345 640' ]]
    chmod 600 a a-shard-00000
    run_ok sb protect --update a
    [[ $(stat -c '%u:%g %a' a-parity a-shard-00000-parity) == $'12345:12345 600\n12345:12345 600' ]]
    rm a
    spoil a-shard-00000 30000
    run --separate-stderr sb verify --repair a
    [[ $(stat -c '%u:%g %a' a a-before-repair) == $'12345:12345 600\n12345:12345 600' ]]
}

@test "an archive that was packed anew, and counts as many commits, is no damaged one" {
    sb pack -q b -C tree .
    mkdir t new
    cp b* t
    sb protect -q t/b
    mkdir parity
    cp -p t/*-parity parity
    seq 3000 >tree/more
    rm b*
    sb pack -q b -C tree .
    cp b* new
    for act in 'verify --repair t/b' 'pack --append --protect t/b add' 'protect --update -v t/b'; do
        cp -p new/b* parity/* t
        seq 10 >add
        # shellcheck disable=SC2086
        run_ok sb $act
        [[ $(sb cat t/b more) == "$(seq 3000)" ]] || fail "$act"
    done
    cp -p new/b* parity/* t
    run_fail 1 sb protect --repair t/b
    stderr_has 't/b: is another file than its parity file is of, though it counts as many commits'
    cmp t/b new/b
    run_ok sb protect --update t/b
    run_ok sb protect --check t/b
}

@test "damage of files without a checksum is not protected if nothing was committed since, also with a new time" {
    sb mv -q a f10 f9
    sql a "UPDATE files SET crc32c = NULL WHERE path IN ('f12', 'f13', 'large')"
    run_ok sb protect --update a
    run_ok sb protect --update --redundancy=6% a
    cp -p a* good
    seq 10 >new
    spoil_file f12
    cp a as-it-is
    run_fail 1 sb protect --update a || run_fail 2 sb protect --update a
    stderr_has 'a-shard-00000: files without a checksum are not as they were protected, though no commit came since'
    cmp a-shard-00000-parity good/a-shard-00000-parity
    run_fail 1 sb pack --append --protect a new || run_fail 2 sb pack --append --protect a new
    stderr_has "damage would be protected; repair it first, with 'shardbox verify --repair --trust-parity'"
    cmp a as-it-is
    run_ok sb verify --repair --trust-parity a
    cmp a-shard-00000 good/a-shard-00000
    run_ok sb pack --append --protect a new
    run_ok sb protect --check a
    # What was moved is news, and so is what another program has changed with a commit.
    run_ok sb rm --protect a f11
    run_ok sb defrag --protect a
    run_ok sb protect --check a
    spoil_file f12
    sql a "UPDATE files SET mtime_ns = 5 WHERE path = 'f12'"
    run_ok sb pack --append --update --protect a new
    run_ok sb protect --check a
}

@test "nor in a copy with new times, whose parity files are younger than the shards" {
    rm a*
    head -c 60000 /dev/urandom >one
    head -c 50000 /dev/urandom >two
    run_ok sb pack --shard-size=64K a one two
    sql a "UPDATE files SET crc32c = NULL"
    run_ok sb protect a
    spoil_file one
    mkdir copy
    for file in a a-*; do
        cp "$file" copy
        sleep 0.02
    done
    seq 10 >new
    run_fail 2 sb pack --append --protect copy/a new
    stderr_has 'copy/a-shard-00000: files without a checksum are not as they were protected'
    run_ok sb verify --repair --trust-parity copy/a
    run_ok sb pack --append --protect copy/a new
    sb cat copy/a one | cmp - one
}

@test "bytes that a killed run left after the last file are no damage of files without a checksum" {
    local end
    sql a "UPDATE files SET crc32c = NULL"
    end=$(stat -c %s a-shard-00000)
    head -c 700 /dev/urandom >>a-shard-00000
    run_ok sb protect --update a
    # Another run has cut that off, has written, and was killed, too.
    truncate -s "$end" a-shard-00000
    head -c 400 /dev/urandom >>a-shard-00000
    seq 10 >new
    cp -p a-shard-00000 keep
    spoil_file large
    run_fail 1 sb protect --update a-shard-00000
    stderr_has 'files without a checksum are not as they were protected'
    run_fail 2 sb pack --append --protect a new
    stderr_has 'files without a checksum are not as they were protected'
    cp -p keep a-shard-00000
    run_ok sb pack --append --protect a new
    run_ok sb protect --check a
}

@test "a file with the name of a shard that is none is proved by checks of its own" {
    tar -cf a-shard-00007 tree
    gzip -nc tree/large >lone-shard-00001
    for file in a-shard-00007 lone-shard-00001; do
        cp "$file" sound
        spoil "$file" 662
        run_fail 1 sb protect "$file"
        stderr_is "shardbox protect: $file: is damaged, as 'shardbox verify' says, and is not protected so; repair it first, or take it from a copy"
        cp sound "$file"
        run_ok sb protect "$file"
    done
    run_ok sb protect --check a-shard-00000
}

@test "a run that is killed while it looks at what was protected leaves no temporary file" {
    need_shim
    sb pack -q b -C tree .
    sb protect -q b
    mv b-parity parity
    rm b b-shard-*
    seq 3000 >tree/more
    sb pack -q b -C tree .
    mv parity b-parity
    mkdir temporary
    for ((n = 1;; n++)); do
        run env TMPDIR=temporary FAULT_CALLS=write FAULT_AT="$n" FAULT_HOW=kill LD_PRELOAD="$FAULT_SHIM" \
            "$SHARDBOX" protect --repair b
        [[ -z $(ls temporary) ]] || fail "at write $n"
        ((status == 137)) || break
    done
    [[ $n -gt 1 && $output == *'is another file than its parity file is of'* ]] || fail "$n: $output"
}

@test "another database that was restored, written to again or switched to WAL is no damaged one" {
    sqlite3 x.db "CREATE TABLE t (a)"
    cp x.db backup
    sqlite3 x.db "INSERT INTO t VALUES (1)"
    sb protect -q x.db
    cp backup x.db
    sqlite3 x.db "INSERT INTO t VALUES (2)"
    run_fail 1 sb protect --repair x.db
    stderr_has 'is another file than its parity file is of'
    [[ $(sqlite3 x.db "SELECT a FROM t") == 2 ]]
    run_ok sb protect --update x.db
    run_ok sb protect --check x.db
    sqlite3 x.db "PRAGMA journal_mode=wal; INSERT INTO t VALUES (3)" >log
    run_fail 1 sb protect --repair x.db
    stderr_has 'changed since its parity file was made'
    [[ $(sqlite3 x.db "SELECT a FROM t" | xargs) == '2 3' ]]
    head -c 9000 /dev/urandom | base64 >x.db
    cp x.db text
    run_fail 1 sb protect --repair x.db
    cmp x.db text
}

@test "--trust-parity takes no commit out of an index" {
    seq 3000 >new
    sb pack -q --append a new
    cp a as-it-is
    run_ok sb verify --repair --trust-parity a
    cmp a as-it-is
    run_fail 1 sb protect --repair --trust-parity a
    cmp a as-it-is
}

@test "verify --repair of a file that is no container, also a compressed one, ends well once it is repaired" {
    seq 100000 >plain
    gzip -k plain
    for file in plain plain.gz; do
        sb protect $file
        cp -p $file keep
        flip_byte $file 5000
        touch -r keep $file
        run_ok sb verify --repair $file
        stderr_has '1 damaged piece of its files or their parity files repaired'
        cmp $file keep
        run_ok sb verify --repair $file
        run_fail 2 sb verify $file
    done
    run_fail 2 sb verify --repair keep
}

@test "a plain file that has grown since is not set back where it is damaged" {
    gzip -c tree/large >x.gz
    sb protect -q --redundancy=100% x.gz
    cat tree/large tree/f10 | gzip >x.gz
    spoil x.gz 300000
    cp x.gz as-it-is
    run_fail 1 sb protect --repair x.gz
    cmp x.gz as-it-is
}

@test "an index that was put back beside a later parity file is told, and nothing is moved by it" {
    cp a index
    seq 3000 >precious
    sb pack -q --append --protect a precious
    cp index a
    for act in 'verify --repair' 'protect --update'; do
        # shellcheck disable=SC2086
        run_fail 1 sb $act a
        stderr_has 'a: is older than its parity file, and its shards have files that it does not know'
    done
    run_fail 2 sb defrag a
    stderr_has 'is older than its parity file'
    mv a older
    run_ok sb verify --repair a
    [[ $(sb cat a precious) == "$(seq 3000)" ]]
}

@test "an index that is made again knows not what was added and protected in a shard since" {
    seq 3000 >precious
    sb pack -q --append a precious
    sb protect -q --update a-shard-00000
    rm a
    run_fail 1 sb verify --repair a
    stderr_has 'its index was lost, and is one of before'
    run_fail 2 sb defrag a
}

@test "pages of a database go back together, or not at all, and only to where they were from" {
    sb pack -q b -C tree .
    mkdir par x
    cp b* x
    sb protect -q --parity-dir=par b
    spoil b 9000
    spoil b 30000
    run_ok sb verify --repair --parity-dir=par b
    run_fail 2 sb verify --undo-repair --parity-dir=par x/b
    stderr_has 'par/b-before-repair: is of another archive or file of this name'
    run_ok sb mv b f10 moved
    cp b as-it-is
    run_fail 1 sb verify --undo-repair --parity-dir=par b
    stderr_has 'are of a database that changed since the repair, and are left as they are'
    cmp b as-it-is
}
