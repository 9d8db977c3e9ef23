#!/usr/bin/env bats
# Bags that are damaged or made with intent: each is read or refused, in little memory, and never
# taken for sound where it is not.

load helper
load bag

words=(alpha '' gamma delta epsilon zeta)

# little COMMAND...: with so little memory that none can be taken on a file's word.
little() {
    if grep -qE '__(asan|tsan)_init' "$SHARDBOX"; then
        "$@"
    else
        # An arena for each thread is address space, of which little is used.
        (ulimit -v 100000 && MALLOC_ARENA_MAX=1 "$@")
    fi
}

# reads BAG: verify and the commands that read must end by themselves, with 0, 1 or 2.
reads() {
    for command in "verify -j 2" "verify --quick" "cat" "ls"; do
        # shellcheck disable=SC2086 # a command and its options
        run --separate-stderr little within 20 "$SHARDBOX" $command "$1"
        refuse_crash "$command" "$1" || return
        ((status <= 2)) || fail "status of $command: $status"
    done
}

# refused BAG: neither sound, nor read without a word.
refused() {
    reads "$1"
    run --separate-stderr little sb verify "$1"
    ((status == 1 || status == 2)) || fail "verify takes $1 for sound"
    run --separate-stderr little sb cat "$1"
    ((status == 1 || status == 2)) || fail "cat takes $1 for sound"
}

# limits FILE BYTES NUMBER...: a bag of so many bytes and these limits.
limits() {
    local file=$1 size=$2
    shift 2
    { head -c "$size" /dev/zero | tr '\0' x && le64 "$@"; } >"$file"
}

@test "limits: the last is larger than the file, or negative" {
    limits a.bag 10 5 11
    refused a.bag
    limits a.bag 10 5 $((1 << 61))
    refused a.bag
    limits a.bag 10 5 -1
    refused a.bag
    limits a.bag 10 5 $((-1 << 63))
    refused a.bag
}

@test "limits: no multiple of 8 bytes" {
    limits a.bag 10 5 9
    refused a.bag
    limits a.bag 3
    refused a.bag
    printf x >b.bag
    : >empty.bag
    refused b.bag
    run_ok sb verify empty.bag
}

@test "limits: decreasing, and beyond the end" {
    limits a.bag 10 7 3 10
    refused a.bag
    run_fail 1 sb verify a.bag
    output_has 'limits: a.bag: record 0: its limit, 7, is out of order'
    limits a.bag 10 $((1 << 61)) 3 10
    refused a.bag
    limits a.bag 10 9 8 7 6 5 4 3 2 1 10
    refused a.bag
    limits a.bag 10 -1 -8 10
    refused a.bag
}

@test "separate limits: a count that no memory could hold, and of which nothing is there" {
    limits a.bag 10
    truncate -s 1T limits.a.bag 2>/dev/null || skip 'no file can be that large here'
    le64 $((1 << 61)) | dd of=limits.a.bag oflag=seek_bytes seek=$(((1 << 40) - 8)) conv=notrunc status=none
    run --separate-stderr little within 20 "$SHARDBOX" ls --count a.bag
    refuse_crash ls || return
    run --separate-stderr little within 20 "$SHARDBOX" cat a.bag 0
    refuse_crash cat || return
    printf 'odd' >limits.a.bag
    reads a.bag
    : >limits.a.bag
    run_fail 1 sb verify a.bag
    output_is 'leftover: a.bag: has 10 bytes after its 0 records, as a writer leaves them that was killed; limits.a.bag is what counts'
}

# zstd_bag FILE: a bag of one record whose stored bytes come by standard input.
zstd_bag() {
    local size
    cat >"$1"
    size=$(stat -c %s "$1")
    le64 "$size" >>"$1"
}

# RFC 8878: magic, descriptor; then, as the descriptor says, the window or the content's size; then
# blocks.
@test "a frame that declares 2^60 bytes, or a window of 2^31" {
    { printf '\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\1\x10\0' && head -c 512 /dev/zero; } |
        zstd_bag size.bagz
    refused size.bagz
    { printf '\x28\xb5\x2f\xfd\0\xa8\1\x10\0' && head -c 512 /dev/zero; } | zstd_bag window.bagz
    refused window.bagz
    # A record that is passed on in pieces, of 3 MB.
    {
        printf '\x28\xb5\x2f\xfd\0\xa8'
        for _ in {1..30}; do
            printf '\x02\x35\x0c\0'
        done
        printf '\1\0\0'
    } | zstd_bag window.bagz
    refused window.bagz
    run_fail 1 sb verify window.bagz
    output_is 'frame: window.bagz: record 0: its zstd data need a window of more than 128 MiB'
}

