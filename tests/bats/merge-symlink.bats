# shardbox merge-symlink: archives under one index, over links to their shards.

load helper

# archive NAME FILE=TEXT...: packs these files.
archive() {
    local name=$1 item
    shift
    rm -rf made
    mkdir made
    for item; do
        mkdir -p "made/$(dirname "${item%%=*}")"
        printf '%s\n' "${item#*=}" >"made/${item%%=*}"
    done
    mkdir -p "$(dirname "$name")"
    sb pack "$name" -C made .
}

# Leaves a.barecat and b.barecat, with a directory that is in both.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    archive a.barecat a=one d/1=eins
    archive b.barecat b=two d/2=zwei
}

paths() {
    sql "$1" "SELECT path FROM files ORDER BY path" | paste -sd ' '
}

# remember FILE...: what they hold and when they were changed; untouched: they are as they were. What has
# links to them may have changed.
remember() {
    local file
    remembered=()
    for file; do
        [[ $file == *-linked-by ]] || remembered+=("$file")
    done
    before=$(describe)
}

describe() {
    stat -c '%n %i %s %Y %a' "${remembered[@]}"
    sha256sum "${remembered[@]}"
}

untouched() {
    diff <(echo "$before") <(describe) || fail "sources were changed"
}

@test "the view has what its sources have, and its shards are links to theirs" {
    remember a.barecat* b.barecat*
    run_ok sb merge-symlink -o v.barecat a.barecat b.barecat
    output_is ""
    stderr_is ""
    [[ $(echo v.barecat*) == 'v.barecat v.barecat-shard-00000 v.barecat-shard-00001' ]]
    [[ $(readlink v.barecat-shard-00000) == a.barecat-shard-00000 ]]
    [[ $(readlink v.barecat-shard-00001) == b.barecat-shard-00000 ]]
    [[ $(paths v.barecat) == 'a b d/1 d/2' ]]
    [[ $(sb cat v.barecat a b d/1 d/2) == $'one\ntwo\neins\nzwei' ]]
    run_ok sb verify --strict v.barecat
    untouched
}

@test "-v says what was linked" {
    run_ok sb merge-symlink -v -o v.barecat a.barecat b.barecat
    stderr_is "shardbox merge-symlink: v.barecat: linked shards: 2, with 4 files (18) and 1 directories"
}

@test "every row is as it was, but for the number of its shard" {
    make_tree tree
    sb pack --shard-size=100k t.barecat -C tree .
    sb merge-symlink -o v.barecat t.barecat
    columns="path, iif(size > 0, offset, 0), size, crc32c, mode, uid, gid, mtime_ns"
    cmp <(sql t.barecat "SELECT $columns FROM files ORDER BY path") \
        <(sql v.barecat "SELECT $columns FROM files ORDER BY path")
    cmp <(sql t.barecat "SELECT * FROM dirs ORDER BY path") \
        <(sql v.barecat "SELECT * FROM dirs ORDER BY path")
    run_ok sb diff -C tree v.barecat
}

@test "names come in order, whatever source they are from" {
    archive x.barecat b/z=1 a=2 'b.c'=3
    archive y.barecat b/a=4 'b-'=5 c=6
    sb merge-symlink -o v.barecat x.barecat y.barecat
    [[ $(sql v.barecat "SELECT path FROM files ORDER BY rowid" | paste -sd ' ') == 'a b- b.c b/a b/z c' ]]
}

@test "links are relative to the view's real directory, absolute if asked for" {
    mkdir -p deep/er other
    sb merge-symlink -o deep/er/v.barecat a.barecat
    [[ $(readlink deep/er/v.barecat-shard-00000) == ../../a.barecat-shard-00000 ]]
    ln -s ../deep/er other/here
    (cd other && sb merge-symlink -o here/w.barecat ../a.barecat)
    [[ $(readlink deep/er/w.barecat-shard-00000) == ../../a.barecat-shard-00000 ]]
    sb merge-symlink --absolute -o deep/x.barecat a.barecat
    [[ $(readlink deep/x.barecat-shard-00000) == "$(realpath a.barecat-shard-00000)" ]]
    for view in deep/er/v.barecat deep/er/w.barecat deep/x.barecat; do
        run_ok sb verify --strict $view
    done
}

@test "hard links keep the bytes when the source goes" {
    remember a.barecat b.barecat
    run_ok sb merge-symlink --hardlink -o v.barecat a.barecat b.barecat
    [[ v.barecat-shard-00000 -ef a.barecat-shard-00000 ]]
    untouched
    rm a.barecat* b.barecat*
    run_ok sb verify --strict v.barecat
}

@test "a file that shares its blocks is the view's own; where that cannot be, nothing is made" {
    if cp --reflink=always a.barecat-shard-00000 probe 2>/dev/null; then
        run_ok sb merge-symlink --reflink -o v.barecat a.barecat b.barecat
        [[ ! -L v.barecat-shard-00000 && $(stat -c %h v.barecat-shard-00000) == 1 ]]
        run_ok sb verify --strict v.barecat
    else
        run_fail 2 sb merge-symlink --reflink -o v.barecat a.barecat b.barecat
        stderr_has "its blocks cannot be shared here; make symbolic links instead"
        [[ $(echo v.barecat*) == 'v.barecat*' ]]
    fi
}

