# shardbox unpack: tar, cpio and zip, from files and pipes, as an archive is unpacked.

load helper

# The small tree as every container that unpack takes.
make_containers() {
    make_tree tree
    sb pack a.barecat -C tree .
    tar -C tree --format=pax -cf a.tar .
    gzip -k a.tar
    xz -k a.tar
    zstd -q a.tar
    (cd tree && find . -print0 | cpio --quiet -0 -o -H newc) >a.cpio
    (cd tree && python3 - ../a.zip <<'PYTHON'
import os, stat, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as out:
    for top, dirs, files in os.walk("."):
        for name in sorted(dirs + files):
            path = os.path.relpath(os.path.join(top, name))
            st = os.lstat(path)
            info = zipfile.ZipInfo(path + ("/" if stat.S_ISDIR(st.st_mode) else ""), (2001, 2, 3, 4, 5, 6))
            info.external_attr = st.st_mode << 16
            info.create_system = 3
            link = stat.S_ISLNK(st.st_mode)
            data = b"" if stat.S_ISDIR(st.st_mode) else os.fsencode(os.readlink(path)) if link else open(path, "rb").read()
            out.writestr(info, data)
PYTHON
    )
}

# tar_of FILE: runs the rest of standard input as Python, with `t` a tarfile open for writing and
# these: f(name, bytes), d(name), l(name, target), h(name, target), m(name, type).
tar_of() {
    {
        cat <<'PYTHON'
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w", format=tarfile.GNU_FORMAT)
def m(name, type, link="", mode=0o644, mtime=1000000000, data=b""):
    i = tarfile.TarInfo(name)
    i.type, i.linkname, i.mode, i.mtime, i.size = type, link, mode, mtime, len(data)
    t.addfile(i, io.BytesIO(data))
def f(name, text, **more):
    m(name, tarfile.REGTYPE, data=text.encode() if isinstance(text, str) else text, **more)
def d(name, mode=0o755, **more):
    m(name, tarfile.DIRTYPE, mode=mode, **more)
def l(name, target):
    m(name, tarfile.SYMTYPE, target)
def h(name, target):
    m(name, tarfile.LNKTYPE, target)
PYTHON
        cat
        echo 't.close()'
    } | python3 - "$1"
}

@test "every container gives the tree, from a file" {
    make_containers
    for from in a.barecat a.tar a.tar.gz a.tar.xz a.tar.zst; do
        rm -rf out
        run_ok sb unpack -C out "$from"
        stderr_is ''
        output_is ''
        same_tree tree out
    done
    for from in a.cpio a.zip; do
        rm -rf out
        run_ok sb unpack -C out "$from"
        diff -r --no-dereference tree out
        [[ $(stat -c '%a %Y' out/sub/file out/sub.d) == "$(stat -c '%a %Y' tree/sub/file tree/sub.d)" ]]
    done
}

@test "the same from a pipe" {
    make_containers
    for from in a.tar a.tar.gz a.tar.xz a.tar.zst a.cpio a.zip; do
        rm -rf out
        # shellcheck disable=SC2016
        run_ok bash -c 'cat "$1" | "$SHARDBOX" unpack -C out -' - "$from"
        diff -r --no-dereference tree out
        [[ $(stat -c %a out/sub/file) == 755 ]]
    done
}

# bats test_tags=threads
@test "on one thread and on many" {
    make_containers
    for threads in 1 2 7; do
        for from in a.tar a.tar.gz a.zip; do
            rm -rf out
            run_ok sb unpack -j$threads -C out "$from"
            diff -r --no-dereference tree out
        done
    done
}

@test "PATH and GLOB, --include, --exclude and --strip-components" {
    make_containers
    for from in a.tar a.tar.gz a.cpio a.zip; do
        rm -rf out
        run_ok sb unpack -C out "$from" sub/dir ./one '*.txt'
        [[ $(cd out && find . -type f | LC_ALL=C sort) == $'./a.txt\n./one\n./sub/dir/file.bin' ]]
        rm -rf out
        run_ok sb unpack -C out --include='*.txt' --exclude=dir --include=sub --strip-components=1 "$from"
        [[ $(ls -A out) == $'file\nup' ]]
        rm -rf out
        run_fail 1 sb unpack -C out "$from" nowhere one
        stderr_has 'nowhere: no such file or directory in the archive'
        [[ $(ls -A out) == one ]]
    done
}

