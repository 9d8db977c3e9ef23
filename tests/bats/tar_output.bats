# shardbox convert: the tar files that it writes, as files and on pipes.

load helper

suffixes=(gz bz2 xz lzma zst lz4)

@test "a tar is read by tar and bsdtar as the tree was" {
    make_archive
    run_ok sb convert a.barecat a.tar
    stderr_is ""
    (($(stat -c %s a.tar) % 10240 == 0))
    mkdir gnu bsd
    tar xpf a.tar -C gnu
    touch -h -d '2001-02-03 04:05:06.123456789Z' gnu
    same_tree tree gnu
    command -v bsdtar || skip "no bsdtar here"
    bsdtar xpf a.tar -C bsd
    same_tree tree bsd
}

@test "Python's tarfile reads it, in its strictest mode" {
    make_tree tree
    mkdir "tree/$(printf 'l%.0s' {1..150})"
    ln -s "$(printf 't%.0s' {1..150})" tree/far
    sb convert tree a.tar
    python3 - <<'END'
import os, tarfile
tar = tarfile.open("a.tar", errorlevel=2, ignore_zeros=False)
names = set()
for member in tar:
    names.add(member.name)
    path = os.path.join("tree", member.name)
    assert member.mode == os.lstat(path).st_mode & 0o7777, member.name
    if member.isreg():
        assert tar.extractfile(member).read() == open(path, "rb").read(), member.name
    if member.issym():
        assert member.linkname == os.readlink(path), member.name
found = {os.path.relpath(os.path.join(d, name), "tree")
         for d, dirs, files in os.walk("tree") for name in dirs + files}
assert names == found | {"."}, names ^ found
END
}

@test "names that are not UTF-8 come through and back" {
    make_tree tree
    make_raw_names tree
    mkdir "tree/$(printf 'l%.0s' {1..150})"
    echo far >"tree/$(printf 'l%.0s' {1..150})/"$'\xff'
    sb convert tree a.tar
    sb convert --to=dir a.tar back
    same_tree tree back
}

# bats test_tags=threads
@test "the bytes do not depend on threads, nor on where they go" {
    every_third_day
    local suffix
    make_archive
    head -c 5000000 /dev/urandom >tree/large
    sb pack --append a.barecat -C tree large
    for suffix in tar "${suffixes[@]/#/tar.}"; do
        sb convert --threads=1 a.barecat "one.$suffix"
        sb convert --threads=4 a.barecat "four.$suffix"
        sb convert --to="$suffix" a.barecat - >"out.$suffix"
        sb convert --to="$suffix" a.barecat - | cat >"pipe.$suffix"
        cmp "one.$suffix" "four.$suffix"
        cmp "one.$suffix" "out.$suffix"
        cmp "one.$suffix" "pipe.$suffix"
    done
}

@test "every compression is what its tool reads" {
    local suffix tool
    make_archive
    sb convert a.barecat a.tar
    for suffix in "${suffixes[@]}"; do
        sb convert --level=1 a.barecat "a.tar.$suffix"
        case $suffix in
        gz) tool=gzip ;;
        bz2) tool=bzip2 ;;
        zst) tool=zstd ;;
        *) tool=$suffix ;;
        esac
        command -v "$tool" >/dev/null || continue
        "$tool" -dc <"a.tar.$suffix" | cmp - a.tar
    done
}

@test "no compressed tar has a bit that may change unnoticed" {
    local suffix
    make_archive
    for suffix in "${suffixes[@]}"; do
        [[ $suffix != lzma ]] || continue # has no checksum
        sb convert a.barecat "a.tar.$suffix"
        python3 - "$SHARDBOX" "a.tar.$suffix" <<'PYTHON'
import random, subprocess, sys
program, name = sys.argv[1:]
def tar_of(source):
    return subprocess.run([program, "convert", "-q", "--to=tar", source, "-"], capture_output=True)
data, sound = open(name, "rb").read(), tar_of(name).stdout
random.seed(1)
for bit in random.sample(range(len(data) * 8), 25):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    open("changed", "wb").write(changed)
    made = tar_of("changed")
    if made.returncode == 0 and made.stdout != sound:
        sys.exit(f"{name}: bit {bit}: other bytes, and nothing is said")
PYTHON
    done
}

@test "levels are held against what the compression has" {
    make_archive
    run_fail 2 sb convert --level=20 a.barecat a.tar.zst
    stderr_has "1 to 19"
    run_fail 2 sb convert --level=10 a.barecat a.tar.gz
    stderr_has "1 to 9"
    [[ $(echo a.*) == "a.barecat a.barecat-shard-00000" ]]
}

@test "a directory, a dangling link: not replaced, even by --force" {
    make_archive
    mkdir dir.tar
    ln -s absent link.tar
    run_fail 2 sb convert --force --to=tar a.barecat dir.tar
    run_fail 2 sb convert --force a.barecat link.tar
    [[ -d dir.tar && -L link.tar ]]
    [[ $(find . -name '.*.shardbox-out') == "" ]]
}

