# shardbox mv: other names for files and directories; the index alone changes.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p t/d/e/g t/f t/empty
    echo one >t/d/1
    echo two >t/d/2
    echo three >t/d/e/3
    echo four >t/d/e/g/4
    echo five >t/5
    ln -s 5 t/link
    "$SHARDBOX" pack a.barecat -C t .
}

names() {
    sb find a.barecat
}

all() {
    names | tr '\n' ' '
}

statistics() {
    sql a.barecat "SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM dirs
        ORDER BY path"
}

# refused WHAT WORDS ARGS...: mv with these arguments fails with these words, and changes nothing.
refused() {
    local words=$1
    shift
    before=$(md5sum a.barecat)
    run_fail 2 sb mv "$@"
    stderr_has "$words"
    [[ $(md5sum a.barecat) == "$before" ]] || fail "the archive was changed"
}

@test "a file gets another name, in its directory and in another" {
    rows=$(sql a.barecat "SELECT shard, offset, size, crc32c, mode, uid, gid, mtime_ns FROM files
        ORDER BY shard, offset")
    before=$(md5sum a.barecat-shard-00000)
    run_ok sb mv a.barecat d/1 d/one
    output_is ""
    stderr_is ""
    run_ok sb mv a.barecat d/one f/uno
    run_ok sb mv a.barecat link d/link
    [[ $(all) == "5 d d/2 d/e d/e/3 d/e/g d/e/g/4 d/link empty f f/uno " ]]
    [[ $(statistics) == '|3|1|6|25
d|1|2|4|16
d/e|1|1|2|11
d/e/g|0|1|1|5
empty|0|0|0|0
f|0|1|1|4' ]]
    [[ $(sql a.barecat "SELECT shard, offset, size, crc32c, mode, uid, gid, mtime_ns FROM files
        ORDER BY shard, offset") == "$rows" ]]
    [[ $(md5sum a.barecat-shard-00000) == "$before" ]]
    run_ok sb verify --strict a.barecat
    [[ $(sb cat a.barecat f/uno) == one ]]
}

@test "a directory goes with all that is below it" {
    modes=$(sql a.barecat "SELECT mode, mtime_ns FROM dirs WHERE path = 'd/e/g'")
    run_ok sb mv a.barecat d/e x
    [[ $(all) == "5 d d/1 d/2 empty f link x x/3 x/g x/g/4 " ]]
    run_ok sb mv a.barecat x f/y
    [[ $(all) == "5 d d/1 d/2 empty f f/y f/y/3 f/y/g f/y/g/4 link " ]]
    [[ $(statistics) == '|3|2|6|25
d|0|2|2|8
empty|0|0|0|0
f|1|0|2|11
f/y|1|1|2|11
f/y/g|0|1|1|5' ]]
    [[ $(sql a.barecat "SELECT mode, mtime_ns FROM dirs WHERE path = 'f/y/g'") == "$modes" ]]
    run_ok sb verify --strict a.barecat
}

@test "names that only begin alike stay" {
    mkdir -p t/d-x 't/d.y' t/d0
    echo a >t/d-x/a
    echo b >t/d.y/b
    echo c >t/d0/c
    sb pack --force a.barecat -C t .
    run_ok sb mv a.barecat d z
    [[ $(all) == "5 d-x d-x/a d.y d.y/b d0 d0/c empty f link z z/1 z/2 z/e z/e/3 z/e/g z/e/g/4 " ]]
    run_ok sb verify --strict a.barecat
}

@test "several go into a directory, the root too" {
    run_ok sb mv -v a.barecat d/1 5 d/e f
    stderr_is "shardbox mv: d/1: moved to f/1
shardbox mv: 5: moved to f/5
shardbox mv: d/e: moved to f/e"
    [[ $(all) == "d d/2 empty f f/1 f/5 f/e f/e/3 f/e/g f/e/g/4 link " ]]
    run_ok sb mv a.barecat f/1 f/e /
    [[ $(all) == "1 d d/2 e e/3 e/g e/g/4 empty f f/5 link " ]]
    run_ok sb verify --strict a.barecat
}

@test "each is moved as those before it have left things" {
    refused "d/e/3: no such file or directory in the archive" a.barecat d/e d/e/3 f
    run_ok sb mv a.barecat d/e/g d/e f
    [[ $(all) == "5 d d/1 d/2 empty f f/e f/e/3 f/g f/g/4 link " ]]
    run_ok sb verify --strict a.barecat
}

@test "all or nothing" {
    refused "none: no such file or directory in the archive" a.barecat 5 none f
    stderr_has "a.barecat: nothing was moved"
    run_ok sb verify --strict a.barecat
}

@test "a file is replaced under -f only" {
    refused "d/2: exists already; --existing=replace (-f) replaces it, --existing=skip leaves both as they are" \
        a.barecat 5 d/2
    run_ok sb mv -v --no-clobber a.barecat 5 d/2
    stderr_is "shardbox mv: 5: stays, for d/2 is there already"
    [[ $(sb cat a.barecat d/2) == two ]]
    run_ok sb mv -f a.barecat 5 d/2
    [[ $(sb cat a.barecat d/2) == five ]]
    [[ $(statistics) == '|3|1|5|21
d|1|2|4|20
d/e|1|1|2|11
d/e/g|0|1|1|5
empty|0|0|0|0
f|0|0|0|0' ]]
    run_ok sb verify --strict a.barecat
    run_fail 2 sb mv -f --no-clobber a.barecat d/2 5
    stderr_has "--force and --no-clobber exclude each other"
}

@test "two that would get the same name are refused, also under -f" {
    sb mv a.barecat d/1 f/3
    refused "empty/3: would get the name of another one that is moved" a.barecat -f d/e/3 f/3 empty
    run_ok sb mv -v --no-clobber a.barecat d/e/3 f/3 empty
    stderr_has "f/3: stays"
    [[ $(sb cat a.barecat empty/3) == three ]]
    run_ok sb verify --strict a.barecat
}

@test "files and directories do not replace each other; an empty directory makes room" {
    refused "5: is a file, and d is a directory" a.barecat -f -T d 5
    refused "d: is a directory, and 5 is none" a.barecat -f -T 5 d
    sb mv a.barecat d/e/g f/e
    refused "f/e: is a directory that is not empty" a.barecat -f -T empty f/e
    refused "f/e: is a directory that is not empty" a.barecat -f d/e f
    run_ok sb mv -T a.barecat d empty
    [[ $(all) == "5 empty empty/1 empty/2 empty/e empty/e/3 f f/e f/e/4 link " ]]
    run_ok sb verify --strict a.barecat
}

@test "a directory cannot go into itself, and the root nowhere" {
    refused "d: a directory cannot go into itself, to d/e/d" a.barecat d d/e
    refused "d: a directory cannot go into itself, to d/x" a.barecat d d/x
    refused "d: a directory cannot go into itself, to d/d" a.barecat d d
    refused "d/1: has that name already" a.barecat d/1 d
    refused "d/1: has that name already" a.barecat d/1 ./d//1
    refused "/: the root directory cannot be moved" a.barecat / d
    refused ".: the root directory cannot be moved" a.barecat . d
}

@test "-p makes the directories on the way" {
    run_ok sb mv -n -p a.barecat 5 x/y/five
    output_is '5 -> x/y/five'
    [[ -z $(sb find a.barecat x 2>/dev/null) ]]
    run_ok sb mv -p a.barecat 5 x/y/five
    run_ok sb mv -p a.barecat link d/1 into/this
    run_ok sb mv -p a.barecat empty on/slash/
    run_ok sb mv -p -t x/y a.barecat d/2
    [[ $(all) == "d d/e d/e/3 d/e/g d/e/g/4 f into into/this into/this/1 into/this/link on on/slash on/slash/empty x x/y x/y/2 x/y/five " ]]
    run_ok sb verify --strict a.barecat
    refused "x/y/2: is no directory" -p a.barecat f x/y/2/z/f
    refused "d: a directory cannot go into itself" -p a.barecat d d/new/
    refused "none: no such file or directory" -p a.barecat none new/dir/
}

@test "where to: a directory that is there" {
    refused "none: no such directory in the archive" a.barecat 5 none/x
    refused "none/x: no such directory in the archive" a.barecat 5 none/x/y
    refused "d/1: is no directory" a.barecat 5 d/1/x
    refused "none: no such directory in the archive" a.barecat 5 d/1 none
    refused "d/2: is no directory to move into" a.barecat 5 d/1 d/2
    refused "none/: no such directory in the archive" a.barecat 5 none/
    run_ok sb mv a.barecat d none/
    run_ok sb mv a.barecat none/e /
    [[ $(all) == "5 e e/3 e/g e/g/4 empty f link none none/1 none/2 " ]]
    run_ok sb verify --strict a.barecat
}

@test "names that cannot be stored, and depths that cannot be held" {
    long=$(printf '%065537d' 0)
    refused "5: cannot be moved: its new name is longer than 64 KiB" a.barecat 5 "$long"
    refused "'': no such file or directory in the archive" a.barecat '' x
    refused "'': no such file or directory in the archive" a.barecat 5 ''
    deep=$(printf 'x/%.0s' {1..900})
    sb pack --append --prefix="$deep" a.barecat -C t 5
    refused "x: what is below it would be more than 900 directories deep" a.barecat x f
    sb pack --append --prefix="l/${long:0:65530}" a.barecat -C t 5
    refused "l: what is below it would have names longer than 64 KiB" a.barecat l long
    refused "d: what is below it would be more than 900 directories deep" a.barecat d "${deep%x/}y"
    refused "5: cannot be moved: its new name is more than 900 directories deep" \
        a.barecat 5 "${deep}y/z"
    run_ok sb mv a.barecat d/1 "${deep%/}"
    run_ok sb verify --strict a.barecat
}

@test "names that are not UTF-8" {
    printf x >$'t/d/e/\xff\xfe'
    mkdir $'t/d/\xe9t\xe9'
    printf y >$'t/d/\xe9t\xe9/\xe9'
    sb pack -q --force a.barecat -C t .
    run_ok sb mv a.barecat d $'d\xc3\xa9'
    run_ok sb mv a.barecat $'d\xc3\xa9' g
    [[ $(sb cat a.barecat $'g/e/\xff\xfe') == x ]]
    [[ $(sb cat a.barecat $'g/\xe9t\xe9/\xe9') == y ]]
    run_ok sb mv a.barecat $'g/\xe9t\xe9' f
    run_ok sb verify a.barecat
}

@test "directories without rows of their own" {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        DELETE FROM dirs WHERE path IN ('d/e', 'f');
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
    run_ok sb mv a.barecat d/e empty
    run_ok sb mv a.barecat 5 d/1 empty/e
    [[ $(sql a.barecat "SELECT path FROM files ORDER BY path") == \
        $'d/2\nempty/e/1\nempty/e/3\nempty/e/5\nempty/e/g/4\nlink' ]]
    run_ok sb upgrade a.barecat
    run_ok sb verify --strict a.barecat
}

@test "-n says what would be moved, and changes and locks nothing" {
    before=$(md5sum a.barecat*)
    chmod a-w . a.barecat
    run_ok sb mv -n a.barecat d/1 d/e f
    output_is "d/1 -> f/1
d/e -> f/e"
    run_fail 2 sb mv -n a.barecat none f
    stderr_has "none: no such file or directory in the archive"
    run_fail 2 sb mv -n a.barecat 5 d/1
    stderr_has "d/1: exists already"
    chmod u+w .
    [[ $(md5sum a.barecat*) == "$before" ]]
}

@test "linked shards and shards that are not there do not matter" {
    mv a.barecat-shard-00000 elsewhere
    ln -s elsewhere a.barecat-shard-00000
    run_ok sb mv a.barecat d g
    rm a.barecat-shard-00000
    run_ok sb mv a.barecat g h
    [[ $(all) == "5 empty f h h/1 h/2 h/e h/e/3 h/e/g h/e/g/4 link " ]]
}

@test "the number of shards is kept right when the last file of the last shard is replaced" {
    echo x >x
    sb pack --append --seal a.barecat x
    run_ok sb mv -f a.barecat 5 x
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shardbox_shard_count'") == 2 ]]
    run_ok sb verify --strict a.barecat
    run_ok sb pack --append a.barecat t/d/1
    [[ $(stat -c %s a.barecat-shard-00001) == 6 ]]
    run_ok sb verify --strict a.barecat
}

@test "usage" {
    run_fail 2 sb mv
    stderr_has "no archive given"
    run_fail 2 sb mv a.barecat 5
    stderr_has "give what is to be moved, and where to"
    run_fail 2 sb mv -T a.barecat 5 d f
    stderr_has "-T takes one SOURCE"
    run_fail 2 sb mv none.barecat 5 6
    stderr_has "none.barecat: no such archive"
    tar cf t.tar t
    run_fail 2 sb mv t.tar t/5 x
    stderr_has "t.tar: is a tar, and only archives can be changed"
}

@test "statistics that make no sense are damage, and nothing is changed" {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE dirs SET num_files_tree = -9223372036854775808 WHERE path = 'd';
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
    refused "d: its tree statistics make no sense; run 'shardbox upgrade'" a.barecat d x
    run_ok sb upgrade a.barecat
    run_ok sb mv a.barecat d x
    run_ok sb verify --strict a.barecat
}

@test "another archive as DEST is refused: mv renames within one" {
    mkdir -p one/dir two
    echo x >'one/dir/a file'
    echo y >two/other
    sb pack from.barecat -C one .
    sb pack to.barecat -C two .
    run_fail 2 sb mv from.barecat dir to.barecat
    stderr_is "shardbox mv: to.barecat: is another archive, and mv renames within one; type: shardbox merge --append --include dir -o to.barecat from.barecat && shardbox rm -r from.barecat dir"
    local said=$stderr
    run_ok sb find from.barecat -type f
    output_is 'dir/a file'
    eval "$(sed 's/.*; type: shardbox/sb/; s/&& shardbox/\&\& sb/' <<<"$said")"
    run_ok sb find to.barecat -type f
    output_is $'dir/a file\nother'
    run_ok sb find from.barecat -type f
    output_is ""
    run_ok sb mv -T to.barecat other from.barecat
    run_ok sb find to.barecat -type f
    output_is $'dir/a file\nfrom.barecat'
}
