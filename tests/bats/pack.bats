# shardbox pack: from a tree, a list or a pipe to a new archive.

load helper

# names: what the archive holds, one name a line, the root left out.
names() {
    sql "$1" "SELECT path FROM files UNION SELECT path FROM dirs WHERE path != ''" | sort
}

@test "a tree becomes an archive with every name, mode, owner and time" {
    make_tree tree
    run_ok sb pack a.barecat -C tree .
    output_is ""
    stderr_is ""
    run_ok sb verify --strict a.barecat
    run_ok sb diff -C tree a.barecat
    [[ $(sql a.barecat "SELECT printf('%o', mode) FROM files WHERE path = 'one'") == 100600 ]]
    [[ $(sql a.barecat "SELECT mtime_ns FROM files WHERE path = 'a.txt'") == \
        "$(stat -c %.9Y tree/a.txt | tr -d .)" ]]
    [[ $(sql a.barecat "SELECT uid || ':' || gid FROM files WHERE path = 'a.txt'") == \
        "$(stat -c %u:%g tree/a.txt)" ]]
    [[ $(sql a.barecat "SELECT printf('%o', mode) FROM dirs WHERE path = 'sub.d'") == 40750 ]]
    [[ $(sql a.barecat "SELECT mtime_ns FROM dirs WHERE path = 'empty-dir/inner'") == \
        "$(stat -c %.9Y tree/empty-dir/inner | tr -d .)" ]]
}

@test "the index is exactly what Barecat expects" {
    make_tree tree
    sb pack a.barecat tree
    run_ok sql a.barecat "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL
        ORDER BY name"
    output_is "idx_dirs_parent
idx_dirs_path
idx_files_parent
idx_files_path
idx_files_shard_offset"
    run_ok sql a.barecat "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"
    output_is 10
    run_ok sql a.barecat "SELECT key || ' ' || value_int FROM config"
    output_is "schema_version_major 0
schema_version_minor 3
shard_size_limit 9223372036854775807
use_triggers 1"
    run_ok sql a.barecat "PRAGMA integrity_check; PRAGMA journal_mode"
    output_is "ok
delete"
    run_ok sql a.barecat "SELECT name, hidden FROM pragma_table_xinfo('files')"
    output_is "path|0
parent|2
shard|0
offset|0
size|0
crc32c|0
mode|0
uid|0
gid|0
mtime_ns|0"
}

@test "the triggers keep the statistics for other writers" {
    mkdir -p t/d
    echo 1 >t/d/f
    sb pack a.barecat -C t .
    sql a.barecat "PRAGMA recursive_triggers = ON;
        INSERT INTO files (path, shard, offset, size) VALUES ('d/new/g', 0, 2, 0), ('top', 0, 2, 0);
        DELETE FROM files WHERE path = 'd/f'; UPDATE files SET path = 'd/top' WHERE path = 'top'"
    run_ok sb verify a.barecat
    run_fail 1 sql a.barecat "INSERT INTO files (path, shard, offset) VALUES ('d', 0, 0)"
    stderr_has "Path already exists as directory"
    run_fail 1 sql a.barecat "INSERT INTO dirs (path) VALUES ('d/top')"
    stderr_has "Path already exists as file"
}

# bats test_tags=threads
@test "files lie in path order, without gaps, whatever the number of threads" {
    make_tree tree
    for i in 1 2 5; do
        run_ok sb pack -j "$i" --shard-size=100K "$i.barecat" -C tree .
    done
    for i in 2 5; do
        cmp "1.barecat" "$i.barecat"
        cmp "1.barecat-shard-00000" "$i.barecat-shard-00000"
        cmp "1.barecat-shard-00001" "$i.barecat-shard-00001"
    done
    run_ok sql 1.barecat "SELECT group_concat(path, char(1)) =
        (SELECT group_concat(path, char(1)) FROM (SELECT path FROM files ORDER BY path))
        FROM (SELECT path FROM files ORDER BY shard, offset, rowid)"
    output_is 1
}

