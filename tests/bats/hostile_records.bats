# Bags whose limits or frames are damaged, or made with intent, to the commands that read records:
# the record is named, the others are there, and little memory is used.

load helper
load bag

# Frames of zstd (RFC 8878), made by hand: magic, descriptor, what it declares, raw blocks.
magic='\x28\xb5\x2f\xfd'
abc='\x19\x00\x00abc' # the last block, of three bytes
sound="$magic"'\x20\x03'"$abc"

# bag_of FILE FRAME: a bag of three records, "abc" around the one of that frame.
bag_of() {
    local end=0 limits=() frame
    : >"$1"
    for frame in "$sound" "$2" "$sound"; do
        # shellcheck disable=SC2059 # frames are written as escapes
        printf "$frame" >>"$1"
        end=$(stat -c %s "$1")
        limits+=("$end")
    done
    le64 "${limits[@]}" >>"$1"
}

# within_64 COMMAND...: in so little memory that none can be taken on a file's word.
within_64() {
    if grep -qE '__(asan|tsan)_init' "$SHARDBOX"; then
        timeout 60 "$@"
    else
        (ulimit -v 65536 && MALLOC_ARENA_MAX=1 timeout 60 "$@")
    fi
}

# cat_names FRAME TEXT: record 1 is said to be so, and the others come out.
cat_names() {
    bag_of a.bagz "$1"
    run_fail 1 within_64 "$SHARDBOX" cat --frame=line a.bagz
    output_is $'abc\nabc'
    stderr_is "shardbox cat: a.bagz: record 1: $2"
}

@test "cat: a frame that declares 2^60 bytes" {
    cat_names "$magic"'\xe0\0\0\0\0\0\0\0\x10'"$abc" \
        "declares a size that cannot be (offset 12)"
    cat_names "$magic"'\xc0\x58\0\0\0\0\0\0\0\x10'"$abc" \
        "declares a size that cannot be (offset 12)"
    bag_of a.bagz "$magic"'\xe0\0\0\0\0\0\0\0\x10'"$abc"
    run_ok within_64 "$SHARDBOX" cat a.bagz 0 2
    output_is abcabc
}

@test "convert: a frame that declares 2^60 bytes leaves no room for them" {
    bag_of a.bagz "$magic"'\xc0\x58\0\0\0\0\0\0\0\x10'"$abc"
    run_fail 1 within_64 "$SHARDBOX" convert a.bagz out.barecat
    stderr_has "a.bagz: record 1: declares a size that cannot be (offset 12); left out"
    run_ok sb find --printf '%f %s ' out.barecat
    output_is '00000000 3 00000002 3 '
    [ "$(cat out.barecat-shard-*)" = abcabc ]
}

@test "cat: a frame with a window of 2^31, that declares its size or not" {
    cat_names "$magic"'\x00\xa8'"$abc" "its zstd data need a window of more than 128 MiB (offset 12)"
    cat_names "$magic"'\x80\xa8\x03\0\0\0'"$abc" \
        "its zstd data need a window of more than 128 MiB (offset 12)"
}

@test "a frame that does not declare its size is read, and its size is known" {
    bag_of a.bagz "$magic"'\x00\x58'"$abc"
    run_ok within_64 "$SHARDBOX" cat a.bagz
    output_is abcabcabc
    run_ok within_64 "$SHARDBOX" find --printf '%s ' a.bagz
    output_is "3 3 3 "
}

@test "cat: a frame that is cut short, anywhere" {
    local bytes size
    # shellcheck disable=SC2059 # frames are written as escapes
    size=$(printf "$sound" | wc -c)
    for ((bytes = 1; bytes < size; bytes++)); do
        # shellcheck disable=SC2059 # frames are written as escapes
        bag_of a.bagz "$(printf "$sound" | head -c $bytes | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g')"
        run_fail 1 within_64 "$SHARDBOX" cat --frame=line a.bagz
        output_is $'abc\nabc'
        stderr_has "shardbox cat: a.bagz: record 1: "
    done
    stderr_has "its zstd data are cut short (offset 12)"
}

@test "cat: anything behind a frame" {
    cat_names "$sound"x "has junk after its zstd data (offset 12)"
    cat_names "$sound$sound" "has junk after its zstd data (offset 12)"
}

@test "cat: a frame that holds more or less than it declares" {
    cat_names "$magic"'\x20\x04'"$abc" "its zstd data are damaged, or need a --dictionary (offset 12)"
    cat_names "$magic"'\x20\x02'"$abc" "its zstd data are damaged, or need a --dictionary (offset 12)"
}

@test "cat: what is no frame, and a frame that is to be skipped" {
    cat_names 'plain text' "is not zstd data; if it is stored as it is: --compression=none (offset 12)"
    cat_names '\x50\x2a\x4d\x18\0\0\0\0' "is not zstd data; if it is stored as it is: --compression=none (offset 12)"
}

