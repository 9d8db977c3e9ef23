# shardbox defrag --quick: files from the end into the earliest gaps.

load helper
load kept

# make SIZE...: a.barecat of files 00, 01, 02 ... of these sizes, in one shard; the tree stays as t.
# OPTIONS are those of pack.
make() {
    local i=0 size
    mkdir -p t
    for size in "$@"; do
        head -c "$size" /dev/urandom >"t/$(printf %02d $i)"
        i=$((i + 1))
    done
    settle
    # shellcheck disable=SC2086 # several words
    sb pack ${OPTIONS-} a.barecat -C t .
}

# remove NAME...: files go out of the index and the tree.
remove() {
    sb rm a.barecat "$@"
    (cd t && rm "$@")
    settle
}

# quick [OPTION...]: without a limit of time.
quick() {
    run_ok sb defrag --quick --max-time=1h "$@" a.barecat
    stderr_is ""
    is_whole
}

# Name and address of every file, in the order of addresses.
places() {
    sql a.barecat "SELECT path || ':' || shard || ':' || offset FROM files
        ORDER BY shard, offset, path" | paste -sd ' '
}

@test "the last files go into the earliest gaps that fit them, one after the other" {
    make 100 50 100 30 100 20 30 50
    remove 01 03
    quick
    [[ $(places) == "00:0:0 07:0:100 02:0:150 06:0:250 04:0:280 05:0:380" ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == 400 ]]
}

@test "a gap that a file fills in part serves the next one" {
    make 100 50 100 10 20 20
    remove 01
    quick
    [[ $(places) == "00:0:0 05:0:100 04:0:120 03:0:140 02:0:150" ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == 250 ]]
}

@test "a file that no gap fits stays, and smaller ones before it go on" {
    make 100 50 100 40 500
    remove 01
    quick
    [[ $(places) == "00:0:0 03:0:100 02:0:150 04:0:290" ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == 790 ]]
}

@test "gaps that it leaves serve files that found none" {
    make 30 100 30 70 100
    remove 00 03
    quick
    [[ $(places) == "02:0:0 01:0:30 04:0:130" ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == 230 ]]
}

@test "no file goes behind the place that it has" {
    make 100 50 30 200
    remove 03
    quick
    [[ $(places) == "00:0:0 01:0:100 02:0:150" ]]
    [[ $(sizes | paste -sd ' ') == 180 ]]
}

@test "files move into earlier shards, and emptied last shards go" {
    OPTIONS="-f --shard-size=200" make 100 100 150 50 90 100
    [[ $(sizes | paste -sd ' ') == "200 200 190" ]]
    remove 00 02
    quick
    [[ $(places) == "05:0:0 01:0:100 04:1:0 03:1:90" ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == "200 140" ]]
}

@test "a shard in the middle that is not touched keeps its bytes and its time" {
    OPTIONS=--shard-size=200 make 100 100 120 70 150 50 60 40
    remove 00
    md5sum a.barecat-shard-0000[12] >before
    stat -c '%n %i %s %y' a.barecat-shard-0000[12] >>before
    quick
    [[ $(places) == "07:0:0 06:0:40 01:0:100 "* ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == "200 190 200" ]]
    { md5sum a.barecat-shard-0000[12] && stat -c '%n %i %s %y' a.barecat-shard-0000[12]; } |
        diff before -
}

@test "--keep-through=N: shards up to N are not written into, and not shortened" {
    OPTIONS=--shard-size=200 make 100 100 150 50 100 90 30
    remove 00 02 04
    stat -c '%n %i %s %y' a.barecat-shard-00000 >before
    quick --keep-through=0
    stat -c '%n %i %s %y' a.barecat-shard-00000 | diff before -
    [[ $(places) == "01:0:100 06:1:0 05:1:30 03:1:150" ]] || fail "$(places)"
    [[ $(sizes | paste -sd ' ') == "200 200" ]]
    md5sum a.barecat* >before
    quick --keep-through=7
    md5sum a.barecat* | diff before -
}

