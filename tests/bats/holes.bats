#!/usr/bin/env bats
# Holes: a length on the way from any source to any sink, and holes again where the sink has them.

load helper

# Where a file system has no holes, there is nothing to see.
need_holes() {
    truncate -s 1M hole
    (($(du -k hole | cut -f1) < 100)) || skip 'this file system has no holes'
    rm hole
}

# Data at the beginning, in the middle, at the end, at odd places; holes likewise; nothing but a hole.
make_sparse() {
    mkdir "$1"
    truncate -s 2G "$1/large"
    printf middle | dd of="$1/large" bs=1 seek=1000000001 conv=notrunc status=none
    printf end >>"$1/large"
    truncate -s 500K "$1/small"
    printf x | dd of="$1/small" bs=1 seek=300000 conv=notrunc status=none
    truncate -s 5M "$1/tail"
    head -c 5000 /dev/urandom | dd of="$1/tail" conv=notrunc status=none
    truncate -s 3M "$1/nothing"
    head -c 9000 /dev/urandom >"$1/dense"
    echo short >"$1/short"
    for ((i = 0; i < 30; i++)); do
        head -c 4096 /dev/urandom | dd of="$1/comb" bs=4096 seek=$((i * 3)) conv=notrunc status=none
    done
    touch -d @1700000000 "$1"/*
}

# Same names, sizes, times and bytes, and as many blocks.
same_sparse() {
    diff <(cd "$1" && find . -type f -printf '%p %s %b %T@\n' | sort) \
        <(cd "$2" && find . -type f -printf '%p %s %b %T@\n' | sort) || fail "$2 is not as $1"
    local file
    for file in "$1"/* "$1"/long/*; do
        [[ ! -f $file || $file == */large ]] || cmp "$file" "$2/${file#*/}"
    done
    [[ $(tail -c 3 "$2/large") == end ]]
    [[ $(tail -c +1000000002 "$2/large" | head -c 6) == middle ]]
}

@test "files of a tree have their holes again after an archive" {
    need_holes
    make_sparse t
    for threads in 1 3; do
        run_ok within 20 "$SHARDBOX" pack -j$threads --force -C t a.barecat .
        run_ok within 20 "$SHARDBOX" verify a.barecat
        run_ok within 20 "$SHARDBOX" unpack -j$threads -C out a.barecat
        same_sparse t out
        run_ok within 20 "$SHARDBOX" convert -j$threads t b.barecat --shard-size=1M
        run_ok within 20 "$SHARDBOX" verify b.barecat
        run_ok within 20 "$SHARDBOX" convert -j$threads b.barecat out2 --to=dir
        same_sparse t out2
        rm -r out out2 b.barecat*
    done
    (($(du -k a.barecat-shard-00000 | cut -f1) < 400))
    cmp <(sb cat a.barecat comb) t/comb
    cmp <(sb cat a.barecat tail) t/tail
}

@test "every form of a sparse tar comes out with its holes" {
    need_holes
    make_sparse t
    local forms=('--format=gnu' '--format=posix --sparse-version=0.0'
        '--format=posix --sparse-version=0.1' '--format=posix --sparse-version=1.0') form
    for form in "${forms[@]}"; do
        # shellcheck disable=SC2086
        tar -S $form -cf a.tar -C t .
        gzip -kf a.tar
        run_ok within 20 "$SHARDBOX" verify a.tar
        for input in a.tar a.tar.gz; do
            run_ok within 20 "$SHARDBOX" unpack -C out $input
            same_sparse t out
            run_ok within 20 "$SHARDBOX" convert --force -q $input a.barecat
            run_ok within 20 "$SHARDBOX" verify a.barecat
            run_ok within 20 "$SHARDBOX" unpack -C out2 a.barecat
            same_sparse t out2
            rm -r out out2
        done
    done
}

