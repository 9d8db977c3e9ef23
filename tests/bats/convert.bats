# shardbox convert: from any container to any other.

load helper

# A tar of the small tree with hard links, owners and names of them: leaves tree/ and a.tar.
make_tar() {
    make_tree tree
    ln tree/a.txt tree/hard
    touch -d '2001-02-03 04:05:06.123456789Z' tree
    tar --format=pax --owner=someone:1234 --group=people:4321 -cf a.tar -C tree .
}

# A tar with what trees rarely have: long names, large owners, times before 1970.
make_odd_tar() {
    python3 - "$@" <<'PYTHON'
import io, sys, tarfile
name, kind = sys.argv[1:]
pax = kind == "pax"
with tarfile.open(name, "w", format=tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT,
                  encoding="utf-8", errors="surrogateescape") as tar:
    def add(name, data=b"", **more):
        member = tarfile.TarInfo(name)
        member.size, member.uid, member.gid, member.mode = len(data), 1234, 4321, 0o644
        member.mtime = 1000000000.5 if pax else 1000000000
        for key, value in more.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(data))
    add("dir", type=tarfile.DIRTYPE, mode=0o750)
    add("dir/empty", type=tarfile.DIRTYPE, mode=0o1777)
    add("dir/setuid", b"hello\n", mode=0o4755)
    for part in ("dir/" + "e" * 90, "dir/" + "e" * 90 + "/" + "f" * 90):
        add(part, type=tarfile.DIRTYPE, mode=0o755)
    add("dir/" + "e" * 90 + "/" + "f" * 90 + "/" + "g" * 200, b"long")
    add("long-link", type=tarfile.SYMTYPE, linkname="x" * 300, mode=0o777)
    add("caf\udce9", b"latin")
    add("nfd-e\u0301", b"nfd")
    add("nfc-\u00e9", b"nfc")
    add("new\nline", b"newline")
    add("large-owner", b"x", uid=3000000000, gid=2097152)
    add("before", b"x", mtime=-86400)
PYTHON
}

# What a tar says of its members, in the order of their names.
listing() {
    tar --numeric-owner --full-time -tvf "$1" 2>/dev/null | tr -s ' ' | sed 's, \./, ,' |
        grep -v ' $' | LC_ALL=C sort -k 6
}

# left TEXT...: nothing else is there.
left() {
    [[ $(ls -A -I 'separate-stderr-*') == "$(printf '%s\n' "$@")" ]] || fail "there: $(ls -A)"
}

@test "a tar becomes an archive, and is a tar again" {
    make_tar
    rm tree/hard && cp -p tree/a.txt tree/hard
    run_ok sb convert a.tar a.barecat
    output_is ""
    stderr_is 'shardbox convert: a.barecat: hard links of 1 member are not held by an archive; --report=FILE lists them'
    run_ok sb verify --strict a.barecat
    run_ok sb unpack -C out a.barecat
    same_tree tree out
    run_ok sb convert a.barecat b.tar
    stderr_is ""
    diff <(listing a.tar | grep -v 'hard\|a.txt$') <(listing b.tar | grep -v 'hard\|a.txt$')
    mkdir again
    tar xf b.tar -C again
    same_tree tree again
}

@test "long names, odd bytes, large owners, fractions of seconds and times before 1970 come back" {
    for kind in pax gnu; do
        make_odd_tar $kind.tar $kind
        run_ok sb convert -q $kind.tar $kind.barecat
        run_ok sb verify --strict $kind.barecat
        run_ok sb convert $kind.barecat $kind.back.tar
        diff <(listing $kind.tar) <(listing $kind.back.tar)
        run_ok sb convert $kind.tar $kind.direct.tar
        stderr_is ""
        diff <(listing $kind.tar) <(listing $kind.direct.tar)
    done
}

@test "directories that only names of files speak of come back as such" {
    mkdir -p t/a/b
    echo x >t/a/b/c
    tar cf a.tar -C t a/b/c
    sb convert -q a.tar a.barecat
    run_ok sb convert a.barecat b.tar
    [[ $(tar tf b.tar) == a/b/c ]]
}

@test "every compression is read, whatever the file is called, also from a pipe" {
    make_tar
    sb convert -q a.tar a.barecat
    local filter
    for filter in gzip bzip2 xz lzma zstd lz4; do
        case $filter in
        lz4) lz4 -q a.tar x ;;
        *) $filter -c a.tar >x ;;
        esac
        run_ok sb convert -q --force x x.barecat
        cmp a.barecat-shard-00000 x.barecat-shard-00000
        run_ok bash -c '"$SHARDBOX" convert -q --force - y.barecat <x'
        run_ok bash -c 'cat x | "$SHARDBOX" convert -q --force - y.barecat'
        cmp a.barecat-shard-00000 y.barecat-shard-00000
        rm x
    done
}

# bats test_tags=threads
@test "every kind of tar is written, and by any number of threads the same" {
    make_tar
    sb convert -q a.tar a.barecat
    local suffix
    for suffix in tar tar.gz tgz tar.bz2 tbz2 tar.xz txz tar.zst tzst tar.lz4 tar.lzma; do
        run_ok sb convert -q -j1 a.barecat one.$suffix
        run_ok sb convert -q -j3 a.barecat three.$suffix
        cmp one.$suffix three.$suffix
        bsdtar -tf one.$suffix >names
        [[ $(grep -c . names) -ge 25 ]]
        run_ok bash -c '"$SHARDBOX" convert -q --to='$suffix' a.barecat - | cmp - one.'$suffix
    done
    gzip -t one.tar.gz one.tgz
    xz -t one.tar.xz one.txz one.tar.lzma
    zstd -qt one.tar.zst
}

@test "cpio is read" {
    make_tree tree
    find tree -exec touch -h -d '2001-02-03 04:05:06' {} +
    local format
    for format in newc odc crc; do
        (cd tree && find . -depth -print0 | cpio -0 -o --quiet -H $format) >a.cpio
        run_ok sb convert -q --force a.cpio a.barecat
        run_ok sb diff -C tree a.barecat
        run_ok bash -c 'gzip <a.cpio | "$SHARDBOX" convert -q --force - a.barecat'
        run_ok sb diff -C tree a.barecat
    done
    run_fail 2 sb convert a.barecat b.cpio
    stderr_has 'a cpio can only be read'
}

@test "zip goes both ways, with modes and links, also through a pipe" {
    make_tar
    run_ok sb convert -q a.tar a.zip
    run_ok unzip -qt a.zip
    run_ok sb convert -q a.zip a.barecat
    [[ $(sb cat a.barecat link) == a.txt ]]
    run_ok sb unpack -C out a.barecat
    diff -r --no-dereference tree out
    [[ $(stat -c %a out/one out/sub.d out/empty-dir/inner) == $'600\n750\n700' ]]
    run_ok bash -c 'cat a.zip | "$SHARDBOX" convert -q - b.barecat'
    cmp a.barecat-shard-00000 b.barecat-shard-00000
    run_ok bash -c '"$SHARDBOX" convert -q --to=zip a.barecat - >b.zip'
    run_ok unzip -qt b.zip
    run_ok sb convert -q --method=store a.barecat stored.zip
    run_ok sb convert -q --wrap stored.zip wrapped.barecat
    run_ok sb diff -C out wrapped.barecat
}

