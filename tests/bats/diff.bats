# shardbox diff: an archive against a tree or another archive.

load helper

# Runs as an ordinary owner of files: root's right to pass over modes is taken away.
ordinary() {
    if ((EUID == 0)); then
        setpriv --bounding-set=-dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}

# alter SQL: changes the index without its triggers.
alter() {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers'; $1;
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
}

# damage NAME: inverts the last stored byte of a file.
damage() {
    flip_byte a.barecat-shard-00000 \
        "$(sql a.barecat "SELECT offset + size - 1 FROM files WHERE path = '$1'")"
}

# Changes the bytes of a file, not its size or time.
rewrite() {
    local time
    time=$(stat -c %y "$1")
    printf '%s' "$2" >"$1"
    touch -d "$time" "$1"
}

@test "a tree and its archive are the same: no output, exit 0" {
    make_archive
    run_ok sb diff -C tree a.barecat
    output_is ''
    stderr_is ''
}

# bats test_tags=threads
@test "so are a tree and its archive unpacked, and names that are not UTF-8" {
    make_tree tree
    make_raw_names tree
    sb pack -q a.barecat -C tree .
    sb unpack -C out a.barecat
    run_ok sb diff --threads=1 -C out a.barecat
    cd out
    run_ok sb diff ../a.barecat
}

@test "each kind of difference is one line, in order of name; exit 1" {
    make_archive
    rm tree/.hidden tree/one
    mkdir tree/one
    echo more >>tree/a.txt
    chmod 600 tree/empty
    touch -d '2020-01-01 00:00:00.5Z' tree/numbers
    rewrite tree/sub-file 'BETWEEN
'
    ln -sfn elsewhere tree/link
    touch -h -d '2001-02-03 04:05:06.123456789Z' tree/link tree/a.txt tree
    echo new >tree/zzz
    run_fail 1 sb diff -C tree a.barecat
    output_is 'only in a.barecat: .hidden
size: a.txt: 6 in a.barecat, 11 in tree
mode: empty: 0644 in a.barecat, 0600 in tree
target: link: a.txt in a.barecat, elsewhere in tree
time: numbers: 2001-02-03 04:05:06.123456789 in a.barecat, 2020-01-01 00:00:00.500000000 in tree
type: one: file in a.barecat, dir in tree
bytes: sub-file
only in tree: zzz'
    stderr_is 'shardbox diff: a.barecat: differs from tree; differences, named above: 8'
}

@test "--json has the same, with both sides" {
    make_archive
    rm tree/.hidden
    echo more >>tree/a.txt
    touch -d '2001-02-03 04:05:06.123456789Z' tree/a.txt
    chmod 600 tree/empty
    ln -sfn elsewhere tree/link
    touch -h -d '2001-02-03 04:05:06.123456789Z' tree/link
    printf x >"tree/"$'raw\xff'
    touch -d '2020-01-01 00:00:00.5Z' tree/one
    run_fail 1 sb diff --json -C tree a.barecat
    output_is '{"kind":"missing","path":".hidden","type":"file"}
{"kind":"size","path":"a.txt","archive":6,"other":11}
{"kind":"mode","path":"empty","archive":420,"other":384}
{"kind":"target","path":"link","archive":"a.txt","other":"elsewhere"}
{"kind":"time","path":"one","archive":981173106123456789,"other":1577836800500000000}
{"kind":"extra","path_base64":"cmF3/w==","type":"file"}'
}

@test "what is below a missing or an extra directory is listed too" {
    make_archive
    mv tree/empty-dir tree/moved
    touch -d '2001-02-03 04:05:06.123456789Z' tree
    run_fail 1 sb diff -C tree a.barecat
    output_is 'only in a.barecat: empty-dir
only in a.barecat: empty-dir/inner
only in tree: moved
only in tree: moved/inner'
}

@test "a directory against a file or a link: the type, and what is missing below" {
    make_archive
    rm -r tree/sub.d tree/empty-dir
    echo x >tree/sub.d
    ln -s sub tree/empty-dir
    run_fail 1 sb diff -C tree a.barecat
    output_is 'type: empty-dir: dir in a.barecat, link in tree
only in a.barecat: empty-dir/inner
type: sub.d: dir in a.barecat, file in tree
only in a.barecat: sub.d/file'
}