@test "--dry-run lists, names conflicts, and writes nothing" {
    make_containers
    for from in a.tar a.tar.gz a.zip; do
        run_ok sb unpack -n -C out "$from" sub
        [[ $(LC_ALL=C sort <<<"$output") == $'sub\nsub/dir\nsub/dir/file.bin\nsub/file\nsub/up' ]]
        [[ ! -e out ]]
    done
    mkdir mine
    touch mine/one
    run_fail 1 sb unpack -n -C mine a.tar
    stderr_has 'one: exists already'
    [[ $(ls -A mine) == one ]]
}

@test "--existing: fail, skip, replace and newer" {
    make_containers
    for from in a.tar a.tar.gz; do
        rm -rf out
        sb unpack -C out "$from"
        run_fail 1 sb unpack -C out "$from"
        stderr_has 'exist already; see --existing'
        echo grown >>out/one
        rm out/link
        ln -s elsewhere out/link
        local untouched
        untouched=$(stat -c '%i %z' out/a.txt out/dangling)
        run_ok sb unpack --existing=skip -C out "$from"
        same_tree tree out
        [[ $(stat -c '%i %z' out/a.txt out/dangling) == "$untouched" ]]
        touch -d 1999-01-01 out/a.txt
        echo young >out/one
        run_ok sb unpack --existing=newer -C out "$from"
        [[ $(stat -c %Y out/a.txt) == 981173106 && $(<out/one) == young ]]
        run_ok sb unpack --existing=replace -C out "$from"
        same_tree tree out
    done
}

@test "DIR that unpack makes has the mode and time of the tar's own top" {
    mkdir -m 751 tree
    touch -d 2001-01-01 tree
    tar -cf a.tar -C tree .
    run_ok sb unpack -C out a.tar
    [[ $(stat -c '%a %Y' out) == "$(stat -c '%a %Y' tree)" ]]
}

@test "owners and set-id bits, and none with --no-same-owner" {
    ((EUID == 0)) || skip "needs root"
    mkdir tree
    echo x >tree/f
    chmod 4755 tree/f
    tar --owner=x:12345 --group=y:54321 -cf a.tar -C tree f
    run_ok sb unpack --no-same-owner -C out a.tar
    [[ $(stat -c '%u:%g %a' out/f) == '0:0 755' ]]
    chown 12345:54321 tree/f && chmod 4755 tree/f
    run_ok sb unpack -p -C kept a.tar
    [[ $(stat -c '%u:%g %a' kept/f) == '12345:54321 4755' ]]
}

# bats test_tags=threads
@test "large members come in parts, and are whole" {
    mkdir tree
    head -c 9000000 /dev/urandom >tree/big
    : >tree/empty
    head -c 2097152 /dev/zero >tree/exactly
    tar --format=pax -cf a.tar -C tree .
    gzip -1 -k a.tar
    for options in --threads=1 --threads=3 --sync; do
        for from in a.tar a.tar.gz; do
            rm -rf out
            run_ok sb unpack "$options" -C out "$from"
            same_tree tree out
            run_ok sb unpack --existing=replace -C out "$from"
            same_tree tree out
            run_ok sb unpack --existing=skip -C out "$from"
        done
    done
}

# bats test_tags=threads
@test "holes stay holes" {
    mkdir tree
    truncate -s 40M tree/hole
    printf x | dd of=tree/hole bs=1 seek=20000000 conv=notrunc status=none
    cp --sparse=always tree/hole tree/end
    truncate -s 1M tree/small
    tar -S --format=pax -cf a.tar -C tree .
    for threads in 1 3; do
        rm -rf out
        run_ok sb unpack -j$threads -C out a.tar
        same_tree tree out
        (($(du -k out/hole | cut -f1) < 1000 && $(du -k out/small | cut -f1) < 100))
    done
}