@test "a frame without the size of its content is read" {
    printf 'content of no known size' | zstd -q -c | zstd_bag a.bagz
    run_ok sb verify --strict a.bagz
    [[ $(sb cat a.bagz) == 'content of no known size' ]]
}

@test "a frame that is cut short, has junk or another frame behind it, or is none" {
    frame 'some content that is cut' | head -c -1 | zstd_bag cut.bagz
    { frame 'some content'; printf x; } | zstd_bag junk.bagz
    { frame 'some content'; frame more; } | zstd_bag two.bagz
    printf 'plain' | zstd_bag none.bagz
    printf '\x28\xb5' | zstd_bag short.bagz
    # a frame to be skipped
    printf '\x50\x2a\x4d\x18\2\0\0\0xx' | zstd_bag skipped.bagz
    for name in cut junk two none short skipped; do
        refused $name.bagz
        run_fail 1 sb verify $name.bagz
        output_has "frame: $name.bagz: record 0: "
    done
}

@test "a bomb takes no memory, and no bomb is sound that is cut" {
    head -c 200M /dev/zero | zstd -q -c | zstd_bag bomb.bagz
    run_ok little "$SHARDBOX" verify --strict bomb.bagz
    head -c -9 bomb.bagz | head -c -8 | zstd_bag cut.bagz
    run_fail 1 little "$SHARDBOX" verify cut.bagz
    output_has 'frame: cut.bagz: record 0: '
}

@test "cut at every byte: never a crash, nor sound but where it cannot be known" {
    local cut size
    make_bagz a.bagz "${words[@]}"
    size=$(stat -c %s a.bagz)
    for ((cut = 1; cut < size; cut++)); do
        head -c "$cut" a.bagz >b.bagz
        run --separate-stderr sb verify b.bagz
        refuse_crash verify || return
        ((status == 1 || status == 2)) || fail "cut at $cut of $size"
    done
    make_bag a.bag "${words[@]}"
    size=$(stat -c %s a.bag)
    for ((cut = 1; cut < size; cut++)); do
        head -c "$cut" a.bag >b.bag
        run --separate-stderr sb verify b.bag
        refuse_crash verify || return
        ((status <= 2)) || fail "cut at $cut of $size"
    done
}

@test "cut at every byte: the frames that are whole are found again" {
    local cut size whole
    make_bagz a.bagz "${words[@]}"
    size=$(stat -c %s a.bagz)
    sb cat --frame=line a.bagz | sed '2d' >all
    for ((cut = 30; cut < size; cut += 3)); do
        head -c "$cut" a.bagz >b.bagz
        run --separate-stderr sb verify --force --repair-to=c.bagz b.bagz
        refuse_crash verify || return
        ((status == 1)) || fail "cut at $cut"
        whole=$(sb ls --count c.bagz)
        sb cat --frame=line c.bagz | cmp - <(head -n "$whole" all) || fail "cut at $cut"
    done
}

