# Compressed tars and streams of records whose compressed bytes have independent parts: members of
# bgzip, blocks of pigz -i, frames of zstd, blocks of xz. Threads make and decompress them, and
# nothing but the time differs.

load helper

# As bgzip writes it: members of at most 64 KiB, which say in their extra field how long they are.
# bgzip [KEY=VALUE]...: of stdin; size, content: what is added to what a third member says of itself;
# end=0: without the empty member at the end.
bgzip() {
    python3 -c '
import struct, sys, zlib
lies = dict(size=0, content=0, end=1)
lies.update((key, int(value)) for key, value in (word.split("=") for word in sys.argv[1:]))
data = sys.stdin.buffer.read()
pieces = [data[at:at + 65280] for at in range(0, len(data), 65280)] + [b""] * lies["end"]
for number, piece in enumerate(pieces):
    third = number == 2
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = deflate.compress(piece) + deflate.flush()
    size = len(packed) + 25 + lies["size"] * third
    sys.stdout.buffer.write(
        b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", size & 0xffff) + packed
        + struct.pack("<II", zlib.crc32(piece), len(piece) + lies["content"] * third))
' "$@"
}

# As pigz -i writes it: one member, of blocks of that many bytes, which refer to nothing before them.
# points SIZE [KEY=VALUE]...: of stdin; refer=1: the blocks do refer to what came before them; sum:
# what is added to the CRC-32; comment=1: the header has a comment.
points() {
    python3 -c '
import struct, sys, zlib
size = int(sys.argv[1])
lies = dict(refer=0, sum=0, comment=0)
lies.update((key, int(value)) for key, value in (word.split("=") for word in sys.argv[2:]))
data = sys.stdin.buffer.read()
deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
out = b"\x1f\x8b\x08" + (b"\x10\0\0\0\0\0\3said\0" if lies["comment"] else b"\0\0\0\0\0\0\3")
for at in range(0, len(data), size):
    out += deflate.compress(data[at:at + size]) + deflate.flush(zlib.Z_SYNC_FLUSH)
    out += b"\0\0\0\xff\xff" if lies["refer"] else deflate.flush(zlib.Z_FULL_FLUSH)
sys.stdout.buffer.write(out + deflate.flush() + struct.pack("<II", zlib.crc32(data) + lies["sum"], len(data)))
' "$@"
}

# frames SIZE [OPTION]...: zstd frames of that many bytes of stdin each.
frames() {
    local size=$1
    shift
    split -b "$size" --filter='zstd -qc '"$*"
}

# A tar of some megabytes, which compresses to about a third, so that there are parts in each format; and
# that, compressed in many ways.
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    mkdir tree
    for i in {1..40}; do
        seq "$i" "$((i + 12000))" >"tree/lines$i"
        head -c 20000 /dev/urandom >"tree/noise$i"
    done
    tar --sort=name -cf t.tar tree
    bgzip <t.tar >bgzip.tar.gz
    bgzip end=0 <t.tar >endless.tar.gz
    { head -c 3000000 t.tar | bgzip && tail -c +3000001 t.tar | gzip; } >bgzip-plain.tar.gz
    { head -c 3000000 t.tar | gzip && tail -c +3000001 t.tar | bgzip; } >plain-bgzip.tar.gz
    points 131072 <t.tar >points.tar.gz
    points 300000 refer=1 <t.tar >refer.tar.gz
    { head -c 3000000 t.tar | points 100000 comment=1 && tail -c +3000001 t.tar | bgzip; } >points-bgzip.tar.gz
    { head -c 3000000 t.tar | bgzip && tail -c +3000001 t.tar | points 1000000; } >bgzip-points.tar.gz
    frames 700000 <t.tar >frames.tar.zst
    frames 5000 <t.tar >small.tar.zst
    { head -c 300000 t.tar | zstd -qc && tail -c +300001 t.tar | zstd -qc; } >two.tar.zst
    pzstd -q -1 -p 4 -k t.tar -o pzstd.tar.zst
    xz -T2 -1 --block-size=500KiB -kc t.tar >blocks.tar.xz
    { head -c 3000000 t.tar | xz -T2 -1 --block-size=300KiB && head -c 8 /dev/zero &&
        tail -c +3000001 t.tar | xz -1; } >streams.tar.xz
}

compressed=({bgzip,endless,bgzip-plain,plain-bgzip,points,refer,points-bgzip,bgzip-points}.tar.gz
    {frames,small,two,pzstd}.tar.zst
    {blocks,streams}.tar.xz)