@test "a reader that goes away is no error, a full disk is" {
    make_tree tree
    head -c 5000000 /dev/urandom >tree/large
    run --separate-stderr bash -o pipefail -c '"$SHARDBOX" convert --to=tar tree - | head -c 1 >/dev/null'
    ((status == 141)) || fail "not 141"
    stderr_is ""
    run --separate-stderr bash -o pipefail -c '"$SHARDBOX" convert --to=tar.gz tree - | head -c 1 >/dev/null'
    ((status == 141)) || fail "not 141"
    stderr_is ""
    run_fail 2 sb convert --to=tar tree /dev/full
    stderr_has "No space left on device"
    run_fail 2 bash -c '"$SHARDBOX" convert --to=tar.zst tree - >/dev/full'
    stderr_has "No space left on device"
}

@test "a FIFO is written as it is" {
    make_archive
    sb convert a.barecat a.tar
    mkfifo fifo
    cat fifo >through &
    run_ok sb convert --to=tar a.barecat fifo
    wait $!
    cmp through a.tar
    [[ -p fifo ]]
}

@test "damage is left out of a file, and ends a stream" {
    mkdir tree
    head -c 5000000 /dev/urandom >tree/large
    echo small >tree/small
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 4000000
    run_fail 1 sb convert a.barecat a.tar
    stderr_has "large"
    [[ $(tar tf a.tar) == $'./\nsmall' ]]
    run --separate-stderr bash -c '"$SHARDBOX" convert --to=tar a.barecat - >stream.tar'
    ((status == 1 || status == 2)) || fail "it says nothing"
    stderr_has "large"
    run tar tf stream.tar
    ((status != 0)) || fail "a cut stream looks whole"
}

# In a sequence of headers, the types of their members.
types_of() {
    python3 - "$1" <<'END'
import sys
data, at, types = open(sys.argv[1], 'rb').read(), 0, ''
while data[at]:
    size = data[at + 124:at + 136]
    size = int.from_bytes(size[1:], 'big') if size[0] & 0x80 else int(size.rstrip(b' \0'), 8)
    types += chr(data[at + 156])
    at += 512 + (size + 511) // 512 * 512
print(types)
END
}

@test "--format: no extended headers, and GNU tar reads all of it" {
    local long dir
    long=$(fill 130 n) dir=$(fill 90 d)
    mkdir -p "t/$dir"
    echo one >"t/$dir/$long"
    echo two >"t/$long"
    ln -s "$(fill 130 k)" t/link
    touch -h -d '1950-01-01' t/link
    ln "t/$long" t/second
    tar --format=posix -cf in.tar -C t .
    sb convert -q in.tar pax.tar
    [[ $(types_of pax.tar) == *x* ]]
    run_ok sb convert -q --format=gnu in.tar gnu.tar
    [[ $(types_of gnu.tar) != *[xg]* && $(types_of gnu.tar) == *L*L* && $(types_of gnu.tar) == *K* ]] || fail "$(types_of gnu.tar)"
    (($(stat -c %s gnu.tar) < $(stat -c %s pax.tar)))
    mkdir out
    tar -C out -xf gnu.tar 2>/dev/null
    diff -r --no-dereference t out
    [[ $(stat -c %Y out/link "out/$long") == $(stat -c %Y t/link "t/$long") && out/second -ef out/$long ]]
    run_ok sb diff -C t gnu.tar
    run_ok bash -c 'cat gnu.tar | "$SHARDBOX" convert -q --format=gnu - - --to=tar | cmp - gnu.tar'
    python3 -c "import sys, tarfile; sys.exit(len(tarfile.open('gnu.tar').getmembers()) != 6)"
}

@test "--format: what does not fit is named, and fractions of a second are a loss" {
    local long
    long=$(fill 130 n)
    mkdir t
    echo one >"t/$long"
    echo two >t/short
    sb convert -q t t.tgz
    for input in t t.tgz; do
        run_fail 1 sb convert -f --format=ustar $input u.tar
        stderr_has "$long: its name does not fit into a tar of --format=ustar; left out"
        [[ $(tar -tf u.tar) == $'./\nshort' && $(types_of u.tar) == 50 ]]
        run_fail 2 sb convert -f --strict --format=ustar $input s.tar
    done
    rm t/n*
    touch -d '2020-01-01 00:00:00.5' t/short t
    run_fail 2 sb convert --strict --format=gnu t s.tar
    stderr_has 'has nanoseconds, which s.tar does not hold'
    touch -d '2020-01-01' t/short t
    run_ok sb convert --strict --format=ustar t s.tar
    sb pack a.barecat -C t .
    run_ok sb split --format=gnu --parts=1 -o p.tar a.barecat
    [[ $(head -c 265 p.tar | tail -c 8) == 'ustar  ' ]]
    run_ok bash -c '"$SHARDBOX" cat --frame=tar --format=ustar a.barecat | tar -t'
    output_is short
    run_fail 2 sb cat --format=gnu a.barecat
    stderr_has -- '--format goes with --frame=tar'
    run_fail 2 sb convert --format=gnu t t.zip
    stderr_has -- '--format is for a tar'
    run_fail 2 sb convert --format=gnu --sparse t z.tar
    run_fail 2 sb convert --format=v7 t z.tar
    stderr_has "'v7' is none of pax, ustar, gnu"
}