@test "--prefix and --as-subdirs put sources into directories" {
    sb merge-symlink --prefix p/q/ -o v.barecat a.barecat b.barecat
    [[ $(paths v.barecat) == 'p/q/a p/q/b p/q/d/1 p/q/d/2' ]]
    sb merge-symlink --as-subdirs -o w.barecat a.barecat ./b.barecat
    [[ $(paths w.barecat) == 'a/a a/d/1 b/b b/d/2' ]]
    sb merge-symlink --as-subdirs --prefix p -o x.barecat a.barecat b.barecat
    [[ $(paths x.barecat) == 'p/a/a p/a/d/1 p/b/b p/b/d/2' ]]
    for view in v w x; do
        run_ok sb verify --strict $view.barecat
    done
    run_fail 2 sb merge-symlink --prefix ../up -o y.barecat a.barecat
    stderr_has "../up: cannot be put before names: it has a .. component"
}

@test "two sources that would become one directory are refused" {
    archive n/a.barecat x=1
    run_fail 2 sb merge-symlink --as-subdirs -o v.barecat a.barecat n/a.barecat
    stderr_has "a.barecat and n/a.barecat: both would be the subdirectory a; give one another name"
    [[ ! -e v.barecat ]]
}

@test "the root's metadata go to the root, or to the directory that it becomes" {
    chmod 700 made
    sb pack c.barecat -C made .
    sb merge-symlink -o v.barecat c.barecat
    [[ $(sql v.barecat "SELECT mode & 511 FROM dirs WHERE path = ''") == 448 ]]
    sb merge-symlink --as-subdirs -o w.barecat c.barecat
    [[ $(sql w.barecat "SELECT mode & 511 FROM dirs WHERE path = 'c'") == 448 ]]
}

@test "of files of one name the first is taken, with a report unless --duplicates says which to take" {
    archive c.barecat a=another d/1=noch
    run_fail 1 sb merge-symlink -o v.barecat a.barecat c.barecat b.barecat
    stderr_has "a: is in a.barecat and in c.barecat; only the first is taken (see --duplicates, --prefix and --as-subdirs)"
    stderr_has "v.barecat: done in part; problems, named above: 2"
    [[ $(sb cat v.barecat a d/1 b) == $'one\neins\ntwo' ]]
    run_ok sb verify --strict v.barecat
    rm v.barecat*
    run_fail 1 sb merge-symlink -n -o v.barecat a.barecat c.barecat b.barecat
    stderr_has "a: is in a.barecat and in c.barecat"
    stderr_has "d/1: is in a.barecat and in c.barecat"
    stderr_has "v.barecat: would not be whole; problems, named above: 2"
    run_ok sb merge-symlink --duplicates=first -o v.barecat a.barecat c.barecat
    [[ $(sb cat v.barecat a d/1) == $'one\neins' ]]
    [[ $(ls v.barecat-shard-*) == v.barecat-shard-00000 ]]
    run_ok sb merge-symlink --force --duplicates=last -o v.barecat a.barecat c.barecat
    [[ $(sb cat v.barecat a d/1) == $'another\nnoch' ]]
    run_ok sb verify --strict v.barecat
}

@test "files of one name with the same bytes are no conflict, as in merge" {
    archive c.barecat a=one e=five
    for output in '-o v.barecat a.barecat' '--append -o v.barecat'; do
        # shellcheck disable=SC2086 # words
        run_ok sb merge-symlink $output c.barecat
        [[ $(paths v.barecat) == 'a d/1 e' ]] || fail "$(paths v.barecat)"
        [[ $(sb cat v.barecat a) == one ]]
    done
    run_ok sb verify v.barecat
}

@test "a directory in several sources has the metadata of the first, or under last of the last" {
    chmod 711 made/d
    sb pack c.barecat -C made .
    mode="SELECT printf('%o', mode & 511) FROM dirs WHERE path = 'd'"
    sb merge-symlink --prefix=x -o ignored.barecat b.barecat
    for order in first:755 last:711; do
        rm -f v.barecat*
        run sb merge-symlink --duplicates=${order%:*} -o v.barecat a.barecat c.barecat
        [[ $(sql v.barecat "$mode") == "${order#*:}" ]] || fail "$order"
    done
}

@test "a file with the name of a directory is named and left out" {
    archive c.barecat d=file
    for order in 'a c' 'c a'; do
        # shellcheck disable=SC2086 # two words
        run_fail 1 sb merge-symlink -f --duplicates=last -o v.barecat ${order/ /.barecat }.barecat
        stderr_has "d: is a directory in a.barecat, and a file in c.barecat, which is left out"
        [[ $(paths v.barecat) == 'a d/1' ]]
        run_ok sb verify --strict v.barecat
    done
}

@test "a file where a directory is only implied is left out too" {
    archive c.barecat p=file
    archive p.barecat x=1
    sb merge-symlink -o v.barecat c.barecat
    run_fail 1 sb merge-symlink --append --as-subdirs -o v.barecat p.barecat
    stderr_has "p/x: a name above it is a file in the archive; left out"
    [[ $(paths v.barecat) == p ]]
    sql p.barecat "UPDATE files SET path = 'p/x'"
    run_fail 1 sb merge-symlink -f -o v.barecat c.barecat p.barecat
    stderr_has "p: is a directory as well; the file was left out"
    [[ $(paths v.barecat) == p/x ]]
    run_ok sb verify --strict v.barecat
}