make_tar() {
    cp -a "$BATS_FILE_TMPDIR"/{tree,t.tar} .
}

make_compressed() {
    make_tar
    cp "${compressed[@]/#/$BATS_FILE_TMPDIR/}" .
}

# same_with_threads FILE: whatever the number of threads, the same bytes of members come out, and the
# same is said. The result of one thread is left in $status, $stderr and out.
same_with_threads() {
    local threads got wanted=0
    sb cat -j1 - <"$1" >out 2>err || wanted=$?
    for threads in 2 8; do
        got=0
        timeout 60 "$SHARDBOX" cat -j$threads - <"$1" >out.2 2>err.2 || got=$?
        if ((got != wanted)) || ! cmp out out.2 || ! cmp err err.2; then
            fail "$1: -j$threads: $got: $(<err.2)"
        fi
        got=0
        # shellcheck disable=SC2002 # a pipe is what is meant
        cat "$1" | timeout 60 "$SHARDBOX" cat -j$threads - >out.2 2>err.2 || got=$?
        if ((got != wanted)) || ! cmp out out.2 || ! cmp err err.2; then
            fail "$1 on a pipe: -j$threads: $got: $(<err.2)"
        fi
    done
    status=$wanted
    stderr=$(<err)
    output=
    refuse_crash sb cat "$1"
}

# bats test_tags=threads
@test "threads make the same archive as one thread does" {
    make_compressed
    sb convert -q t.tar wanted.barecat
    for file in "${compressed[@]}"; do
        for threads in 1 2 8; do
            rm -f a.barecat*
            run_ok timeout 60 "$SHARDBOX" convert -q -j$threads "$file" a.barecat
            for suffix in '' -shard-00000; do
                cmp "wanted.barecat$suffix" "a.barecat$suffix" || fail "$file, -j$threads"
            done
        done
        same_with_threads "$file"
        ((status == 0)) || fail "$file"
    done
}

