# --nested: tars in a tar, read as directories; plain and compressed, from files and pipes, by every
# command that reads tars, sound and damaged.

load helper
load mount

# make_tars: x.tar has n01.tar, n02.tar.gz, n03.tar.zst and z.txt; what is in them is in files/, too.
make_tars() {
    mkdir -p files/n01 files/n02 files/n03/sub
    for i in 1 2 3; do
        seq $((i * 1000)) >files/n01/$i.jpg
        echo "$i" >files/n02/$i.jpg
    done
    head -c 3000000 /dev/urandom >files/n03/sub/large
    echo text >files/z.txt
    (cd files/n01 && tar -cf ../../n01.tar -- *)
    tar -czf n02.tar.gz -C files/n02 .
    tar -c -C files/n03 . | zstd -qc >n03.tar.zst
    tar -cf x.tar n01.tar n02.tar.gz n03.tar.zst -C files z.txt
    gzip -k x.tar
}

all=$'n01\nn01/1.jpg\nn01/2.jpg\nn01/3.jpg\nn02\nn02/1.jpg\nn02/2.jpg\nn02/3.jpg\nn03\nn03/sub\nn03/sub/large\nz.txt'

# each STATUS ARGUMENT...: with $file, on a pipe and by its name, as @.
each() {
    local run=(run_ok)
    (($1 == 0)) || run=(run_fail "$1")
    shift
    local on_pipe=("${@/#@/-}") by_name=("${@/#@/$file}")
    "${run[@]}" bash -c 'cat "$0" | "$SHARDBOX" "$@"' "$file" "${on_pipe[@]}"
    "${run[@]}" sb "${by_name[@]}"
}

# bats test_tags=threads
@test "tars in a tar are directories of their names, plain and compressed, in plain and compressed tars" {
    make_tars
    for file in x.tar x.tar.gz; do
        each 0 find @
        output_is $'n01.tar\nn02.tar.gz\nn03.tar.zst\nz.txt'
        each 0 find --nested @
        output_is "$all"
        stderr_is ''
        each 0 find --nested --printf '%y %m %p\n' --name=n01 @
        output_is 'd 755 n01'
    done
}

@test "every command that reads tars knows --nested" {
    make_tars
    for file in x.tar x.tar.gz; do
        each 0 cat --nested @ n01/2.jpg n02/3.jpg
        output_is "$(cat files/n01/2.jpg files/n02/3.jpg)"
        each 0 ls --nested @ n03
        output_is sub
        each 0 du --nested --count -s @
        each 0 diff --nested -C files @
        each 0 verify -q --nested @
        each 0 unpack --nested --existing=replace -C out @
        diff -r files out
        for to in o.barecat o.tar o.zip; do
            each 0 convert -f --nested @ "$to"
            run_ok sb diff -C files "$to"
        done
        each 0 merge -f --nested -o merged.barecat @
        [[ $(sb find merged.barecat) == "$all" ]]
        run_ok sb sync --nested "$file" synced.barecat
        [[ $(sb find synced.barecat) == "$all" ]]
    done
    [[ $(sb --complete 3 find --nested x.tar n01/2 | tr '\0' '\n') == $'names\n\nn01/2.jpg' ]]
    tar -cf plain.tar n01.tar -C files z.txt
    run_ok sb split --nested --parts=2 -o 'part-{}.tar' plain.tar
    run_ok sb merge -o parts.barecat part-*.tar
    [[ $(sb find --type=f parts.barecat) == $'n01/1.jpg\nn01/2.jpg\nn01/3.jpg\nz.txt' ]]
}

