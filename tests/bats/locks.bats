#!/usr/bin/env bats
# Where locks do not work: readers read without, and writers stop at once.

load helper
load older

no_locks="locks do not work on this file system, so nothing can be written safely; mount it with \
locks (Lustre: -o flock), or write on another file system and copy the archive here"

setup() {
    need_shim
    mkdir "$BATS_TEST_TMPDIR/here"
    cd "$BATS_TEST_TMPDIR/here" || return
    error=ENOLCK
    mkdir tree
    echo one >tree/one
    echo two >tree/two
    "$SHARDBOX" pack --shard-size=5 a.barecat -C tree .
}

# The program where every lock fails with $error. A minute or ten seconds of waiting for a lock end
# in a kill.
unlocked() {
    timeout -s KILL 9 env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=lock FAULT_AT=1 FAULT_ONWARD=1 \
        FAULT_HOW="$error" "$SHARDBOX" "$@"
}

# All that stands here.
describe() {
    find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2
    find . ! -type f | LC_ALL=C sort
}

# refused FILE COMMAND...: it says that there are no locks for FILE, and changes nothing.
refused() {
    local file=$1 before
    shift
    before=$(describe)
    run_fail 2 unlocked "$@"
    [[ ${stderr_lines[-1]} == "shardbox $1: $file: $no_locks" ]] || fail "$file is not named"
    [[ $(describe) == "$before" ]] || fail "something was changed"
}

# reads COMMAND...: what it says is what it says with locks.
reads() {
    local expected
    run_ok sb "$@"
    expected=$output
    run_ok unlocked "$@"
    output_is "$expected"
    stderr_is ''
}

@test "readers read, whatever the error" {
    for error in ENOLCK EOPNOTSUPP ENOSYS EINVAL; do
        reads cat a.barecat one two
    done
}

@test "verify keeps no state there, and leaves none" {
    run_fail 2 unlocked verify --state=state a.barecat
    stderr_is 'shardbox verify: state: locks do not work on this file system, so no state can be kept here; give --state a file on another one, it is small'
    [[ ! -e state ]]
    : >state
    run_fail 2 unlocked verify --state=state a.barecat
    [[ -e state ]]
}

@test "every command that reads does" {
    reads ls -lR a.barecat
    reads ls --json a.barecat
    reads find a.barecat --json
    reads du -a a.barecat
    reads cat a.barecat two one
    reads verify --json a.barecat
    reads verify a.barecat two
    reads diff -C tree a.barecat
    reads diff -C a.barecat a.barecat
    reads rm -n a.barecat one
    reads mv -n a.barecat one three
    reads split -n --parts=2 -o 'p-{}.barecat' a.barecat
    reads convert a.barecat - --to=tar
    run_ok unlocked unpack -C out a.barecat
    run_ok diff -r tree out
}

@test "-v says that they read without locks" {
    run_ok unlocked cat -v a.barecat one
    stderr_is 'shardbox cat: a.barecat: read without locks, which do not work here'
    run_ok unlocked verify -v a.barecat
    stderr_has 'shardbox verify: a.barecat: read without locks, which do not work here'
    run_ok unlocked convert -v a.barecat a.tar
    stderr_has 'shardbox convert: a.barecat: read without locks, which do not work here'
    run_ok sb cat -v a.barecat one
    stderr_is ''
}

@test "older schemas, and indexes in WAL mode, are read too" {
    cp a.barecat wal.barecat
    sql wal.barecat 'PRAGMA journal_mode=WAL' >/dev/null
    run_ok unlocked ls wal.barecat
    output_is $'one\ntwo'
    make_schema_02
    run_ok unlocked ls a.barecat
    output_is $'one\ntwo'
}

@test "an archive on a read-only mount is read" {
    need_read_only
    run_ok read_only "$PWD" bash -c '"$@" >&1' - env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=lock \
        FAULT_AT=1 FAULT_ONWARD=1 FAULT_HOW=ENOLCK "$SHARDBOX" cat a.barecat one
    output_is one
}

