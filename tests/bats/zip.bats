# Zip files, as input and as output.

load helper

# A zip of the small tree, whose times are whole seconds: leaves tree/ and a.zip.
make_zip() {
    make_tree tree
    find tree -exec touch -h -d '2001-02-03 04:05:06Z' {} +
    sb convert -q "$@" tree a.zip
}

# The place of a string of bytes in a file, from 0.
place_of() {
    LC_ALL=C grep -obUaF -- "$2" "$1" | head -1 | cut -d: -f1
}

@test "a tree goes through a zip and back unchanged" {
    make_zip
    run_ok sb convert a.zip out --to=dir
    output_is ""
    same_tree tree out
}

@test "so it does when members are stored, and they can be wrapped then" {
    make_zip --method=store
    run_ok sb convert a.zip out --to=dir
    same_tree tree out
    run_ok sb convert --wrap a.zip a.barecat
    run_ok sb diff -C tree a.barecat
}

@test "members that would not get smaller are stored, others deflated" {
    mkdir tree
    head -c 5000 /dev/urandom >tree/noise
    head -c 5000 /dev/zero >tree/zeros
    run_ok sb convert -q tree a.zip
    size=$(stat -c %s a.zip)
    ((size > 5000 && size < 6000))
    run_fail 2 sb convert --wrap a.zip a.barecat
    stderr_has "zeros"
}