# bats test_tags=threads
@test "hard links are links, also to links and under other directories" {
    mkdir -p tree/d tree/e/f
    echo one >tree/d/a
    ln tree/d/a tree/b
    ln tree/d/a tree/e/f/c
    ln -s a tree/d/l
    ln tree/d/l tree/m
    tar --format=pax -cf a.tar -C tree .
    for threads in 1 4; do
        rm -rf out
        run_ok sb unpack -j$threads -C out a.tar
        same_tree tree out
        [[ out/d/a -ef out/b && out/d/a -ef out/e/f/c && $(stat -c %h out/b) == 3 ]]
        [[ $(stat -c %i out/m) == "$(stat -c %i out/d/l)" ]]
    done
    run_ok sb unpack --existing=skip -C out a.tar
    run_ok sb unpack --existing=replace -C out a.tar
    same_tree tree out
    [[ $(stat -c %h out/b) == 3 && $(find out -name '.shardbox-*') == '' ]]
    run_fail 1 sb unpack -C out a.tar
    stderr_has 'b: exists already'
}

@test "where the file system has no hard links, they are copies" {
    need_strace
    tar_of a.tar <<<'f("a", "one"); h("b", "a"); f("big", b"x" * 3000000); h("c", "big")'
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run_ok traced -o trace -e trace=linkat \
        -e inject=linkat:error=EPERM "$SHARDBOX" unpack -C out a.tar
    [[ $(<out/b) == one && $(stat -c '%h %Y %a' out/b) == '1 1000000000 644' ]]
    cmp out/big out/c
}

@test "a hard link to what is not there is named, also when it is there by chance" {
    tar_of a.tar <<<'h("b", "a"); h("c", "../a"); f("a", "late"); h("d", "a"); h("self", "self")'
    mkdir out
    run_fail 1 sb unpack -C out a.tar
    stderr_has 'b: hard link to a, which was not written; left out'
    stderr_has 'self: hard link to self, which was not written; left out'
    [[ $(ls -A out) == $'a\nd' && out/a -ef out/d ]]
    rm -rf out
    mkdir out
    echo mine >out/a
    run_fail 1 sb unpack -C out a.tar
    stderr_has 'a: exists already'
    stderr_has 'd: hard link to a, which was not written; left out'
    [[ $(ls -A out) == a && $(<out/a) == mine ]]
}

@test "--strip-components: a hard link to a name that is stripped away is named" {
    tar_of a.tar <<<'f("top", "x"); h("d/a", "top"); f("d/b", "y"); h("d/c", "d/b")'
    run_fail 1 sb unpack -C out --strip-components=1 a.tar
    stderr_has 'a: hard link to top, which is not there; left out'
    [[ $(ls -A out) == $'b\nc' && out/b -ef out/c ]]
}

@test "a name that comes again: the last one counts, whatever --existing says" {
    tar_of a.tar <<'PYTHON'
for i in range(1, 10):
    f("a", "%d" % i, mtime=1000000000 - i)
    f("b%d" % i, "b")
h("a2", "a")
f("a", "ten", mtime=1)
l("b1", "a")
f("b2", b"y" * 3000000)
f("b2", b"z" * 5000000)
l("b3", "nowhere")
f("b3", "a file again")
PYTHON
    for options in --existing=fail --existing=skip --existing=newer --existing=replace; do
        for threads in 1 2 6; do
            rm -rf out
            run_ok sb unpack "$options" -j$threads -C out a.tar
            [[ $(<out/a) == ten && $(<out/a2) == 9 && $(readlink out/b1) == a ]]
            [[ $(stat -c %s out/b2) == 5000000 && ! -L out/b3 && $(<out/b3) == 'a file again' ]]
            [[ $(find out -name '.shardbox-*') == '' ]]
        done
    done
}