# bats test_tags=threads
@test "large files, and more of them than fit into a batch, arrive whole" {
    mkdir t
    for i in 1 2 3 4 5; do
        head -c $((i * 700000)) /dev/zero | tr '\0' "$i" >"t/$i"
    done
    head -c 9000000 /dev/urandom >t/big
    run_ok sb pack -j 2 a.barecat -C t .
    run_ok sb diff -C t a.barecat
    [[ $(stat -c %s a.barecat-shard-00000) -eq 19500000 ]]
}

@test "names are stored as tar stores them" {
    mkdir -p t/d
    echo x >t/d/f
    run_ok sb pack 1.barecat ./t//d/../d/f
    stderr_has "./t//d/../d/f: stored as 'd/f': names in an archive are relative (said once)"
    [[ $(names 1.barecat) == $'d\nd/f' ]]
    run_ok sb pack 2.barecat "$PWD/t"
    stderr_has "names in an archive are relative"
    [[ $(names 2.barecat) == *"${PWD:1}/t/d/f"* ]]
    run_ok sb pack 3.barecat t/
    stderr_is ""
    [[ $(names 3.barecat) == $'t\nt/d\nt/d/f' ]]
    run_ok sb pack -C t 4.barecat d -C d f
    [[ $(names 4.barecat) == $'d\nd/f\nf' ]]
}

@test "a leading ../ is taken off" {
    mkdir -p t w
    echo x >t/f
    cd w
    run_ok sb pack a.barecat ../t
    [[ $(names a.barecat) == $'t\nt/f' ]]
}

@test "-C moves the paths behind it, never the archive" {
    mkdir -p d/sub e
    echo 1 >d/sub/f
    echo 2 >e/g
    run_ok sb pack -C d a.barecat sub -C ../e g
    [[ -f a.barecat ]]
    [[ $(names a.barecat) == $'g\nsub\nsub/f' ]]
}

@test "symbolic links are stored as links, or followed with --dereference" {
    mkdir -p t/dir
    echo text >t/file
    ln -s file t/link
    ln -s dir t/dirlink
    run_ok sb pack a.barecat -C t .
    [[ $(sql a.barecat "SELECT printf('%o', mode) || ' ' || size FROM files WHERE path = 'link'") == \
        "120777 4" ]]
    run_ok sb pack -L b.barecat -C t .
    [[ $(sql b.barecat "SELECT printf('%o', mode) || ' ' || size FROM files WHERE path = 'link'") == \
        "100644 5" ]]
    [[ $(names b.barecat) == $'dir\ndirlink\nfile\nlink' ]]
}

@test "a dangling link is named under --dereference, the rest is packed" {
    mkdir t
    ln -s nowhere t/link
    echo 1 >t/file
    run_fail 1 sb pack -L a.barecat -C t .
    stderr_has "link: "
    stderr_has "a.barecat: done in part"
    [[ $(names a.barecat) == file ]]
}

@test "FIFOs, sockets and devices are named and left out" {
    mkdir t
    mkfifo t/fifo
    echo 1 >t/file
    run_fail 1 sb pack a.barecat t
    stderr_has "t/fifo: a FIFO: an archive cannot hold it; left out"
    [[ $(names a.barecat) == $'t\nt/file' ]]
    run_fail 1 sb pack c.barecat /dev/null t/file
    stderr_has "/dev/null: a device"
}

@test "--strict writes nothing when something would be lost" {
    mkdir t
    mkfifo t/fifo
    echo 1 >t/file
    run_fail 2 sb pack --strict a.barecat t
    stderr_has "t/fifo: a FIFO"
    stderr_has "nothing was written: 1 things cannot be stored as they are"
    [[ $(echo a.*) == "a.*" ]]
    rm t/fifo
    run_ok sb pack --strict a.barecat t
}

