# shardbox convert --wrap: an archive over a tar or a zip, without copying a byte.

load helper

# A tar of the small tree, with a hard link: leaves tree/ and a.tar.
make_tar() {
    make_tree tree
    ln tree/a.txt tree/hard
    touch -d '2001-02-03 04:05:06.123456789Z' tree
    tar --format=pax -cf a.tar -C tree .
}

column() {
    sql "$1" "SELECT ${2/@/ FROM files WHERE path = }"
}

@test "the index is made, its shard is a link, and every command reads it" {
    make_tar
    run_ok sb convert -q --wrap a.tar a.barecat
    output_is ""
    stderr_is ""
    [[ $(readlink a.barecat-shard-00000) == a.tar ]]
    [[ $(echo a.barecat*) == 'a.barecat a.barecat-shard-00000' ]]
    run_ok sb verify --strict a.barecat
    run_ok sb diff -C tree a.barecat
    run_ok sb unpack -C out a.barecat
    same_tree tree out
    cmp <(sb cat a.barecat numbers) tree/numbers
}

@test "a hard link has the very extent of its target, a symbolic link that of the name in its header" {
    make_tar
    sb convert -q --wrap a.tar a.barecat
    extent="shard || ':' || offset || ':' || size"
    [[ $(column a.barecat "$extent@'a.txt'") == "$(column a.barecat "$extent@'hard'")" ]]
    offset=$(column a.barecat "offset@'dangling'")
    [[ $(tail -c "+$((offset + 1))" a.tar | head -c 14) == nowhere/at/all ]]
    [[ $(sb cat a.barecat hard) == hello ]]
    [[ $(column a.barecat "printf('%o', mode)@'dangling'") == 120777 ]]
}

@test "the link is as relative or absolute as the input was given" {
    make_tar
    mkdir -p x/y z
    sb convert -q --wrap a.tar x/y/a.barecat
    [[ $(readlink x/y/a.barecat-shard-00000) == ../../a.tar ]]
    (cd z && sb convert -q --wrap ../a.tar ../x/b.barecat)
    [[ $(readlink x/b.barecat-shard-00000) == ../a.tar ]]
    sb convert -q --wrap "$PWD/a.tar" z/c.barecat
    [[ $(readlink z/c.barecat-shard-00000) == "$PWD/a.tar" ]]
    for archive in x/y/a.barecat x/b.barecat z/c.barecat; do
        run_ok sb verify --strict $archive
    done
}

@test "without --no-checksum CRC32C is filled in" {
    make_tar
    sb convert -q --wrap a.tar a.barecat
    sb pack b.barecat -C tree .
    sums="SELECT path, crc32c FROM files ORDER BY path"
    [[ $(sql a.barecat "$sums") == "$(sql b.barecat "$sums")" ]]
    run_ok sb convert -q --force --wrap --no-checksum a.tar a.barecat
    [[ $(sql a.barecat "SELECT count(*) FROM files WHERE crc32c NOT NULL") == 0 ]]
    run_ok sb verify a.barecat
    run_fail 1 sb verify --strict a.barecat
    run_ok sb diff -C tree a.barecat
    # A run that fills in checksums and is killed may have come to one of two hard links only.
    crc=$(sql b.barecat "SELECT crc32c FROM files WHERE path LIKE '%hard'")
    sql a.barecat "UPDATE files SET crc32c = $crc WHERE path LIKE '%hard'"
    run_ok sb verify a.barecat
    sql a.barecat "UPDATE files SET crc32c = $((crc ^ 1)) WHERE path LIKE '%a.txt'"
    run_fail 1 sb verify a.barecat
    output_has overlap
}

@test "a zip with stored members is wrapped" {
    mkdir -p z/d
    echo one >z/1
    echo two >z/d/2
    ln -s 1 z/link
    (cd z && zip -qry0 ../a.zip .)
    run_ok sb convert -q --wrap a.zip a.barecat
    run_ok sb verify --strict a.barecat
    [[ $(sb cat a.barecat 1 d/2 link) == $'one\ntwo\n1' ]]
}

@test "what is compressed is named, with what to do, and nothing is made" {
    mkdir z
    seq 1000 >z/numbers
    (cd z && zip -qr ../a.zip .)
    tar czf a.tar.gz -C z .
    run_fail 2 sb convert --wrap a.zip a.barecat
    stderr_has 'numbers: '
    stderr_has 'without --wrap'
    run_fail 2 sb convert --wrap a.tar.gz a.barecat
    stderr_has 'a.tar.gz: is compressed'
    stderr_has 'without --wrap'
    run_fail 2 sb convert --wrap --from=tar a.tar.gz a.barecat
    [[ ! -e a.barecat && ! -L a.barecat-shard-00000 ]]
}

@test "a sparse member, a pipe, a directory and an archive are refused" {
    mkdir z
    truncate -s 1M z/holes
    printf x >>z/holes
    tar --sparse --format=pax -cf a.tar -C z .
    run_fail 2 sb convert --wrap a.tar a.barecat
    stderr_has 'holes: is stored with holes'
    run_fail 2 bash -c 'cat a.tar | "$SHARDBOX" convert --wrap - a.barecat'
    stderr_has 'standard input: '
    run_fail 2 sb convert --wrap z a.barecat
    stderr_has 'z: --wrap is for a tar, cpio, zip, bag, Syrah file or cache, not for this kind: directory'
    sb pack b.barecat z
    run_fail 2 sb convert --wrap b.barecat a.barecat
    [[ ! -e a.barecat && ! -L a.barecat-shard-00000 ]]
}