# bats test_tags=threads
@test "unpack, cat, ls, find, verify, merge and sync read them" {
    make_tar
    bgzip <t.tar >t.tar.gz
    xz -T2 -1 --block-size=500KiB -kc t.tar >t.tar.xz
    pzstd -q -1 -p 4 -k t.tar -o t.tar.zst
    for file in t.tar.gz t.tar.xz t.tar.zst; do
        rm -rf unpacked synced a.barecat*
        run_ok sb unpack -q -j3 -C unpacked "$file"
        diff -r tree unpacked/tree
        sb cat -j3 "$file" tree/noise40 | cmp - tree/noise40
        run_ok sb find --type=f "$file"
        ((${#lines[@]} == 80)) || fail "files: ${#lines[@]}"
        run_ok sb ls "$file" tree/lines7
        run_ok sb verify -q -j3 "$file"
        run_ok sb merge -q -j3 -o a.barecat "$file"
        run_ok sb diff -j3 -C "$file" a.barecat
        run_ok sb sync -q -j3 "$file" synced/
        diff -r tree synced/tree
    done
}

@test "what is cut short is cut short at the same byte" {
    every_third_day
    release_build # hundreds of runs
    make_compressed
    for file in "${compressed[@]}"; do
        size=$(stat -c %s "$file")
        for cut in 1 5 17 100 70000 $((size / 2)) $((size * 5 / 6)) $((size - 40)) $((size - 1)); do
            head -c "$cut" "$file" >"cut.${file#*.}"
            same_with_threads "cut.${file#*.}"
            ((status == 2 || cut > size - 50)) || fail "$file, cut at $cut"
        done
    done
}

@test "a wrong byte is found at the same place, and what comes before it is given" {
    every_third_day
    release_build
    make_compressed
    for file in "${compressed[@]}"; do
        size=$(stat -c %s "$file")
        for at in 3 10 16 40 $((size / 3)) $((size * 2 / 3 + 11)) $((size - 60)); do
            cp "$file" "wrong.${file#*.}"
            flip_byte "wrong.${file#*.}" "$at"
            same_with_threads "wrong.${file#*.}"
            if ((at == size / 3)); then
                ((status == 2)) || fail "$file, byte $at"
                stderr_has 'data is damaged'
                (($(stat -c %s out) > 800000)) || fail "$file: what came before is not given"
            fi
        done
    done
}

# The same for the sanitizers, which have no need of all places.
@test "threads that meet an early end or a wrong byte end in order" {
    make_compressed
    for file in "${compressed[@]}"; do
        size=$(stat -c %s "$file")
        head -c $((size * 5 / 6)) "$file" >"cut.${file#*.}"
        cp "$file" "wrong.${file#*.}"
        flip_byte "wrong.${file#*.}" $((size / 3))
        for what in cut wrong; do
            run_fail 2 bash -c '"$SHARDBOX" cat -j8 - <"$0" >out' "$what.${file#*.}"
        done
    done
}

@test "a member that lies about its size is read as gzip reads it" {
    every_third_day
    make_tar
    for lie in size=-1 size=1 size=-20 size=3000 size=-60000 size=60000 end=0; do
        bgzip $lie <t.tar >lie.tar.gz
        same_with_threads lie.tar.gz
        ((status == 0)) || fail "$lie"
    done
    # 0 is the size less one: less than its own header
    bgzip <t.tar >lie.tar.gz
    printf '\0\0' | dd of=lie.tar.gz bs=1 seek=16 conv=notrunc status=none
    same_with_threads lie.tar.gz
    ((status == 0)) || fail "a size of 1"
    for lie in content=-1 content=1 content=100000 content=1000000000; do
        bgzip $lie <t.tar >lie.tar.gz
        same_with_threads lie.tar.gz
        ((status == 2)) || fail "$lie"
        stderr_is 'shardbox cat: standard input: its gzip data is damaged: incorrect length check'
    done
}

@test "points that are none, and sums that are wrong, are found as gzip finds them" {
    every_third_day
    make_tar
    # a tar in which there are such tars, one of which is stored as it is; and one of zeros
    points 100000 <t.tar >tree/inner.gz
    tar --sort=name -cf outer.tar tree
    head -c 30000000 /dev/zero >zeros
    tar -cf zeros.tar zeros
    for tar in outer zeros; do
        points 500000 <$tar.tar >$tar.tar.gz
        gzip -c $tar.tar >plain.tar.gz
        same_with_threads $tar.tar.gz
        ((status == 0)) || fail "$tar"
        mv out points.out
        same_with_threads plain.tar.gz
        cmp out points.out
    done
    points 100000 sum=1 <t.tar >lie.tar.gz
    same_with_threads lie.tar.gz
    ((status == 2)) || fail "a wrong sum"
    stderr_is 'shardbox cat: standard input: its gzip data is damaged: incorrect data check'
    points 100000 <t.tar >lie.tar.gz
    flip_byte lie.tar.gz $(($(stat -c %s lie.tar.gz) - 1))
    same_with_threads lie.tar.gz
    stderr_is 'shardbox cat: standard input: its gzip data is damaged: incorrect length check'
    # nothing but marks: as many parts as bytes allow
    python3 -c '
import sys
sys.stdout.buffer.write(b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\0\0\0\xff\xff" * 1000000 + b"\3\0" + b"\0" * 8)
' >marks.gz
    same_with_threads marks.gz
}

# bats test_tags=threads
@test "zeros after the end are padding, and what else follows it is seen" {
    make_compressed
    for file in bgzip.tar.gz frames.tar.zst blocks.tar.xz; do
        { cat "$file" && head -c 100000 /dev/zero; } >"zeros.${file#*.}"
        { cat "$file" && seq 10000; } >"more.${file#*.}"
        for what in zeros more; do
            run --separate-stderr sb verify -j1 "$what.${file#*.}"
            wanted="$status $output $stderr"
            for threads in 2 8; do
                run --separate-stderr sb verify -j$threads "$what.${file#*.}"
                [[ "$status $output $stderr" == "$wanted" ]] || fail "-j$threads: not $wanted"
            done
        done
    done
    for suffix in gz zst xz; do
        run_ok sb verify -q -j2 zeros.tar.$suffix
        stderr_is ''
        run_fail 1 sb verify --strict -j2 more.tar.$suffix
        output_is "trailing: more.tar.$suffix: junk follows the compressed data, and is ignored"
    done
}

# bats test_tags=threads
@test "frames of zstd that say nothing of their size, or too much, are read by one thread" {
    make_tar
    # RFC 8878: magic, descriptor, a content size of 2^60 bytes, an empty last block
    { frames 700000 <t.tar && printf '\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\1\0\0'; } >huge.tar.zst
    same_with_threads huge.tar.zst
    ((status == 2)) || fail "a frame of 2^60 bytes"
    # a window of 2^31 bytes
    { frames 700000 <t.tar && printf '\x28\xb5\x2f\xfd\0\xa8\1\0\0'; } >window.tar.zst
    same_with_threads window.tar.zst
    stderr_has 'its zstd data needs more than 128 MiB of memory to be decompressed; allow more with --memlimit'
    # more than a part may have, between others
    head -c 45000000 /dev/zero >zeros
    tar -cf large.tar tree/lines* zeros tree/noise*
    { head -c 1000000 large.tar | frames 300000 && tail -c +1000001 large.tar | head -c 46000000 | zstd -qc &&
        tail -c +47000001 large.tar | frames 300000; } >large.tar.zst
    same_with_threads large.tar.zst
    ((status == 0)) || fail "a large frame between others"
    sb cat - <large.tar | cmp - out
}

# bats test_tags=threads
@test "--max-size is where it ends, whatever the number of threads" {
    make_compressed
    for file in "${compressed[@]}"; do
        for threads in 1 2 8; do
            run_fail 2 bash -c '"$SHARDBOX" cat -j"$0" --max-size=2000001 - <"$1" >out' $threads "$file"
            stderr_is 'shardbox cat: standard input: decompressed, it is larger than the 2000001 bytes that --max-size allows'
            [[ -e first ]] || cp out first
            cmp out first || fail "$file: -j$threads ends elsewhere"
        done
    done
}

@test "--memlimit is what xz and the windows of zstd may take" {
    make_tar
    xz -9 -T1 -kc t.tar >large.tar.xz # a dictionary of 64 MiB
    xz -T2 -1 --block-size=500KiB -kc t.tar >blocks.tar.xz
    head -c 70000000 /dev/zero | cat t.tar - | zstd -q -1 --long=27 -c >large.tar.zstd
    for threads in 1 2 8; do
        for format in xz zstd; do
            run_ok sb cat "-j$threads" --memlimit=200M "large.tar.$format" tree/lines7
            run_fail 2 sb cat "-j$threads" --memlimit=30M "large.tar.$format" tree/lines7
            stderr_has "large.tar.$format: its $format data needs more than 30 MiB of memory to be decompressed; allow more with --memlimit"
        done
        run_ok sb cat "-j$threads" --memlimit=30M blocks.tar.xz tree/lines7
        run_fail 2 sb cat "-j$threads" --memlimit=1M blocks.tar.xz tree/lines7
        stderr_has 'blocks.tar.xz: its xz data needs more than 1 MiB of memory'
    done
    for wrong in 0 1000K -5 much; do
        run_fail 2 sb ls "--memlimit=$wrong" blocks.tar.xz
        stderr_has "--memlimit: '$wrong' is no size of at least 1M, such as 500M or 4G"
    done
    # a window of 2^31 bytes, of which nothing is used
    printf '\x28\xb5\x2f\xfd\0\xa8\1\0\0' >window.tar.zst
    run_fail 2 sb ls --memlimit=4G window.tar.zst
    stderr_lacks memlimit
}

# bats test_tags=threads
@test "records in a compressed stream are read by threads" {
    every_third_day
    seq 400000 | sed 's/.*/{"n":&}/' >a.jsonl
    bgzip <a.jsonl >a.jsonl.gz
    frames 300000 <a.jsonl >a.jsonl.zst
    xz -T2 -1 --block-size=300KiB -kc a.jsonl >a.jsonl.xz
    for filter in gz zst xz; do
        for threads in 1 4; do
            run_ok sb convert -qf -j$threads --frame=line a.jsonl.$filter a.$threads.bag
        done
        cmp a.1.bag a.4.bag
    done
}

@test "-v says that what is compressed in one piece is decompressed by one thread" {
    make_tar
    head -c 2000000 /dev/urandom >tree/more # enough for two parts of each format
    tar -cf t.tar tree
    gzip -k t.tar
    zstd -q -1 t.tar -o t.tar.zst
    xz -1 -T1 -k t.tar
    for filter in gz zst xz; do
        run_ok sb unpack -v -j2 -C "$filter" "t.tar.$filter"
        stderr_has "shardbox unpack: t.tar.$filter: is compressed in one piece, which one thread decompresses"
        run_ok sb unpack -v -j1 -C "$filter.1" "t.tar.$filter"
        stderr_lacks 'in one piece'
    done
    bgzip <t.tar >t.tar.gz
    frames 700000 <t.tar >t.tar.zst
    xz -T2 -1 --block-size=500KiB -kc t.tar >t.tar.xz
    for filter in gz zst xz; do
        run_ok sb unpack -v -j2 -C "$filter.2" "t.tar.$filter"
        stderr_lacks 'in one piece'
    done
}

# bats test_tags=threads
@test "it ends at once when it is interrupted, or when nobody reads what it writes" {
    make_tar
    bgzip <t.tar >t.tar.gz
    frames 700000 <t.tar >t.tar.zst
    xz -T2 -1 --block-size=500KiB -kc t.tar >t.tar.xz
    for filter in gz zst xz; do
        timeout 20 "$SHARDBOX" cat -j4 - <"t.tar.$filter" | head -c 1000 >/dev/null
        # an input that pauses in the middle of a part
        mkfifo fifo.$filter
        { head -c 1200000 "t.tar.$filter" && exec sleep 30; } >fifo.$filter &
        SECONDS=0
        run --separate-stderr timeout --preserve-status --kill-after=20 --signal=INT 1 \
            "$SHARDBOX" unpack -q -j4 -C unpacked.$filter - <fifo.$filter
        ((status == 130 && SECONDS < 10)) || fail "not interrupted"
        stderr_has 'shardbox unpack: interrupted'
        kill $!
    done
}

# bats test_tags=threads
@test "what came is decompressed before more is waited for" {
    make_tar
    sb cat - <t.tar >wanted
    head -c 3000000 t.tar | bgzip end=0 >first.gz
    head -c 3000000 t.tar | frames 100000 >first.zst
    for filter in gz zst; do
        mkfifo pipe.$filter
        { cat first.$filter && exec sleep 30; } 3>&- >pipe.$filter &
        timeout 20 "$SHARDBOX" cat -j4 - <pipe.$filter | head -c 900000 | cmp -n 900000 - wanted
        kill $! 2>/dev/null || true
    done
}

# python_reads FILE: as a stream, in which Python's tarfile knows one member of gzip and no more.
python_reads() {
    python3 -c '
import sys, tarfile
print(*(member.name for member in tarfile.open(sys.argv[1], "r|*")), sep="\n")' "$1"
}

# bats test_tags=threads
@test "what is written has parts, the same whatever the number of threads, and the tools read it" {
    every_third_day
    make_tar
    for suffix in gz zst xz bz2; do
        for threads in 1 2 8; do
            run_ok sb convert -q "-j$threads" t.tar "$threads.tar.$suffix"
        done
        cmp "1.tar.$suffix" "2.tar.$suffix"
        cmp "1.tar.$suffix" "8.tar.$suffix"
        run_ok sb convert -q -j4 "8.tar.$suffix" "$suffix.barecat"
        mkdir "$suffix"
        sb unpack -q -C "$suffix" "$suffix.barecat"
        diff -r tree "$suffix/tree"
    done
    gzip -dc 1.tar.gz >plain.tar
    zstd -dqc 1.tar.zst | cmp - plain.tar
    pzstd -dqc 1.tar.zst | cmp - plain.tar
    (($(LC_ALL=C grep -ao $'\x50\x2a\x4d\x18' 1.tar.zst | wc -l) > 1))
    xz -dc 1.tar.xz | cmp - plain.tar
    bzip2 -dc 1.tar.bz2 | cmp - plain.tar
    tar tf plain.tar >names
    for suffix in gz xz bz2; do
        python_reads "1.tar.$suffix" | diff - <(sed 's,/$,,' names)
    done
    run_ok sb unpack -v -j2 -C again 1.tar.gz
    stderr_lacks 'in one piece'
}

@test "a small output is what one that has no parts is" {
    mkdir small
    seq 1000 >small/lines
    tar -cf small.tar small
    sb convert -q -j4 small.tar small.tar.zst
    [[ $(head -c 4 small.tar.zst | od -An -tx1) == ' 28 b5 2f fd' ]]
    sb convert -q -j4 small.tar small.tar.gz
    for suffix in zst gz; do
        run_ok sb cat "small.tar.$suffix" small/lines
        cmp <(seq 1000) <(sb cat "small.tar.$suffix" small/lines)
    done
}

# bats test_tags=threads
@test "an output that cannot be written is an error, with any number of threads" {
    make_tar
    for suffix in gz zst; do
        for threads in 1 4; do
            run_fail 2 bash -c '"$SHARDBOX" convert -q "-j$1" --to="tar.$2" t.tar - >/dev/full' _ "$threads" "$suffix"
            stderr_has 'No space left on device'
        done
    done
}