@test "what a zip cannot hold is counted" {
    make_odd_tar a.tar pax
    run_ok sb convert -v a.tar a.zip
    stderr_has 'times out of range of'
    stderr_has 'nanoseconds of 13 members are not held by a zip'
}

@test "a volume label, and what follows a zip, are named, and --strict refuses them" {
    printf 'one\n' >first
    for format in gnu posix; do
        tar --format=$format -V 'tape 7' -cf a.tar first
        run_ok sb convert --force a.tar a.barecat
        stderr_is "shardbox convert: a.tar: its volume label 'tape 7' is not taken along"
        run_ok bash -c 'gzip -c a.tar | "$SHARDBOX" convert --force - b.barecat'
        run_fail 2 sb convert --strict a.tar c.barecat
        [[ ! -e c.barecat ]]
        run_ok sb cat a.tar first
        output_is one
    done
    zip -q a.zip first
    echo junk >>a.zip
    run_ok sb convert --force a.zip a.barecat
    stderr_has 'a.zip: has 5 bytes after its end'
    run_fail 2 sb convert --strict a.zip c.barecat
    [[ ! -e c.barecat ]]
}

@test "an incremental dump is named, and --strict refuses it" {
    mkdir d
    touch d/kept d/gone
    for format in gnu posix; do
        tar --format=$format -g "$format.snapshot" -cf full.tar d
        tar --format=$format -g "$format.snapshot" -cf next.tar d
        run_ok sb convert --force next.tar a.barecat
        stderr_is "shardbox convert: next.tar: is of an incremental dump, whose lists of directories are not applied: files that were deleted before it stay; 'unpack --incremental' applies them"
        run_ok bash -c 'gzip -c full.tar | "$SHARDBOX" find -'
        output_has d/kept
        stderr_has 'is of an incremental dump'
        run_fail 2 sb convert --strict next.tar b.barecat
        [[ ! -e b.barecat ]]
    done
}

@test "a part of a file that began in another volume is named, and not written" {
    head -c 30000 /dev/zero >big
    echo small >small
    for format in gnu posix; do
        tar --format=$format -M -L 20 -cf first.tar -f second.tar big small
        gzip -kf second.tar
        for file in second.tar second.tar.gz; do
            run_fail 1 sb convert --force $file a.barecat
            stderr_has 'big: is only a part of a file that began in another volume; left out'
            [[ $(sb find a.barecat) == small ]]
            run_fail 1 sb unpack --existing=replace -C out $file
            [[ $(ls out) == small ]]
            run_fail 1 sb cat $file small
            output_is small
        done
        run_fail 2 sb convert --force first.tar c.barecat
        stderr_has 'big: goes on after the end of first.tar; left out'
        # Joined, the header of the second is in the middle of the file.
        for last in second.tar second.tar.gz; do
            { if [[ $last == *.gz ]]; then gzip -c first.tar; else cat first.tar; fi; cat $last; } >joined
            for input in joined -; do
                run_fail 2 sb convert --force --to=archive $input d.barecat <joined
                stderr_has "big goes on in another volume, whose header is among its bytes"
                [[ ! -e d.barecat ]]
            done
            run_fail 2 sb unpack -C joined-$last joined
            [[ $(ls joined-$last) == '' ]]
        done
        # But a member that is such a file is one.
        cat first.tar second.tar >joined
        tar --format=$format -cf outer.tar joined
        run_ok sb convert --force outer.tar e.barecat
        sb cat e.barecat joined | cmp - joined
        rm -r joined-*
    done
}

@test "global pax headers hold for what says nothing else itself, as in GNU tar" {
    printf 'one\n' >first
    printf 'two\n' >second
    touch -d @1000 first second
    globals='uid=1111,gid=22,uname=nobody-here,gname=none,mtime=-86399.5'
    tar --format=posix --owner=some:5 --group=other:6 --pax-option="$globals" -cf a.tar first second
    tar --format=posix --owner=some:5 --group=other:6 --pax-option="$globals" --pax-option=uid:=7 -cf own.tar first
    gzip -k a.tar
    for file in a.tar a.tar.gz; do
        run_ok sb find --printf '%p %U %G %T@\n' "$file"
        output_is $'first 1111 22 -86399.5000000000\nsecond 1111 22 -86399.5000000000'
        run_ok sb convert --force "$file" b.tar
        [[ $(tar -tvf b.tar) == *nobody-here/none*first*nobody-here/none*second* ]]
    done
    run_ok sb find --printf '%p %U %G\n' own.tar
    output_is 'first 7 22'
    # the next tar has none
    tar --format=posix --owner=some:5 --group=other:6 -cf plain.tar second
    cat a.tar plain.tar >both.tar
    run_ok sb find --ignore-zeros --printf '%p %U %G\n' both.tar
    output_has 'second 5 6'
}

@test "a directory goes both ways" {
    make_tree tree
    make_raw_names tree
    run_ok sb convert -q tree a.barecat
    run_ok sb diff -C tree a.barecat
    run_ok sb convert -q tree/ a.tar
    run_ok sb convert -q a.tar out/
    same_tree tree out
    run_fail 1 sb convert -q a.tar out/
    stderr_has 'exist'
    run_ok sb convert -q --existing=skip a.tar out/
    echo changed >out/a.txt
    run_ok sb convert -q --existing=replace a.barecat out
    same_tree tree out
}

@test "an archive becomes another one, with other shards" {
    make_archive
    run_ok sb convert --shard-size=100k a.barecat b.barecat
    stderr_is ""
    [[ -e b.barecat-shard-00001 ]]
    run_ok sb verify --strict b.barecat
    run_ok sb diff -C b.barecat a.barecat
    cmp <(sql a.barecat 'SELECT * FROM dirs ORDER BY path') <(sql b.barecat 'SELECT * FROM dirs ORDER BY path')
}

@test "what is damaged in an archive is named and left out" {
    make_archive
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset FROM files WHERE path = 'numbers'")"
    run_fail 1 sb convert a.barecat b.barecat
    stderr_has 'numbers: '
    stderr_has 'b.barecat: done in part'
    run_ok sb verify --strict b.barecat
    [[ $(sb find b.barecat) == "$(sb find a.barecat | grep -v numbers)" ]]
    run_fail 2 sb convert --strict a.barecat c.barecat
    [[ ! -e c.barecat ]]
}

@test "several inputs of several kinds become one output" {
    mkdir -p t/d
    echo 1 >t/d/1
    tar cf 1.tar -C t d
    rm t/d/1
    echo 2 >t/d/2
    (cd t && zip -qr ../2.zip d)
    rm t/d/2
    echo 3 >t/d/3
    sb pack 3.barecat -C t d
    rm t/d/3
    echo 4 >t/d/4
    tar cf - -C t d | gzip >4.tar.gz
    run_ok bash -c '"$SHARDBOX" convert -q 1.tar 2.zip 3.barecat - all.barecat <4.tar.gz'
    [[ $(sb cat all.barecat d/1 d/2 d/3 d/4) == $'1\n2\n3\n4' ]]
    run_ok sb verify --strict all.barecat
    run_fail 2 sb convert - - x.barecat
    stderr_has 'standard input can be only one'
}