@test "a link in the tree is never followed" {
    make_archive
    mv tree real
    ln -s real tree
    run_ok sb diff -C tree a.barecat
    mv real/sub elsewhere
    ln -s ../elsewhere real/sub
    run_fail 1 sb diff -C tree a.barecat sub
    output_has 'type: sub: dir in a.barecat, link in tree'
    output_has 'only in a.barecat: sub/file'
}

@test "FIFOs are extra, and do not hang it" {
    make_archive
    mkfifo tree/pipe
    rm tree/one
    mkfifo tree/one
    run_fail 1 within 10 "$SHARDBOX" diff -C tree a.barecat
    output_is 'type: one: file in a.barecat, FIFO in tree
only in tree: pipe: a FIFO, which no archive holds'
}

@test "--quick does not read bytes or targets, nor needs the shards" {
    make_archive
    rewrite tree/sub-file 'BETWEEN
'
    ln -sfn b.txt tree/link
    touch -h -d '2001-02-03 04:05:06.123456789Z' tree/link
    rm a.barecat-shard-00000
    run_ok sb diff --quick -C tree a.barecat
    output_is ''
    echo >>tree/sub-file
    run_fail 1 sb diff --quick -C tree a.barecat
    output_has 'size: sub-file: 8 in a.barecat, 9 in tree'
}

@test "PATH and GLOB arguments narrow both sides" {
    make_archive
    echo x >tree/extra.txt
    echo x >tree/sub/extra
    echo x >tree/other
    touch -d '2001-02-03 04:05:06.123456789Z' tree/sub
    run_fail 1 sb diff -C tree a.barecat sub '*.txt'
    output_is 'only in tree: extra.txt
only in tree: sub/extra'
    run_ok sb diff -C tree a.barecat sub/dir deep a.txt
}

@test "a PATH that is on neither side is named, exit 1; one that is extra is a difference" {
    make_archive
    echo x >tree/other
    run_fail 1 sb diff -C tree a.barecat nowhere 'no*where' other a.txt
    output_is 'only in tree: other'
    stderr_has 'nowhere: no such file or directory on either side'
    stderr_has 'no*where: no such file or directory on either side'
    stderr_lacks 'other: '
    run_fail 1 sb diff -C tree a.barecat other ./other other
    output_is 'only in tree: other'
    stderr_lacks 'no such'
}

@test "an empty PATH is on neither side" {
    make_archive
    rm -r tree/a.txt tree/sub
    run_fail 1 sb diff -C tree a.barecat ''
    output_is ''
    stderr_has "shardbox diff: '': no such file or directory on either side"
    run_fail 1 sb diff -C tree a.barecat '' a.txt
    output_is 'only in a.barecat: a.txt'
}

@test "what the archive does not know is not compared" {
    make_archive
    alter "UPDATE files SET mode = NULL, mtime_ns = NULL, uid = NULL WHERE path = 'numbers';
        UPDATE dirs SET mode = NULL, mtime_ns = NULL WHERE path = 'sub'"
    chmod 600 tree/numbers
    touch tree/numbers tree/sub
    run_ok sb diff -C tree a.barecat
}

@test "where the archive holds permission bits alone, type bits do not differ" {
    make_archive
    alter "UPDATE files SET mode = mode & 4095 WHERE mode < 40960; UPDATE dirs SET mode = mode & 4095"
    run_ok sb diff -C tree a.barecat
}

@test "what passed through a tar of whole seconds is the same as the tree, and as its archive" {
    make_archive
    tar --format=gnu -cf a.tar -C tree .
    sb convert a.tar b.barecat
    sb unpack -C out a.tar
    for pair in 'tree b.barecat' 'b.barecat a.barecat' 'a.barecat out' 'tree a.tar'; do
        read -r one other <<<"$pair"
        [[ ! -d $one ]] || { read -r other one <<<"$pair"; }
        run_ok sb diff -C "$other" "$one"
        output_is ''
    done
    # A second later is another time, and so is a fraction that is another one.
    touch -d '2001-02-03 04:05:06.123456788Z' tree/one
    touch -d '2001-02-03 04:05:07Z' out/one
    run_fail 1 sb diff --quick -C tree a.barecat
    output_has 'time: one: '
    run_fail 1 sb diff --quick -C out b.barecat
    output_is 'time: one: 2001-02-03 04:05:06.000000000 in b.barecat, 2001-02-03 04:05:07.000000000 in out'
}