@test "in a set, the shard is named too" {
    bag_of s-00000-of-00002.bagz "$sound"
    bag_of s-00001-of-00002.bagz "$sound"x
    run_fail 1 sb cat s@2.bagz 4
    stderr_is "shardbox cat: s@2.bagz: record 4: has junk after its zstd data (shard s-00001-of-00002.bagz, offset 12)"
}

@test "unpack and find leave a damaged record out, and name it" {
    bag_of a.bagz "$sound"x
    run_fail 1 within_64 "$SHARDBOX" unpack -C out a.bagz
    stderr_has "00000001: a.bagz: has junk after its zstd data (offset 12); left out"
    [[ $(ls out) == $'00000000\n00000002' ]]
    bag_of a.bagz 'plain text'
    run_fail 1 within_64 "$SHARDBOX" find a.bagz
    output_is $'00000000\n00000002'
    stderr_is "shardbox find: a.bagz: record 1: is not zstd data; if it is stored as it is: --compression=none (offset 12); left out"
}

# bag_with LIMIT...: three bytes, and these limits.
bag_with() {
    { printf abc && le64 "$@"; } >a.bag
}

@test "limits that decrease, or lie beyond the records: what they touch is named" {
    bag_with 1 0 2 3
    run_fail 1 within_64 "$SHARDBOX" cat --frame=line a.bag
    output_is $'a\nab\nc'
    stderr_is "shardbox cat: a.bag: record 1: its limits decrease, from 1 to 0; it cannot be read"
    # Records 0 and 2 share a byte: each has it.
    run_fail 1 within_64 "$SHARDBOX" cat a.bag
    output_is aabc
    bag_with 1 9 3
    run_fail 1 within_64 "$SHARDBOX" cat a.bag
    output_is a
    stderr_has "record 1: its limits let it end at byte 9, but records end at 3; it cannot be read"
    stderr_has "record 2: its limits decrease, from 9 to 3; it cannot be read"
    run_fail 1 within_64 "$SHARDBOX" find a.bag
    output_is 00000000
    stderr_has "a.bag: record 1: its limits let it end at byte 9"
}

@test "a bag of nothing but empty records, in every direction" {
    le64 0 0 >a.bag
    for to in out.bagz out@2.bag out.barecat out.tar; do
        run_ok within_64 "$SHARDBOX" convert a.bag "$to"
    done
    run_ok sb ls --count out.bagz
    output_is 2
}

@test "a last limit that cannot be: it is no bag" {
    for command in cat ls find; do
        bag_with 2305843009213693952
        run_fail 2 within_64 "$SHARDBOX" "$command" a.bag
        stderr_is "shardbox $command: a.bag: is no bag, or was cut: its last 8 bytes say that records end at byte 2305843009213693952 of 11"
        bag_with 1 -1
        run_fail 2 within_64 "$SHARDBOX" "$command" a.bag
        stderr_has "its last 8 bytes say that records end at byte 18446744073709551615 of 19"
        bag_with 1 2
        run_fail 2 within_64 "$SHARDBOX" "$command" a.bag
        stderr_has "its limits take 17 bytes, which is no multiple of 8"
        printf 1234567 >a.bag
        run_fail 2 within_64 "$SHARDBOX" "$command" a.bag
        stderr_is "shardbox $command: a.bag: is no bag: it has only 7 bytes"
    done
}

@test "as many records as a file can have: nothing is allocated for them" {
    truncate -s 1T a.bag
    run_ok within_64 "$SHARDBOX" ls --count a.bag
    output_is 137438953472
    run_ok within_64 "$SHARDBOX" cat --frame=line a.bag 0 -1
    output_is ""
    truncate -s 1T limits.b.bag
    printf abc >b.bag
    run_ok within_64 "$SHARDBOX" cat --frame=line b.bag -1
    output_is ""
}

@test "a bag that shrinks while it is read: records that are gone are named, and nothing stands for them" {
    make_bag a.bag abcd efgh ijkl
    separate a.bag 3
    coproc ANSWERS { sb cat -T - a.bag 2>problems; }
    local pid=$ANSWERS_PID in=${ANSWERS[1]} out
    exec {out}<&"${ANSWERS[0]}"
    echo 0 >&"$in"
    read -r -t 20 -N 4 answer <&"$out"
    [ "$answer" = abcd ]
    truncate -s 6 a.bag
    echo : >&"$in"
    exec {in}>&-
    [ "$(cat <&"$out")" = abcd ]
    exec {out}<&-
    local status=0
    wait "$pid" || status=$?
    [ "$status" = 1 ]
    diff problems - <<'END'
shardbox cat: a.bag: record 1: a.bag: ends before byte 8; it was longer before
shardbox cat: a.bag: record 2: a.bag: ends before byte 12; it was longer before
END
}
