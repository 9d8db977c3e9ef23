#!/usr/bin/env bats
# shardbox protect: the index of an archive, and --update of what changed.

load helper

# make_archive: an archive a of three shards in tree order, and its parity files.
make_archive() {
    mkdir tree
    for i in 1 2 3 4 5 6; do
        seq "$i" 6000 >"tree/$i"
    done
    run_ok sb pack --shard-size=60K a -C tree .
    run_ok sb protect a
}

# damage FILE OFFSET: the time stays, as where a disk is at fault.
damage() {
    touch -r "$1" time
    printf XXXXXXXX | dd of="$1" bs=1M seek="$2" oflag=seek_bytes conv=notrunc status=none
    touch -r time "$1"
    rm time
}

size_of() {
    stat -c %s "$1"
}

@test "the parity of an index is as large as the index at least, that of shards as requested" {
    make_archive
    (($(size_of a-parity) > $(size_of a)))
    (($(size_of a-shard-00000-parity) < $(size_of a-shard-00000)))
    damage a 0
    head -c $(($(size_of a) - 1)) /dev/zero >zeros
    touch -r a time
    cp a-shard-00000 kept
    dd if=zeros of=a bs=1M conv=notrunc status=none
    touch -r time a
    run_ok sb protect --repair a
    run_ok sb verify a
    run_ok sb protect --update --redundancy=10% -v a
    stderr_has 'a: its parity file is up to date'
    stderr_has 'a-shard-00000-parity: written'
    run_ok sb protect --update --redundancy=200% a
    (($(size_of a-parity) > 2 * $(size_of a)))
}

@test "an index is protected while nobody writes, and readers go on" {
    make_archive
    run_ok sb rm a 6
    for byte in 0 1073741825; do
        run_fail 2 holding a "$byte" "$SHARDBOX" protect --update --wait=0 a
        stderr_has 'shardbox protect: a: another process is writing this archive; wait for it, or give --wait'
    done
    # The lock of SQLite's readers.
    run_ok holding_shared a 1073741826 "$SHARDBOX" protect --update -v a
    stderr_has 'a-parity: written'
    run_ok sb protect --check a
}

@test "an index with a change that was interrupted, or is in a WAL, is not protected" {
    make_archive
    run_ok sb rm a 6
    cp a-parity before
    printf '\331\325\005\371\040\241\143\327' >a-journal
    head -c 600 /dev/zero >>a-journal
    run_fail 2 sb protect --update a
    stderr_has 'a: a change of this archive was interrupted; finish it first'
    cmp a-parity before
    rm a-journal
    run_ok sb protect --update a
    cp a-parity before
    sqlite3 a 'PRAGMA journal_mode = WAL' >/dev/null
    python3 - <<'END2'
import os, sqlite3
db = sqlite3.connect('a')
db.execute("UPDATE files SET mtime_ns = mtime_ns + 1")
db.commit()
os._exit(0)
END2
    [[ -s a-wal ]]
    run_fail 2 sb protect --update a
    stderr_has 'a: a change of this archive was interrupted; finish it first'
    cmp a-parity before
    sqlite3 a 'PRAGMA journal_mode = DELETE' >/dev/null
    run_ok sb protect --update a
}

# make_large: a file of five sections, with 1000 % of parity, and its parity file.
make_large() {
    seq 2000000 >f
    run_ok sb protect --redundancy=1000% f
    cp f-parity before
}

@test "what changed is protected by another parity file, which replaces the one of before" {
    make_large
    ln f-parity snapshot
    seq 100000 >>f
    run_ok sb protect --update -v f
    stderr_is 'shardbox protect: f-parity: written'
    run_ok sb protect --check f
    cmp snapshot before
    printf X | dd of=f bs=1M seek=10000000 oflag=seek_bytes conv=notrunc status=none
    run_ok sb protect --update f
    damage f 10000000
    run_ok sb protect --repair f
    [[ $(dd if=f bs=1 skip=10000000 count=1 status=none) == X ]]
    [[ $(echo .f*) == '.f*' ]]
}

