#!/usr/bin/env bats
# Parity files, read and written by another program (parity.py), which knows the words of
# shardbox-parity(5) alone.

load ../bats/helper

peer() {
    python3 "$PROJECT/tests/peers/parity.py" "$@"
}

# make_file SIZE [REDUNDANCY]: f, with a parity file, and both in good/.
make_file() {
    rm -rf f f-parity good
    mkdir good
    seq 1 3 10000000 | head -c "$1" >f
    touch -d '1999-12-31 23:59:59.75Z' f
    run_ok sb protect --redundancy="${2-5%}" f
    cp -p f f-parity good
}

# The damage of a disk does not change the time of a file.
keep_time() {
    touch -r good/f f
}

# Of the same damage both make the file as it was, and shardbox its parity file, too.
both_mend() {
    keep_time
    run_ok peer decode f-parity f out
    output_is ""
    cmp out good/f || fail "$*: the peer"
    run_ok sb protect --repair f
    cmp f good/f || fail "$*: shardbox"
    run_ok sb protect --check f
}

# Sizes and redundancies with one word and with many, one section and several, odd ends.
each_shape() {
    local size redundancy
    while read -r size redundancy; do
        make_file "$size" "$redundancy"
        "$@" "$size" "$redundancy"
    done <<'EOF_SHAPES'
1 5%
512 100%
5000 5%
122881 20%
700001 5%
2000000 0.4%
4100000 5%
5000000 200%
4500000 1000%
EOF_SHAPES
}

nothing_lost() {
    both_mend "$@"
}

@test "a sound file is read, and its tables have the checksum of the superblock" {
    each_shape nothing_lost
    make_file 0
    both_mend 0
}

lost_pieces() {
    run_ok peer lose f-parity f "$(od -A n -t u4 -j 52 -N 4 f-parity)"
    both_mend "$@"
}

@test "as many pieces of each word as it has parities, of data and parity, are recovered" {
    each_shape lost_pieces
}

lost_blocks() {
    run_ok peer lose f-parity f 1
    run_ok peer blocks f-parity
    both_mend "$@"
}

@test "two superblocks and a copy of each page are lost, and a piece of each word" {
    each_shape lost_blocks
}

@test "a file that was cut off, and one that is gone, are recovered from parity alone" {
    make_file 300000 100%
    truncate -s 100000 f
    both_mend 'cut'
    rm f
    run_ok peer decode f-parity f out
    cmp out good/f
    # A word of few rows needs no more parities than these.
    make_file 6000
    rm f
    run_ok peer decode f-parity f out
    cmp out good/f
}

@test "a file that grew, whose parity file is brought up to date, is recovered" {
    local size
    make_file 7000000 1000%
    for size in 7400000 11000000; do
        seq 1 3 10000000 | head -c "$size" >f
        touch -d '2001-01-01 00:00:00Z' f
        run_ok sb protect --update f
        cp -p f f-parity good
        run_ok peer lose f-parity f 3
        both_mend "$size"
    done
}

@test "what is lost beyond repair is the same to both" {
    local piece from to
    make_file 700001
    piece=$(od -A n -t u4 -j 12 -N 4 f-parity)
    run_ok peer lose f-parity f $(($(od -A n -t u4 -j 52 -N 4 f-parity) + 1))
    keep_time
    run_fail 1 peer decode f-parity f out
    [[ -n $output ]]
    sort -n <<<"$output" >theirs
    run_fail 1 sb protect -v --check f
    sed -nE 's/^.* f: bytes ([0-9]+) to ([0-9]+) are damaged beyond repair.*/\1 \2/p' <<<"$stderr" |
        while read -r from to; do
            seq $((from / piece)) $((to / piece))
        done >ours
    diff ours theirs
}

@test "the index of an archive is recovered, and is read" {
    mkdir tree
    seq 3000 | split -l 10 - tree/
    run_ok sb pack a.barecat -C tree .
    run_ok sb protect --redundancy=100% a.barecat
    mv a.barecat index
    run_ok peer decode a.barecat-parity a.barecat out
    cmp out index
    mv out a.barecat
    run_ok sb verify a.barecat
}

@test "a parity file that was made by the page alone is checked, and mends" {
    local piece k m w
    while read -r piece k m w; do
        make_file 300001
        run_ok peer encode f f-parity "$piece" "$k" "$m" "$w"
        cp f-parity good
        run_ok sb protect --check f
        run_ok peer lose f-parity f "$m"
        both_mend "$piece $k $m $w"
        run_ok peer blocks f-parity
        both_mend "$piece $k $m $w"
    done <<'EOF_SHAPES'
512 10 4 7
512 254 1 1
1024 3 252 1
4096 1 1 5
16384 20 3 682
EOF_SHAPES
}

@test "Barecat reads and changes an archive that has parity files, and does not see them" {
    local python=$PEERS/barecat-0.3.1/bin/python
    [[ -e $PEERS/barecat-0.3.1/ready ]] || skip 'no Barecat here'
    mkdir tree before
    seq 90000 | split -l 100 -a 3 - tree/
    run_ok sb pack --shard-size=100k a.barecat -C tree .
    run_ok sb protect a.barecat
    cp -p a.barecat*-parity before
    run_ok "$python" "$PROJECT/tests/peers/peer.py" check a.barecat tree
    run_ok "$python" "$PROJECT/tests/peers/peer.py" change a.barecat
    for file in before/*; do
        cmp "$file" "${file#before/}"
    done
    run_ok sb verify a.barecat
}