@test "of one name in a tar the last counts, in two inputs it is an error, or as --duplicates says" {
    mkdir t
    for i in 1 2 3; do
        echo "$i" >t/same
        tar rf a.tar -C t same
    done
    echo 4 >t/same
    tar cf b.tar -C t same
    run_ok sb convert -q a.tar a.barecat
    [[ $(sb cat a.barecat same) == 3 ]]
    run_ok sb verify a.barecat
    run_fail 1 sb convert -q --force a.tar b.tar a.barecat
    stderr_is 'shardbox convert: same: is in a.tar and in b.tar; only the first is taken (see --duplicates)
shardbox convert: a.barecat: done in part; problems, named above: 1'
    [[ $(sb cat a.barecat same) == 3 ]]
    run_ok sb convert -q --force --duplicates=last a.tar b.tar a.barecat
    [[ $(sb cat a.barecat same) == 4 ]]
    run_ok sb convert -q --force --duplicates=first a.tar b.tar a.barecat
    [[ $(sb cat a.barecat same) == 1 ]]
    run_fail 1 sb convert -q --force --duplicates=error a.tar b.tar a.barecat
    stderr_has 'same: comes more than once; only the first is taken (see --duplicates)'
    run_ok sb convert -q --duplicates=last a.tar b.tar a.zip
    [[ $(unzip -p a.zip) == 4 ]]
    run_ok sb convert -q --duplicates=last a.tar b.tar d/
    [[ $(<d/same) == 4 ]]
}

@test "--append adds; names that are there are named, or --duplicates decides" {
    mkdir t
    echo old >t/a
    sb pack a.barecat -C t .
    echo new >t/a
    echo new >t/b
    tar cf n.tar -C t a b
    run_fail 1 sb convert -q --append n.tar a.barecat
    stderr_has 'a: is in the archive already; left out (see --duplicates)'
    [[ $(sb cat a.barecat a b) == $'old\nnew' ]]
    run_ok sb convert -q --append --duplicates=first n.tar a.barecat
    [[ $(sb cat a.barecat a b) == $'old\nnew' ]]
    run_ok sb convert -q --append --duplicates=last n.tar a.barecat
    [[ $(sb cat a.barecat a b) == $'new\nnew' ]]
    run_ok sb verify --strict a.barecat
}

@test "what stands at OUTPUT is refused before anything is read, and replaced under --force" {
    make_tar
    sb convert -q a.tar a.barecat
    sb convert -q a.tar b.tar
    sb convert -q a.tar c.zip
    for target in a.barecat b.tar c.zip; do
        cp $target kept
        run_fail 2 within 5 bash -c '"$SHARDBOX" convert - '$target' < <(exec sleep 20 >/dev/null 2>&1 3>&-)'
        cmp $target kept
    done
    echo one >one
    tar cf one.tar one
    for target in a.barecat b.tar c.zip; do
        run_ok sb convert -q --force one.tar $target
        [[ $(sb cat $target one) == one ]]
    done
    left a.barecat a.barecat-shard-00000 a.tar b.tar c.zip kept one one.tar tree
}

@test "when it fails, what stood there stands" {
    make_tar
    sb convert -q a.tar a.barecat
    sb convert -q a.tar b.tar.gz
    sha256sum a.barecat* b.tar.gz >sums
    head -c 20000 a.tar >cut.tar
    for target in a.barecat b.tar.gz new.barecat new.tar new.zip; do
        run_fail 2 sb convert -q --force cut.tar $target
        run_fail 2 sb convert -q --force a.tar missing.tar $target
    done
    sha256sum --quiet -c sums
    left a.barecat a.barecat-shard-00000 a.tar b.tar.gz cut.tar sums tree
}

@test "an output that is an input, a part of one, or inside of one is refused" {
    make_tar
    sb convert -q a.tar a.barecat
    ln -s a.tar alias.tar
    ln a.tar hard.tar
    sha256sum a.tar a.barecat* >sums
    run_fail 2 sb convert --force a.tar a.tar
    stderr_has 'a.tar: is input and output at once'
    run_fail 2 sb convert --force a.tar alias.tar
    run_fail 2 sb convert --force alias.tar hard.tar
    run_fail 2 bash -c '"$SHARDBOX" convert --force - a.tar <a.tar'
    run_fail 2 bash -c '"$SHARDBOX" convert --to=tar a.tar - >>a.tar'
    run_fail 2 sb convert --append a.barecat a.barecat
    run_fail 2 sb convert --force --to=tar a.barecat a.barecat-shard-00000
    stderr_has 'holds bytes of the input a.barecat'
    sha256sum --quiet -c sums
    run_fail 2 sb convert tree tree/a.barecat
    stderr_has 'tree/a.barecat: is inside of tree'
    run_fail 2 sb convert tree tree/sub/
    run_fail 2 bash -c 'cd tree && "$SHARDBOX" convert . ../tree/sub/a.tar'
    run_ok sb convert tree trees.barecat
}

@test "an archive is not replaced by a stream, which would leave its shards behind" {
    make_tar
    sb convert -q a.tar a.barecat
    sha256sum a.tar a.barecat* >sums
    run_fail 2 sb convert --force --to=tar a.tar a.barecat
    stderr_has 'a.barecat: is an archive, whose shards would be lost'
    run_fail 2 sb convert --force --to=zip a.tar a.barecat-shard-00000
    stderr_has 'a.barecat-shard-00000: is a shard of the archive a.barecat'
    sha256sum --quiet -c sums
    left a.barecat a.barecat-shard-00000 a.tar sums tree
}

@test "a report replaces neither an input nor the output" {
    make_tar
    sb convert -q a.tar a.barecat
    ln -s a.tar alias
    sha256sum a.tar a.barecat* >sums
    run_fail 2 sb convert --report=a.tar a.tar b.barecat
    run_fail 2 sb convert --report=alias a.tar b.barecat
    stderr_has 'alias: is input and output at once'
    run_fail 2 sb convert --report=a.barecat a.barecat b.tar
    run_fail 2 sb convert --report=a.barecat-shard-00000 a.barecat b.tar
    run_fail 2 sb convert --report=b.tar a.barecat ./b.tar
    stderr_has 'b.tar: is both the report and OUTPUT'
    run_fail 2 sb convert --report=a.barecat --append -q tree a.barecat
    sha256sum --quiet -c sums
    left a.barecat a.barecat-shard-00000 a.tar alias sums tree
}

@test "modes and owners beyond what there can be do not make rows that nobody reads" {
    python3 - <<'PYTHON'
import io, tarfile
with tarfile.open("a.tar", "w", format=tarfile.GNU_FORMAT) as tar:
    for name, more in (("mode", {"mode": 0o7777644}), ("large", {"uid": 1 << 40}),
                       ("negative", {"gid": -5})):
        member = tarfile.TarInfo(name)
        member.size = 3
        for key, value in more.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(b"abc"))