@test "a hole of 8 TiB takes no time" {
    need_holes
    # Both are in one shard.
    truncate -s 17T big || skip 'this file system has no files of 17 TiB'
    truncate -s 8T big
    printf abc | dd of=big bs=1 seek=$((1 << 42)) conv=notrunc status=none
    ln big other
    tar -S -cf a.tar big other
    run_ok within 5 "$SHARDBOX" verify a.tar
    run_ok within 5 "$SHARDBOX" unpack -C out a.tar
    run_ok within 5 "$SHARDBOX" convert -q a.tar a.barecat
    run_ok within 5 "$SHARDBOX" verify a.barecat
    run_ok within 5 "$SHARDBOX" unpack -C out2 a.barecat
    run_ok within 5 "$SHARDBOX" pack b.barecat big other
    run_ok within 5 "$SHARDBOX" verify b.barecat
    for file in out/big out/other out2/big out2/other; do
        (($(stat -c %s $file) == 1 << 43 && $(du -k $file | cut -f1) < 100)) || fail "$file"
        [[ $(tail -c +$(((1 << 42) + 1)) $file | head -c 3) == abc ]]
    done
}

# diff_quickly CONTAINER DIR: within 5 seconds of processor time.
diff_quickly() {
    (ulimit -t 5 && sb diff "$1" -C "$2")
}

# differs_quickly CONTAINER DIR: in the bytes of big and other, and in nothing else.
differs_quickly() {
    run_fail 1 diff_quickly "$1" "$2"
    output_is 'bytes: big
bytes: other'
}

# put_byte TEXT OFFSET: at its place in t/big, whose time stays as it was.
put_byte() {
    printf %s "$1" | dd of=t/big bs=1 seek="$2" conv=notrunc status=none
    touch -d @1700000000 t/big
}

@test "diff compares holes as lengths: of a tar, an archive and a tree, of 8 TiB" {
    need_holes
    mkdir t
    truncate -s 17T t/big || skip 'this file system has no files of 17 TiB'
    truncate -s 8T t/big
    put_byte abc $((1 << 42))
    ln t/big t/other
    tar -S -cf a.tar -C t big other
    sb pack -q -C t a.barecat .
    for container in a.tar a.barecat; do
        run_ok diff_quickly $container t
        output_is ''
    done
    run_ok diff_quickly a.tar a.barecat
    run_ok diff_quickly a.barecat a.tar
    for change in "d $((1 << 42))" "x 4096" "x $(((1 << 43) - 1))"; do
        # shellcheck disable=SC2086 # a byte and its place
        put_byte $change
        for container in a.tar a.barecat; do
            differs_quickly $container t
        done
        rm t/big t/other
        tar xSf a.tar -C t
        touch -d @1700000000 t/big
    done
    run_ok diff_quickly a.tar t
}

@test "diff: zeros that are stored are the same as a hole, on either side" {
    need_holes
    make_sparse t
    cp -a t dense
    for file in dense/small dense/tail dense/comb; do
        cp --sparse=never --preserve=timestamps "t/${file#*/}" $file
    done
    sb pack -q -C t t.barecat . && sb pack -q -C dense d.barecat .
    for container in t.barecat d.barecat; do
        for tree in t dense; do
            run_ok sb diff $container -C $tree
            output_is ''
        done
    done
    printf x | dd of=dense/small bs=1 seek=100000 conv=notrunc status=none
    touch -d @1700000000 dense/small
    run_fail 1 sb diff t.barecat -C dense
    output_is 'bytes: small'
}

@test "verify --repair-from restores holes as holes: from a tree, a tar and an archive, of 8 TiB" {
    need_holes
    mkdir t
    truncate -s 17T t/big || skip 'this file system has no files of 17 TiB'
    truncate -s 8T t/big
    put_byte abc $((1 << 42))
    echo after >t/last
    tar -S -cf a.tar -C t big last
    sb pack -q -C t good.barecat big last
    sb pack -q -C t a.barecat big last
    for copy in t a.tar good.barecat; do
        for place in 5000 $((1 << 42)) $(((1 << 43) - 1)); do
            printf X | dd of=a.barecat-shard-00000 bs=1 seek="$place" conv=notrunc status=none
            run_ok bash -c "ulimit -t 5 && \"\$SHARDBOX\" verify --repair-from=$copy a.barecat"
            stderr_has '1 damaged file (8.0T) restored'
            run_ok within 5 "$SHARDBOX" verify a.barecat
        done
    done
    (($(du -k a.barecat-shard-00000 | cut -f1) < 400))
    run_ok diff_quickly a.barecat t
}

@test "a missing shard is restored with its holes" {
    need_holes
    mkdir t
    truncate -s 30M t/big t/nothing
    put_byte abc 20000000
    sb pack -q -C t a.barecat .
    rm a.barecat-shard-00000
    run_ok sb verify --repair-from=t a.barecat
    run_ok sb verify a.barecat
    run_ok sb diff a.barecat -C t
    (($(stat -c %s a.barecat-shard-00000) == 60 << 20 && $(du -k a.barecat-shard-00000 | cut -f1) < 400))
}