@test "an index with a journal beside it is not read, for nobody knows whose it is" {
    printf 'x' >a.barecat-journal
    run_fail 2 unlocked cat a.barecat one
    stderr_is "shardbox cat: a.barecat: another process is changing it, or was interrupted, \
which cannot be distinguished where locks do not work; wait for it, or open it once where they do"
    : >a.barecat-journal
    run_ok unlocked cat a.barecat one
    output_is one
}

@test "writers stop, whatever the error" {
    for error in ENOLCK EOPNOTSUPP ENOSYS EINVAL; do
        refused a.barecat rm a.barecat one
        refused b.barecat.new pack b.barecat -C tree .
    done
}

@test "every command that changes an archive stops" {
    refused a.barecat pack --append a.barecat -C tree .
    refused a.barecat pack --force a.barecat -C tree .
    refused a.barecat rm a.barecat one
    refused a.barecat mv a.barecat one three
    refused a.barecat defrag a.barecat
    refused a.barecat defrag --quick a.barecat
    refused a.barecat split --shard-size=1M a.barecat
    refused a.barecat merge --append -o a.barecat tree
    refused a.barecat convert --force tree a.barecat
    refused a.barecat upgrade a.barecat
    sql a.barecat 'UPDATE files SET crc32c = NULL'
    refused a.barecat upgrade a.barecat
    make_schema_02
    refused a.barecat-sqlite-index upgrade a.barecat
}

@test "damage is not repaired, and nothing is read before that is said" {
    flip_byte a.barecat-shard-00000 0
    refused a.barecat verify --repair-from=tree a.barecat
    output_is ''
    run_fail 1 unlocked verify --repair-from=tree --dry-run a.barecat
    stderr_has '1 of 1 damaged file (4) can be restored from tree'
}

@test "every command that makes an archive stops" {
    refused b.barecat.new pack b.barecat -C tree .
    refused b.barecat.new convert tree b.barecat
    refused b.barecat.new convert --wrap a.barecat-shard-00000 b.barecat --from=bag
    refused b.barecat.new merge -o b.barecat a.barecat
    refused b.barecat.new merge-symlink -o b.barecat a.barecat
    refused b-00001-of-00002.barecat.new pack --part=2/2 b.barecat -C tree .
    refused p-0.barecat.new split --parts=2 -o 'p-{}.barecat' a.barecat
}

@test "a bag is written all the same: its lock is a file that nobody else can have made" {
    run_ok unlocked convert a.barecat b.bagz
    run_ok sb cat b.bagz 0
    output_is one
    [[ ! -e .b.bagz.shardbox-lock ]]
    : >.b.bagz.shardbox-lock
    run_fail 2 unlocked convert --force a.barecat b.bagz
    stderr_has "b.bagz: another process is writing it, or was killed, which look the same where \
locks do not work; if none runs, remove "
}

@test "a bag whose files cannot be looked at is refused, and soon" {
    seq 100 >lines
    for ((n = 1; ; n++)); do
        rm -f mark
        run --separate-stderr timeout -s KILL 9 env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=stat \
            FAULT_AT=$n FAULT_ONWARD=1 FAULT_HOW=EIO FAULT_MARK=mark \
            "$SHARDBOX" convert -q --frame=line lines b.bagz
        refuse_crash "call $n"
        [[ -e mark ]] || break
        # The last ones come when the bag is there.
        if ((status == 0)); then
            run_ok sb verify b.bagz
            rm b.bagz
        fi
        ((status == 0 || status == 2)) || fail "call $n"
        [[ ! -e b.bagz ]] || fail "call $n: a bag"
    done
    ((n > 4 && status == 0))
    run_ok sb verify b.bagz
    [[ ! -e .b.bagz.shardbox-lock && ! -e .b.bagz.shardbox-new ]]
}

# A sample of `make test-faults`; there all calls fail.
@test "locks that stop working: the old archive or the new one" {
    run_ok "$PROJECT/tests/faults/run" -l -s 23 append rm defrag pack
    output_has ' 0 bad'
}