@test "flipped bits of records with checksums: none passes" {
    local at end bit byte
    make_bagz a.bagz "${words[@]}"
    end=$(($(stat -c %s a.bagz) - 8 * ${#words[@]}))
    for ((at = 0; at < end; at += 5)); do
        bit=$((at % 8))
        cp a.bagz b.bagz
        byte=$(od -An -tu1 -j $at -N 1 a.bagz)
        # shellcheck disable=SC2059 # the format is the escape of one byte
        printf "\\x$(printf %02x $((byte ^ (1 << bit))))" | put b.bagz $at
        run --separate-stderr sb verify b.bagz
        refuse_crash verify || return
        # A bit of a frame's descriptor is not used (RFC 8878, 3.1.1.1.1.3).
        ((status == 1)) || cmp <(sb cat --frame=line a.bagz) <(sb cat --frame=line b.bagz) ||
            fail "bit $bit of byte $at"
    done
}

@test "flipped bits of limits" {
    local at end size
    make_bagz a.bagz "${words[@]}"
    size=$(stat -c %s a.bagz)
    end=$((size - 8 * ${#words[@]}))
    for ((at = end; at < size; at += 3)); do
        cp a.bagz b.bagz
        flip_byte b.bagz "$at"
        run --separate-stderr sb verify b.bagz
        refuse_crash verify || return
        ((status == 1)) || fail "byte $at"
    done
}

@test "shards that are a FIFO, a device, a directory or a link to itself" {
    make_bag s-00000-of-00002.bag alpha beta
    local shard=s-00001-of-00002.bag
    mkfifo $shard
    run_fail 1 within 10 "$SHARDBOX" verify s@2.bag
    output_has "shard: $shard: "
    ln -sf /dev/zero $shard
    run_fail 1 within 10 "$SHARDBOX" verify s@2.bag
    output_has "shard: $shard: "
    rm $shard
    mkdir $shard
    run_fail 1 within 10 "$SHARDBOX" verify s@2.bag
    output_has "shard: $shard: "
    rmdir $shard
    ln -s $shard $shard
    run_fail 1 within 10 "$SHARDBOX" verify s@2.bag
    output_has "shard: $shard: "
}

@test "limits that are a FIFO, a device or a directory" {
    make_bag a.bag alpha beta
    separate a.bag 2
    rm limits.a.bag
    mkfifo limits.a.bag
    run_fail 2 within 10 "$SHARDBOX" verify a.bag
    ln -sf /dev/zero limits.a.bag
    run_fail 2 within 10 "$SHARDBOX" verify a.bag
    rm limits.a.bag
    mkdir limits.a.bag
    run_fail 2 within 10 "$SHARDBOX" verify a.bag
}

@test "a shard that is a link to a bag is followed" {
    make_bag kept alpha beta
    ln -s kept a.bag
    run_ok sb verify a.bag
}

# Verifies a.bagz, whose defects nobody reads at first, so that it stops soon after the first of many;
# then it is cut.
verify_while_cut() {
    mkfifo pipe
    "$SHARDBOX" verify -v -j 2 a.bagz >pipe &
    exec 5<pipe
    read -r -u 5
    truncate -s 9000 a.bagz
    cat <&5
    exec 5<&-
    wait $!
}

@test "a shard that shrinks while it is read" {
    # 8000 records that are no frames, then a large one.
    head -c 10008000 /dev/zero >a.bagz
    perl -e 'print pack("Q<*", 1 .. 8000, 10008000)' >limits.a.bagz
    run_fail 1 verify_while_cut
    output_has 'frame: a.bagz: record 1: '
    output_lacks 'record 8000'
    stderr_is 'shardbox verify: a.bagz: was changed while it was verified; verify it again'
}

@test "more shards than files may be open" {
    local i
    make_bag one.bag alpha beta
    for i in {0..199}; do
        cp one.bag "$(printf s-%05d-of-00200.bag "$i")"
    done
    run_ok bash -c 'ulimit -n 32; exec "$SHARDBOX" verify -v -j 4 s@200.bag'
    stderr_has '400 records'
    run_ok bash -c 'ulimit -n 32; exec "$SHARDBOX" verify -v -j 4 --layout=interleaved s@200.bag'
    stderr_has '400 records'
}

@test "records beyond 4 GiB" {
    local end=$(((1 << 32) + 5))
    truncate -s $end a.bag 2>/dev/null || skip 'no file can be that large here'
    printf 'last!' | dd of=a.bag oflag=seek_bytes seek=$((1 << 32)) conv=notrunc status=none
    le64 7 $((1 << 32)) $end >>a.bag
    run_ok sb verify --quick a.bag
    [[ $(sb cat a.bag 2) == 'last!' ]]
    le64 6 | dd of=a.bag oflag=seek_bytes seek=$((end + 8)) conv=notrunc status=none
    run_fail 1 sb verify --quick a.bag
    output_has 'is out of order with those beside it'
}

@test "names in a set may be anything" {
    local name=$'a\n\033[31m-of-\xff'
    make_bag "$name-00000-of-00002.bag" alpha
    run_fail 1 sb verify "$name@2.bag"
    output_has 'shard: a\n\033[31m-of-'
    ((${#lines[@]} == 1)) || fail 'not one line'
}
