#!/usr/bin/env bats
# Our Reed-Solomon codes are those of zfec 1.6.0.0: either makes up for losses of the other's words.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    every_third_day
    [[ -e $PEERS/zfec-1.6.0.0/ready ]] || skip "no zfec here"
}

# each_code CHECK: a check of reed_solomon.py, with few and many pieces, also as many as there may be.
each_code() {
    local data parity size
    while read -r data parity size; do
        run_ok "$PEERS/zfec-1.6.0.0/bin/python" "$PROJECT/tests/peers/reed_solomon.py" "$1" "$data" "$parity" "$size"
    done <<'EOF_CODES'
1 1 100
1 9 1000
3 2 1
10 4 4096
17 17 777
127 128 300
128 127 300
240 12 4800
254 1 999
EOF_CODES
}

@test "parities are those that zfec makes" {
    each_code parity
}

@test "of what zfec encodes, any pieces that suffice make the others" {
    each_code ours
}

@test "of what we encode, zfec makes the data from any pieces that suffice" {
    each_code theirs
}