@test "names that are not UTF-8 go through" {
    mkdir tree
    make_raw_names tree
    touch -d '2001-02-03 04:05:06Z' tree/*
    run_ok sb convert -q tree a.zip
    run_ok sb convert -q a.zip out --to=dir
    diff -r tree out
}

# bats test_tags=threads
@test "the bytes do not depend on the number of threads" {
    make_tree tree
    for i in {1..300}; do
        seq "$i" 1000 >"tree/$i"
    done
    head -c 5000000 /dev/zero >tree/large
    for threads in 1 2 4; do
        sb convert -q --threads=$threads tree $threads.zip
    done
    cmp 1.zip 2.zip
    cmp 1.zip 4.zip
}

@test "a file and a pipe get the same bytes" {
    make_zip
    sb convert -q --to=zip tree - | cat >b.zip
    cmp a.zip b.zip
}

@test "a large member is streamed, and is deflated or stored" {
    mkdir tree
    head -c 5000000 /dev/zero >tree/zeros
    head -c 3000000 /dev/urandom >tree/noise
    for method in deflate store; do
        run_ok sb convert -qf --method=$method tree a.zip
        run_ok sb convert -q a.zip $method --to=dir
        diff -r tree $method
        tar -cf a.tar tree
        run_ok sb convert -qf --method=$method --strip-components=1 a.tar a.zip
        run_ok sb convert -q a.zip $method-of-tar --to=dir
        diff -r tree $method-of-tar
    done
}

@test "a hard link becomes a file of its own; to a pipe it is left out and named" {
    mkdir tree
    seq 1000 >tree/a
    ln tree/a tree/b
    tar -cf a.tar -C tree a b
    run_ok sb convert a.tar a.zip
    stderr_has "hard links of 1"
    run_ok sb convert a.zip out --to=dir
    cmp tree/a out/b
    run_fail 1 bash -c '"$0" convert --to=zip a.tar - | cat >b.zip; exit "${PIPESTATUS[0]}"' "$SHARDBOX"
    stderr_has "b: is a hard link, and a zip that goes to a pipe cannot be read again"
    [[ $(sb ls b.zip) == a ]]
}

@test "a hard link to what is not there is left out and named" {
    mkdir tree
    seq 1000 >tree/a
    ln tree/a tree/b
    tar -cf a.tar -C tree a b
    run_fail 1 sb convert --exclude=a a.tar a.zip
    stderr_has "b: hard link to a, which was left out; left out"
    tar --delete -f a.tar a
    run_fail 1 sb convert a.tar b.zip
    stderr_has "b: is a hard link to what is not in the output; left out"
}

@test "of a name that comes twice the last counts" {
    echo first >a
    tar -cf a.tar a
    echo second >a
    tar -rf a.tar a
    run_ok sb convert -q a.tar a.zip
    [[ $(sb ls a.zip) == a ]]
    [[ $(sb cat a.zip a) == second ]]
}

@test "a FIFO is left out and named" {
    mkfifo pipe
    tar -cf a.tar pipe
    run_fail 1 sb convert a.tar a.zip
    stderr_has "pipe: is a FIFO"
}

@test "times that a zip cannot hold are clamped and counted" {
    mkdir tree
    touch -d '1975-01-01Z' tree/old
    touch -d '2200-01-01Z' tree/future
    touch -d '2000-01-01Z' tree tree/usual
    run_ok sb convert tree a.zip
    stderr_is "shardbox convert: a.zip: times out of range of 2 members are not held by a zip; --report=FILE lists them"
    [[ $(sb find --printf='%TY %p\n' a.zip) == *'2107 future'* ]]
    run_fail 2 sb convert --strict tree b.zip
    stderr_has "has times out of range, which b.zip does not hold"
    [[ ! -e b.zip ]]
}

@test "a zip on a pipe keeps modes and links" {
    make_zip
    run_ok sh -c 'cat a.zip | "$0" convert - out --to=dir' "$SHARDBOX"
    same_tree tree out
}

@test "a zip on a pipe that is larger than --max-size is not written to disk" {
    make_zip
    run_fail 2 sh -c 'cat a.zip | "$0" convert --max-size=100 - b.zip' "$SHARDBOX"
    stderr_has "standard input: has more than the 100 bytes that --max-size allows"
    [[ ! -e b.zip ]]
}

@test "a bomb stops at --max-size" {
    mkdir tree
    truncate -s 300M tree/zeros
    sb convert -q tree a.zip
    (($(stat -c %s a.zip) < 2000000))
    run_fail 2 sb convert --max-size=10M a.zip out --to=dir
    stderr_has "--max-size"
    run_fail 2 sb convert --max-size=10M a.zip a.barecat
    [[ ! -e a.barecat ]]
}

@test "members whose last bytes come out after all their compressed ones were taken are whole" {
    # Runs of one byte, of all lengths beyond what comes out at a time: deflate packs 258 into a bit or two.
    python3 -c 'import zipfile
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for size in range(262144, 262144 + 300, 3):
        archive.writestr(str(size), b"a" * size)'
    run_ok sb verify a.zip
    run_ok sb unpack -C out a.zip
    [[ $(find out -type f -size -262144c | wc -l) == 0 ]]
    run_ok sb convert a.zip a.barecat
    run_ok sb diff -C a.zip a.barecat
}

@test "a damaged member is named and left out, the others are taken" {
    make_zip --method=store
    place=$(place_of a.zip "below sub/dir")
    flip_byte a.zip "$place"
    run_fail 1 sb convert a.zip a.barecat
    stderr_has "sub/dir/file.bin: its bytes do not have the CRC-32 that the zip holds; left out"
    run_ok sb cat a.barecat sub/file
    run_fail 1 sb cat a.zip sub/dir/file.bin
    output_is ""
    run_ok sb cat a.zip sub/file
    run_fail 1 sb convert --to=zip --force a.zip b.zip
    [[ $(sb ls -R b.zip) != *file.bin* ]]
}

@test "a damaged large member is not in the zip that is made of it" {
    mkdir tree
    head -c 5000000 /dev/urandom >tree/large
    echo small >tree/small
    sb convert -q --method=store tree a.zip
    flip_byte a.zip 3000000
    for output in file pipe; do
        if [[ $output == file ]]; then
            run_fail 1 sb convert -q a.zip b.zip
            (($(stat -c %s b.zip) < 1000))
        else
            run_fail 1 sh -c '"$0" convert -q --to=zip a.zip - >b.zip' "$SHARDBOX"
        fi
        stderr_has "large: its bytes do not have the CRC-32"
        [[ $(sb ls b.zip) == small ]]
        [[ $(sb cat b.zip small) == small ]]
    done
}

@test "a zip that was cut short is refused" {
    make_zip
    size=$(stat -c %s a.zip)
    for cut in 1 22 100 $((size / 2)) $((size - 4)); do
        head -c "-$cut" a.zip >b.zip
        run_fail 2 sb convert b.zip c.barecat
        stderr_has "b.zip: the end of the zip is missing: it was cut short"
        [[ ! -e c.barecat ]]
    done
}

@test "bytes before a zip are another program's, those behind it are told" {
    make_zip
    { echo '#!/bin/sh'; cat a.zip; } >b.zip
    run_ok sb convert b.zip out --from=zip --to=dir
    same_tree tree out
    { cat a.zip; echo junk; } >b.zip
    run_ok sb convert b.zip c.barecat
    stderr_has "b.zip: has 5 bytes after its end"
}

# reads_tree FILE [PART]...: finds, prints, converts and unpacks what make_zip made of the tree, by the file
# and by a pipe from it or the parts.
reads_tree() {
    local sum parts=("${@:2}")
    [[ $# -gt 1 ]] || parts=("$1")
    sum=$(sha256sum <tree/sub/dir/file.bin)
    run_ok sb find "$1"
    output_is "$(sb find a.zip)"
    [[ $(sb cat "$1" sub/dir/file.bin | sha256sum) == "$sum" ]]
    run_ok sb convert -f "$1" c.barecat
    run_ok sb diff -C tree c.barecat
    rm -rf out
    run_ok sb unpack -C out "$1"
    same_tree tree out
    [[ $(cat "${parts[@]}" | sb cat - sub/dir/file.bin | sha256sum) == "$sum" ]]
    rm -rf out
    cat "${parts[@]}" | sb unpack -C out -
    same_tree tree out
}

@test "zeros before a zip, a program, and the mark of a zip that could have been split" {
    make_zip
    for size in 512 700; do
        { head -c $size /dev/zero; cat a.zip; } >b.zip
        reads_tree b.zip
    done
    { head -c 512 /dev/zero; echo '#!/bin/sh'; cat a.zip; } >b.zip
    reads_tree b.zip
    { printf '\177ELF'; seq 100000; cat a.zip; } >b.zip
    reads_tree b.zip
    for mark in 'PK\7\10' PK00; do
        # shellcheck disable=SC2059 # it is an escape
        { printf "$mark"; cat a.zip; } >b.zip
        reads_tree b.zip
    done
}

@test "on a pipe a zip is found within 1 MiB, and --from=zip reads it farther on" {
    make_zip
    { head -c 1048576 /dev/zero | tr '\0' x; cat a.zip; } >b.zip
    run_ok sb find b.zip
    output_is "$(sb find a.zip)"
    run_fail 2 sh -c 'cat b.zip | "$0" find -' "$SHARDBOX"
    stderr_has "standard input: is no archive, and no tar"
    run_ok sh -c 'cat b.zip | "$0" find --from=zip -' "$SHARDBOX"
    output_is "$(sb find a.zip)"
}

@test "zeros alone are an empty tar, and zeros before a tar are no zip, also where a zip ends it" {
    make_zip
    head -c 10240 /dev/zero >empty.tar
    run_ok sb find empty.tar
    output_is ""
    run_ok sh -c 'cat empty.tar | "$0" find -' "$SHARDBOX"
    output_is ""
    tar -cf a.tar a.zip
    cat empty.tar a.tar >b.tar
    capture sb find b.tar
    output_lacks sub
    capture sh -c 'cat b.tar | "$0" find -' "$SHARDBOX"
    output_lacks sub
}

# make_padded PADDING: a.zip, whose members' extra fields end in so many zeros, as zipalign leaves them.
make_padded() {
    python3 - "$1" <<'END'
import struct
import sys
import zipfile

class Padded(zipfile.ZipInfo):
    def FileHeader(self, zip64=None):
        self.extra = self.extra.rstrip(b"\0") + bytes(int(sys.argv[1]))
        return super().FileHeader(zip64)

with zipfile.ZipFile("a.zip", "w") as archive:
    for name, method in ("stored", 0), ("deflated", 8):
        member = Padded(name, (2001, 2, 3, 4, 5, 6))
        member.compress_type = method
        member.extra = struct.pack("<HHBI", 0x5455, 5, 1, 981173106)
        archive.writestr(member, name * 100)
END
}

@test "extra fields padded as by zipalign" {
    for padding in 1 2 3 4 5 7 4095; do
        make_padded $padding
        run_ok sb verify a.zip
        run_ok sb find --printf='%p %s %T@\n' a.zip
        output_is $'deflated 800 981173106.0000000000\nstored 600 981173106.0000000000'
        run_ok sb convert -qf a.zip a.barecat
        run_ok sb diff -C a.zip a.barecat
        run_ok sh -c 'cat a.zip | "$0" cat - deflated stored' "$SHARDBOX"
        output_is "$(printf 'deflated%.0s' {1..100})$(printf 'stored%.0s' {1..100})"
    done
}

# make_deflate64: a.zip with a member of 9 runs of up to 65538 bytes and one from 65536 bytes before, which
# deflate does not have.
make_deflate64() {
    python3 - <<'END'
import struct
import zlib

text, bits = bytearray(), []
def put(value, size):
    bits.extend(value >> i & 1 for i in range(size))
def code(value, size):
    bits.extend(value >> i & 1 for i in reversed(range(size)))
def literal(byte):
    text.append(byte)
    code(0x30 + byte, 8) if byte < 144 else code(0x190 + byte - 144, 9)
def match(length, distance, distance_code, extra, size):
    for _ in range(length):
        text.append(text[-distance])
    code(0xc5, 8), put(length - 3, 16), code(distance_code, 5), put(extra, size)

put(3, 3)
for byte in b"shardbox":
    literal(byte)
for length in range(65538, 65538 - 9, -1):
    match(length, 1, 0, 0, 0)
    literal(length % 256)
match(1000, 65536, 31, 16383, 14)
match(1000, 32769, 30, 0, 14)
code(0, 7)
bits += [0] * 7
packed = bytes(sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits) - 7, 8))
name = b"large"
fields = struct.pack("<HHHHHIIIHH", 21, 0, 9, 0, 0x2a21, zlib.crc32(text), len(packed), len(text), len(name), 0)
local = b"PK\3\4" + fields + name + packed
central = b"PK\1\2" + struct.pack("<H", 20) + fields + bytes(14) + name
end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
open("a.zip", "wb").write(local + central + end)
open("large", "wb").write(text)
END
}

@test "deflate64, as Windows writes it beyond 2 GB" {
    make_deflate64
    run_ok sb verify a.zip
    sb cat a.zip large | cmp - large
    sb cat - large < <(cat a.zip) | cmp - large
    run_ok sb convert a.zip a.barecat
    sb cat a.barecat large | cmp - large
    run_ok sb unpack -C out a.zip
    cmp out/large large
    run_ok sh -c 'cat a.zip | "$0" convert --to=zip - b.zip' "$SHARDBOX"
    sb cat b.zip large | cmp - large
}

@test "damaged deflate64 is named and left out" {
    make_deflate64
    flip_byte a.zip 60
    run_fail 1 sb unpack -C out a.zip
    stderr_has "large: is shorter than the zip says; left out"
    [[ ! -e out/large ]]
    make_deflate64
    flip_byte a.zip 35
    run_fail 1 sb cat a.zip large
    stderr_has "large: its compressed bytes are damaged; left out"
}

# split_zip SIZE: a.zip, as zip -s splits it, is x.z01, x.z02, ... x.zip; as 7z -v cuts it, y.zip.001, ...
split_zip() {
    python3 - "$1" <<'END'
import struct
import sys

size = int(sys.argv[1])
data = open("a.zip", "rb").read()
end = data.rindex(b"PK\5\6")
count, length, start = struct.unpack("<HII", data[end + 10 : end + 20])
whole, at = bytearray(b"PK\7\10" + data[:start]), start
while at < end:
    record = bytearray(data[at : at + 46 + sum(struct.unpack("<HHH", data[at + 28 : at + 34]))])
    at += len(record)
    volume, offset = divmod(struct.unpack("<I", record[42:46])[0] + 4, size)
    record[34:36], record[42:46] = struct.pack("<H", volume), struct.pack("<I", offset)
    whole += record
last = (len(whole) + 21) // size
whole += b"PK\5\6" + struct.pack("<HHHHIIH", last, (start + 4) // size, count, count, length, (start + 4) % size, 0)
for number, at in enumerate(range(0, len(whole), size), 1):
    open("x.zip" if number > last else "x.z%02u" % number, "wb").write(whole[at : at + size])
for number, at in enumerate(range(0, len(data), size), 1):
    open("y.zip.%03u" % number, "wb").write(data[at : at + size])
END
}

@test "a split zip is read where it lies, by the name of any of its files" {
    for method in store deflate; do
        make_zip -f --method=$method
        split_zip 70000
        reads_tree x.zip x.z?? x.zip
        reads_tree y.zip.001 y.zip.???
        for name in x.z?? y.zip.???; do
            run_ok sb find "$name"
            output_is "$(sb find a.zip)"
        done
        rm -r tree x.z* y.z*
    done
}

@test "a split zip that was joined to one file is read too" {
    make_zip
    split_zip 70000
    cat x.z?? x.zip >b.zip
    reads_tree b.zip
}

@test "a zip of more files than may be open" {
    mkdir tree
    head -c 50000 /dev/urandom >tree/noise
    sb convert -q tree a.zip
    split_zip 300
    [[ $(find . -name 'x.z*' | wc -l) -gt 160 ]]
    run_ok sh -c 'ulimit -n 60 && "$0" unpack -C out x.zip' "$SHARDBOX"
    cmp tree/noise out/noise
}

@test "of a split zip the first file that is missing is named" {
    make_zip
    split_zip 300
    mv x.z02 x.away
    for name in x.z01 x.z03 x.zip; do
        run_fail 2 sb find "$name"
        stderr_is "shardbox find: $name: is one of the files of a split zip, and x.z02 is missing"
    done
    mv x.away x.z02
    mv x.zip x.away
    run_fail 2 sb convert x.z01 b.barecat
    stderr_is "shardbox convert: x.z01: is one of the files of a split zip, and x.zip is missing"
    last=$(find . -name 'y.zip.*' | sort | tail -1)
    rm "$last" y.zip.002
    run_fail 2 sb find y.zip.001
    stderr_is "shardbox find: y.zip.001: is one of the files of a split zip, and y.zip.002 is missing"
    run_fail 2 sb unpack -C out y.zip.003
    stderr_is "shardbox unpack: y.zip.003: is one of the files of a split zip, and y.zip.002 is missing"
    run_fail 2 sh -c 'cat x.away | "$0" find -' "$SHARDBOX"
    stderr_has "standard input: is not all of a zip that is split over"
    stderr_has "files; join all of them in order: cat X.z01 X.z02 ... X.zip"
    run_fail 2 sh -c 'cat x.z01 | "$0" find -' "$SHARDBOX"
    stderr_is "shardbox find: standard input: is the first file of a split zip, without the others"
}

@test "zips that are only numbered are read for themselves" {
    make_zip
    mkdir other
    echo other >other/name
    sb convert -q other c.zip
    cp a.zip z.001
    cp c.zip z.002
    run_ok sb find z.001
    output_is "$(sb find a.zip)"
    run_ok sb find z.002
    output_is name
}

@test "no index can point at a split zip" {
    make_zip --method=store
    split_zip 300
    run_fail 2 sb convert --wrap x.zip b.barecat
    stderr_has "so that no index can point at its bytes; convert without --wrap"
    [[ ! -e b.barecat ]]
}

# over_4_gib SIZE...: a.zip of stored members of so many zeros and one with a text, as macOS writes it: without
# zip64, all numbers are modulo 4 GiB.
over_4_gib() {
    python3 - "$@" <<'END'
import struct
import sys
import zlib

at, central, low = 0, b"", 0xffffffff
with open("a.zip", "wb") as out:
    for number, size in enumerate([*map(int, sys.argv[1:]), 5]):
        text = b"text\n" if size == 5 else b""
        name = b"%d" % number
        fields = struct.pack("<HHHHHIIIHH", 21, 0, 0, 0, 0x2a21, zlib.crc32(text), size & low, size & low, 1, 0)
        out.seek(at)
        out.write(b"PK\3\4" + fields + name + text)
        central += b"PK\1\2" + struct.pack("<BB", 21, 3) + fields
        central += struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, at & low) + name
        at += 31 + size
    out.seek(at)
    count = len(sys.argv)
    out.write(central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(central), at & low, 0))
END
}

@test "a zip over 4 GiB without zip64, as macOS writes it" {
    over_4_gib 3000000000 3000000000 3000000000
    run_ok sb find --printf='%p %s\n' a.zip
    output_is $'0 3000000000\n1 3000000000\n2 3000000000\n3 5'
    run_ok sb cat a.zip 3
    output_is text
    run_ok sb ls --json a.zip 3
    output_has '"offset":9000000124'
}

@test "a member over 4 GiB without zip64 is refused, not cut" {
    for sizes in '4294967396 10' '10 4294967396 10' '10 8589934692'; do
        # shellcheck disable=SC2086 # they are several
        over_4_gib $sizes
        for command in find cat unpack 'convert -o b.tar'; do
            # shellcheck disable=SC2086 # they are options, too
            run_fail 2 sb $command a.zip
            stderr_has "a.zip: has a member over 4 GiB, and only 32 bits for sizes, as macOS writes it; unpack it with 7z, or with ditto on macOS"
        done
    done
}

@test "an interrupted or failed run leaves the old zip" {
    make_zip
    cp a.zip before.zip
    echo no >not-a-zip
    run_fail 2 sb convert -f not-a-zip a.zip
    cmp a.zip before.zip
    run_fail 2 sb convert tree a.zip
    stderr_has "a.zip"
    cmp a.zip before.zip
    [[ $(find . -name '*zip*' | sort) == $'./a.zip\n./before.zip\n./not-a-zip' ]]
}

@test "levels of deflate are 1 to 9" {
    make_zip --level=9
    run_fail 2 sb convert --level=10 tree b.zip
    [[ ! -e b.zip ]]
}

@test "65,536 members and more are zip64" {
    mkdir tree
    (cd tree && seq 70000 | xargs touch)
    run_ok sb convert -q tree a.zip
    [[ $(sb ls a.zip | wc -l) == 70000 ]]
    run_ok sb cat a.zip 70000
}

# A zip of files with these names, as DOS would have made it: the system in each record is its.
dos_zip() {
    mkdir dos
    for name; do
        touch "dos/$name"
    done
    sb convert -q --method=store dos dos.zip
    LC_ALL=C grep -obUaP 'PK\x01\x02' dos.zip | cut -d: -f1 | while read -r at; do
        printf '\0' | dd of=dos.zip bs=1 seek=$((at + 5)) conv=notrunc status=none
    done
}

@test "names that DOS wrote are CP437, unless they are UTF-8, with a warning as they may be otherwise" {
    dos_zip $'M\x81ller' café
    run_ok sb find dos.zip
    output_is $'Müller\ncafé'
    stderr_is "shardbox find: dos.zip: has 1 name that is not UTF-8, and does not say in which charset; --iconv=CHARSET does, such as CP932, GBK or CP437"
    run_ok sh -c 'cat dos.zip | "$0" convert - a.barecat' "$SHARDBOX"
    stderr_has "standard input: has 1 name that is not UTF-8"
    run_ok sb unpack -C unpacked dos.zip
    stderr_is "shardbox unpack: dos.zip: has 1 name that is not UTF-8, and does not say in which charset; --iconv=CHARSET does, such as CP932, GBK or CP437"
    run_ok sb convert --iconv=CP437 dos.zip b.barecat
    stderr_lacks charset
    run_ok sb ls --iconv=CP850 dos.zip
    output_is $'Müller\ncafé'
    run_ok sb unpack -C out dos.zip
    [[ -e out/Müller && -e out/café ]]
}

@test "--iconv says what names are, unless they are flagged as UTF-8" {
    mkdir tree
    touch tree/$'\xcd\xc9\xd2' tree/ü
    sb convert -q tree a.zip
    run_ok sb find a.zip
    output_is $'ü\n\xcd\xc9\xd2'
    run_ok sb convert --iconv=KOI8-R a.zip a.barecat
    run_ok sb find a.barecat
    output_is $'ü\nмир'
    run_fail 1 sb find --iconv=UTF-8 a.zip
    stderr_is 'shardbox find: \315\311\322: its name is not in the charset UTF-8, and is taken as it is'
    run_fail 2 sb merge --iconv=KLINGON -o m.barecat a.zip
    stderr_has "--iconv: 'KLINGON' is no charset that can be read here; 'iconv -l' lists those"
}