@test "hard links, and what a zip of another system does not know, are no differences" {
    mkdir tree
    echo x >tree/a
    ln tree/a tree/b
    chmod 600 tree/a
    touch -d '2001-02-03 04:05:06.5Z' tree/a
    tar cf a.tar --sort=name -C tree .
    sb convert a.tar a.barecat
    python3 - <<'PYTHON'
import zipfile
with zipfile.ZipFile("a.zip", "w") as archive:
    for name in "a", "b":
        info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6))
        info.create_system = 0
        archive.writestr(info, b"x\n")
PYTHON
    for container in a.tar a.barecat a.zip; do
        run_ok sb diff -C tree $container
        output_is ''
    done
}

@test "names of both sides are as they were typed" {
    make_archive
    rm tree/one
    touch -d '2001-02-03 04:05:06.123456789Z' tree
    ln -s a.barecat link.barecat
    run_fail 1 sb diff -C ./tree/../tree "$PWD/a.barecat"
    output_is "only in $PWD/a.barecat: one"
    stderr_is "shardbox diff: $PWD/a.barecat: differs from ./tree/../tree; differences, named above: 1"
    echo >tree/new
    run_fail 1 sb diff -C ./tree ./link.barecat new one
    output_is 'only in ./tree: new
only in ./link.barecat: one'
    run_fail 1 sb diff -C ./link.barecat tree new one
    output_is 'only in tree: new
only in ./link.barecat: one'
}

@test "--ignore leaves kinds of difference out, and reads no bytes for them" {
    make_archive
    chmod 600 tree/empty
    touch -d '2020-01-01Z' tree/numbers
    rewrite tree/sub-file 'BETWEEN
'
    rm tree/one
    touch -d '2001-02-03 04:05:06.123456789Z' tree
    run_fail 1 sb diff --ignore=time,mode -C tree a.barecat
    output_is 'only in a.barecat: one
bytes: sub-file'
    run_ok sb diff --ignore=time,mode --ignore=bytes,missing -C tree a.barecat
    output_is ''
    damage sub-file
    run_ok sb diff --ignore=time,mode,bytes,missing,target -C tree a.barecat
    run_fail 2 sb diff --ignore=time,colour -C tree a.barecat
    stderr_has "--ignore: 'colour' is none of missing, extra, type, size, mode, owner, time, bytes, target"
}

@test "--owner compares users and groups by number" {
    ((EUID == 0)) || skip 'needs root'
    make_archive
    chown 1234:1235 tree/one
    run_ok sb diff -C tree a.barecat
    run_fail 1 sb diff --owner -C tree a.barecat
    output_is 'owner: one: 0:0 in a.barecat, 1234:1235 in tree'
    run_fail 1 sb diff --owner --json -C tree a.barecat
    output_is '{"kind":"owner","path":"one","archive":{"uid":0,"gid":0},"other":{"uid":1234,"gid":1235}}'
    run_ok sb diff --owner --ignore=owner -C tree a.barecat
}

@test "--brief names what differs, once, and of a directory on one side nothing below it" {
    make_archive
    echo more >>tree/a.txt
    chmod 600 tree/a.txt
    rewrite tree/sub-file 'BETWEEN
'
    rm -r tree/sub
    mkdir tree/zzz
    touch tree/zzz/below
    touch -d '2001-02-03 04:05:06.123456789Z' tree
    run_fail 1 sb diff --brief -r -C tree a.barecat
    output_is 'differs: a.txt
only in a.barecat: sub
differs: sub-file
only in tree: zzz'
    stderr_has 'differences, named above: 4'
    run_fail 1 sb diff --brief -C tree a.barecat sub/dir zzz/below
    output_is 'only in a.barecat: sub/dir
only in tree: zzz/below'
}