@test "--wrap points at what is in uncompressed tars, and refuses what is in compressed ones" {
    make_tars
    run_fail 2 sb convert --wrap --nested x.tar w.barecat
    stderr_has 'so that no index can point at its bytes; convert without --wrap, or leave it out with --exclude'
    run_ok sb convert --wrap --nested --exclude=n02 --exclude=n03 x.tar w.barecat
    run_ok sb verify -q w.barecat
    run_ok sb cat w.barecat n01/3.jpg z.txt
    output_is "$(cat files/n01/3.jpg files/z.txt)"
    [[ w.barecat-shard-00000 -ef x.tar ]]
    # in a tar in a tar
    tar -cf y.tar x.tar n01.tar
    run_ok sb convert -f --wrap --nested --exclude=x/n02 --exclude=x/n03 y.tar w.barecat
    run_ok sb cat w.barecat x/n01/3.jpg
    output_is "$(cat files/n01/3.jpg)"
    run_ok sb verify -q w.barecat
}

@test "what is in uncompressed tars is mounted, and a compressed one refused" {
    make_tars
    tar -cf plain.tar n01.tar -C files z.txt
    mkdir point
    run_fail 2 sb mount --nested x.tar point
    stderr_has 'has members with holes, or in a compressed tar'
    need_fuse
    run_ok sb mount --nested --at=point plain.tar -- bash -c 'cat point/n01/2.jpg point/z.txt'
    output_is "$(cat files/n01/2.jpg files/z.txt)"
}

@test "only the first bytes of what is called as a tar are read" {
    head -c 4000000 /dev/zero >data.jpg
    head -c 4000000 /dev/urandom >random.tar.gz
    echo text >not.tar
    : >empty.tar
    tar -cf inner.tar data.jpg
    tar -cf x.tar data.jpg empty.tar inner.tar not.tar random.tar.gz
    file=x.tar
    each 0 find --nested @
    output_is $'data.jpg\nempty.tar\ninner\ninner/data.jpg\nnot.tar\nrandom.tar.gz'
    stderr_is ''
    each 0 cat --nested @ not.tar
    output_is text
    each 0 unpack --nested --existing=replace -C out @
    cmp random.tar.gz out/random.tar.gz
    cmp data.jpg out/inner/data.jpg
    release_build
    run_ok strace -f -e trace=pread64 -o calls "$SHARDBOX" find --nested x.tar
    bytes=$(awk '{ sum += $NF } END { print sum }' calls)
    ((bytes > 1000 && bytes < 3000000))
}

@test "sparse tars in a tar, and sparse files in them" {
    truncate -s 3M holes
    echo end >>holes
    tar -cSf a.tar holes
    cp a.tar b.tar
    truncate -s 5M b.tar
    tar -cSf x.tar a.tar b.tar
    file=x.tar
    each 0 find --nested --printf '%s %p\n' --type=f @
    output_is $'3145732 a/holes\n3145732 b/holes'
    each 0 unpack --nested --existing=replace -C out @
    cmp holes out/a/holes
    cmp holes out/b/holes
    (($(stat -c %b out/a/holes) < 1000))
    each 0 convert -f --nested @ o.zip
    run_ok sb diff -C out o.zip
}

@test "hard links lead to files of their own tar, and names stay below it" {
    echo one >1
    ln 1 2
    tar -cf a.tar 1 2
    tar -cPf b.tar --transform='s,^1$,/x/1,' --transform='s,^2$,../2,' 1 2
    tar -cf x.tar a.tar b.tar
    file=x.tar
    each 1 convert -f --nested @ o.tar
    stderr_has 'b/../2: left out: the name has a .. component'
    [[ $(tar -tvf o.tar) == *'a/2 link to a/1'* ]]
    [[ $(tar -tf o.tar | sort) == $'a/\na/1\na/2\nb/\nb/x/\nb/x/1' || $(tar -tf o.tar | sort) == $'a/\na/1\na/2\nb/\nb/x/1' ]]
    each 1 convert -f --nested @ o.barecat
    run_ok sb cat o.barecat a/2
    output_is one
    ln a.tar linked.tar
    tar -cf x.tar a.tar linked.tar
    each 1 convert -f --nested @ o.tar
    stderr_has 'linked.tar: is a hard link to a.tar, which is read as a directory; left out'
    [[ $(tar -tf o.tar) != *linked* ]]
}