@test "additions after a hole at the end of a shard lie behind it" {
    need_holes
    make_sparse t
    echo more >more
    run_ok sb pack -C t a.barecat dense nothing
    (($(stat -c %s a.barecat-shard-00000) == 9000 + (3 << 20)))
    run_ok sb pack --append a.barecat more
    (($(stat -c %s a.barecat-shard-00000) == 9000 + (3 << 20) + 5)) || fail 'size'
    [[ $(sb cat a.barecat more) == more ]]
    run_ok sb pack --append -C t a.barecat tail comb
    run_ok sb verify a.barecat
    run_ok sb rm a.barecat dense
    run_ok sb defrag a.barecat
    run_ok sb verify a.barecat
    run_ok sb unpack -C out a.barecat
    cmp out/tail t/tail
    cmp out/comb t/comb
    cmp out/nothing t/nothing
}

@test "defrag and split --shard-size move files with their holes" {
    need_holes
    mkdir t
    head -c 2000000 /dev/urandom >t/a
    truncate -s 3G t/b
    head -c 70000 /dev/urandom >>t/b
    truncate -s 4G t/b
    head -c 100000 /dev/urandom >t/c
    run_ok sb pack -C t a.barecat a b c
    run_ok sb rm a.barecat a
    run_ok within 20 "$SHARDBOX" defrag a.barecat
    run_ok within 20 "$SHARDBOX" verify --strict a.barecat
    (($(du -k a.barecat-shard-00000 | cut -f1) < 300)) || fail 'defrag'
    run_ok within 20 "$SHARDBOX" split --shard-size=1G a.barecat
    run_ok within 20 "$SHARDBOX" verify --strict a.barecat
    (($(du -kc a.barecat-shard-* | tail -1 | cut -f1) < 300)) || fail 'split'
    run_ok within 20 "$SHARDBOX" unpack -C out a.barecat
    (($(du -k out | cut -f1) < 300)) || fail 'unpack'
    cmp t/c out/c
    cmp <(tail -c +$(((3 << 30) + 1)) t/b | head -c 80000) <(tail -c +$(((3 << 30) + 1)) out/b | head -c 80000)
}

@test "a limit on the size of files is an error like any other" {
    need_holes
    mkdir t
    truncate -s 10M t/big
    tar -S -cf a.tar t
    run_fail 1 bash -c 'ulimit -f 1000; "$SHARDBOX" unpack -C out a.tar'
    stderr_has 'big: cannot be written: File too large'
    run_fail 2 bash -c 'ulimit -f 1000; "$SHARDBOX" convert a.tar a.barecat'
    stderr_has 'File too large'
    [[ $(ls -d a.barecat* 2>/dev/null) == '' ]]
}

# realsize as base 256, of a member that is one hole.
@test "a hole that no file system has is an error like any other" {
    ! truncate -s $(((1 << 63) - 1)) most 2>/dev/null || skip 'this file system has it'
    python3 - <<'END'
header = bytearray(512)
header[0:3] = b"big"
header[100:107] = b"0000644"
header[124:135] = b"00000000000"
header[136:147] = b"00000000000"
header[156:157] = b"S"
header[257:264] = b"ustar  "
header[483:495] = b"\x80" + (2**63 - 1).to_bytes(11, "big")
header[148:156] = b" " * 8
header[148:155] = b"%06o\0" % sum(header)
open("a.tar", "wb").write(header + bytes(1024))
END
    run_fail 1 sb unpack -C out a.tar
    stderr_has 'big: cannot be written: File too large'
    [[ ! -e out/big ]]
}

@test "a hole counts as its length for the size of a shard" {
    need_holes
    make_sparse t
    run_ok sb pack --shard-size=4M -C t a.barecat dense nothing small comb tail
    (($(find . -name 'a.barecat-shard-*' | wc -l) == 2)) || fail 'shards'
    run_ok sb verify a.barecat
    run_ok sb unpack -C out a.barecat
    for file in dense nothing small comb tail; do
        cmp t/$file out/$file
        [[ $(stat -c %b t/$file) == $(stat -c %b out/$file) ]] || fail "$file"
    done
}