@test "--strict looks for extended attributes" {
    mkdir t
    echo 1 >t/file
    setfattr -n user.note -v hello t/file 2>/dev/null || skip "no extended attributes here"
    run_fail 2 sb pack --strict a.barecat t
    stderr_has "t/file: has extended attributes or an ACL"
}

@test "hard links and far times are counted in one line, listed by --report, refused by --strict" {
    mkdir t
    echo 1 >t/one
    ln t/one t/two
    touch -d '2400-01-01' t/far
    [[ $(stat -c %Y t/far) == 13569465600 ]] || skip "no such times here"
    run_ok sb pack --report=report a.barecat t
    stderr_is "shardbox pack: a.barecat: hard links of 2 members, times out of range of 1 are not held by an archive; the report lists them"
    [[ $(cat report) == '{"path":"t/far","lost":["times"]}
{"path":"t/one","lost":["hard-links"]}
{"path":"t/two","lost":["hard-links"]}' ]]
    run_ok sb find --printf '%p %T@\n' a.barecat t/far
    output_is "t/far 9223372036.8547758070"
    run_fail 2 sb pack --strict b.barecat t
    stderr_has "t/one: is a hard link, which an archive holds as a file of its own"
    stderr_has "t/far: is of a time that an archive cannot hold, before 1678 or after 2262"
    run_fail 2 sb pack --report=c.barecat c.barecat t
    [[ ! -e c.barecat ]]
}

@test "a missing path is named, the rest is packed" {
    echo 1 >there
    run_fail 1 sb pack a.barecat missing there
    stderr_has "missing: cannot be packed: No such file or directory"
    [[ $(names a.barecat) == there ]]
}

@test "an unreadable file is named, the rest is packed" {
    ((EUID == 0)) && skip "root reads everything"
    mkdir t
    echo 1 >t/a
    echo 2 >t/b
    chmod 0 t/a
    run_fail 1 sb pack a.barecat t
    stderr_has "t/a: Permission denied"
    [[ $(names a.barecat) == $'t\nt/b' ]]
}

@test "a list names what is packed, by lines or NUL, an unfinished last name too" {
    mkdir t
    touch t/a t/b t/c $'t/new\nline'
    printf 't/a\nt/b' | run_ok sb pack -T - 1.barecat
    printf 't/a\nt/b' >list
    run_ok sb pack -T list 2.barecat
    [[ $(names 2.barecat) == $'t\nt/a\nt/b' ]]
    printf 't/new\nline\0t/c' >list0
    run_ok sb pack -T list0 -0 3.barecat
    [[ $(sql 3.barecat "SELECT group_concat(hex(path)) FROM (SELECT path FROM files ORDER BY path)") == \
        742F63,742F6E65770A6C696E65 ]]
}

@test "a directory in a list brings what is below it, unless --no-recursion" {
    mkdir -p t/d
    touch t/d/f
    echo t/d >list
    run_ok sb pack -T list a.barecat
    [[ $(names a.barecat) == $'t\nt/d\nt/d/f' ]]
    run_ok sb pack --no-recursion -T list b.barecat
    [[ $(names b.barecat) == $'t\nt/d' ]]
}

@test "a name met again from the same file is stored once" {
    mkdir t
    echo 1 >t/f
    run_ok sb pack a.barecat t t/f t ./t/f
    run_ok sb verify a.barecat
    [[ $(stat -c %s a.barecat-shard-00000) -eq 2 ]]
}

@test "a name met from another file is an error, or --duplicates decides" {
    mkdir x y
    echo from-x >x/f
    echo from-y >y/f
    run_fail 1 sb pack a.barecat -C x f -C ../y f
    stderr_has "f: 'f' was already given as f; left out (see --duplicates)"
    run_ok sb pack --duplicates=first b.barecat -C x f -C ../y f
    [[ $(sb cat b.barecat f) == from-x ]]
    run_ok sb pack --duplicates=last c.barecat -C x f -C ../y f
    [[ $(sb cat c.barecat f) == from-y ]]
}

@test "a name cannot be a file and a directory" {
    mkdir -p x y/f
    echo file >x/f
    echo below >y/f/g
    run_fail 1 sb pack a.barecat -C x f -C ../y f
    stderr_has "would be both a file and a directory"
    run_ok sb verify a.barecat
    [[ $(names a.barecat) == f ]]
}

@test "shards have the size given, and a larger file gets one of its own" {
    mkdir t
    for i in a c d e; do printf %400s "$i" >"t/$i"; done
    printf %3000s b >t/b
    run_ok sb pack --shard-size=1000 a.barecat -C t .
    [[ $(stat -c %s a.barecat-shard-*) == $'400\n3000\n800\n400' ]]
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shard_size_limit'") == 1000 ]]
    run_ok sb verify a.barecat
}

@test "--include and --exclude are tried in order" {
    mkdir -p t/keep t/drop
    touch t/a.jpg t/b.txt t/keep/c.jpg t/drop/d.jpg
    run_ok sb pack --exclude=drop --include='*.jpg' --exclude='*.*' a.barecat -C t .
    [[ $(names a.barecat) == $'a.jpg\nkeep\nkeep/c.jpg' ]]
    printf '*.txt\ndrop\n' >rules
    run_ok sb pack --exclude-from=rules b.barecat -C t .
    [[ $(names b.barecat) == $'a.jpg\nkeep\nkeep/c.jpg' ]]
}

@test "--prefix and --strip-components change the names" {
    mkdir -p a/b
    echo 1 >a/b/f
    run_ok sb pack --strip-components=1 --prefix=x/y p.barecat a
    [[ $(names p.barecat) == $'x\nx/y\nx/y/b\nx/y/b/f' ]]
    run_ok sb verify p.barecat
}

@test "--order decides where the bytes lie" {
    printf 1 >b
    printf 2 >a
    run_ok sb pack --order=input i.barecat b a
    [[ $(cat i.barecat-shard-00000) == 12 ]]
    run_ok sb pack p.barecat b a
    [[ $(cat p.barecat-shard-00000) == 21 ]]
    run_ok sb pack --order=inode n.barecat a b
    run_ok sb verify n.barecat
}

@test "--stdin-name stores a stream of unknown length" {
    seq 300000 | sb pack --stdin-name=n/numbers a.barecat -
    run_ok sb verify --strict a.barecat
    [[ $(sb cat a.barecat n/numbers | md5sum) == "$(seq 300000 | md5sum)" ]]
    : | sb pack --stdin-name=empty --shard-size=10 b.barecat -
    [[ $(sql b.barecat 'SELECT size FROM files') == 0 ]]
    run_fail 2 sb pack --stdin-name=x c.barecat a.barecat
    stderr_has "--stdin-name needs '-' as the only PATH"
}

@test "--dry-run writes nothing and prints what would be stored" {
    make_tree tree
    run_ok sb pack -n a.barecat tree
    grep -qx tree/a.txt <<<"$output"
    stderr_is ""
    [[ ! -e a.barecat ]]
}

@test "names that are not UTF-8 are kept, and the first one is named" {
    mkdir t
    touch t/$'\xff' t/$'a\xfe'
    run_ok sb pack a.barecat -C t .
    stderr_has "not UTF-8: kept, but Barecat will not be able to list this archive"
    [[ $(grep -c UTF-8 <<<"$stderr") == 1 ]]
    run_ok sb diff -C t a.barecat
}

@test "a name that SQLite would put elsewhere is left out" {
    mkdir t
    # Without the '/', E9 80 is one character to SQLite, and 80 alone is not in the set to trim.
    mkdir t/$'a\xe9'
    touch t/$'a\xe9/\x80b'
    run_fail 1 sb pack a.barecat -C t .
    stderr_has "cannot be stored: the name is not UTF-8, and SQLite would put it in another directory"
    run_ok sb verify a.barecat
}

@test "--iconv stores names as UTF-8" {
    mkdir t
    touch t/$'caf\xe9'
    run_ok sb pack --iconv=ISO-8859-1 a.barecat -C t .
    stderr_is ""
    [[ $(names a.barecat) == café ]]
    run_fail 2 sb pack --iconv=NO-SUCH b.barecat -C t .
    stderr_has "'NO-SUCH' is no charset that can be read here"
    run_fail 2 sb pack --iconv -f a.barecat t
    stderr_has "--iconv: '-f' is no charset"
}

@test "an archive in the tree that is packed does not take itself in" {
    mkdir t
    echo 1 >t/f
    run_ok sb pack t/a.barecat t
    stderr_has "t/a.barecat.new: is the archive itself; left out"
    [[ $(names t/a.barecat) == $'t\nt/f' ]]
    run_ok sb pack --force t/a.barecat -C t .
    [[ $(names t/a.barecat) == f ]]
}

@test "trees too deep for Barecat's triggers are refused by name" {
    deep=t$(printf '/d%.0s' {1..905})
    mkdir -p "$deep"
    run_fail 1 sb pack a.barecat t
    stderr_has "is more than 900 directories deep"
    run_ok sb verify a.barecat
}

@test "an archive that exists is not overwritten without --force" {
    echo 1 >f
    echo 2 >g
    sb pack a.barecat f
    run_fail 2 sb pack a.barecat g
    stderr_has "there is an archive already; use --append to add to it, or --force to replace it"
    [[ $(names a.barecat) == f ]]
    run_ok sb pack --force a.barecat g
    [[ $(names a.barecat) == g ]]
}

@test "--force leaves nothing of an old archive with more shards" {
    mkdir t
    for i in 1 2 3 4; do printf %500s "$i" >t/$i; done
    sb pack --shard-size=500 a.barecat t
    run_ok sb pack --force a.barecat t/1
    [[ $(ls a.barecat*) == $'a.barecat\na.barecat-shard-00000' ]]
    run_ok sb verify a.barecat
    [[ $(sql a.barecat "SELECT count(*) FROM config") == 4 ]]
}

@test "--force replaces only archives" {
    echo text >notes
    touch f
    run_fail 2 sb pack --force notes f
    [[ $(cat notes) == text ]]
    sqlite3 other.db 'CREATE TABLE t (x)'
    run_fail 2 sb pack --force other.db f
    [[ $(sqlite3 other.db .tables) == t ]]
    mkdir dir
    run_fail 2 sb pack --force dir f
    stderr_has "dir"
}

@test "shards that no index explains are named and not touched" {
    touch f
    for stranger in a.barecat-shard-0000{0,1}; do
        echo data >"$stranger"
        run_fail 2 sb pack a.barecat f
        stderr_has "no index says what is in $stranger, and it may be data"
        [[ $(echo a.*) == "$stranger" ]]
        rm "$stranger"
    done
}

@test "files whose names begin as the archive's do are nobody's business" {
    local -a near=(a.txt a.new.bak a-shard-7 a-shard-00099 a-shard-000001 a.part.bak a.newer a-index)
    mkdir t
    for name in "${near[@]}"; do
        echo "$name" >"t/$name"
    done
    run_ok sb pack t/a -C t .
    for name in "${near[@]}"; do
        stderr_lacks "$name"
    done
    [[ $(sb ls t/a) == $(printf '%s\n' "${near[@]}" | LC_ALL=C sort) ]]
    run_ok sb pack --append --update --seal t/a -C t .
    run_ok sb pack --force t/a -C t .
    run_ok sb verify t/a
    for name in "${near[@]}"; do
        [[ $(cat "t/$name") == "$name" && $(sb cat t/a "$name") == "$name" ]] || fail "$name"
    done
}

@test "--force does not take shards along that the old archive does not explain" {
    echo 1 >f
    sb pack a.barecat f
    echo precious >a.barecat-shard-00001
    run_fail 2 sb pack --force a.barecat f
    stderr_has "no index says what is in a.barecat-shard-00001"
    [[ $(cat a.barecat-shard-00001) == precious ]]
    run_ok sb verify a.barecat
}

@test "what is called ARCHIVE.new and is not ours is not touched" {
    echo 1 >f
    echo text >a.barecat.new
    run_fail 2 sb pack a.barecat f
    stderr_has "a.barecat.new: in the way, and not left by an interrupted run"
    [[ $(cat a.barecat.new) == text ]]
    sb pack b.barecat f
    mv b.barecat c.barecat.new
    mv b.barecat-shard-00000 c.barecat.new-shard-00000
    run_fail 2 sb pack c.barecat f
    run_ok sb cat c.barecat.new f
    run_fail 2 sb pack d.new f
    stderr_has "names in .new are for archives that are being made"
}

@test "what a power failure may leave as ARCHIVE.new is taken over: nothing, or a page of zeros" {
    echo 1 >f
    : >a.barecat.new
    run_ok sb pack a.barecat f
    head -c 4096 /dev/zero >b.barecat.new
    run_ok sb pack b.barecat f
    [[ ! -e b.barecat.new ]]
    run_ok sb verify b.barecat
    head -c 4097 /dev/zero >c.barecat.new
    run_fail 2 sb pack c.barecat f
}

# bats test_tags=threads
@test "few files are open at once, however many shards and directories there are" {
    mkdir t
    for i in {1..150}; do
        mkdir "t/$i"
        echo "$i" >"t/$i/f"
    done
    for threads in 1 4; do
        (ulimit -n 64 && "$SHARDBOX" pack -f -j "$threads" --shard-size=5 a.barecat -C t .)
        run_ok sb diff -C t a.barecat
    done
    deep=t$(printf '/d%.0s' {1..100})
    mkdir -p "$deep"
    touch "$deep/f"
    (ulimit -n 64 && "$SHARDBOX" pack -f a.barecat -C t .)
    run_ok sb diff -C t a.barecat
}

# bats test_tags=threads
@test "small shards that many threads fill at once" {
    mkdir t
    seq 60000 | split -d -a 3 -l 100 - t/
    for _ in {1..6}; do
        run_ok sb pack -f -j 8 --shard-size=900 a.barecat -C t .
    done
    run_ok sb diff -C t a.barecat
}

@test "when nothing at all can be stored, nothing is written" {
    mkfifo fifo
    run_fail 2 sb pack a.barecat missing fifo
    stderr_has "nothing could be stored, so nothing was written"
    [[ $(echo a.*) == "a.*" ]]
    echo 1 >f
    sb pack a.barecat f
    run_fail 2 sb pack --force a.barecat typo
    [[ $(sb cat a.barecat f) == 1 ]]
}

@test "an archive is no pipe, and standard input needs a name" {
    echo 1 >f
    run_fail 2 sb pack - f
    stderr_has "an archive is several files, and cannot be written to a pipe"
    run_fail 2 sb pack a.barecat -
    stderr_has "'-' needs --stdin-name"
    [[ $(echo a.* -*) == "a.* -*" ]]
}

@test "--prefix goes before the name of standard input too" {
    echo 1 | sb pack --prefix=x --stdin-name=../y a.barecat - 2>warning
    [[ $(names a.barecat) == $'x\nx/y' ]]
    grep -q "names in an archive are relative" warning
}

@test "an archive is written where TMPDIR and the tree are read-only" {
    mkdir t out
    echo 1 >t/f
    chmod 555 t
    TMPDIR=/nowhere run_ok sb pack out/a.barecat t
    chmod 755 t
}

@test "nothing to pack, and wrong combinations, are usage errors" {
    run_fail 2 sb pack
    stderr_has "the name of the archive is missing"
    run_fail 2 sb pack a.barecat
    stderr_has "nothing to pack"
    mkdir tree
    run_fail 2 sb pack tree
    stderr_is "shardbox pack: tree: is a directory, not an archive, which comes first; type: shardbox pack ARCHIVE tree"
    run_fail 2 sb pack --append --force a.barecat x
    stderr_has "--append and --force exclude each other"
    run_fail 2 sb pack --update a.barecat x
    stderr_has "--update needs --append"
    stderr_lacks --seal
    run_fail 2 sb pack --shard-size=-1 a.barecat x
    stderr_has "shard-size"
}

@test "an interrupted run removes what it made" {
    mkfifo pipe
    "$SHARDBOX" pack --stdin-name=x a.barecat - <pipe &
    pid=$!
    exec 9>pipe
    for ((i = 0; i < 100; i++)); do
        [[ -e a.barecat.new ]] && break
        sleep 0.02
    done
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    exec 9>&-
    ((status == 143))
    [[ $(echo a.*) == "a.*" ]]
}

@test "a second writer is told who is in the way" {
    mkfifo pipe
    "$SHARDBOX" pack --stdin-name=x a.barecat - <pipe &
    pid=$!
    exec 9>pipe
    for ((i = 0; i < 100; i++)); do
        [[ -s a.barecat.new ]] && break
        sleep 0.02
    done
    touch f
    run_fail 2 sb pack a.barecat f
    stderr_has "process $pid is writing this archive; wait for it"
    echo data >&9
    exec 9>&-
    wait "$pid"
    [[ $(sb cat a.barecat x) == data ]]
}

@test "--compress stores each file compressed under a longer name" {
    make_tree tree
    for coding in gz bz2 xz zst; do
        run_ok sb pack --compress=$coding a.barecat -C tree .
        stderr_is ""
        run_ok sb verify --strict a.barecat
        [[ $(names a.barecat) == *"one.$coding"* ]]
        run_ok sb unpack --decompress -C back a.barecat
        run_ok diff -r --no-dereference tree back
        [[ $(stat -c '%a %y' back/one) == "$(stat -c '%a %y' tree/one)" ]]
        rm -r back a.barecat*
    done
}

# bats test_tags=threads
@test "--compress: large files and standard input, and bytes that do not depend on threads" {
    mkdir t
    seq 900000 >t/large
    echo small >t/small
    run_ok sb pack -j 1 --compress=gz a.barecat -C t .
    run_ok sb pack -j 4 --compress=gz b.barecat -C t .
    run_ok cmp a.barecat-shard-00000 b.barecat-shard-00000
    cmp <(sb cat a.barecat large.gz | gzip -dc) t/large
    run_ok bash -c '"$SHARDBOX" pack --compress=xz --stdin-name=in c.barecat - <t/large'
    cmp <(sb cat --decompress c.barecat in.xz) t/large
}

@test "--compress with --append --update goes by times" {
    mkdir t
    echo one >t/a
    echo two >t/b
    sb pack --compress=zst a.barecat -C t .
    run_ok sb pack -v --append --update --compress=zst a.barecat -C t .
    stderr_is ""
    echo longer >t/b
    touch -d '1 hour' t/b
    run_ok sb pack -v --append --update --compress=zst a.barecat -C t .
    stderr_has 'stored 1 files'
    [[ $(sb cat --decompress a.barecat a.zst b.zst) == $'one\nlonger' ]]
}

@test "--compress: a level that there is not is refused" {
    echo x >x
    run_fail 2 sb pack --compress=gz --level=12 a.barecat x
    stderr_has 'level 12: gzip has 1 to 9'
    run_fail 2 sb pack --level=3 a.barecat x
    stderr_has '--level needs --compress'
    [[ ! -e a.barecat ]]
}

# empty_is_refused COMMAND...: nothing comes on its standard input, and what there is stays.
empty_is_refused() {
    cp a.barecat before
    cp a.barecat-shard-00000 before-shard
    run_fail 2 bash -c '"$@" < <(:)' bash "$SHARDBOX" "$@"
    stderr_has "is empty, and --force does not replace an existing output by nothing"
    cmp a.barecat before
    cmp a.barecat-shard-00000 before-shard
}

@test "--force replaces nothing by an empty list or an empty standard input" {
    make_archive
    printf '\n\n' >no-names
    empty_is_refused pack -f -T - a.barecat
    empty_is_refused pack -f -0 -T - a.barecat
    empty_is_refused pack -f -n -T - a.barecat
    empty_is_refused pack -f --strict -T - a.barecat
    empty_is_refused pack -f --checkpoint=1M -T - a.barecat
    empty_is_refused pack -f -T no-names a.barecat tree
    empty_is_refused pack -f --stdin-name=in a.barecat -
    empty_is_refused pack -f --stdin-name=in --compress=zst a.barecat -
    run_ok sb pack -f -T <(echo tree/a.txt) a.barecat
    [[ $(sb find --type=f a.barecat) == tree/a.txt ]]
}

@test "--force with an empty list leaves what an interrupted run committed" {
    make_archive
    sb pack a.barecat.part tree
    empty_is_refused pack -f --checkpoint=1M -T - a.barecat
    run_ok sb verify a.barecat.part
}

@test "an empty directory, or an empty list without --force, makes an empty archive" {
    make_archive
    mkdir empty
    run_ok sb pack -f a.barecat -C empty .
    run_ok sb verify a.barecat
    [[ -z $(sb find --type=f a.barecat) ]]
    run_ok sb pack -T /dev/null b.barecat
    run_ok sb pack --append -T /dev/null b.barecat
}

@test "an ARCHIVE that cannot be one is refused before anything is read, with the line to type" {
    mkdir tree
    echo x >tree/x
    echo text >notes.txt
    while IFS='|' read -r typed what line; do
        eval "words=($typed)"
        run_fail 2 traced -o trace -e trace=openat "$SHARDBOX" pack "${words[@]}"
        stderr_is "shardbox pack: $what; type: shardbox $line"
        run ! grep -q '"\(tree/\)\?x"' trace
    done <<'LINES'
tree a.barecat|tree: is a directory, not an archive, which comes first|pack a.barecat tree
-f tree x a.barecat|tree: is a directory, not an archive, which comes first|pack a.barecat tree x
tree -C tree x|tree: is a directory, not an archive, which comes first|pack ARCHIVE tree -C tree x
notes.txt tree|notes.txt: exists and is no archive, which comes first|pack ARCHIVE notes.txt tree
new.tar tree|new.tar: is called as a tar, and pack makes archives|convert tree new.tar
'a b.zip' tree x|a b.zip: is called as a zip, and pack makes archives|convert tree x 'a b.zip'
new.bagz -C tree x|new.bagz: is called as a bag, and pack makes archives|pack new.barecat -C tree x
'*.txt' s.barecat tree|*.txt: is a pattern, not the name of an archive, which comes first|pack --include '*.txt' s.barecat tree
-C tree '*.txt' .|*.txt: is a pattern, not the name of an archive, which comes first|pack --include '*.txt' ARCHIVE -C tree .
'[a].barecat' s.barecat|[a].barecat: is a pattern, not the name of an archive, which comes first|pack --include '[a].barecat' s.barecat .
LINES
    [[ ! -e a.barecat && ! -e new.tar && ! -e 'a b.zip' && ! -e new.bagz && $(cat notes.txt) == text ]]
}

@test "a file that is written to while it is read is named, also if its size stays" {
    every_third_day
    mkdir t
    head -c 4M /dev/zero >t/big
    sb pack a.barecat -C t .
    touch t/big
    for command in "pack b.barecat" "pack --append --update --checksum a.barecat"; do
        read -ra command <<<"$command"
        sb "${command[@]}" --bwlimit=1M -C t . 2>log &
        sleep 1.5
        printf x | dd of=t/big conv=notrunc status=none
        status=0
        wait $! || status=$?
        ((status == 1))
        grep -q 'big: was written to while it was read; stored as it was read' log
    done
    run_ok sb verify a.barecat
    run_ok sb verify b.barecat
}