@test "what was there before is not replaced by a name that comes again" {
    tar_of a.tar <<<'f("a", "1"); f("a", "2"); f("b", "3"); f("b", "4", mtime=5)'
    mkdir out
    echo mine >out/a
    run_fail 1 sb unpack -n -C out a.tar
    output_is $'b\nb'
    ((${#stderr_lines[@]} == 3))
    run_fail 1 sb unpack -C out a.tar
    stderr_has 'a: exists already'
    ((${#stderr_lines[@]} == 3))
    [[ $(<out/a) == mine && $(<out/b) == 4 ]]
    echo mine >out/b
    run_ok sb unpack --existing=newer -C out a.tar
    [[ $(<out/a) == mine && $(<out/b) == mine ]]
}

@test "a directory comes after what is in it, and twice: its last metadata count" {
    tar_of a.tar <<'PYTHON'
f("d/e/f", "x")
d("d/e", mode=0o700, mtime=5)
d("d", mode=0o500, mtime=6)
d("d/", mode=0o750, mtime=7)
f("d/g", "y")
PYTHON
    run_ok sb unpack -C out a.tar
    [[ $(stat -c '%a %Y' out/d out/d/e) == $'750 7\n700 5' ]]
}

@test "directories that nobody may enter, within each other" {
    tar_of a.tar <<<'d("a", mode=0); d("a/b", mode=0o100); d("a/b/c", mode=0); f("a/b/c/f", "x")'
    run_ok sb unpack -C out a.tar
    [[ $(stat -c %a out/a) == 0 ]]
    chmod 700 out/a
    [[ $(stat -c %a out/a/b) == 100 ]]
    chmod 700 out/a/b
    [[ $(stat -c %a out/a/b/c) == 0 ]]
    chmod 700 out/a/b/c
    [[ $(<out/a/b/c/f) == x ]]
}

@test "FIFOs and devices are named and left out" {
    tar_of a.tar <<<'m("p", tarfile.FIFOTYPE); m("c", tarfile.CHRTYPE); f("f", "x")'
    for options in --threads=1 --preserve; do
        rm -rf out
        run_fail 1 sb unpack "$options" -C out a.tar
        stderr_has 'p: is a FIFO'
        stderr_has 'c: is a '
        [[ $(ls -A out) == f ]]
    done
}

@test "hostile: names that lead out of the tree" {
    mkdir in
    tar_of a.tar <<<"f('../x', 'x'); f('a/../../x', 'x'); f('$PWD/abs', 'x'); f('./c', 'c'); f('e//g', 'g')
f('n' * 300, 'x'); f('..', 'x'); l('d/../../y', 'x'); h('z', '../a.tar')"
    run_fail 1 sb unpack -C in/out a.tar
    for name in ../x a/../../x .. d/../../y nnnn 'z: hard link to ../a.tar'; do
        stderr_has "$name"
    done
    stderr_has "the leading '/' is taken off"
    [[ $(ls -A in) == out && ! -e abs && ! -e x && -f in/out/$PWD/abs ]]
    [[ $(cd in/out && find . -type f ! -name abs | LC_ALL=C sort) == $'./c\n./e/g' ]]
}

@test "hostile: a link, then what is below it; the same over two runs" {
    mkdir victim
    tar_of a.tar <<<"l('d', '$PWD/victim'); f('d/f', 'x'); d('d/e'); f('d/e/g', 'x'); h('d/h', 'a.tar'); f('ok', 'x')"
    for options in --threads=1 --threads=4 --existing=replace --existing=skip; do
        rm -rf out
        run_fail 1 sb unpack "$options" -C out a.tar
        stderr_has 'd/f: '
        stderr_has 'links are not followed'
        [[ $(find victim -mindepth 1) == '' && -L out/d && $(<out/ok) == x ]]
    done
    tar_of link.tar <<<"l('d', '$PWD/victim')"
    tar_of below.tar <<<"f('d/f', 'x'); d('d', mode=0o777)"
    rm -rf out
    sb unpack -C out link.tar
    run_fail 1 sb unpack --existing=replace -C out below.tar
    [[ $(find victim -mindepth 1) == '' && -L out/d && $(stat -c %a victim) == 755 ]]
}

@test "hostile: a link, a hard link, a FIFO or a directory in the place of a file" {
    echo victim >victim
    chmod 600 victim
    tar_of a.tar <<<"for n in 'lhpd': f(n, n)"
    for how in fail skip newer replace; do
        rm -rf out
        mkdir -p out/d/mine
        ln victim out/h
        ln -s ../victim out/l
        mkfifo out/p
        run_fail 1 within 10 "$SHARDBOX" unpack --existing=$how -C out a.tar
        stderr_has 'd: a directory is in its place'
        [[ $(<victim) == victim && $(stat -c %a victim) == 600 && -d out/d/mine ]]
    done
    [[ $(cat out/h out/l out/p) == hlp && ! -L out/l ]]
}

@test "hostile: a directory, then a link of its name: no late chmod or time through the link" {
    mkdir -m 700 victim
    touch -d 2001-01-01 victim
    tar_of a.tar <<<"d('d', mode=0o777); l('d', '$PWD/victim'); d('d', mode=0o777)
l('e', '$PWD/victim'); d('e', mode=0o777); d('x/y'); l('x', '$PWD/victim'); f('x/y/f', 'x')"
    for options in --threads=1 --threads=4 --existing=replace; do
        rm -rf out
        run_fail 1 sb unpack "$options" -C out a.tar
        stderr_has 'd: a directory is in its place'
        stderr_has 'e: exists already, and is not a directory'
        stderr_has 'x: a directory is in its place'
        [[ $(stat -c '%a %y' victim) == "700 2001-01-01 00:00:00.000000000 +0000" ]]
        [[ -d out/d && ! -L out/d && -L out/e && $(<out/x/y/f) == x ]]
    done
}

@test "hostile: a file, then what is below it, and the other way round" {
    tar_of a.tar <<<"f('a', 'x'); f('a/b', 'x'); f('c/d', 'x'); f('c', 'x'); d('c/d')"
    for threads in 1 2 4; do
        rm -rf out
        run_fail 1 sb unpack -j$threads -C out a.tar
        [[ $(cd out && find . -type f | LC_ALL=C sort) == $'./a\n./c/d' ]]
    done
}

@test "a tar that is cut short: an error, and the file at the end is not there" {
    tar_of a.tar <<<"f('a', 'x'); f('big', b'x' * 5000000)"
    head -c 3000000 a.tar >cut.tar
    for from in cut.tar -; do
        rm -rf out
        # shellcheck disable=SC2016
        run_fail 2 bash -c '"$SHARDBOX" unpack -C out "$1" <cut.tar' - "$from"
        stderr_has 'unpacked in part'
        [[ $(ls -A out) == a ]]
    done
    head -c 1024 a.tar >end.tar
    run_fail 1 sb unpack -C end end.tar
    [[ $(ls -A end) == a ]]
    : >empty.tar
    run_fail 2 sb unpack -C none empty.tar
    run_fail 2 sb unpack -C none none.tar
}

@test "a damaged member of a zip is named and not written" {
    make_containers
    local name=with\ space/a\ b
    python3 - a.zip "$name" <<'PYTHON'
import sys, zipfile
info = zipfile.ZipFile(sys.argv[1]).getinfo(sys.argv[2])
with open(sys.argv[1], "r+b") as f:
    f.seek(info.header_offset + 14)
    crc = f.read(4)
    f.seek(info.header_offset + 30 + len(info.filename.encode()))
    byte = f.read(info.compress_size)
    f.seek(-1, 1)
    f.write(bytes([byte[-1] ^ 0x10]))
PYTHON
    run_fail 1 sb unpack -C out a.zip
    stderr_has "$name: "
    [[ ! -e out/$name ]]
    rm "tree/$name"
    diff -r --no-dereference tree out
}

@test "--max-size stops a bomb" {
    head -c 50000000 /dev/zero >zeros
    tar -czf a.tar.gz zeros
    for size in 1M 40M; do
        run_fail 2 sb unpack --max-size=$size -C out a.tar.gz
        stderr_has 'max-size'
        [[ ! -e out/zeros ]]
    done
    run_ok sb unpack --max-size=100M -C out a.tar.gz
    cmp zeros out/zeros
}

@test "--decompress takes .gz, .bz2, .xz and .zst off files and their names" {
    mkdir tree
    for name in a b c d; do
        echo "$name" >tree/$name
    done
    seq 900000 >tree/big
    gzip tree/a && bzip2 tree/b && xz tree/c && zstd -q --rm tree/d && gzip tree/big
    echo e | gzip | xz >tree/e.gz.xz
    echo plain >tree/f.txt
    echo broken >tree/g.gz
    sb pack a.barecat -C tree .
    tar -cf a.tar -C tree .
    tar -czf a.tar.gz -C tree .
    for from in a.barecat a.tar a.tar.gz; do
        rm -rf out
        run_fail 1 sb unpack --decompress-all -C out "$from"
        stderr_has 'g.gz: is not gzip data, whatever its name says; left out'
        [[ $(ls -A out) == $'a\nb\nbig\nc\nd\ne\nf.txt' ]]
        [[ $(cat out/{a,b,c,d,e,f.txt}) == $'a\nb\nc\nd\ne\nplain' ]]
        cmp out/big <(seq 900000)
        rm -f out/a
        echo mine >out/b
        local untouched
        untouched=$(stat -c '%i %z' out/c out/big)
        run_fail 1 sb unpack --decompress-all --existing=skip -C out "$from"
        [[ $(<out/a) == a && $(<out/b) == b && $(stat -c '%i %z' out/c out/big) == "$untouched" ]]
    done
}

@test "--from decides what it is" {
    make_containers
    mv a.tar a.dat
    run_ok sb unpack --from=tar -C out a.dat
    same_tree tree out
    run_fail 2 sb unpack --from=zip -C other a.dat
    run_fail 2 sb unpack --from=perhaps -C other a.dat
}

@test "an interrupt removes the member being written" {
    mkfifo pipe
    tar_of a.tar <<<"f('big', b'x' * 20000000)"
    "$SHARDBOX" unpack -C out - <pipe 2>said &
    exec 7>pipe
    head -c 12000000 a.tar >&7
    until [[ -e out/big ]]; do sleep 0.01; done
    kill -TERM $!
    exec 7>&-
    wait $! || true
    [[ $(ls -A out) == '' ]]
}

# bats test_tags=threads
@test "what came before the place where a tar breaks off is there" {
    mkdir tree
    seq 1000 >tree/a
    head -c 100000 /dev/urandom >tree/b
    tar czf a.tar.gz -C tree a b
    head -c 60000 a.tar.gz >cut.tar.gz
    for threads in 1 2; do
        run_fail 2 sb unpack -j "$threads" -C out cut.tar.gz
        stderr_has 'cut.tar.gz: its gzip data is cut short'
        cmp tree/a out/a
        [[ ! -e out/b ]]
        rm -r out
    done
}

@test "what a directory does not hold is counted, and listed by --report" {
    mkdir t
    touch -d '2400-01-01' t/far
    tar cf a.tar --format=pax t
    run_ok sb unpack -C out a.tar
    stderr_is "shardbox unpack: a.tar: times out of range of 1 member are not held by a directory; --report=FILE lists them"
    run_ok sb unpack --existing=replace --report=report -C out a.tar
    stderr_has "not held by a directory; the report lists them"
    [[ $(<report) == '{"path":"t/far","lost":["times"]}' ]]
    run_fail 1 sb unpack -q --report=report -C out a.tar
    grep -q '{"path":"t/far","problem":"exists","why":' report
    run_fail 2 sb unpack --report=a.tar -C out a.tar
    stderr_has "a.tar: is input and output at once"
}