@test "convert --sparse writes a tar whose holes GNU tar and bsdtar have again" {
    need_holes
    make_sparse t
    mkdir t/long t/empty
    local name
    name=long/$(printf 'n%.0s' {1..150})-$'\303\244'
    cp --sparse=always t/comb "t/$name"
    cp --sparse=always t/comb $'t/raw-\351'
    touch -d @1700000000 t/long/* t/raw*
    sb pack -C t a.barecat .
    tar -S -cf in.tar -C t .
    for input in t a.barecat in.tar; do
        for threads in 1 3; do
            run_ok within 20 "$SHARDBOX" convert -q -j$threads --force --sparse $input out.tar
            (($(stat -c %s out.tar) < 700000)) || fail 'size'
            run_ok sb verify out.tar
            mkdir gnu
            tar -xf out.tar -C gnu
            same_sparse t gnu
            run_ok sb unpack -C out out.tar
            same_sparse t out
            if type bsdtar >/dev/null 2>&1; then
                mkdir bsd
                bsdtar -xf out.tar -C bsd
                same_sparse t bsd
                rm -r bsd
            fi
            rm -r gnu out
        done
        run_ok sb convert -q --force out.tar b.barecat
        run_ok sb unpack -C out b.barecat
        same_sparse t out
        rm -r out
    done
    run_ok sb convert -q --force --sparse t out.tar.zst
    run_ok sb unpack -C out out.tar.zst
    same_sparse t out
    run_fail 2 sb convert --sparse t out.zip
    stderr_has '--sparse is for a tar'
}

@test "a comb of more holes than a map takes loses the smallest" {
    need_holes
    mkdir t
    python3 - <<'END'
with open("t/comb", "wb") as out:
    for i in range(70000):
        out.seek(i * (8192 if i % 4 else 16384))
        out.write(b"%d" % i)
END
    run_ok sb convert -q --sparse t out.tar
    run_ok sb unpack -C out out.tar
    cmp t/comb out/comb
    tar -xOf out.tar | cmp - t/comb
}

@test "what has no holes gets zeros, of one member no more than --max-size" {
    need_holes
    mkdir t
    truncate -s 3M t/sparse
    printf middle | dd of=t/sparse bs=1 seek=1500000 conv=notrunc status=none
    tar -S -cf a.tar -C t sparse
    for input in a.tar t; do
        run_ok sb convert -q --force $input b.zip
        cmp <(unzip -p b.zip sparse) t/sparse
        run_ok sb convert -q --force $input b.bagz
        cmp <(sb cat b.bagz 0) t/sparse
        run_ok sb convert -q --force $input b.tar
        cmp <(tar xOf b.tar) t/sparse
        run_fail 2 sb convert -q --force --max-size=1M $input b.zip
        stderr_has '--max-size'
    done
}

@test "--max-size of verify and cat; zeros of one member are 1 TiB at most without it" {
    need_holes
    truncate -s 3M sparse
    tar -S -cf a.tar sparse
    gzip -k a.tar
    run_ok sb verify --max-size=3M a.tar
    [[ $(sb cat --max-size=3M a.tar | wc -c) == $((3 << 20)) ]]
    for input in a.tar a.tar.gz; do
        for command in verify cat; do
            run_fail 2 sb $command --max-size=2M $input
            stderr_has '--max-size'
        done
    done
    sb pack a.barecat sparse
    run_fail 2 sb cat --max-size=2M a.barecat sparse
    stderr_has 'more than --max-size, 2097152 bytes, comes out of it'
    truncate -s 8T big || skip 'this file system has no files of 8 TiB'
    tar -S -cf b.tar big
    run_fail 2 within 5 "$SHARDBOX" cat b.tar
    stderr_has 'b.tar: big: its holes would become more than 1099511627776 bytes of zeros; see --max-size'
    sb pack c.barecat big
    run_fail 2 within 5 "$SHARDBOX" cat c.barecat big
    stderr_has 'c.barecat: big: its holes would become more than 1099511627776 bytes of zeros'
    mkdir t
    mv big t
    run_fail 2 within 5 "$SHARDBOX" convert t b.zip
    run_fail 2 within 5 "$SHARDBOX" convert b.tar b.zip
    run_fail 2 within 5 "$SHARDBOX" unpack --max-size=1T -C out b.tar
}