@test "several inputs are wrapped under one index; of one name --duplicates says which counts" {
    mkdir -p t/d
    for i in 1 2 3; do
        echo "only $i" >"t/d/$i"
        echo "from $i" >t/same
        tar cf "$i.tar" -C t "d/$i" same
    done
    run_fail 1 sb convert -q --wrap 1.tar 2.tar 3.tar a.barecat
    stderr_has "same: is in 1.tar and in 2.tar; only the first is taken (see --duplicates)"
    [[ $(sb cat a.barecat d/1 d/2 d/3 same) == $'only 1\nonly 2\nonly 3\nfrom 1' ]]
    run_ok sb convert -q --wrap --force --duplicates=last 1.tar 2.tar 3.tar a.barecat
    [[ $(readlink a.barecat-shard-00002) == 3.tar ]]
    [[ $(sb cat a.barecat d/1 d/2 d/3 same) == $'only 1\nonly 2\nonly 3\nfrom 3' ]]
    run_ok sb verify --strict a.barecat
    run_ok sb convert -q --wrap --force --duplicates=first 1.tar 2.tar a.barecat
    [[ $(sb cat a.barecat same) == 'from 1' ]]
    [[ ! -e a.barecat-shard-00002 ]]
    run_fail 1 sb convert --wrap --force --duplicates=error 1.tar 2.tar a.barecat
    stderr_has 'same: '
    run_fail 2 sb convert --wrap --force --strict --duplicates=error 1.tar 2.tar a.barecat
    [[ $(sb cat a.barecat same) == 'from 1' ]]
}

@test "a name that comes twice in a tar is the later one; a hard link has what came before it" {
    mkdir t
    echo old >t/a
    ln t/a t/b
    tar cf a.tar -C t a b
    rm t/a
    echo new >t/a
    tar rf a.tar -C t a
    run_ok sb convert -q --wrap a.tar a.barecat
    [[ $(sb cat a.barecat a b) == $'new\nold' ]]
    run_ok sb verify --strict a.barecat
}

@test "a hard link to what is not there, and a file that is a directory too, are named and left out" {
    python3 - <<'PYTHON'
import io, tarfile
with tarfile.open("a.tar", "w") as tar:
    def add(name, data=None, **more):
        member = tarfile.TarInfo(name)
        member.size = len(data or b"")
        for key, value in more.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(data or b""))
    add("x", b"x")
    add("x/below", b"below")
    add("h", type=tarfile.LNKTYPE, linkname="gone")
    add("fifo", type=tarfile.FIFOTYPE)
    add("good", b"good")
PYTHON
    run_fail 1 sb convert --wrap a.tar a.barecat
    stderr_has 'x: is the name of a directory too; the file is left out'
    stderr_has 'h: a hard link to gone, which does not come before it; left out'
    stderr_has 'fifo: is a FIFO'
    [[ $(sb find a.barecat) == $'good\nx\nx/below' ]]
    run_ok sb verify --strict a.barecat
}

@test "names are chosen and changed as in any conversion" {
    make_tar
    run_ok sb convert -q --wrap --strip-components=1 --prefix=new --include='sub/**' a.tar a.barecat
    [[ $(sb find a.barecat --type=f) == $'new/dir/file.bin\nnew/file' ]]
    run_ok sb verify --strict a.barecat
}

@test "an archive that stands there is only replaced under --force, and its links' targets stay" {
    make_tar
    cp a.tar kept.tar
    sb convert -q --wrap a.tar a.barecat
    run_fail 2 sb convert --wrap a.tar a.barecat
    stderr_has 'there is an archive already'
    run_ok sb convert -q --wrap --force a.tar a.barecat
    run_ok sb verify --strict a.barecat
    run_ok sb pack --force a.barecat -C tree .
    [[ ! -L a.barecat-shard-00000 ]]
    cmp a.tar kept.tar
}

@test "what is added later goes to a shard of its own" {
    make_tar
    cp a.tar kept.tar
    sb convert -q --wrap a.tar a.barecat
    echo more >more
    run_ok sb pack --append a.barecat more
    [[ -L a.barecat-shard-00000 && -f a.barecat-shard-00001 ]]
    [[ $(sb cat a.barecat more a.txt) == $'more\nhello' ]]
    run_ok sb verify --strict a.barecat
    cmp a.tar kept.tar
}

@test "an input that stands where a file of the archive is to be is refused" {
    make_tar
    cp a.tar b.barecat-shard-00000
    run_fail 2 sb convert --wrap b.barecat-shard-00000 b.barecat
    run_fail 2 sb convert --wrap a.tar a.tar
    cmp a.tar b.barecat-shard-00000
    sb convert -q --wrap a.tar c.barecat
    run_fail 2 sb convert -q --wrap --force c.barecat-shard-00000 c.barecat
    run_ok sb verify --strict c.barecat
}

@test "verify tells when the file that was wrapped has changed" {
    make_tar
    sb convert -q --wrap a.tar a.barecat
    tar -rf a.tar -C tree one
    run_ok sb verify a.barecat
    stderr_has "a.barecat-shard-00000: was changed since it was linked, as its time says"
    truncate -s +512 a.tar
    run_ok sb verify --quick a.barecat
    stderr_has "a.barecat-shard-00000: has grown"
    truncate -s -1024 a.tar
    run_fail 1 sb verify a.barecat
    output_has "a.barecat-shard-00000: has "
    output_has "bytes, and had "
}