@test "a damaged tar in a tar is named, and the outer one goes on" {
    make_tars
    head -c 12000 n01.tar >cut.tar
    head -c 2000000 n03.tar.zst >flat.tar.zst
    echo hello | gzip >none.tgz
    head -c 1024 /dev/zero >zeros.tar
    cat zeros.tar files/z.txt >junk.tar
    tar -cf x.tar cut.tar flat.tar.zst none.tgz zeros.tar junk.tar -C files z.txt
    gzip -kf x.tar
    for file in x.tar x.tar.gz; do
        each 1 find --nested @
        output_is $'cut\ncut/1.jpg\nflat\nflat/sub\nflat/sub/large\njunk\nnone\nz.txt\nzeros'
        stderr_has "shardbox find: $file: cut.tar: damaged or cut short at byte 5120, at 2.jpg: it ends within a header or a member; the rest is left out"
        stderr_has "$file: flat.tar.zst: its zstd data is damaged or cut short: Truncated zstd input; the rest is left out"
        stderr_has "$file: none.tgz: what is compressed is neither a tar nor a cpio; left out"
        stderr_has "$file: junk.tar: is neither a tar nor a cpio; left out"
        stderr_lacks zeros.tar
        for to in o.barecat o.tar o.zip; do
            each 1 convert -f --nested @ "$to"
            stderr_has "flat/sub/large: $file: flat.tar.zst: its zstd data is damaged or cut short: Truncated zstd input; left out"
            run_ok sb find --type=f "$to"
            output_is $'cut/1.jpg\nz.txt'
            run_ok sb verify -q "$to"
        done
        rm -rf out
        each 1 unpack --nested --existing=replace -C out @
        [[ $(cd out && find . -type f | sort) == $'./cut/1.jpg\n./z.txt' ]]
        run_fail 1 sb cat --nested "$file" flat/sub/large z.txt
        stderr_has "flat/sub/large: $file: flat.tar.zst: its zstd data is damaged or cut short"
        [[ ${lines[-1]} == *text ]]
        each 1 verify -q --nested @
        output_has 'damaged: flat/sub/large: '
        each 1 diff --nested -C out @
        rm o.barecat*
        each 2 convert --strict --nested @ o.barecat
    done
}

@test "a damaged outer tar ends all, as ever" {
    make_tars
    head -c 10000 x.tar >short.tar
    head -c 100000 x.tar.gz >short.tar.gz
    for file in short.tar short.tar.gz; do
        each 2 convert -f --nested @ o.barecat
        stderr_has 'cut short'
        each 2 find --nested @
        stderr_has "shardbox find: $file: "
        stderr_has 'cut short'
    done
}

@test "what is wrong with a member is said of its whole name, which sync --delete then leaves alone" {
    python3 - <<'END'
import io, tarfile
def tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data, kind in members:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(data), kind
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()
for name, kind in (("old.tar", tarfile.REGTYPE), ("new.tar", b"M")):
    inner = tar(("b.tar", tar(("f", b"f", tarfile.REGTYPE), ("g", b"g", kind)), tarfile.REGTYPE))
    with open(name, "wb") as out:
        out.write(tar(("a.tar", inner, tarfile.REGTYPE), ("z", b"z", tarfile.REGTYPE)))
END
    mkdir tree
    for to in o.barecat tree/; do
        run_ok sb sync --nested old.tar "$to"
        run_fail 1 sb sync --nested --delete new.tar "$to"
        stderr_has 'shardbox sync: a/b/g: is only a part of a file that began in another volume; left out'
        run_ok sb diff --nested -C old.tar "$to"
    done
}