@test "--prefix compares what is below a directory of the archive" {
    make_tree tree
    sb pack a.barecat --prefix=data/train -C tree .
    run_ok sb diff --prefix=data/train -C tree a.barecat
    run_ok sb diff --prefix=./data/train/ -C a.barecat tree --prefix data/train
    echo more >>tree/sub/file
    rewrite tree/sub-file 'BETWEEN
'
    rm tree/one tree/link
    ln -s elsewhere tree/link
    touch -h -d '2001-02-03 04:05:06.123456789Z' tree tree/link tree/sub/file
    run_fail 1 sb diff --prefix=data/train -C tree a.barecat
    output_is 'target: link: a.txt in a.barecat, elsewhere in tree
only in a.barecat: one
size: sub/file: 10 in a.barecat, 15 in tree
bytes: sub-file'
    run_fail 1 sb diff --prefix=data/train -C tree a.barecat 'on*' sub/dir
    output_is 'only in a.barecat: one'
    run_fail 2 sb diff --prefix=data/test -C tree a.barecat
    stderr_has 'a.barecat: holds no directory data/test'
    run_fail 2 sb diff --prefix=data/train/one -C tree a.barecat
}

@test "an archive that was packed from above the directory: the line to type is said" {
    make_tree tree
    sb pack a.barecat tree
    sb pack b.barecat --prefix=data/train -C tree .
    run_fail 1 sb diff -C tree a.barecat
    [[ ${stderr_lines[-1]} == "shardbox diff: a.barecat: all of it is below tree, which tree does not have; try 'shardbox diff --prefix=tree -C tree a.barecat'" ]] || fail 'no advice'
    run_fail 1 sb diff --brief -C ./tree b.barecat
    stderr_has "try 'shardbox diff --prefix=data/train -C ./tree b.barecat'"
    # Not where the directory is there, or the archive has more than it.
    mkdir other other/tree
    run_fail 1 sb diff -C other a.barecat
    stderr_lacks 'all of it is below'
    sb pack --append a.barecat b.barecat
    run_fail 1 sb diff -C tree a.barecat
    stderr_lacks 'all of it is below'
    # A directory that is in the tree is none of the prefix.
    mkdir -p more/deep && touch more/deep/file
    sb pack c.barecat --prefix=x -C more .
    run_fail 1 sb diff -C more c.barecat
    stderr_has "--prefix=x -C more c.barecat'"
}

@test "set-id bits count" {
    make_archive
    chmod 4600 tree/one
    run_fail 1 sb diff -C tree a.barecat
    output_is 'mode: one: 0600 in a.barecat, 4600 in tree'
}

@test "the archive in its own tree is not extra, another one is" {
    make_tree tree
    cd tree
    sb pack a.barecat .
    touch -d '2001-02-03 04:05:06.123456789Z' .
    run_ok sb diff a.barecat
    cp a.barecat b.barecat
    run_fail 1 sb diff a.barecat
    output_is 'only in .: b.barecat'
}

@test "two archives are compared" {
    make_archive
    cp -a tree other
    echo more >>other/a.txt
    rm other/one
    touch -d '2001-02-03 04:05:06.123456789Z' other other/a.txt
    sb pack b.barecat -C other .
    run_fail 1 sb diff -C b.barecat a.barecat
    output_is 'size: a.txt: 6 in a.barecat, 11 in b.barecat
only in a.barecat: one'
    sb pack same.barecat -C tree .
    run_ok sb diff -C same.barecat a.barecat
}

@test "damaged bytes are called so, not different" {
    make_archive
    damage sub/file
    damage link
    run_fail 1 sb diff -C tree a.barecat
    output_is 'damaged: link: its bytes do not match their checksum
damaged: sub/file: its bytes do not match their checksum'
    stderr_is 'shardbox diff: a.barecat: 2 entries, named above, could not be compared with tree; do not delete the tree'
    echo new >tree/a.txt
    run_fail 1 bash -c '"$SHARDBOX" diff -C tree a.barecat 2>&1'
    [[ ${lines[-1]} == *'; 2 entries could not be compared; do not delete the tree' ]] ||
        fail 'the summary is not the last line'
}