@test "--append adds to a view, and shards that it has are not linked again" {
    sb merge-symlink -o v.barecat a.barecat
    remember a.barecat* b.barecat*
    run_ok sb merge-symlink --append -o v.barecat b.barecat
    [[ $(paths v.barecat) == 'a b d/1 d/2' ]]
    [[ $(readlink v.barecat-shard-00001) == b.barecat-shard-00000 ]]
    run_ok sb merge-symlink --append --prefix=again -o v.barecat b.barecat
    [[ $(ls v.barecat-shard-* | wc -l) == 2 ]]
    run_ok sb verify -v --strict v.barecat
    stderr_has "2 files share the bytes of another one in a linked shard"
    [[ $(sb cat v.barecat again/b) == two ]]
    untouched
}

@test "--append adds to an archive with shards of its own" {
    cp a.barecat own.barecat
    cp a.barecat-shard-00000 own.barecat-shard-00000
    run_ok sb merge-symlink --append -o own.barecat b.barecat
    [[ ! -L own.barecat-shard-00000 && -L own.barecat-shard-00001 ]]
    cmp a.barecat-shard-00000 own.barecat-shard-00000
    run_ok sb verify --strict own.barecat
    [[ $(paths own.barecat) == 'a b d/1 d/2' ]]
}

@test "names that the view has already are treated as --duplicates says" {
    archive c.barecat a=another n=new
    sb merge-symlink -o v.barecat a.barecat
    remember v.barecat*
    run_fail 1 sb merge-symlink --append -o v.barecat c.barecat
    stderr_has "a: is in v.barecat and in c.barecat; only the first is taken (see --duplicates, --prefix and --as-subdirs)"
    [[ $(sb cat v.barecat a n) == $'one\nnew' ]]
    run_ok sb merge-symlink --append --duplicates=first -o v.barecat c.barecat
    [[ $(sb cat v.barecat a) == one ]]
    run_ok sb merge-symlink --append --duplicates=last -o v.barecat c.barecat
    [[ $(sb cat v.barecat a) == another ]]
    run_ok sb verify --strict v.barecat
}

@test "without --force or --append an archive that is there stays" {
    sb merge-symlink -o v.barecat a.barecat
    run_fail 2 sb merge-symlink -o v.barecat b.barecat
    stderr_has "v.barecat: there is an archive already; use --append to add to it, or --force to replace it"
    [[ $(paths v.barecat) == 'a d/1' ]]
}

@test "--force over an old view removes its links, and nothing that they lead to" {
    sb merge-symlink -o v.barecat a.barecat b.barecat
    remember a.barecat* b.barecat*
    run_ok sb merge-symlink --force -o v.barecat b.barecat
    [[ $(paths v.barecat) == 'b d/2' ]]
    [[ $(echo v.barecat*) == 'v.barecat v.barecat-shard-00000' ]]
    untouched
    run_ok sb verify --strict v.barecat
}

@test "a view of a view leads to the real files" {
    mkdir -p far
    sb merge-symlink -o far/v.barecat a.barecat b.barecat
    sb merge-symlink --as-subdirs -o w.barecat far/v.barecat
    [[ $(readlink w.barecat-shard-00000) == a.barecat-shard-00000 ]]
    rm -r far
    run_ok sb verify --strict w.barecat
}

@test "a shard that two sources share is linked once" {
    sb merge-symlink -o v.barecat a.barecat b.barecat
    sb merge-symlink --as-subdirs -o w.barecat v.barecat a.barecat
    [[ $(ls w.barecat-shard-* | wc -l) == 2 ]]
    run_ok sb verify -v --strict w.barecat
    stderr_has "2 files share the bytes of another one in a linked shard"
    ln a.barecat-shard-00000 elsewhere
    sb merge-symlink --hardlink --as-subdirs -o x.barecat v.barecat a.barecat
    [[ $(ls x.barecat-shard-* | wc -l) == 2 ]]
    run_ok sb verify --strict x.barecat
}

@test "only shards that files use are linked: no empty ones, and no strays" {
    sb pack --shard-size=4 t.barecat -C made . -C "$PWD" a.barecat-shard-00000
    [[ -e t.barecat-shard-00002 ]]
    : >t.barecat-shard-00003
    echo stray >t.barecat-shard-00009
    sb merge-symlink -o v.barecat t.barecat
    [[ $(ls v.barecat-shard-* | wc -l) == 3 ]]
    sql t.barecat "DELETE FROM files WHERE shard = 1"
    sb merge-symlink --force -o v.barecat t.barecat
    [[ $(readlink v.barecat-shard-0000* | sort | paste -sd ' ') == \
        't.barecat-shard-00000 t.barecat-shard-00002' ]]
    run_ok sb verify v.barecat
}

@test "empty files need no shard, and an empty source gives an empty archive" {
    mkdir none
    sb pack none.barecat -C none .
    : >none/empty
    sb pack empty.barecat -C none .
    run_ok sb merge-symlink -o v.barecat none.barecat
    run_ok sb verify --strict v.barecat
    run_ok sb merge-symlink -f -o v.barecat none.barecat empty.barecat
    [[ $(paths v.barecat) == empty && ! -L v.barecat-shard-00000 && ! -s v.barecat-shard-00000 ]]
    run_ok sb verify --strict v.barecat
    run_ok sb merge-symlink --append -o v.barecat a.barecat
    run_ok sb verify --strict v.barecat
}