PYTHON
    printf abc >m
    echo m | cpio --quiet -o -H newc >a.cpio
    printf FFFF | dd of=a.cpio bs=1 seek=14 conv=notrunc status=none
    for input in a.tar a.cpio; do
        run_ok sb convert --force $input a.barecat
        run_ok sb verify a.barecat
        run_ok sb convert --force --wrap $input a.barecat
        run_ok sb verify a.barecat
    done
    run_ok sb convert --force a.tar a.barecat
    stderr_has 'large: its owner 1099511627776:0 is none that there can be; left out'
    [[ $(sb cat a.barecat mode large negative) == abcabcabc ]]
}

@test "numbers of owners are kept up to 2^32 - 2; the next one is -1, which is none" {
    python3 - <<'PYTHON'
import io, struct, tarfile, zipfile
most = 2**32 - 2
owners = (0, 2**31), (most, most), (most + 1, 7)
for form in "GNU", "PAX":
    with tarfile.open(form + ".tar", "w", format=getattr(tarfile, form + "_FORMAT")) as tar:
        for number, (uid, gid) in enumerate(owners):
            member = tarfile.TarInfo("f%d" % number)
            member.uid, member.gid, member.mtime = uid, gid, 10**9
            tar.addfile(member)
with zipfile.ZipFile("a.zip", "w") as archive:
    for number, owner in enumerate(owners):
        info = zipfile.ZipInfo("f%d" % number)
        info.create_system = 3
        info.external_attr = 0o100644 << 16
        info.extra = struct.pack("<HHBBIBI", 0x7875, 11, 1, 4, owner[0], 4, owner[1])
        archive.writestr(info, "")
with open("a.cpio", "wb") as cpio:
    for name, owner in (("f0", owners[0]), ("f1", owners[1]), ("f2", owners[2]), ("TRAILER!!!", (0, 0))):
        fields = (1, 0o100644, *owner, 1, 10**9, 0, 0, 0, 0, 0, len(name) + 1, 0)
        record = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        cpio.write(record + b"\0" * (-len(record) % 4))
PYTHON
    local input to
    for input in GNU.tar PAX.tar a.cpio a.zip; do
        run_ok sb convert --force $input a.barecat
        stderr_is 'shardbox convert: f2: its owner 4294967295:7 is none that there can be; left out'
        run_fail 2 sb convert --strict --force $input a.barecat
        for to in a.barecat b.tar b.zip; do
            [[ $to == a.barecat ]] || run_ok sb convert --force a.barecat $to
            run_ok sb convert --force $to c.barecat
            stderr_is ''
            [[ $(sql c.barecat "SELECT uid, gid FROM files WHERE path < 'f2' ORDER BY path") == \
                $'0|2147483648\n4294967294|4294967294' ]] || fail "$input to $to"
        done
    done
    # What others may have written.
    run_ok sb convert --force GNU.tar a.barecat
    sql a.barecat "UPDATE files SET uid = 4294967295 WHERE path = 'f1'"
    run_ok sb find a.barecat f1 --printf '%U %G\n'
    output_is '? 4294967294'
}

@test "times from 1678 to 2262 are kept to the nanosecond" {
    python3 - <<'PYTHON'
import tarfile
with tarfile.open("a.tar", "w") as tar:
    for time in ("-9214559999.876543211", "-0.000000001", "0.5", "1000000000.999999999", "9214646399.999999999"):
        member = tarfile.TarInfo(time)
        member.pax_headers["mtime"] = time
        tar.addfile(member)
PYTHON
    local to
    for to in a.barecat b.tar b.tar.gz; do
        run_ok sb convert --force a.tar $to
        run_ok sb convert --force $to c.barecat
        [[ $(sql c.barecat "SELECT mtime_ns FROM files ORDER BY mtime_ns" | tr '\n' ' ') == \
            '-9214559999876543211 -1 500000000 1000000000999999999 9214646399999999999 ' ]]
    done
    # Where the file system of the tests holds them.
    touch -d @-9214559999.876543211 one
    touch -d @9214646399.999999999 other
    stat -c %.9Y one other >wanted
    sb pack --force a.barecat one other
    sb unpack -C out a.barecat
    (cd out && stat -c %.9Y one other) | cmp - wanted
}

@test "names lose a leading ./, or / with one warning; those with .. are named and left out" {
    python3 - <<'PYTHON'
import io, tarfile
with tarfile.open("a.tar", "w") as tar:
    for name in ("/abs", "./dot", "a/./b", "a//c", "../up", "x/../../up", "x/..", "fine"):
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
PYTHON
    for target in a.barecat b.tar c.zip; do
        run_fail 1 sb convert a.tar $target
        [[ $(grep -c 'is taken off' <<<"$stderr") == 1 ]]
        [[ $(grep -c '\.\.' <<<"$stderr") == 3 ]]
        run_fail 2 sb convert -q --strict --force a.tar $target
        [[ $(sb find --type=f $target) == $'a/b\na/c\nabs\ndot\nfine' ]]
    done
    mkdir inner
    run_fail 1 sb convert -q a.tar inner/out/
    [[ $(find . -name up) == '' && ! -e /abs ]]
}

@test "--prefix, --strip-components, --include and --exclude" {
    make_tar
    run_ok sb convert -q --include='sub/**' --exclude='*' --strip-components=1 --prefix=p/q a.tar b.tar
    [[ $(tar tf b.tar | grep -v '/$' | sort) == $'p/q/dir/file.bin\np/q/file\np/q/up' ]]
    run_ok sb convert -q --exclude=deep tree a.barecat
    run_fail 1 sb find a.barecat deep
    run_ok sb convert -q --prefix=p a.tar c.zip
    [[ $(sb cat c.zip p/a.txt) == hello ]]
}

