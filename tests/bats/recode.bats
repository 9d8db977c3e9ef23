# --compress and --decompress: single files on their way.

load helper

@test "--compress stores each file compressed, its suffix added" {
    local pair suffix tool
    make_tree tree
    for pair in gz:gzip bz2:bzip2 xz:xz zst:zstd; do
        suffix=${pair%:*} tool=${pair#*:}
        run_ok sb convert --compress="$suffix" tree "$suffix.tar"
        mkdir "$suffix"
        tar xf "$suffix.tar" -C "$suffix"
        [[ -L $suffix/link && ! -e $suffix/numbers ]]
        command -v "$tool" >/dev/null || continue
        "$tool" -dc "$suffix/numbers.$suffix" | cmp - tree/numbers
        "$tool" -dc "$suffix/empty.$suffix" | cmp - tree/empty
    done
}

@test "--decompress takes it off again" {
    local suffix
    make_archive
    for suffix in gz bz2 xz zst; do
        sb convert --compress="$suffix" a.barecat "$suffix.barecat"
        run_ok sb convert --to=dir --decompress "$suffix.barecat" "$suffix"
        same_tree tree "$suffix"
    done
}

# bats test_tags=threads
@test "the same files give the same bytes, whatever the threads" {
    every_third_day
    local suffix
    make_tree tree
    head -c 5000000 /dev/urandom >tree/large
    for suffix in gz bz2 xz zst; do
        sb convert --threads=1 --compress="$suffix" tree "one.$suffix.tar"
        sb convert --threads=4 --compress="$suffix" tree "four.$suffix.tar"
        cmp "one.$suffix.tar" "four.$suffix.tar"
    done
}

@test "one suffix comes off, or all that are stacked; a name that is only a suffix stays" {
    mkdir tree
    echo text | gzip >tree/a.tar.gz
    cat tree/a.tar.gz >tree/.gz
    command -v zstd >/dev/null || skip "no zstd here"
    zstd -q --rm tree/a.tar.gz
    run_ok sb convert --to=dir --decompress-all tree out
    [[ $(cat out/a.tar) == text ]]
    cmp out/.gz tree/.gz
    run_ok sb convert --to=dir --decompress tree one
    [[ $(gzip -dc one/a.tar.gz) == text ]]
}

@test "what is not what its name says is named and left out" {
    mkdir tree
    echo plain >tree/plain.gz
    seq 1000 | gzip >tree/whole
    head -c 500 tree/whole >tree/cut.gz
    { cat tree/whole; echo junk; } >tree/junk.gz
    cat tree/whole tree/whole >tree/twice.gz
    run_fail 1 sb convert --decompress tree out.barecat
    stderr_has "plain"
    stderr_has "cut"
    stderr_has "has junk after"
    [[ $(sb ls out.barecat) == $'twice\nwhole' ]]
    [[ $(sb cat out.barecat twice | wc -l) == 2000 ]]
}

# A name, the same compressed, a compressed file alone with links to it, a directory that has the
# name of a compressed file without its suffix.
make_meeting() {
    mkdir -p t/sub t/dir
    echo plain >t/a
    echo packed | gzip >t/a.gz
    echo log | gzip >t/log.gz
    echo below | gzip >t/dir.gz
    ln -s log.gz t/link
    ln -s ../log.gz t/sub/up
}

@test "unpack --decompress undoes pack --compress, whatever files are called" {
    local coding
    make_meeting
    for coding in gz bz2 xz zst; do
        run_ok sb pack -q --compress=$coding $coding.barecat -C t .
        run_ok sb unpack --decompress -C $coding $coding.barecat
        stderr_is ''
        diff -r --no-dereference t $coding
        run_ok sb convert -q --to=dir --decompress $coding.barecat dir.$coding
        diff -r --no-dereference t dir.$coding
    done
}

@test "a file stays as it is stored where its shorter name exists, in whatever order" {
    local order from
    make_meeting
    rm t/link t/sub/up
    for order in 'a a.gz' 'a.gz a'; do
        rm -rf a.barecat* a.tar
        # shellcheck disable=SC2086 # words
        run_ok sb pack --order=input a.barecat -C t $order dir.gz dir log.gz
        for threads in 1 4; do
            rm -rf out
            run_ok sb unpack -v -j$threads --decompress -C out a.barecat
            stderr_has 'a.gz: left as it is stored: there is a a too'
            stderr_has "as their name without its suffix is another's: 2"
            cmp out/a t/a
            cmp out/a.gz t/a.gz
            cmp out/dir.gz t/dir.gz
            [[ $(<out/log) == log && $(ls out) == $'a\na.gz\ndir\ndir.gz\nlog' ]]
            run_ok sb unpack -j$threads --decompress --existing=skip -C out a.barecat
            cmp out/a t/a
            cmp out/a.gz t/a.gz
        done
        run_ok sb convert -q --force --decompress a.barecat out.tar
        cmp <(tar -xOf out.tar a) t/a
        cmp <(tar -xOf out.tar a.gz) t/a.gz
    done
}

@test "of a stream, what comes later under a name that is taken is named" {
    make_meeting
    tar cf a.tar -C t a a.gz
    run_ok bash -c '"$SHARDBOX" unpack --decompress -C out - <a.tar'
    cmp out/a t/a
    cmp out/a.gz t/a.gz
    tar cf b.tar -C t a.gz a
    run_fail 1 bash -c '"$SHARDBOX" unpack --decompress -C other - <b.tar'
    stderr_has 'a: left out: a file that lost its suffix has this name already'
    [[ $(<other/a) == packed ]]
    run_fail 1 sb convert -q --decompress b.tar b.barecat
    [[ $(sb cat b.barecat a) == packed ]]
    run_ok sb convert -q --force --duplicates=last --decompress b.tar b.barecat
    [[ $(sb cat b.barecat a) == plain ]]
    # The same name twice is no other one: as ever, the last counts.
    echo newer | gzip >t/a.gz
    tar rf b.tar -C t a.gz
    tar --delete -f b.tar a
    run_ok sb unpack --decompress -C third b.tar
    [[ $(<third/a) == newer && $(ls third) == a ]]
}

@test "two files that would lose their suffixes to one name: the second keeps it" {
    mkdir t
    echo one | gzip >t/a.gz
    echo two | bzip2 >t/a.bz2
    sb pack a.barecat -C t .
    tar cf a.tar -C t a.bz2 a.gz
    for from in a.barecat a.tar; do
        rm -rf out
        run_ok sb unpack --decompress -C out $from
        [[ $(<out/a) == two && $(ls out) == $'a\na.gz' ]]
        cmp out/a.gz t/a.gz
    done
}

@test "a link to a file that loses its suffix is named" {
    make_meeting
    sb pack --order=input a.barecat -C t log.gz link sub
    sb pack --order=input b.barecat -C t link sub log.gz
    tar cf c.tar -C t log.gz link sub
    tar cf d.tar -C t link sub log.gz
    for from in a.barecat b.barecat c.tar d.tar; do
        rm -rf out
        run_fail 1 sb unpack --decompress -C out $from
        [[ $stderr == *"link: links to log.gz, which has lost its suffix here"* || \
            $stderr == *"log.gz: a symbolic link points to it, and it is called log here"* ]]
        [[ $(<out/log) == log ]]
    done
    # One that keeps it is linked to as before.
    touch t/log
    sb pack -f a.barecat -C t log.gz log link sub
    rm -rf out
    run_ok sb unpack --decompress -C out a.barecat
    cmp out/link t/log.gz
}

@test "hard links in a tar go the way of their file" {
    mkdir t
    echo text | gzip >t/a.gz
    ln t/a.gz t/b.gz
    ln t/a.gz t/c.gz
    echo other >t/c
    tar cf a.tar -C t c a.gz b.gz c.gz
    run_fail 1 sb unpack --decompress -C out a.tar
    stderr_has 'c.gz: left out: it would be called c, as another one is already'
    [[ $(cat out/a out/b out/c) == $'text\ntext\nother' && $(ls out) == $'a\nb\nc' ]]
    echo plain >t/a
    tar cf a.tar -C t a a.gz b.gz
    run_ok sb unpack --decompress -C kept a.tar
    cmp kept/a.gz t/a.gz
    cmp kept/b.gz t/a.gz
    [[ $(<kept/a) == plain ]]
}

@test "--strip-components: of two names that become one the second is named and left out" {
    local from
    mkdir -p t/x/d t/y/d
    echo one >t/x/f
    echo two >t/y/f
    echo three >t/y/d/g
    sb pack a.barecat -C t .
    tar cf a.tar -C t x y
    (cd t && zip -qr ../a.zip x y)
    for from in a.barecat a.tar a.zip; do
        rm -rf out b.barecat*
        run_fail 1 sb unpack --strip-components=1 -C out $from
        stderr_has 'y/f: left out: it would be called f, as another one is already'
        [[ $(<out/f) == one && $(<out/d/g) == three ]]
        run_fail 1 sb convert -q --strip-components=1 $from b.barecat
        stderr_has 'y/f: left out: it would be called f, as another one is already'
        [[ $(sb cat b.barecat f) == one ]]
        run_ok sb convert -q --force --duplicates=last --strip-components=1 $from b.barecat
        [[ $(sb cat b.barecat f) == two ]]
    done
}