@test "an output that is a source, or stands in its place, is refused" {
    sum=$(sha256sum a.barecat a.barecat-shard-*)
    for option in --force --append; do
        run_fail 2 sb merge-symlink $option -o a.barecat b.barecat a.barecat
        stderr_has "a.barecat: is input and output at once; choose another output"
        sb merge-symlink -f -o v.barecat a.barecat
        run_fail 2 sb merge-symlink $option --prefix=p -o a.barecat v.barecat
        stderr_has "a.barecat-shard-00000: the archive's own files need this name"
        [[ $(sha256sum a.barecat a.barecat-shard-*) == "$sum" ]]
    done
    run_fail 2 sb merge-symlink -f -o a.barecat-shard-00000 a.barecat
    stderr_has "holds bytes of the input a.barecat; choose another output"
    [[ $(sha256sum a.barecat a.barecat-shard-*) == "$sum" ]]
    run_ok sb verify a.barecat
}

@test "shards that nothing explains where the view's are to stand are not touched" {
    echo mine >v.barecat-shard-00001
    run_fail 2 sb merge-symlink -o v.barecat a.barecat
    stderr_has "no index says what is in v.barecat-shard-00001"
    [[ $(cat v.barecat-shard-00001) == mine && ! -e v.barecat ]]
}

@test "rows that cannot be used are named and left out" {
    sql b.barecat "PRAGMA ignore_check_constraints=1; UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        INSERT INTO files (path, shard, offset, size) VALUES
        ('../up', 0, 0, 1), (CAST(x'C32FA9' AS TEXT), 0, 0, 1), ('beyond', 0, 5, 1000), ('negative', 0, 0, -5), ('nowhere', 123456, 0, 1)"
    run_fail 1 sb merge-symlink -o v.barecat a.barecat b.barecat
    stderr_has "../up: in b.barecat: the name has a .. component; left out"
    stderr_has "beyond: in b.barecat: its bytes lie beyond the end of shard 00000; left out"
    stderr_has "negative: in b.barecat: size is negative; left out"
    stderr_has "nowhere: in b.barecat: shard is not a shard number; left out"
    stderr_has '\303/\251: in b.barecat: the name is not UTF-8, and SQLite would put it in another'
    stderr_has "v.barecat: done in part; problems, named above: 5"
    [[ $(paths v.barecat) == 'a b d/1 d/2' ]]
    run_ok sb verify --strict v.barecat
}

@test "a row of --append that cannot be used leaves what is there" {
    sb merge-symlink -o v.barecat a.barecat
    sql b.barecat "UPDATE files SET path = 'a', offset = 1000 WHERE path = 'b'"
    run_fail 1 sb merge-symlink --append --duplicates=last -o v.barecat b.barecat
    [[ $(sb cat v.barecat a) == one ]]
}

@test "a shard that is not there, or is none, ends it, and nothing is made" {
    mv b.barecat-shard-00000 away
    run_fail 2 sb merge-symlink -o v.barecat a.barecat b.barecat
    stderr_has "b.barecat-shard-00000: No such file or directory"
    mkfifo b.barecat-shard-00000
    run_fail 2 within 10 "$SHARDBOX" merge-symlink -o v.barecat a.barecat b.barecat
    stderr_has "b.barecat-shard-00000: a shard must be a regular file"
    [[ $(echo v.barecat*) == 'v.barecat*' ]]
}

@test "a source that is no archive, or of an older schema, is refused" {
    echo text >text
    run_fail 2 sb merge-symlink -o v.barecat a.barecat text
    run_fail 2 sb merge-symlink -o v.barecat a.barecat gone.barecat
    stderr_has "gone.barecat: No such file or directory"
    sql b.barecat "UPDATE config SET value_int = 2 WHERE key = 'schema_version_minor'"
    run_fail 2 sb merge-symlink -o v.barecat a.barecat b.barecat
    stderr_has "b.barecat: an older schema; run 'shardbox upgrade b.barecat' first"
    [[ ! -e v.barecat ]]
}

# Brings a.barecat into the state that a run leaves which is killed before its renames.
interrupt_renames() {
    mv a.barecat-shard-00000 a.barecat.new-shard-00000
    sql a.barecat "INSERT INTO config VALUES ('shardbox_shard_prefix', 'a.barecat.new', 1)"
}

@test "renames that a killed run left to a source are finished first" {
    interrupt_renames
    run_ok sb merge-symlink -o v.barecat a.barecat
    [[ $(readlink v.barecat-shard-00000) == a.barecat-shard-00000 ]]
    run_ok sb verify --strict v.barecat
}

@test "where they cannot be finished the source is refused" {
    need_read_only
    mkdir src
    mv a.barecat* src
    (cd src && interrupt_renames)
    run_fail 2 read_only src "$SHARDBOX" merge-symlink -o v.barecat src/a.barecat
    stderr_has "src/a.barecat: its shards do not have their lasting names yet"
    run_fail 2 sb merge-symlink -n -o v.barecat src/a.barecat
    [[ $(echo v.barecat*) == 'v.barecat*' ]]
}