@test "empty files hold no shard, and it comes to an end" {
    OPTIONS=--shard-size=200 make 100 100 0 0 100 0
    sql a.barecat "UPDATE files SET shard = 1, offset = 100 WHERE size = 0"
    remove 00
    quick
    [[ $(sizes | paste -sd ' ') == 200 ]] || fail "$(places)"
    remove 01 04
    quick
    [[ $(sizes | paste -sd ' ') == 0 ]] || fail "$(places)"
    quick
}

@test "an archive without gaps is not changed" {
    OPTIONS=--shard-size=200 make 100 100 0 150
    stat -c '%n %i %s %y %z' a.barecat* >before
    quick
    stat -c '%n %i %s %y %z' a.barecat* | diff before -
}

@test "bytes behind the last file are cut off, and last shards without files go" {
    OPTIONS=--shard-size=200 make 100 100 150
    remove 02
    echo garbage >>a.barecat-shard-00000
    quick
    [[ $(sizes | paste -sd ' ') == 200 ]]
}

@test "--dry-run says what would be given back, and changes nothing" {
    OPTIONS=--shard-size=200 make 100 100 150 50 90 100
    remove 00 02
    md5sum a.barecat* >before
    run_ok sb defrag --quick --dry-run --json a.barecat
    wanted=$(jq -s 'last | .after' <<<"$output")
    md5sum a.barecat* | diff before -
    quick
    [[ $(du -bc a.barecat-shard-* | tail -1 | cut -f1) == "$wanted" ]]
}

@test "linked shards are refused, but for those that are kept" {
    OPTIONS=--shard-size=200 make 100 100 150 50 90 100
    remove 00 02
    ln a.barecat-shard-00000 backup
    cp backup before
    run_fail 2 sb defrag --quick a.barecat
    stderr_has "a.barecat-shard-00000: has 2 hard links"
    quick --keep-through=0
    cmp backup before
    [[ $(sizes | paste -sd ' ') == "200 150 90" ]] || fail "$(sizes | paste -sd ' ')"
}

@test "files that share bytes are refused" {
    make 100 100 100
    remove 00
    sql a.barecat "UPDATE files SET offset = 150 WHERE path = '02'"
    md5sum a.barecat* >before
    run_fail 1 sb defrag --quick a.barecat
    stderr_has "share bytes of shard 00000"
    md5sum a.barecat* | diff before -
}

@test "many files of many sizes: nothing is lost, and the end is given back" {
    mkdir t
    awk 'BEGIN {
        srand(7)
        for (i = 0; i < 600; i++) {
            printf "%" int(rand() * 3000) "s", i >"t/" i
            close("t/" i)
        }
    }'
    settle
    sb pack --shard-size=100K a.barecat -C t .
    sql a.barecat "SELECT path FROM files WHERE rowid % 3 = 1" >names
    # shellcheck disable=SC2046 # names of digits
    remove $(<names)
    bytes=$(cat t/* | wc -c)
    quick
    (($(cat a.barecat-shard-* | wc -c) < bytes * 110 / 100)) || fail "$(sizes | paste -sd ' '), of $bytes"
    sizes >before
    quick
    sizes | diff before -
}

@test "killed at any call, every file is there, and the next run finishes" {
    need_shim
    OPTIONS=--shard-size=400 make 100 100 100 100 90 0 150 60 100 100 30 70 100 100
    remove 00 02 04 09
    mkdir kept
    cp -p a.barecat* kept
    quick
    wanted=$(sizes | paste -sd ' ')
    for ((at = 1;; at += 3)); do
        rm -f a.barecat* mark
        cp -p kept/* .
        status=0
        LD_PRELOAD=$FAULT_SHIM FAULT_CALLS=write,sync,truncate,create,unlink FAULT_AT=$at \
            FAULT_HOW=torn FAULT_MARK=mark "$SHARDBOX" defrag --quick a.barecat || status=$?
        [[ -e mark ]] || break
        ((status == 137)) || fail "not killed at call $at"
        run_ok sb verify --strict a.barecat
        sb diff -C t a.barecat || fail "call $at"
        quick
        [[ $(sizes | paste -sd ' ') == "$wanted" ]] || fail "call $at: $(sizes | paste -sd ' ')"
    done
    ((at > 20 && status == 0))
}