@test "between two tars hard links, devices, owner names and nanoseconds stay" {
    python3 - <<'PYTHON'
import io, tarfile
with tarfile.open("a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
    def add(name, data=b"", **more):
        member = tarfile.TarInfo(name)
        member.size, member.uname, member.gname, member.mtime = len(data), "me", "us", 1e9 + 0.25
        for key, value in more.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(data))
    add("file", b"data")
    add("hard", type=tarfile.LNKTYPE, linkname="file")
    add("fifo", type=tarfile.FIFOTYPE)
    add("device", type=tarfile.CHRTYPE, devmajor=1, devminor=3)
PYTHON
    run_ok sb convert a.tar b.tar
    stderr_is ""
    cmp <(tar --full-time -tvf a.tar) <(tar --full-time -tvf b.tar)
    run_ok bash -c '"$SHARDBOX" convert --to=tar --prefix=p a.tar - | tar tvf - | grep "p/hard link to p/file"'
    run_fail 1 sb convert --report=report a.tar a.barecat
    stderr_has 'fifo: is a FIFO'
    stderr_has 'device: is a character device'
    stderr_has 'a.barecat: done in part; problems, named above: 2'
    [[ $(sb cat a.barecat hard) == data ]]
    [[ $(sort report) == '{"path":"device","problem":"special","why":"is a character device, which cannot be held here; left out"}
{"path":"fifo","problem":"special","why":"is a FIFO, which cannot be held here; left out"}
{"path":"hard","lost":["hard-links"]}' ]]
}

@test "owner names go from a tar through an archive to a tar, whoever splits and merges it" {
    mkdir t t/d
    echo 1 >t/a
    ln -s a t/l
    tar cf a.tar --owner=alice:4001 --group=staff:4002 t
    tar rf a.tar --owner=bob:4003 --group=staff:4002 --transform='s,^,b/,S' t
    run_ok sb convert --strict a.tar a.barecat
    stderr_is ""
    run_ok sb split --symlink --parts=2 -o 's{}.barecat' a.barecat
    run_ok sb merge-symlink -o merged.barecat s0.barecat s1.barecat
    run_ok sb split --parts=2 -o 'c{}.barecat' a.barecat
    run_ok sb merge -o copied.barecat c0.barecat c1.barecat
    run_ok sb convert --wrap a.tar wrapped.barecat
    for archive in a merged copied wrapped; do
        run_ok sb convert --strict -f "$archive.barecat" b.tar
        cmp <(tar --full-time -tvf a.tar | sort) <(tar --full-time -tvf b.tar | sort)
    done
}

@test "an id keeps the first of two names, and the second is counted" {
    mkdir t
    tar cf a.tar --owner=alice:4001 --group=staff:4002 t
    run_ok sb convert a.tar a.barecat
    tar cf b.tar --owner=carl:4001 --group=staff:4002 --transform='s,^,b/,' t
    run_fail 2 sb convert --strict --append b.tar a.barecat
    stderr_has 'b/t: has second names of owners, which a.barecat does not hold'
    run_ok sb convert --append b.tar a.barecat
    stderr_has 'a.barecat: second names of owners of 1 member are not held by an archive; --report=FILE lists them'
    run_ok bash -c '"$SHARDBOX" convert --to=tar a.barecat - | tar tvf - | cut -d" " -f2 | uniq'
    output_is alice/staff
    run_ok sb convert b.tar c.barecat
    run_ok sb merge-symlink -o d.barecat a.barecat c.barecat
    stderr_has "carl: is not kept as the name of user 4001, which has another"
}

@test "times that no archive holds become the nearest, and are counted" {
    mkdir t
    touch -d '1901-12-14 12:00:00.5' t/old
    touch -d '2400-01-01' t/far
    tar cf a.tar --format=pax t
    run_ok sb convert a.tar a.barecat
    stderr_is "shardbox convert: a.barecat: times out of range of 1 member are not held by an archive; --report=FILE lists them"
    run_ok sb find --printf '%p %T@\n' a.barecat t/old t/far
    output_has "9223372036"
    run_fail 2 sb convert --strict -f a.tar a.barecat
    stderr_has "t/far: has times out of range, which a.barecat does not hold"
}

@test "a hard link whose target is left out gets no other file's bytes, and is not left dangling" {
    mkdir -p s/x s/y
    echo 1 >s/x/a
    echo 2 >s/y/a
    ln s/y/a s/y/b
    tar cf a.tar -C s x/a y/a y/b
    for target in a.barecat b.tar b.zip d/; do
        run_fail 1 sb convert -q -n --strip-components=1 a.tar $target
        stderr_has "b: hard link to y/a, which was left out; left out"
        run_fail 1 sb convert -q --strip-components=1 a.tar $target
        stderr_has "b: hard link to y/a, which was left out; left out"
        rm -rf out
        run_ok sb convert -q $target out/
        [[ $(ls out) == a && $(cat out/a) == 1 ]]
        rm -rf "$target" "$target"-shard-*
        run_fail 1 sb convert -q --duplicates=first --strip-components=1 a.tar $target
        stderr_has "b: hard link to y/a, which was left out; left out"
        rm -rf "$target" "$target"-shard-*
        run_fail 1 sb convert -q -n --exclude='y/a' a.tar $target
        run_fail 1 sb convert -q --exclude='y/a' a.tar $target
        stderr_has "y/b: hard link to y/a, which was left out; left out"
        rm -rf "$target" "$target"-shard-*
    done
    run_fail 1 sb unpack -q --strip-components=1 a.tar -C d2
    [[ $(cat d2/*) == 1 ]]
    run_ok sb convert -q --duplicates=last --strip-components=1 a.tar c.barecat
    [[ $(sb cat c.barecat a b) == $'2\n2' ]]
}

@test "of two inputs: a hard link to a conflict is a conflict itself, and named" {
    mkdir one two
    echo 1 | tee one/a >one/b
    echo 2 >two/a
    ln two/a two/b
    tar cf 1.tar -C one a b
    tar cf 2.tar -C two a b
    for target in a.barecat b.tar b.zip d/; do
        for option in --dry-run --threads=1 --threads=4; do
            rm -rf "$target" "$target"-shard-* out
            run_fail 1 sb convert "$option" 1.tar 2.tar $target
            stderr_has "a: is in 1.tar and in 2.tar"
            stderr_has "b: is in 1.tar and in 2.tar"
        done
        run_ok sb convert -q $target out/
        [[ $(cat out/a out/b) == $'1\n1' ]]
    done
    run_fail 1 sb merge 1.tar 2.tar c.barecat
    [[ $(sb cat c.barecat a b) == $'1\n1' ]]
    run_fail 1 sb merge -n 1.tar 2.tar d.barecat
    stderr_has "b: is in 1.tar and in 2.tar"
}

@test "a hard link to what is not there is named and left out" {
    python3 - <<'PYTHON'
import tarfile
with tarfile.open("a.tar", "w") as tar:
    member = tarfile.TarInfo("hard")
    member.type, member.linkname = tarfile.LNKTYPE, "gone"
    tar.addfile(member)
PYTHON
    for target in a.barecat a.zip d/; do
        run_fail 1 sb convert -q a.tar $target
        stderr_has 'hard: '
    done
    for target in b.barecat b.zip; do
        run_fail 2 sb convert -q --strict a.tar $target
        [[ ! -e $target ]]
    done
}

@test "--strict makes nothing if anything would be lost" {
    make_tar
    for target in a.barecat a.zip '--no-same-owner out/'; do
        # shellcheck disable=SC2086 # an option too
        run_fail 2 sb convert --strict a.tar $target
        stderr_has 'stopped because of --strict'
        [[ ! -e ${target#* } ]]
    done
    run_ok sb convert --strict a.tar b.tar
    tar --format=pax --numeric-owner --hard-dereference -cf plain.tar -C tree .
    run_ok sb convert -q --strict plain.tar a.barecat
    mkfifo tree/fifo
    run_fail 2 bash -c '"$SHARDBOX" convert --strict --to=zip tree - >out.zip'
    run unzip -qt out.zip
    ((status != 0))
}

@test "--strict heeds what is known only at the end" {
    python3 - <<'PYTHON'
import io, tarfile
with tarfile.open("a.tar", "w") as tar:
    for name in ("x/below", "x"):
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
PYTHON
    run_fail 1 sb convert a.tar a.barecat
    stderr_has 'x: '
    run_fail 2 sb convert --strict a.tar b.barecat
    run_fail 2 sb convert --strict --wrap a.tar b.barecat
    left a.barecat a.barecat-shard-00000 a.tar
}

@test "a directory that nothing came into is not left behind" {
    head -c 100 /dev/urandom >noise
    run_fail 2 sb convert noise out/
    mkdir there
    run_fail 2 sb convert noise there/
    left noise there
}

@test "--dry-run reads, and writes nothing" {
    make_tar
    for target in a.barecat b.tar c.zip d/; do
        run_ok sb convert -n -v a.tar $target
        grep -qx sub/file <<<"$output"
    done
    left a.tar tree
    run_ok bash -c '"$SHARDBOX" convert -n --to=tar a.tar - >names'
    grep -qx sub/file names
    run ! grep -q ustar names
}

@test "--decompress and --compress change files and their names" {
    mkdir t
    seq 1000 >t/n
    gzip -k t/n
    zstd -q t/n.gz
    cp t/n t/n.txt
    rm t/n t/n.gz
    tar cf a.tar -C t .
    run_ok sb convert -q --decompress a.tar a.barecat
    [[ $(sb find --type=f a.barecat) == $'n.gz\nn.txt' ]]
    cmp <(sb cat --decompress a.barecat n.gz) t/n.txt
    run_ok sb convert -q --force --decompress-all a.tar a.barecat
    [[ $(sb find --type=f a.barecat) == $'n\nn.txt' ]]
    cmp <(sb cat a.barecat n) t/n.txt
    run_ok sb convert -q --compress=zst a.barecat b.tar
    [[ $(sb find --type=f b.tar) == $'n.txt.zst\nn.zst' ]]
    cmp <(sb cat b.tar n.zst | zstd -dc) t/n.txt
}

@test "--compress and --decompress of a member that is larger than any buffer, out of a stream" {
    mkdir t
    seq 900000 >t/large
    tar cf a.tar -C t .
    for input in a.tar -; do
        run_ok sb convert -q --force --compress=gz $input b.tar <a.tar
        [[ $(sb find --type=f b.tar) == large.gz ]]
        cmp <(sb cat b.tar large.gz | gzip -dc) t/large
    done
    run_ok sb convert -q --decompress b.tar c.barecat
    cmp <(sb cat c.barecat large) t/large
}

@test "what is said once is said once for all inputs" {
    make_tar
    cp a.tar b.tar
    run_ok bash -c 'tar cPf a.tar "$PWD"/tree && "$SHARDBOX" convert a.tar a.tar b.barecat'
    [[ $(grep -c "'/' is taken off" <<<"$stderr") == 1 ]]
}

@test "a file whose name without its suffix is another's is not decompressed, and counted" {
    mkdir t
    seq 9 >t/n
    gzip -k t/n
    tar cf a.tar -C t n n.gz
    run_ok sb convert --decompress a.tar a.barecat
    stderr_has "a.barecat: files that are not decompressed, as their name without its suffix is another's: 1"
    cmp <(sb cat a.barecat n) t/n
    cmp <(sb cat a.barecat n.gz) t/n.gz
    echo junk >t/n.gz
    tar cf a.tar -C t n.gz
    run_fail 1 sb convert --decompress a.tar b.barecat
    stderr_has 'n.gz: is not gzip data, whatever its name says; left out'
}

@test "an index is not made where the name says tar or zip, unless --to says so" {
    make_tar
    for how in --wrap --append; do
        run_fail 2 sb convert $how a.tar b.tar
        stderr_has '--to=archive, if OUTPUT is one in spite of its name'
    done
    run_ok sb convert -q --wrap --to=archive a.tar b.tar
    run_ok sb verify b.tar
}

@test "a level that the compression of files does not have is refused" {
    make_tar
    run_fail 2 sb convert --compress=gz --level=12 a.tar a.barecat
    stderr_has 'level 12: gzip has 1 to 9'
    left a.tar tree
}

@test "a name that its suffix makes too long is left out, and said" {
    local long
    long=$(printf 'a%.0s' {1..65534})
    echo 1 >a
    echo 2 >b
    tar cf t.tar --transform="s,^a\$,$long," a b
    run_fail 1 sb convert -q --compress=gz t.tar a.barecat
    stderr_has 'left out: the name, with the suffix of its compression, is longer than 64 KiB'
    [[ $(sb find --type=f a.barecat) == b.gz ]]
    run_ok sb verify -q a.barecat
}

@test "a bomb ends at --max-size" {
    mkdir t
    truncate -s 50M t/zeros
    tar cf - -C t zeros | gzip >a.tar.gz
    (cd t && zip -q ../a.zip zeros)
    gzip -c t/zeros >t/zeros.gz
    tar cf b.tar -C t zeros.gz
    run_fail 2 sb convert --max-size=1M a.tar.gz a.barecat
    stderr_has 'max-size'
    run_fail 2 sb convert --max-size=1M a.zip a.barecat
    run_fail 2 bash -c '"$SHARDBOX" convert --max-size=10k - a.barecat <a.zip'
    run_fail 2 bash -c 'cat a.zip | "$SHARDBOX" convert --max-size=10k - a.barecat'
    run_fail 2 sb convert --max-size=1M --from=tar.gz a.tar.gz b.tar.zst
    [[ $(sb convert --max-size=1M --decompress b.tar c.barecat 2>&1) == *max-size* ]]
    run_ok sb convert -q --max-size=60M a.tar.gz a.barecat
    left a.barecat a.barecat-shard-00000 a.tar.gz a.zip b.tar t
}

@test "a tar that is cut short is never taken for whole" {
    seq 300 >one
    seq 400 >two
    tar --format=ustar -cf a.tar one two
    local size end=$((512 + 1536 + 512 + 1536))
    for size in 1 100 511 512 513 1000 2047 2048 2049 2560 2561 4095 $end $((end + 1)) $((end + 512)) \
        $((end + 1023)); do
        head -c "$size" a.tar >cut.tar
        for input in cut.tar -; do
            run sb convert -q --force $input a.barecat <cut.tar
            if ((size == 2048 || size >= end)); then
                ((status == 1)) || fail "cut at $size, $input"
            else
                ((status == 2)) || fail "cut at $size, $input"
            fi
        done
    done
    head -c $((end + 1024)) a.tar >whole.tar
    run_ok sb convert -q --force whole.tar a.barecat
    : >empty.tar
    run_fail 2 sb convert empty.tar b.barecat
    run_fail 2 sb convert - b.barecat </dev/null
    head -c 10000 /dev/urandom >noise
    run_fail 2 sb convert noise b.barecat
}

@test "sparse members come out with their holes as zeros" {
    truncate -s 3M sparse
    printf middle | dd of=sparse bs=1 seek=1500000 conv=notrunc status=none
    printf end >>sparse
    local format
    for format in gnu pax; do
        tar --sparse --format=$format -cf a.tar sparse
        run_ok sb convert -q --force a.tar a.barecat
        cmp <(sb cat a.barecat sparse) sparse
        run_ok sb convert -q --force a.tar b.tar
        cmp <(tar xOf b.tar) sparse
    done
}

@test "nothing is written outside of a directory, nor through a link" {
    mkdir elsewhere
    python3 - <<'PYTHON'
import io, tarfile
def make(path, members):
    with tarfile.open(path, "w") as tar:
        for name, kind, data in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o777
            if kind == tarfile.SYMTYPE:
                member.linkname = data
            else:
                member.size = len(data)
            tar.addfile(member, io.BytesIO(data.encode()) if kind == tarfile.REGTYPE else None)
make("through.tar", [("d", tarfile.SYMTYPE, "../elsewhere"), ("d/f", tarfile.REGTYPE, "x")])
make("link.tar", [("d", tarfile.SYMTYPE, "../elsewhere")])
make("file.tar", [("d/f", tarfile.REGTYPE, "x")])
make("late.tar", [("d", tarfile.DIRTYPE, ""), ("d", tarfile.SYMTYPE, "../elsewhere")])
PYTHON
    chmod 700 elsewhere
    run_fail 1 sb convert -q through.tar out/
    sb convert -q link.tar two/
    run_fail 1 sb convert -q file.tar two/
    run sb convert -q late.tar late/
    [[ -z $(ls -A elsewhere) && $(stat -c %a elsewhere) == 700 ]]
}

@test "owners and set-id bits are for --preserve" {
    make_odd_tar a.tar pax
    run_ok sb convert -q --no-same-owner a.tar out/
    [[ $(stat -c %a out/dir/setuid) == 755 ]]
    ((EUID == 0)) || skip "needs root"
    run_ok sb convert -q --preserve a.tar kept/
    [[ $(stat -c '%a %u %g' kept/dir/setuid) == '4755 1234 4321' ]]
}

@test "a full device is an error, a reader that goes away is none" {
    make_tar
    run_fail 2 bash -c '"$SHARDBOX" convert -q --to=tar a.tar - >/dev/full'
    stderr_has 'No space left on device'
    run_fail 2 bash -c '"$SHARDBOX" convert -q --to=zip a.tar - >/dev/full'
    for kind in tar tar.gz zip; do
        run --separate-stderr bash -c '"$SHARDBOX" convert -q --to='$kind' tree - | head -c 100 >/dev/null; exit ${PIPESTATUS[0]}'
        ((status == 0 || status == 141)) || fail "a reader that goes away: $status"
        stderr_is ''
    done
}

@test "a terminal is refused" {
    make_tar
    run script -qec '"$SHARDBOX" convert --to=tar a.tar -' /dev/null
    ((status == 2))
    output_has 'standard output: is a terminal'
}

@test "SIGTERM leaves what was there, and nothing else" {
    make_tar
    sb convert -q a.tar a.barecat
    sb convert -q a.tar b.tar
    sha256sum a.barecat* b.tar >sums
    for target in a.barecat b.tar; do
        "$SHARDBOX" convert -q --force - $target 2>/dev/null 3>&- \
            < <({ head -c 15000 a.tar && exec sleep 5; } 3>&- 2>/dev/null) &
        pid=$!
        sleep 0.5
        kill -TERM $pid
        wait $pid && return 1
        sha256sum --quiet -c sums
    done
    left a.barecat a.barecat-shard-00000 a.tar b.tar sums tree
}

@test "options and operands that cannot be are refused" {
    make_tar
    run_fail 2 sb convert a.tar
    stderr_has 'give at least one INPUT, and OUTPUT'
    run_fail 2 sb convert a.tar somewhere
    stderr_has 'is said by --to'
    run_fail 2 sb convert a.tar -
    run_fail 2 sb convert --to=archive a.tar -
    stderr_has 'cannot be written to a pipe'
    run_fail 2 sb convert --to=dir a.tar -
    run_fail 2 sb convert --from=bagpipe a.tar b.tar
    run_fail 2 sb convert --append a.tar b.tar
    run_fail 2 sb convert --existing=skip a.tar b.tar
    run_fail 2 sb convert --method=store a.tar b.tar
    run_fail 2 sb convert --level=3 a.tar b.tar
    run_fail 2 sb convert --append --force a.tar b.barecat
    run_fail 2 sb convert --no-checksum a.tar b.barecat
    run_fail 2 sb convert --force a.tar out/
    run_fail 2 sb convert --from=zip a.tar b.barecat
    left a.tar tree
}

@test "the report appears whole, also of a run that failed, and can go to standard output" {
    make_tar
    run_fail 2 sb convert --strict --report=report a.tar a.barecat
    [[ $(wc -l <report) == 3 ]]
    run_ok sb convert -q --report=- a.tar a.barecat
    output_has ',"lost":["hard-links"]}'
    run_fail 2 sb convert --report=- --to=tar a.tar -
    run_fail 2 sb convert --report=/dev/full a.tar b.barecat
    run_fail 2 sb convert --report=missing/report a.tar c.barecat
    [[ ! -e c.barecat ]]
}

@test "an archive becomes a tar in which a directory stands before what is in it, and is not interrupted" {
    mkdir -p tree/sub tree/sub.d tree/sub0
    touch tree/sub/x tree/sub-file tree/sub.d/y
    run_ok sb pack a.barecat -C tree .
    run_ok sb convert a.barecat a.tar
    [ "$(tar tf a.tar)" = "$(printf '%s\n' ./ sub-file sub.d/ sub.d/y sub/ sub/x sub0/)" ]
}

@test "a tar that was shuffled comes out of an archive in its order, with directories last" {
    mkdir -p t/x t/e
    for n in 5 3 1 4 2; do
        echo "$n" >t/x/$n
    done
    : >t/x/empty
    (cd t && tar cf ../shuffled.tar --no-recursion x/5 x/empty x/3 x/1 e x/4 x x/2)
    run_ok sb convert shuffled.tar a.barecat
    for kind in tar zip; do
        run_ok sb convert a.barecat "b.$kind"
        [[ $(bsdtar tf "b.$kind" | grep -vx x/empty | xargs) == 'x/5 x/3 x/1 x/4 x/2 e/ x/' ]] ||
            fail "$(bsdtar tf "b.$kind")"
        run_ok sb diff -C a.barecat "b.$kind"
    done
    chmod 555 t/x
    touch -d 2001-01-01 t/x
    run_ok sb sync t a.barecat
    run_ok sb convert --force a.barecat b.tar
    mkdir out
    tar xpf b.tar -C out
    [[ $(stat -c '%a %Y' out/x) == $(stat -c '%a %Y' t/x) ]]
    chmod 755 t/x out/x
}

@test "links keep their targets beside files that fill the memory" {
    release_build # 45 conversions of 10 MB
    local target i j
    mkdir tree
    for i in 1 2 3 4 5; do
        head -c $((2097153 - i % 3)) /dev/urandom >tree/file$i
        for j in 1 2 3; do
            ln -s target-$i-$j tree/file$i-link$j
        done
    done
    sb convert -q tree a.barecat
    for j in 1 2 4; do
        for target in b.barecat b.tar b.zip; do
            run_ok sb convert -q -j$j --force tree $target
            run_ok sb diff -C tree $target
            run_ok sb convert -q -j$j --force a.barecat $target
            run_ok sb diff -C tree $target
            run_ok sb convert -q -j$j --force --compress=zst a.barecat $target
            [[ $(sb find --type l --printf '%l\n' $target | grep -c '^target-.-.$') == 15 ]]
        done
        run_ok sb unpack -j$j -C out$j a.barecat
        diff -r --no-dereference tree out$j
    done
}

@test "a link with a target longer than any is left out and named" {
    python3 - <<'PYTHON'
import tarfile
with tarfile.open("a.tar", "w") as tar:
    for name, size in (("fits", 16384), ("long", 16385), ("huge", 300000)):
        member = tarfile.TarInfo(name)
        member.type, member.linkname = tarfile.SYMTYPE, "x" * size
        tar.addfile(member)
PYTHON
    for target in a.barecat b.tar a.zip; do
        run_fail 1 sb convert a.tar $target
        stderr_has 'long: is a link whose target is longer than 16384 bytes; left out'
        [[ $(sb find $target --type l) == fits ]]
    done
}

@test "nothing is said of what every ordinary run would lose" {
    make_tree tree
    sb pack a.barecat -C tree .
    tar --format=gnu -cf a.tar -C tree .
    (cd tree && zip -qry ../a.zip .)
    ((EUID != 0)) || leave=--no-same-owner
    for input in a.barecat a.tar a.zip; do
        for output in b.barecat b.tar b.zip b.bagz "${leave-} out/"; do
            rm -rf out
            # shellcheck disable=SC2086 # an option too
            run_ok sb convert $input $output
            stderr_is ''
            rm -f b.*
        done
        rm -rf out
        # shellcheck disable=SC2086 # none, or one
        run_ok sb unpack ${leave-} -C out $input
        stderr_is ''
    done
    run_fail 2 sb convert --strict a.tar b.zip
    run_ok sb convert --report=lost a.tar b.zip
    grep -qF '"lost":["owner-names"]' lost
}

@test "only times that have nanoseconds lose them in a zip" {
    mkdir tree
    touch -d '2001-02-03 04:05:06' tree/whole tree
    touch -d '2001-02-03 04:05:06.5' tree/half
    run_ok sb convert --verbose tree a.zip
    [[ $stderr == *"nanoseconds of 1 member are not held by a zip"* ]]
    touch -d '2001-02-03 04:05:06' tree/half
    run_ok sb convert --strict --force tree a.zip
}

@test "an input whose bytes are all gone does not replace what is there" {
    mkdir tree
    seq 1000 >tree/a
    tar cf a.tar -C tree a
    run_ok sb convert -q --wrap a.tar a.barecat
    run_ok sb convert -q a.barecat b.tar
    cp b.tar before.tar
    rm a.tar
    run_fail 2 sb convert --force a.barecat b.tar
    stderr_has 'a.barecat: nothing of it could be read; b.tar is left as it is'
    cmp b.tar before.tar
}

@test "a --prefix that leads upwards is refused" {
    make_tar
    run_fail 2 sb convert --prefix=../x a.tar a.barecat
    stderr_has '../x: cannot be put before names: it has a .. component'
    run_fail 2 sb pack --prefix=x/.. a.barecat tree
    [[ ! -e a.barecat ]]
}

# empty_is_refused COMMAND...: nothing comes on its standard input, and what there is stays.
empty_is_refused() {
    local before
    before=$(find . -type f ! -name 'separate-*' -exec sha256sum {} + | sort)
    run_fail 2 bash -c '"$@" < <(:)' bash "$SHARDBOX" "$@"
    stderr_has "is empty, and --force does not replace an existing output by nothing"
    [[ $(find . -type f ! -name 'separate-*' -exec sha256sum {} + | sort) == "$before" ]]
}

@test "--force replaces nothing by an empty stream or list" {
    local out
    make_archive
    sb convert -q a.barecat a.tar
    sb convert -q a.barecat a.zip
    sb convert -q a.barecat a.bag
    cp a.bag b.bag
    tar cf none.tar -T /dev/null
    : >empty
    for out in a.barecat a.tar a.zip a.bag; do
        empty_is_refused convert -f --frame=line - "$out"
        empty_is_refused convert -f --from=bag - "$out"
        empty_is_refused convert -f <(cat none.tar) "$out"
    done
    empty_is_refused convert -f --frame=u32 empty a.barecat
    empty_is_refused convert -f -T - b.bag a.bag
    empty_is_refused convert -f -T - b.bag a.barecat
    empty_is_refused convert -f --from=extents - a.barecat
    empty_is_refused merge -f -o a.barecat <(cat none.tar)
    sb split -q --by-list=one=<(echo a.txt) --rest=two -o 'part-{}.barecat' a.barecat
    empty_is_refused split -f --by-list=one=- --rest=two -o 'part-{}.barecat' a.barecat
    empty_is_refused split -f --parts=2 --from=bag -o 'part-{}.barecat' -
    # What is given by its name is taken at its word.
    mkdir none
    run_ok sb convert -f none a.tar
    run_ok sb convert -f none.tar a.barecat
    [[ -z $(sb find --type=f a.barecat) ]]
}

@test "an OUTPUT of which nothing says what it is to become brings the suffixes and the line to type" {
    mkdir tree
    tar -cf a.tar tree
    local said='what it is to become is said by --to, or a suffix: .barecat, .tar, .tar.gz, .tar.zst, .zip, .bag, .bagz, .syr'
    run_fail 2 sb convert a.tar out
    stderr_is "shardbox convert: out: $said; type: shardbox convert --to=dir a.tar out"
    run_fail 2 sb convert a.tar 'out it.foo'
    stderr_is "shardbox convert: out it.foo: $said; type: shardbox convert --to=archive a.tar 'out it.foo'"
    run_fail 2 sb convert a.tar -
    stderr_is "shardbox convert: standard output: $said; type: shardbox convert --to=tar a.tar -"
}

@test "lines and TFRecords that are taken for a container bring the line to type, which does it" {
    echo '{"x":1}' >p.jsonl
    head -c 100 /dev/zero | tr '\0' x >p.tfrecord
    run_fail 2 sb convert p.jsonl p.bagz
    stderr_is "shardbox convert: p.jsonl: is no container; --frame says how its records are separated; \
type: shardbox convert --frame=line p.jsonl p.bagz"
    run_ok sb convert --frame=line p.jsonl p.bagz
    run_ok sb cat p.bagz 0
    output_is '{"x":1}'
    run_fail 2 sb convert p.tfrecord p.bag
    stderr_has "type: shardbox convert --frame=tfrecord p.tfrecord p.bag"
    run_fail 2 sb convert --from=tar p.jsonl p.zip
    stderr_lacks 'type:'
}