@test "--dry-run names what would be linked, and writes nothing" {
    run_ok sb merge-symlink -n -o v.barecat a.barecat b.barecat
    output_is $'a\nb\nd/1\nd/2'
    [[ $(echo v.barecat*) == 'v.barecat*' ]]
    sb merge-symlink -o v.barecat a.barecat
    remember v.barecat
    archive c.barecat a=another
    run_ok sb merge-symlink -n --append -o v.barecat a.barecat
    run_fail 1 sb merge-symlink -n --append -o v.barecat c.barecat
    untouched
}

@test "wrong uses are told" {
    run_fail 2 sb merge-symlink -o v.barecat
    stderr_has "give at least one INPUT, and OUTPUT"
    run_fail 2 sb merge-symlink a.barecat
    stderr_has "give at least one INPUT, and OUTPUT"
    run_fail 2 sb merge-symlink --append --force -o v.barecat a.barecat
    stderr_has "--append and --force exclude each other"
    run_fail 2 sb merge-symlink --absolute --hardlink -o v.barecat a.barecat
    stderr_has "--absolute, --hardlink and --reflink exclude each other"
}

# many COUNT ROWS: archives s1.barecat and on, of so many files each, whose names are mixed.
many() {
    local i
    for ((i = 1; i <= $1; i++)); do
        cp a.barecat "s$i.barecat"
        cp a.barecat-shard-00000 "s$i.barecat-shard-00000"
        sql "s$i.barecat" "DELETE FROM files; DELETE FROM dirs WHERE path <> '';
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < $2)
            INSERT INTO files (path, shard, offset, size, crc32c)
            SELECT printf('f%08d-%d', x * 7919 % 104729, $i), 0, 0, 4, f.crc32c FROM n,
            (SELECT crc32c FROM (SELECT 0 AS crc32c)) AS f"
    done
}

@test "any number of sources need few descriptors, and are taken up where they were left" {
    every_third_day
    many 60 5000
    run_ok bash -c 'ulimit -n 48; "$SHARDBOX" merge-symlink -o v.barecat s*.barecat'
    [[ $(sql v.barecat "SELECT count(*), count(DISTINCT shard) FROM files") == '300000|60' ]]
    run_ok sb verify --quick v.barecat
    names="SELECT path FROM files ORDER BY"
    cmp <(sql v.barecat "$names rowid") <(sql v.barecat "$names path")
}

@test "a source that is written to meanwhile ends it" {
    need_strace
    # Leaks cannot be looked for under strace. The first link stops it until the source was changed.
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 timeout 60 strace -f -o trace -e trace=symlink \
        -e inject=symlink:signal=STOP:when=1 "$SHARDBOX" merge-symlink -o v.barecat a.barecat \
        2>told 3>&- &
    until grep -q 'stopped by SIGSTOP' trace 2>/dev/null; do sleep 0.1; done
    sql a.barecat "DELETE FROM files WHERE path = 'a'"
    kill -CONT "$(sed -n 's/^\([0-9]*\) .*symlink.*/\1/p' trace | head -1)"
    status=0
    wait $! || status=$?
    ((status == 1))
    [[ $(<told) == *"a.barecat: was written to meanwhile; try again" ]]
    [[ $(echo v.barecat*) == 'v.barecat*' ]]
}

# What verify says of sources

view() {
    sb merge-symlink "$@" -o v.barecat a.barecat b.barecat
}

@test "verify: a source that is gone is a defect" {
    view
    rm b.barecat-shard-00000
    for mode in '' --quick; do
        run_fail 1 sb verify $mode v.barecat
        output_has "v.barecat-shard-00001: is a link to b.barecat-shard-00000, which is not there"
        stderr_has "bring the linked shards back, or make the view anew, with --force"
    done
    run_fail 1 sb verify --present v.barecat
    output_has "v.barecat-shard-00001: has not arrived (9 bytes)"
    run_fail 1 sb cat v.barecat b
    stderr_is "shardbox cat: b: v.barecat-shard-00001: is a link to b.barecat-shard-00000, which is not there"
    mkdir out
    run_fail 1 sb unpack -C out v.barecat b
    stderr_has "is a link to b.barecat-shard-00000, which is not there"
}

@test "verify: a source that is shorter is a defect, also where no file reaches as far" {
    view
    sql v.barecat "DELETE FROM files WHERE path = 'd/2'"
    truncate -s 5 b.barecat-shard-00000
    for mode in '' --quick; do
        run_fail 1 sb verify $mode v.barecat
        output_has "source: "
        output_has "v.barecat-shard-00001: has 5 bytes, and had 9 when it was linked"
    done
    run_fail 1 sb verify --present v.barecat
    output_has "v.barecat-shard-00001: only 5 of 9 bytes have arrived"
    truncate -s 3 b.barecat-shard-00000
    run_fail 1 sb verify --quick v.barecat
    output_is "source: $PWD/v.barecat-shard-00001: has 3 bytes, and had 9 when it was linked"
}

@test "verify: a source that grew, or has a new time, is named; that its bytes are others is a defect" {
    view
    archive new c=three
    sb pack --append b.barecat -C made .
    touch -d '2020-01-01' a.barecat-shard-00000
    for mode in '' --quick --present; do
        run_ok sb verify $mode v.barecat
        stderr_has "v.barecat-shard-00000: was changed since it was linked, as its time says"
        stderr_has "v.barecat-shard-00001: has grown from 9 to 15 bytes since it was linked"
    done
    flip_byte b.barecat-shard-00000 0
    run_fail 1 sb verify v.barecat
    output_has "checksum: b: "
    stderr_has "has grown from 9 to 15 bytes"
}