@test "the same file has the same parity file" {
    make_large
    rm f-parity
    run_ok sb protect --redundancy=1000% f
    cmp f-parity before
}

@test "a parity file whose table is lost is made anew" {
    make_large
    echo more >>f
    head -c 50000000 /dev/zero | dd of=f-parity bs=4096 seek=1 conv=notrunc status=none
    run_ok sb protect --update f
    run_ok sb protect --check f
}

@test "damage of a shard that changed is not protected as if it were right" {
    make_archive
    seq 7 6000 >tree/7
    run_ok sb pack --append --shard-size=60K a -C tree 7
    last=a-shard-0000$(($(ls -d a-shard-0000? | wc -l) - 1))
    seq 10 >tree/8
    run_ok sb protect --update a
    run_ok sb pack --append a -C tree 8
    cp "$last-parity" before
    damage "$last" 1000
    run_fail 1 sb protect --update -v a
    stderr_has "shardbox protect: 7: is damaged, in $last"
    stderr_has "shardbox protect: $last: damage would be protected; repair it first, with 'shardbox verify --repair' or from a copy"
    stderr_has 'a-parity: written'
    cmp "$last-parity" before
}

@test "a shard that changed is not protected without its index" {
    make_archive
    seq 10 >tree/8
    run_ok sb pack --append a -C tree 8
    last=$(ls a-shard-*[0-9] | tail -n1)
    cp "$last-parity" before
    mv a elsewhere
    run_fail 2 sb protect --update "$last"
    stderr_has "$last: changed, and without its index ("
    stderr_has "bring the index back first, or if this is no shard, --remove its parity file"
    seq 100000 >a
    run_fail 1 sb protect --update "$last"
    stderr_has "$last: changed, and without its index ("
    cmp "$last-parity" before
    mv elsewhere a
    run_ok sb protect --update "$last"
    run_ok sb protect --check "$last"
}

@test "a shard that begins like an index has parity as requested" {
    sqlite3 one 'CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(100000))'
    run_ok sb pack a one
    run_ok sb protect a
    (($(size_of a-shard-00000-parity) < 50000))
    (($(size_of a-parity) > $(size_of a)))
}

@test "ls --shards says how much parity there is, and whether it is current" {
    make_archive
    run_ok sb protect --update --redundancy=0.5% a-shard-00000
    run_ok sb protect --remove a-shard-00001
    run_ok sb rm a 6
    seq 10 >tree/8
    run_ok sb pack --append a -C tree 8
    run_ok sb ls --shards a
    [[ ${lines[0]} == *' files parity       path' ]]
    [[ ${lines[1]} == *' 0.8% current '*/a-shard-00000 ]]
    [[ ${lines[2]} == *' none         '*/a-shard-00001 ]]
    [[ ${lines[3]} == *' 5% changed   '*/a-shard-00002 ]]
    [[ ${lines[4]} == 'index '*' 100% changed '*/a ]]
    run_ok sb ls --shards --json a
    output_has '/a-shard-00000","size":'
    output_has '"parity":"current","parity_per_mille":8}'
    output_has '"parity":"none","parity_per_mille":null}'
    output_has '{"shard":null,"path":"'
    output_has '"used":null,"gaps":null,"files":null,"parity":"changed","parity_per_mille":1000}'
    run_ok sb protect --update a
    run_ok sb ls --shards a
    ! grep -E 'changed|none' <<<"$output" || fail 'not current'
    run_ok sb merge-symlink a b
    run_ok sb ls --shards b
    [[ ${lines[1]} == *' 0.8% current '*/b-shard-00000' -> a-shard-00000' ]]
    [[ ${lines[4]} == 'index '*' none '*/b ]]
    run_ok sb protect --remove a
    run_ok sb ls --shards a
    [[ ${lines[0]} == *' files path' && ${#lines[@]} == 4 ]]
}