@test "damage of the other archive is named as well" {
    make_archive
    sb pack b.barecat -C tree .
    damage sub/file
    alter "UPDATE files SET size = -1 WHERE path = 'one'"
    run_fail 1 sb diff -C a.barecat b.barecat
    output_is ''
    stderr_has 'sub/file: its bytes do not match their checksum'
    stderr_has 'one: '
}

@test "a file whose bytes end early is damaged; so is a row that cannot be used" {
    make_archive
    alter "UPDATE files SET offset = 1000000000 WHERE path = 'a.txt'; UPDATE files SET size = -1 WHERE path = 'one'"
    run_fail 1 sb diff -C tree a.barecat
    output_has 'damaged: a.txt: '
    output_has 'damaged: one: '
    ((${#lines[@]} == 2))
}

@test "a directory that cannot be read is named, and nothing in it is called missing" {
    make_archive
    chmod 0 tree/sub
    run_fail 1 ordinary "$SHARDBOX" diff -C tree a.barecat
    chmod 755 tree/sub
    output_is 'mode: sub: 0755 in a.barecat, 0000 in tree'
    stderr_has 'sub: '
    stderr_has 'its contents are not compared'
    stderr_has 'differences, named above: 1; 1 entry could not be compared; do not delete the tree'
}

@test "a file that cannot be read is named" {
    make_archive
    chmod 0 tree/sub/file
    run_fail 1 ordinary "$SHARDBOX" diff -C tree a.barecat
    output_is 'mode: sub/file: 0755 in a.barecat, 0000 in tree'
    stderr_has 'sub/file: cannot be opened: Permission denied'
}

# bats test_tags=threads
@test "the output is the same with any number of threads" {
    mkdir tree
    (cd tree && seq 4000 | split -l 1 -a 4 - f && mkdir d && seq 500 | split -l 1 -a 4 - d/g)
    sb pack a.barecat -C tree .
    (cd tree && for name in faa*; do printf 'X\n' >"$name"; done && rm d/gaab* && touch d/new)
    sb diff --threads=1 -C tree a.barecat >one || true
    [[ $(wc -l <one) -gt 600 ]]
    sb diff --threads=5 -C tree a.barecat >five || true
    cmp one five
}

# bats test_tags=threads
@test "deep directories need few descriptors" {
    local deep
    deep=tree/$(printf 'd%d/' {1..200})
    mkdir -p "$deep"
    echo x >"${deep}f"
    sb pack a.barecat -C tree .
    run_ok bash -c 'ulimit -n 32; exec "$SHARDBOX" diff --threads=2 -C tree a.barecat'
}

@test "errors are 2: no archive, no such directory, a foreign file" {
    make_archive
    run_fail 2 sb diff
    run_fail 2 sb diff nothing.barecat
    run_fail 2 sb diff -C nowhere a.barecat
    stderr_has nowhere
    run_fail 2 sb diff -C tree/a.txt a.barecat
    stderr_has tree/a.txt
}

@test "a full disk is an error" {
    make_archive
    run_fail 2 bash -c '"$SHARDBOX" diff -C . a.barecat >/dev/full'
}

@test "--csv has a column for each key: what a side has of an owner is an object" {
    make_archive
    rm tree/one
    printf x >tree/more,
    chmod 600 tree/a.txt
    printf 'longer now\n' >tree/sub/file
    ln -sfn elsewhere "tree/$(sb find --type=l a.barecat | head -n 1)"
    alter "UPDATE files SET uid = 77 WHERE path = 'empty'"
    sb diff --owner --json -C tree a.barecat >rows.json || (($? == 1))
    sb diff --owner --csv -C tree a.barecat >rows.csv || (($? == 1))
    run_ok head -n 1 rows.csv
    output_is 'kind,path,type,archive,other,text'
    (($(wc -l <rows.csv) == $(wc -l <rows.json) + 1)) || fail 'rows'
    grep -qx 'missing,one,file,,,' rows.csv || fail 'missing'
    grep -qx 'extra,"more,",file,,,' rows.csv || fail 'extra'
    grep -qx 'mode,a.txt,,420,384,' rows.csv || fail 'mode'
    grep -q '^owner,empty,,"{""uid"":77,""gid"":' rows.csv || fail 'owner'
    grep -q '^target,[^,]*,,[^,]*,elsewhere,$' rows.csv || fail 'target'
}
