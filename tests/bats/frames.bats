# Records on a pipe: convert --frame=HOW, from frames into containers and back.

load helper
load bag

FRAMINGS="line nul u32 u64 varint tfrecord jsonl batch tar"
TELLING="u32 u64 varint tfrecord jsonl batch"

# Records that every framing can hold: leaves them in records/ and records.tar, called by number.
make_records() {
    mkdir records
    printf 'first' >records/00000000
    : >records/00000001
    printf 'third: \xff\x01 ü' >records/00000002
    head -c 5000 /dev/zero | tr '\0' x >records/00000003
    (cd records && tar -cf ../records.tar -- *)
}

# The same, with what some of them cannot hold.
make_odd_records() {
    make_records
    printf '\n\0\n' >records/00000004
    seq 200000 >records/00000005
    (cd records && tar -cf ../records.tar -- *)
}

# holds_records CONTAINER
holds_records() {
    rm -rf out
    run_ok sb unpack -C out "$1"
    diff -r records out
}

@test "records go into each framing, and come back from it" {
    local framing
    make_records
    for framing in $FRAMINGS; do
        run_ok sb convert --frame="$framing" records.tar "$framing.records"
        output_is ""
        run_ok sb convert -q --frame="$framing" "$framing.records" "$framing.barecat"
        holds_records "$framing.barecat"
        sb convert --frame="$framing" "$framing.barecat" - | sb convert --frame="$framing" - "$framing.zip"
        holds_records "$framing.zip"
    done
}

@test "what they look like" {
    mkdir files
    printf 'ab' >files/x
    : >files/y
    tar -cf a.tar -C files x y
    run_ok sb convert --frame=none a.tar -
    output_is "ab"
    [[ $(sb convert --frame=line a.tar - | od -An -c | tr -s ' ') == ' a b \n \n' ]]
    [[ $(sb convert --frame=nul a.tar - | od -An -c | tr -s ' ') == ' a b \0 \0' ]]
    [[ $(sb convert --frame=u32 a.tar - | od -An -tx1) == ' 02 00 00 00 61 62 00 00 00 00' ]]
    [[ $(sb convert --frame=varint a.tar - | od -An -tx1) == ' 02 61 62 00' ]]
    run_ok sb convert --frame=jsonl a.tar -
    output_is '{"index":0,"key":"x","data":"YWI="}
{"index":1,"key":"y","data":""}'
    run_ok sb convert --frame=batch a.tar -
    output_is 'x 2
ab
y 0'
    sb convert --frame=tar a.tar - | tar -tf - | cmp - <(printf 'x\ny\n')
}