@test "verify: nothing is said after a copy that keeps times" {
    view
    mkdir copy
    cp -a --no-dereference ./*.barecat* copy
    rm ./*.barecat*
    run_ok sb verify --strict copy/v.barecat
    stderr_is ""
    mkdir whole
    cp -aL copy/v.barecat* whole
    run_ok sb verify --strict whole/v.barecat
    stderr_is ""
}

@test "verify: hard-linked sources likewise; those that share blocks are the view's own" {
    view --hardlink
    run_ok sb verify v.barecat
    stderr_is ""
    echo more >>b.barecat-shard-00000
    run_ok sb verify v.barecat
    stderr_has "v.barecat-shard-00001: has grown from 9 to 14 bytes"
    if cp --reflink=always a.barecat-shard-00000 probe 2>/dev/null; then
        view --force --reflink
        echo more >>b.barecat-shard-00000
        run_ok sb verify v.barecat
        stderr_is ""
    fi
}

@test "verify: a record that makes no sense watches nothing" {
    view
    for value in "'x', 9" "'1', -1" "NULL, NULL" "X'00', 'y'" "'99999999999999999999', 9"; do
        sql v.barecat "REPLACE INTO config (value_text, value_int, key)
            VALUES ($value, 'shardbox_source_00000')"
        run_ok sb verify v.barecat
        stderr_is ""
    done
}

# Sources stay as they are, whatever is done to a view

# on_view COMMAND...: which may fail; the view stays sound, and sources as they were.
on_view() {
    run --separate-stderr "$@"
    refuse_crash "$@"
    untouched
    run_ok sb verify --strict v.barecat
}

@test "no command of ours changes a source through a view" {
    mkdir more
    echo more >more/m
    for kind in '' --absolute --hardlink; do
        # shellcheck disable=SC2086 # no option, or one
        view --force $kind
        remember a.barecat* b.barecat*
        on_view sb pack --append v.barecat -C more .
        ((status == 0)) || fail "append"
        on_view sb rm v.barecat b
        on_view sb rm -r v.barecat d
        on_view sb pack --append v.barecat -C made .
        on_view sb upgrade v.barecat
        on_view sb mv v.barecat a renamed
        on_view sb defrag v.barecat
        on_view sb defrag --quick v.barecat
        on_view sb split --shard-size=4 v.barecat
        on_view sb split --parts=2 --symlink -o 'part-{}.barecat' v.barecat
        on_view sb merge --append --prefix=z -o v.barecat b.barecat
        ((status == 0)) || fail "merge --append"
        on_view sb convert --append --prefix=y b.barecat v.barecat
        ((status == 0)) || fail "convert --append"
        on_view sb merge-symlink --append --prefix=x -o v.barecat a.barecat
        on_view sb pack --force v.barecat -C more .
        ((status == 0)) || fail "force"
    done
}

@test "a backup made by cp -al is not changed through either name" {
    sb pack --force a.barecat -C made .
    mkdir backup more
    echo more >more/m
    cp -al a.barecat* backup
    sums=$(cd backup && sha256sum a.barecat*)
    for command in 'pack --append a.barecat -C more .' 'rm a.barecat a' 'mv a.barecat a b' \
        'merge --append -o a.barecat more' 'merge-symlink --append -o a.barecat b.barecat' \
        'defrag a.barecat' 'defrag --quick a.barecat' 'split --shard-size=4 a.barecat' \
        'upgrade a.barecat'; do
        # shellcheck disable=SC2086 # words
        run_fail 2 sb $command
        stderr_has "a.barecat: has 2 hard links, and would change under all these names; copy it, and rename the copy to this name"
    done
    cp a.barecat own
    mv own a.barecat
    run_ok sb pack --append a.barecat -C more .
    run sb defrag a.barecat
    run sb split --shard-size=4 a.barecat
    run_ok sb rm a.barecat m
    run_ok sb upgrade a.barecat
    run_ok sb verify --strict a.barecat
    run_ok sb pack --force a.barecat -C more .
    [[ $(cd backup && sha256sum a.barecat*) == "$sums" ]]
    run_ok sb verify --strict backup/a.barecat
}

@test "append goes on in no linked shard, but in the view's own" {
    view
    mkdir more
    echo one >more/1
    sb pack --append v.barecat -C more .
    echo two >more/2
    sb pack --append --update v.barecat -C more .
    [[ ! -L v.barecat-shard-00002 && ! -e v.barecat-shard-00003 ]]
    run_ok sb verify --strict v.barecat
    stderr_is ""
}

@test "append may go on in a hard-linked shard whose other names are gone" {
    view --hardlink
    rm a.barecat* b.barecat*
    mkdir more
    echo one >more/1
    run_ok sb pack --append v.barecat -C more .
    [[ ! -e v.barecat-shard-00002 ]]
    run_ok sb verify --strict v.barecat
    stderr_is ""
}

@test "names that are not UTF-8 are kept" {
    make_tree tree
    make_raw_names tree
    sb pack -q t.barecat -C tree .
    sb merge-symlink --prefix=p -o v.barecat t.barecat
    run_ok sb verify --strict v.barecat
    run_ok sb unpack -C out v.barecat
    same_tree tree out/p
}

@test "a source in WAL mode is read with what is only in its WAL" {
    mkfifo hold
    sqlite3 a.barecat "PRAGMA journal_mode=WAL" >/dev/null
    { printf '%s\n' "UPDATE files SET path = 'new' WHERE path = 'a';" ".shell cat hold"; } |
        sqlite3 a.barecat 3>&- &
    until [[ -s a.barecat-wal ]]; do sleep 0.1; done
    run_ok sb merge-symlink -o v.barecat a.barecat
    : >hold
    wait $!
    [[ $(paths v.barecat) == 'd/1 new' ]]
    run_ok sb verify --strict v.barecat
}

# linked_by ARCHIVE: what is noted beside it.
linked_by() {
    tail -n +2 "$1-linked-by" | paste -sd ' '
}

linked_refusal() {
    echo "$1: other archives have links to its shards, and would be damaged: $2; remove them first, or give --force, and then make them anew"
}

@test "a source knows its views: defrag and split --shard-size refuse, and name them" {
    local command
    remember a.barecat* b.barecat*
    sb merge-symlink -o v.barecat a.barecat b.barecat
    mkdir at
    sb merge-symlink --absolute -o at/w.barecat a.barecat
    untouched
    [[ $(linked_by a.barecat) == "v.barecat $(realpath at/w.barecat)" && $(linked_by b.barecat) == v.barecat ]]
    # Nothing is noted twice.
    sb merge-symlink --force -o v.barecat a.barecat b.barecat
    [[ $(linked_by a.barecat) == "v.barecat $(realpath at/w.barecat)" ]]
    # Without gaps there is nothing to refuse.
    run_ok sb defrag a.barecat
    run_ok sb rm a.barecat a
    remember a.barecat*
    for command in defrag 'defrag -n' 'defrag --quick' 'split --shard-size=3'; do
        # shellcheck disable=SC2086 # a command and its option
        run_fail 2 sb $command a.barecat
        stderr_is "shardbox ${command%% *}: $(linked_refusal a.barecat "$(realpath v.barecat), $(realpath at/w.barecat)")"
    done
    untouched
    # Additions take no place of a file that was removed.
    run_ok sb pack --append a.barecat -C made .
    [[ $(sb cat v.barecat a) == one ]]
    run_ok sb verify v.barecat
    run_ok sb defrag --force a.barecat
    [[ $(linked_by a.barecat) == "v.barecat $(realpath at/w.barecat)" ]]
}

@test "more than three views are counted; what is no view any more says nothing, and goes" {
    local i
    for i in 1 2 3 4 5; do sb merge-symlink -o v$i.barecat a.barecat; done
    sb rm a.barecat a
    run_fail 2 sb defrag a.barecat
    stderr_is "shardbox defrag: $(linked_refusal a.barecat "$PWD/v1.barecat, $PWD/v2.barecat, $PWD/v3.barecat, and 2 more")"
    rm v1.barecat* v2.barecat* v3.barecat*
    sb merge-symlink --force -o v4.barecat b.barecat
    run_fail 2 sb defrag a.barecat
    stderr_is "shardbox defrag: $(linked_refusal a.barecat "$PWD/v5.barecat")"
    sb convert --force v5.barecat copy.barecat
    rm v5.barecat*
    run_ok sb defrag a.barecat
    [[ ! -e a.barecat-linked-by ]] || fail "it stays"
    run_ok sb defrag b.barecat
    [[ -e b.barecat-linked-by ]] || fail "it is gone"
}

@test "emptied shards count; a view of a view is one of the source; hard links need no note" {
    sb merge-symlink -o one.barecat b.barecat
    sb merge-symlink -o two.barecat one.barecat
    sb merge-symlink --hardlink -o three.barecat b.barecat
    [[ $(linked_by b.barecat) == 'one.barecat two.barecat' && ! -e one.barecat-linked-by ]]
    sb rm -r b.barecat b d
    run_fail 2 sb defrag b.barecat
    stderr_has 'other archives have links to its shards'
    [[ $(sb cat two.barecat b) == two ]]
}

@test "parts of split --symlink are noted likewise" {
    sb split --symlink --parts=2 -o 'p-{}.barecat' a.barecat
    [[ $(linked_by a.barecat) == 'p-0.barecat p-1.barecat' ]]
    sb rm a.barecat a
    run_fail 2 sb defrag a.barecat
    stderr_has "$PWD/p-0.barecat"
}

@test "a source that is protected, in WAL mode, or at work for others stays as it is" {
    local sum
    sb protect a.barecat
    sql b.barecat 'PRAGMA journal_mode=WAL' >log
    sum=$(sha256sum a.barecat a.barecat-parity b.barecat)
    coproc WRITER { python3 -c 'import sqlite3
db = sqlite3.connect("b.barecat", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("writes", flush=True)
input()'; }
    # shellcheck disable=SC2153 # the coprocess sets it
    read -r <&"${WRITER[0]}"
    run_ok sb merge-symlink -o v.barecat a.barecat b.barecat
    stderr_is ""
    [[ $(sha256sum a.barecat a.barecat-parity b.barecat) == "$sum" ]]
    echo >&"${WRITER[1]}"
    wait
    run_ok sb protect --check a.barecat
    [[ $(sql b.barecat 'PRAGMA journal_mode') == wal ]]
    [[ $(linked_by a.barecat) == v.barecat && $(linked_by b.barecat) == v.barecat ]]
}

@test "where it cannot be noted a warning says so, and the view is made" {
    local what
    what="that v.barecat has links to its shards: "
    need_read_only
    mkdir src
    mv b.barecat* src
    run_ok read_only src "$SHARDBOX" merge-symlink -o v.barecat a.barecat src/b.barecat
    stderr_is "shardbox merge-symlink: src/b.barecat: cannot note ${what}src/b.barecat-linked-by: Read-only file system; 'defrag' and 'split --shard-size' of it would not know that they damage that"
    [[ $(linked_by a.barecat) == v.barecat ]]
    run_ok sb verify v.barecat

    # Nothing need be written where it is noted.
    run_ok sb merge-symlink --force -o v.barecat src/b.barecat
    run_ok read_only src "$SHARDBOX" merge-symlink --force -o v.barecat src/b.barecat
    stderr_is ""

    # What is there is not ours, or of no use.
    echo mine >src/b.barecat-linked-by
    run_ok sb merge-symlink --force -o v.barecat src/b.barecat
    stderr_has 'is no list of archives with links; move it away'
    [[ $(cat src/b.barecat-linked-by) == mine ]]
    sb rm src/b.barecat b
    run_ok sb defrag src/b.barecat
    rm src/b.barecat-linked-by
    mkfifo src/b.barecat-linked-by
    run_ok sb merge-symlink --force -o v.barecat src/b.barecat
    stderr_has 'not a regular file'
    rm src/b.barecat-linked-by
    ln -s ../a.barecat src/b.barecat-linked-by
    run_ok sb merge-symlink --force -o v.barecat src/b.barecat
    stderr_has 'Too many levels of symbolic links'
    run_ok sb verify --strict a.barecat
    # Who cannot read it does not know that nobody has links.
    sb rm -r src/b.barecat d
    run_fail 2 sb defrag src/b.barecat
    stderr_has 'src/b.barecat-linked-by: Too many levels of symbolic links'
    run_ok sb defrag --force src/b.barecat
}

@test "a view that cannot be looked at counts" {
    mkdir at
    sb merge-symlink -o at/v.barecat a.barecat
    sb rm a.barecat a
    mv at hidden
    ln -s at at
    run_fail 2 sb defrag a.barecat
    stderr_has 'would be damaged: '
    stderr_has 'at/v.barecat (Too many levels of symbolic links); remove them first'
    rm at
    mv hidden at
    run_ok sb verify at/v.barecat
    [[ $(linked_by a.barecat) == at/v.barecat ]]
}

@test "defrag ends before it damages a view that was made while it was at work" {
    local kind tries
    mkdir files
    for i in {1..16}; do head -c 250000 /dev/urandom >"files/$i"; done
    for kind in '' --hardlink; do
        rm -f c.barecat* v.barecat*
        sb pack c.barecat -C files .
        sb rm c.barecat 1
        sb defrag --bwlimit=2M c.barecat 2>log &
        sleep 0.3
        # It fails while the index changes.
        for ((tries = 0; tries < 50; tries++)); do
            # shellcheck disable=SC2086 # no option, or one
            sb merge-symlink --force $kind -o v.barecat c.barecat 2>/dev/null && break
        done
        ((tries < 50)) || fail "no view could be made"
        status=0
        wait $! || status=$?
        ((status == 2)) || fail "defrag ended with $status"
        run_ok sb verify v.barecat
        run_ok sb verify c.barecat
        if [[ $kind ]]; then
            grep -q 'has 2 hard links' log
        else
            grep -q 'other archives have links to its shards' log
        fi
        rm v.barecat*
        run_ok sb defrag c.barecat
        run_ok sb verify c.barecat
    done
}

@test "a line that is torn is not glued to the next" {
    sb merge-symlink -o v.barecat a.barecat
    truncate -s -3 a.barecat-linked-by
    sb merge-symlink -o w.barecat a.barecat
    [[ $(linked_by a.barecat) == 'v.barec w.barecat' ]]
    sb rm a.barecat a
    run_fail 2 sb defrag a.barecat
    stderr_has "damaged: $PWD/w.barecat;"
}

@test "a list that is too long is left alone, and a name with a newline cannot be on one" {
    run_ok sb merge-symlink -o $'v\nw.barecat' a.barecat
    stderr_has "cannot note that v\\nw.barecat has links to its shards: its name has a newline"
    [[ ! -e a.barecat-linked-by ]]
    sb merge-symlink -o v.barecat a.barecat
    yes /gone/v.barecat | head -n 70000 >>a.barecat-linked-by
    run_ok sb merge-symlink -o w.barecat a.barecat
    stderr_has 'a.barecat-linked-by: has too many lines; remove it'
    rm v.barecat*
    sb rm a.barecat a
    run_ok sb defrag a.barecat
    [[ -e a.barecat-linked-by ]]
}

@test "many views at once are all noted" {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        sb merge-symlink -o v$i.barecat a.barecat b.barecat &
    done
    wait
    [[ $(tail -n +2 a.barecat-linked-by | sort | paste -sd ' ') == 'v1.barecat v2.barecat v3.barecat v4.barecat v5.barecat v6.barecat v7.barecat v8.barecat' ]]
    [[ $(grep -c '^#' a.barecat-linked-by) == 1 ]]
}