@test "a hole among the first bytes is not passed over: what has one is a file" {
    echo f >f
    tar -c f | zstd -qc >frame
    python3 - <<'END'
import struct
frame = open("frame", "rb").read()
whole = b"\x50\x2a\x4d\x18" + struct.pack("<I", 8000) + bytes(8000) + frame
open("whole", "wb").write(whole)
runs = [(0, 100), (8000, len(whole) - 8000)]
header = bytearray(512)
for at, field in ((0, b"a.tar.zst"), (100, b"0000644"), (124, b"%011o" % (len(whole) - 7900)),
                  (136, b"%011o" % 5), (156, b"S"), (257, b"ustar  "), (483, b"%011o" % len(whole))):
    header[at:at + len(field)] = field
for i, run in enumerate(runs):
    header[386 + 24 * i:410 + 24 * i] = b"%011o\0%011o\0" % run
header[148:156] = b" " * 8
header[148:156] = b"%06o\0 " % sum(header)
data = whole[:100] + whole[8000:]
with open("x.tar", "wb") as out:
    out.write(header + data + bytes(-len(data) % 512 + 1024))
END
    file=x.tar
    each 0 unpack --nested --existing=replace -C out @
    stderr_is ''
    cmp whole out/a.tar.zst
}

@test "headers and marks of one tar say nothing about another" {
    python3 - <<'END'
import io, tarfile
def tar(members, **pax):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers=pax) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 5
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()
inner = tar([("f", b"f")], mtime="1000000000")
with open("x.tar", "wb") as out:
    out.write(tar([("a", b""), ("i.tar", inner), ("b", b""), ("j.tar", tar([("f", b"f")])),
                   ("k.tar", inner + tar([("g", b"g")]))], mtime="2000000000"))
END
    file=x.tar
    each 1 find --nested --printf '%T@ %p\n' @
    output_is "2000000000.0000000000 a
2000000000.0000000000 b
2000000000.0000000000 i
1000000000.0000000000 i/f
2000000000.0000000000 j
5.0000000000 j/f
2000000000.0000000000 k
1000000000.0000000000 k/f"
    stderr_is 'shardbox find: x.tar: k.tar: another tar follows its end, at byte 10240, and is not read; --ignore-zeros reads it, too'
    each 0 find --nested --ignore-zeros @ k
    output_is $'k\nk/f\nk/g'
}

@test "sizes, names and depths that a tar in a tar claims do no harm" {
    every_third_day
    python3 - <<'END'
import gzip, io, struct, tarfile
def tar(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()
def claims(size):
    data = bytearray(tar([("huge", b"x")]))
    data[124:136] = b"\x80\0\0\0" + struct.pack(">Q", size)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)
deep = zipped = tar([("end", b"e")])
for i in range(12):
    deep = tar([("d.tar", deep)])
    zipped = gzip.compress(tar([("d.tgz", zipped)]))
with open("x.tar", "wb") as out:
    out.write(tar([("8e.tar", claims(2**63 - 1)), ("1t.tar", claims(1 << 40)), ("deep.tar", deep),
                   ("zipped.tgz", zipped), ("l" * 300 + ".tar", tar([("m" * 200 + "/f", b"f")])),
                   ("d/.tar", b"no name"), ("last", b"")]))
small = tar([("f", b"f")])
with tarfile.open("many.tar", "w") as out:
    for i in range(5000):
        info = tarfile.TarInfo("%04d.tar" % i)
        info.size = len(small)
        out.addfile(info, io.BytesIO(small))
END
    file=x.tar
    each 1 find --nested --type=f @
    output_has 'd/.tar'
    output_has 'deep/d/d/d/d/d/d/d/d.tar'
    output_has 'zipped/d/d/d/d/d/d/d/d.tgz'
    output_has 'last'
    stderr_has '1t.tar: damaged or cut short at byte 512'
    stderr_has '8e.tar: damaged or cut short at byte 512'
    release_build
    run_ok bash -c 'ulimit -v 300000; "$SHARDBOX" find --nested --type=f many.tar | wc -l'
    output_is 5000
}