@test "without frames, records run into each other, and all of an input is one record" {
    make_records
    sb convert --frame=none records.tar - | cmp - <(cat records/*)
    run_ok sb convert --frame=none records/00000000 one.barecat
    run_ok sb cat one.barecat 00000000
    output_is "first"
    sb convert --frame=none records.tar - | sb convert --frame=none - all.barecat
    sb cat all.barecat 00000000 | cmp - <(cat records/*)
}

@test "framings that tell lengths hold any bytes" {
    local framing
    make_odd_records
    for framing in $TELLING tar; do
        sb convert --frame="$framing" records.tar - | sb convert --frame="$framing" - "$framing.barecat"
        holds_records "$framing.barecat"
    done
}

@test "a record that holds what would end it is refused" {
    make_odd_records
    run_fail 2 sb convert --frame=line records.tar line.records
    stderr_has 'shardbox convert: 00000004: holds a newline, which would end it too early; choose a framing with lengths, such as u32'
    run_fail 2 sb convert --frame=nul records.tar nul.records
    stderr_has 'shardbox convert: 00000004: holds a NUL, which would end it too early'
    [[ ! -e line.records && ! -e nul.records ]]
}

@test "names that a framing cannot hold are refused" {
    mkdir names
    touch names/$'new\nline'
    run_fail 2 sb convert --frame=batch names -
    stderr_has 'its name holds a newline, which ends a name in batch; choose jsonl or tar'
    run_ok sb convert --frame=jsonl names -
    output_is '{"index":0,"key":"new\u000aline","data":""}'
    rm names/*
    touch names/$'\xe9'
    run_fail 2 sb convert --frame=jsonl names -
    stderr_has 'its name is not UTF-8, which JSON needs; choose batch or tar'
}

@test "records are called by their number, or by the name that stands in the frame" {
    printf 'a\nb\n' | sb convert --frame=line - numbers.barecat
    run_ok sb ls numbers.barecat
    output_is "00000000
00000001"
    printf 'dir/x 1\na\ny 1\nb\n' | sb convert --frame=batch - batch.barecat
    run_ok sb cat batch.barecat dir/x y
    output_is ab
    printf '{"key":"a\\u00fc/b","data":"YQ=="}\n{"data":"Yg=="}\n' | sb convert --frame=jsonl - json.barecat
    run_ok sb find --type=f json.barecat
    output_is "00000001
aü/b"
}

@test "records of several inputs are numbered on" {
    printf 'a\nb\n' >first
    printf 'c\nd' >second
    run_ok sb convert --frame=line first second a.barecat
    run_ok sb cat a.barecat 0000000{0..3}
    output_is abcd
    run_ok sb convert --frame=line --name-format=part/%d.txt first second b.barecat
    run_ok sb cat b.barecat part/{0..3}.txt
    output_is abcd
    sb convert --frame=batch a.barecat batch
    run_ok sb convert --frame=batch --name-format=%d batch c.barecat
    run_ok sb ls c.barecat
    output_is $'0\n1\n2\n3'
}

@test "records go into bags, and come back from them" {
    local framing suffix
    make_records
    for framing in $FRAMINGS; do
        sb convert --frame="$framing" records.tar all
        for suffix in bag bagz; do
            run_ok sb convert -q --frame="$framing" all "$framing.$suffix"
            run_ok sb verify "$framing.$suffix"
            run_ok sb convert --frame=u32 "$framing.$suffix" "$framing.$suffix.u32"
            cmp <(sb cat --frame=u32 "$framing.$suffix") "$framing.$suffix.u32"
            cmp <(sb convert --frame=u32 records.tar -) "$framing.$suffix.u32"
        done
        rm all
    done
    sb convert --frame=line --to=bag - - <<<$'a\nb' | sb cat --from=bag --frame=nul - | cmp - <(printf 'a\0b\0')
}

# bats test_tags=threads
@test "records that are large, and sets of shards" {
    make_odd_records
    seq 1500000 | tr '\n' ' ' >records/00000006
    sb convert --frame=u64 records all
    for threads in 1 4; do
        run_ok sb convert --force --threads="$threads" --frame=u64 all out@3.bagz
        run_ok sb convert --force --threads="$threads" --frame=u64 out@3.bagz back
        cmp all back
    done
    { printf '\n' && cat records/00000006; } | sb convert --frame=line - a.bag
    sb cat a.bag 1 | cmp - records/00000006
    [[ $(sb ls --count a.bag) == 2 ]]
}

@test "names of frames go nowhere that other names may not go" {
    printf '../x 1\na\n/y 1\nb\n 1\nc\n' >batch
    run_fail 1 sb convert --frame=batch batch a.barecat
    stderr_has '../x: left out: the name has a .. component'
    run_ok sb find --type=f a.barecat
    output_is "00000002
y"
}

@test "what a batch could not give out is named, and left out" {
    printf 'x missing\ny 1\nb\nz damaged\n' >batch
    run_fail 1 sb convert --frame=batch batch a.barecat
    stderr_has 'x: batch: said to be missing; left out'
    stderr_has 'z: batch: said to be damaged; left out'
    run_ok sb ls a.barecat
    output_is y
}

@test "cat --batch of an archive becomes an archive again" {
    make_records
    sb pack a.barecat -C records .
    sb find a.barecat --type=f | sb cat --batch -T - a.barecat | sb convert --frame=batch - b.barecat
    holds_records b.barecat
}

@test "directories and metadata are not records, a link is its target" {
    mkdir -p tree/sub
    printf 'x' >tree/sub/file
    ln -s sub/file tree/link
    run_ok sb convert --verbose --frame=batch tree -
    stderr_has "shardbox convert: -: owners of 2 members, nanoseconds of 2 are not held by a stream of records; --report=FILE lists them"
    [[ $(sort <<<"$output") == $'link 8\nsub/file\nsub/file 1\nx' ]] || fail "other records"
}

@test "compressed input and output, by their suffix" {
    local framing suffix
    make_odd_records
    for framing in tfrecord jsonl; do
        for suffix in gz bz2 xz zst; do
            run_ok sb convert --frame="$framing" records.tar "a.$framing.$suffix"
            run_ok sb convert --force --frame="$framing" "a.$framing.$suffix" a.barecat
            holds_records a.barecat
        done
        gzip -dc "a.$framing.gz" | cmp - <(sb convert --frame="$framing" records.tar -)
    done
    head -c 1000 a.jsonl.gz >cut.jsonl.gz
    run_fail 2 sb convert --frame=jsonl cut.jsonl.gz cut.barecat
    stderr_has 'cut.jsonl.gz: its gzip data is cut short'
}

@test "records that begin as compressed data does are taken as they are" {
    printf '\x1f\x8b\x08\x00' >head
    { cat head && head -c $((0x00088b1f)) /dev/zero; } >a.u32
    run_ok sb convert --frame=u32 a.u32 a.barecat
    sb convert --frame=u32 - b.barecat <a.u32
    sb cat a.barecat 00000000 | cmp - <(head -c $((0x00088b1f)) /dev/zero)
    sb cat b.barecat 00000000 | cmp - <(head -c $((0x00088b1f)) /dev/zero)
}

@test "input that is cut short anywhere is damage, and never a short record" {
    release_build # a run for each byte; sanitizers see cuts by the fuzzers
    local framing size
    mkdir records
    printf 'one' >records/00000000
    printf 'two' >records/00000001
    for framing in $TELLING; do
        sb convert --frame="$framing" records all
        for ((size = 0; size < $(stat -c %s all); size++)); do
            rm -f cut.tar
            run --separate-stderr sb convert --frame="$framing" <(head -c "$size" all) cut.tar
            refuse_crash
            if ((status == 0)); then
                rm -rf out
                mkdir out
                tar -xf cut.tar -C out
                find out -type f -exec sh -c 'cmp "$1" "records/${1#out/}"' _ {} \;
            else
                ((status == 2)) || fail "$framing, $size bytes"
                stderr_has 'cut short'
            fi
        done
        rm all
    done
}

@test "a flipped byte of a tfrecord is found, and where" {
    local at
    make_records
    sb convert --frame=tfrecord records.tar a.tfrecord
    for ((at = 0; at < 60; at++)); do
        cp a.tfrecord b.tfrecord
        flip_byte b.tfrecord "$at"
        run_fail 2 sb convert --force --frame=tfrecord b.tfrecord b.barecat
        stderr_has 'b.tfrecord: record '
        [[ ! -e b.barecat ]]
    done
    flip_byte a.tfrecord 13
    run_fail 2 sb convert --frame=tfrecord a.tfrecord a.barecat
    stderr_is 'shardbox convert: a.tfrecord: record 0, at byte 0: its bytes do not match the checksum after them; is the framing right?'
}

@test "lengths that cannot be take no memory" {
    local length
    for length in '\0\0\0\0\0\0\0\x10' '\xff\xff\xff\xff\xff\xff\xff\x7f' '\xff\xff\xff\xff\xff\xff\xff\xff'; do
        # shellcheck disable=SC2059 # it is a format
        { printf "$length" && seq 1000000; } >a.u64
        grep -qE '__(asan|tsan)_init' "$SHARDBOX" ||
            (ulimit -v 100000 && run_fail 2 sb convert --threads=1 --frame=u64 a.u64 a.barecat)
        run_fail 2 sb convert --frame=u64 a.u64 a.tar
        stderr_has 'record 0, at byte 0: '
        [[ ! -e a.barecat && ! -e a.tar ]]
    done
}

@test "large records, whose size only their end tells" {
    seq 1500000 | tr '\n' ' ' >line
    { cat line && echo && echo second; } >lines
    run_ok sb convert --frame=line lines a.barecat
    sb cat a.barecat 00000000 | cmp - line
    sb convert --frame=jsonl a.barecat - | sb convert --frame=jsonl - b.tar
    sb convert --frame=line b.tar - | cmp - lines
    [[ $(sb convert --frame=none - c.zip <lines && sb cat c.zip 00000000 | cksum) == "$(cksum <lines)" ]]
}

# bats test_tags=threads
@test "the same bytes, whatever the threads" {
    local framing
    make_odd_records
    for framing in u32 tfrecord jsonl batch; do
        sb convert --threads=1 --frame="$framing" records one
        sb convert --threads=4 --frame="$framing" records four
        cmp one four
        rm one four
    done
}

@test "an output that is there is replaced only by force, and stays when it fails" {
    make_odd_records
    echo old >out.records
    run_fail 2 sb convert --frame=u32 records.tar out.records
    stderr_has 'out.records: exists already; use --force to replace it'
    run_fail 2 sb convert --force --frame=line records.tar out.records
    [[ $(cat out.records) == old ]]
    run_ok sb convert --force --frame=u32 records.tar out.records
    [[ $(head -c 9 out.records | tail -c 5) == first ]]
}

@test "a closed pipe is quiet, a full disk is an error" {
    make_odd_records
    run_ok bash -c '"$SHARDBOX" convert --frame=jsonl records - | head -c 10 >/dev/null'
    stderr_is ""
    run_fail 2 bash -c '"$SHARDBOX" convert --frame=jsonl records - >/dev/full'
    stderr_has 'No space left on device'
}

@test "what --frame cannot be told of" {
    make_records
    run_fail 2 sb convert --frame=some records.tar -
    stderr_has 'none, line, nul, u32, u64, varint, tfrecord, jsonl, batch'
    run_fail 2 sb convert --frame=line --from=tar records.tar a.barecat
    stderr_has '--frame says what INPUTs are: it excludes --from'
    run_fail 2 sb convert --frame=line --wrap records.tar a.barecat
    stderr_has '--wrap'
}

@test "cat --frame: files of an archive, framed" {
    local framing
    make_odd_records
    sb pack a.barecat -C records .
    for framing in $TELLING tar; do
        sb cat --frame="$framing" a.barecat 0000000{0..5} >all
        rm -rf back
        sb convert --to=dir --frame="$framing" all back
        diff -r records back
    done
    run_ok sb cat --frame=line a.barecat 00000001 00000000
    output_is "
first"
    [[ $(sb cat --frame=nul a.barecat 00000000 00000000 | tr '\0' !) == 'first!first!' ]]
    run_fail 2 sb cat --frame=line a.barecat 00000004
    stderr_has 'shardbox cat: 00000004: holds a newline, which would end it too early'
    sb cat --frame=jsonl a.barecat 00000000 | grep -Fx '{"index":0,"key":"00000000","data":"Zmlyc3Q="}'
    sb cat --frame=tar a.barecat 00000005 | tar -xOf - 00000005 | cmp - records/00000005
}

@test "cat --frame=batch is --batch, other framings leave out what is missing" {
    make_records
    sb pack a.barecat -C records .
    run_fail 1 sb cat --batch a.barecat 00000000 nowhere 00000001
    local batch=$output
    run_fail 1 sb cat --frame=batch a.barecat 00000000 nowhere 00000001
    output_is "$batch"
    run_fail 1 sb cat --frame=jsonl a.barecat 00000000 nowhere 00000001
    output_is '{"index":0,"key":"00000000","data":"Zmlyc3Q="}
{"index":1,"key":"00000001","data":""}'
    stderr_has 'nowhere: no such file in the archive'
    run_fail 2 sb cat --batch --frame=u32 a.barecat 00000000
    stderr_has '--batch and --frame cannot be given together'
}

@test "cat --frame: names as they come from a stream are answered before the next is waited for" {
    make_records
    sb pack a.barecat -C records .
    coproc sb cat --frame=line -T - a.barecat
    echo 00000000 >&"${COPROC[1]}"
    read -r -t 20 -u "${COPROC[0]}" answer
    [[ $answer == first ]]
    echo 00000003 >&"${COPROC[1]}"
    read -r -t 20 -u "${COPROC[0]}" answer
    [[ $answer == xxxx* ]]
    kill "$COPROC_PID"
}

@test "cat --frame: large files, ranges, and what can only be read in sequence" {
    every_third_day
    mkdir big
    seq 12000000 >big/large
    echo small >big/small
    sb pack a.barecat -C big .
    sb cat --frame=tfrecord a.barecat small large | sb convert --frame=tfrecord - b.barecat
    sb cat b.barecat 00000001 | cmp - big/large
    [[ $(sb cat --frame=varint --range=1:3 a.barecat small large | od -An -c | tr -d ' ') == '003mal003\n2\n' ]]
    tar -czf a.tar.gz -C big large small
    sb cat --frame=u32 a.tar.gz small large | sb convert --frame=u32 --to=dir - out
    cmp out/00000000 big/large
    cmp out/00000001 big/small
    gzip -n big/small
    sb pack c.barecat -C big .
    run_ok sb cat --frame=jsonl --decompress c.barecat small.gz
    output_is '{"index":0,"key":"small.gz","data":"c21hbGwK"}'
    run_fail 2 sb cat --frame=u64 --decompress c.barecat small.gz
    stderr_has '--decompress and --frame=u64 cannot be given together: it writes lengths before they are known'
}

@test "cat --frame: a damaged file is left out, and the next frame is whole" {
    make_odd_records
    sb pack a.barecat -C records .
    flip_byte a.barecat-shard-00000 2
    run_fail 1 sb cat --frame=line a.barecat 00000000 00000001 00000003
    [[ ${#lines[@]} == 1 && ${lines[0]} == xxxx* ]] || fail "other lines"
    stderr_has '00000000: its bytes do not match their CRC32C'
}

@test "a large record that shows its damage late: the run ends, and says where and why" {
    seq 400000 | zstd -q -c --no-check --stream-size=2688895 >frame
    local size
    size=$(stat -c %s frame)
    { cat frame && frame sound && le64 "$size" $((size + $(frame sound | wc -c))); } >a.bagz
    printf XXXX | put a.bagz $((size / 2))
    run_fail 2 bash -o pipefail -c '"$SHARDBOX" convert --frame=u32 a.bagz - | cat >out'
    stderr_has '00000000: a.bagz: its zstd data are damaged'
    stderr_has '00000000: is damaged, and the output has its beginning already; leave it out'
    run_fail 1 sb convert a.bagz a.tar
    stderr_has '00000000: a.bagz: its zstd data are damaged'
    run_ok sb cat a.tar 00000001
    output_is sound
}

@test "lines of JSON that are not --frame=jsonl's, and records on a pipe without --frame, name --frame=line" {
    echo '{"n":1}' >a.jsonl
    run_fail 2 sb convert --frame=jsonl a.jsonl a.bagz
    stderr_is 'shardbox convert: a.jsonl: record 0, at byte 0: has no "data" (--frame=line takes any lines); is the framing right?'
    run_fail 2 bash -c '"$SHARDBOX" convert - a.bagz <a.jsonl'
    stderr_is "shardbox convert: standard input: is no archive, and no tar, cpio, zip, bag or Syrah file; --from says what it is; --frame says how records are separated; type: shardbox convert --frame=line - a.bagz"
    run_ok bash -c '"$SHARDBOX" convert --frame=line - a.bagz <a.jsonl'
    run_ok sb cat a.bagz 0
    output_is '{"n":1}'
}
