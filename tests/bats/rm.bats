# shardbox rm: files and directories go out of an index; shards are not looked at.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p t/d/e t/f
    echo one >t/d/1
    echo two >t/d/2
    echo three >t/d/e/3
    echo four >t/f/4.tmp
    echo five >t/5
    ln -s 5 t/link
    "$SHARDBOX" pack a.barecat -C t .
}

names() {
    sb find a.barecat
}

statistics() {
    sql a.barecat "SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM dirs
        ORDER BY path"
}

@test "files and links go, the rest and the statistics stay right" {
    before=$(md5sum a.barecat-shard-00000)
    run_ok sb rm a.barecat d/1 link
    output_is ""
    stderr_is ""
    [[ $(names) == $'5\nd\nd/2\nd/e\nd/e/3\nf\nf/4.tmp' ]]
    [[ $(statistics) == '|2|1|4|20
d|1|1|2|10
d/e|0|1|1|6
f|0|1|1|5' ]]
    run_ok sb verify --strict a.barecat
    [[ $(md5sum a.barecat-shard-00000) == "$before" ]]
    [[ $(sb cat a.barecat d/2) == two ]]
}

@test "-v names what goes, and says what a defrag would give back" {
    run_ok sb rm -v a.barecat d/1 d/2
    stderr_is "shardbox rm: d/1: removed
shardbox rm: d/2: removed
shardbox rm: a.barecat: removed 2 files and 0 directories; their 8 bytes stay in the shards until 'shardbox defrag'"
}

@test "a directory needs -r, with which all below it goes" {
    run_fail 1 sb rm a.barecat d 5
    stderr_has "d: is a directory; -r removes it with all that is below it"
    stderr_has "a.barecat: done in part"
    [[ $(names) == $'d\nd/1\nd/2\nd/e\nd/e/3\nf\nf/4.tmp\nlink' ]]
    run_ok sb rm -r a.barecat d
    [[ $(names) == $'f\nf/4.tmp\nlink' ]]
    [[ $(statistics) == '|1|1|2|6
f|0|1|1|5' ]]
    run_ok sb verify --strict a.barecat
}

@test "a directory that becomes empty stays, with its metadata" {
    mode=$(sql a.barecat "SELECT mode, mtime_ns FROM dirs WHERE path = 'd/e'")
    run_ok sb rm a.barecat d/e/3
    [[ $(sql a.barecat "SELECT mode, mtime_ns, num_files FROM dirs WHERE path = 'd/e'") == "$mode|0" ]]
    run_ok sb verify --strict a.barecat
}

@test "patterns, and a literal name that looks like one" {
    echo x >'t/[ab].txt'
    echo y >t/a.txt
    sb pack --force a.barecat -C t .
    run_ok sb rm a.barecat '[ab].txt' '**/*.tmp' 'd/[0-9]'
    [[ $(names) == $'5\na.txt\nd\nd/e\nd/e/3\nf\nlink' ]]
}

@test "a pattern that matches a directory needs -r for it" {
    run_fail 1 sb rm a.barecat 'd/*'
    stderr_has "d/e: is a directory"
    [[ $(names) == $'5\nd\nd/e\nd/e/3\nf\nf/4.tmp\nlink' ]]
    run_ok sb verify a.barecat
}

@test "what is not there is named, the rest goes; -f says nothing of it" {
    run_fail 1 sb rm a.barecat none 5 '*.none'
    stderr_has "none: no such file or directory in the archive"
    stderr_has "*.none: no such file or directory in the archive"
    [[ $(names) != *5* ]]
    run_ok sb rm -f a.barecat none d/1 '*.none'
    stderr_is ""
    [[ $(names) != *d/1* ]]
    run_fail 1 sb rm a.barecat ''
    stderr_is "shardbox rm: '': no such file or directory in the archive"
}

@test "the root is never removed; '*' empties it" {
    for root in / . d/..; do
        run_fail 2 sb rm -r a.barecat 5 "$root"
        stderr_has "$root: the root directory cannot be removed; '*' with -r removes all that is in it"
    done
    run_fail 2 sb rm -r a.barecat
    stderr_has "nothing to remove: give PATHs, or a list of them with -T"
    run_fail 2 sb rm -r -T - a.barecat <<<"/"
    stderr_has "/: the root directory cannot be removed"
    [[ $(names | wc -l) == 9 ]]
    run_ok sb rm -r a.barecat '*'
    [[ -z $(names) ]]
    [[ $(statistics) == '|0|0|0|0' ]]
    run_ok sb verify --strict a.barecat
    run_ok sb pack --append a.barecat t/5
    run_ok sb verify --strict a.barecat
    [[ $(cat a.barecat-shard-00000) == *five ]]
}

@test "-T takes names from a list, -0 ended by NUL, and no patterns" {
    printf '%s\n' d/1 ./f/4.tmp d/1 none >list
    run_fail 1 sb rm -T list a.barecat
    stderr_has "none: no such file or directory in the archive"
    [[ $(names) == $'5\nd\nd/2\nd/e\nd/e/3\nf\nlink' ]]
    run_ok sb verify --strict a.barecat
    printf '%s\0' d '*' >list
    run_fail 1 sb rm -r -0 -T - a.barecat <list
    stderr_has "*: no such file"
    [[ $(names) == $'5\nf\nlink' ]]
    run_ok sb verify --strict a.barecat
    run_fail 2 sb rm -T list a.barecat 5
    stderr_has "-T FILE and PATHs cannot be given together"
}

@test "names that overlap count once" {
    printf '%s\n' d/e d d/e/3 >list
    run_ok sb rm -v -r -T list a.barecat
    stderr_has "removed 3 files and 2 directories; their 14 bytes stay"
    run_ok sb verify --strict a.barecat
}

@test "--exclude and --include: what is left keeps its directory" {
    run_ok sb rm -r --exclude='3' a.barecat d f
    [[ $(names) == $'5\nd\nd/e\nd/e/3\nlink' ]]
    [[ $(statistics) == '|1|2|3|12
d|1|0|1|6
d/e|0|1|1|6' ]]
    run_ok sb verify --strict a.barecat
    run_ok sb rm -r --include='e/' a.barecat '*'
    [[ $(names) == $'5\nd\nlink' ]]
    run_ok sb verify --strict a.barecat
}

@test "-n prints what would go, and changes and locks nothing" {
    before=$(md5sum a.barecat*)
    run_ok sb rm -n -r a.barecat d 5
    output_is "5
d
d/1
d/2
d/e
d/e/3"
    run_ok sb rm -n -r --exclude=3 a.barecat d
    output_is "d/1
d/2"
    chmod a-w a.barecat .
    run_fail 1 sb rm -n a.barecat none link
    output_is link
    [[ $(md5sum a.barecat*) == "$before" ]]
    chmod u+w .
}

@test "linked shards, shards that are not there, and strangers beside them do not matter" {
    mv a.barecat-shard-00000 elsewhere
    ln -s elsewhere a.barecat-shard-00000
    echo data >a.barecat-shard-00007
    run_ok sb rm a.barecat d/1
    rm a.barecat-shard-00000
    run_ok sb rm a.barecat d/2
    [[ $(names) == $'5\nd\nd/e\nd/e/3\nf\nf/4.tmp\nlink' ]]
    [[ $(wc -c <elsewhere) == 25 ]]
    [[ $(cat a.barecat-shard-00007) == data ]]
}

@test "the shards of removed files stay the archive's: an append goes on in them" {
    sb pack --append --seal --prefix=x a.barecat -C t .
    sb pack --append --seal --prefix=y a.barecat -C t .
    run_ok sb rm -r a.barecat x y
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shardbox_shard_count'") == 3 ]]
    run_ok sb verify --strict a.barecat
    run_ok sb rm a.barecat 5
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shardbox_shard_count'") == 3 ]]
    run_ok sb pack --append a.barecat t/5
    [[ $(stat -c %s a.barecat-shard-*) == $'25\n25\n30' ]]
    run_ok sb verify --strict a.barecat
    [[ $(sb cat a.barecat t/5) == five ]]
}

@test "a row that cannot be used can be removed by its name" {
    sql a.barecat "UPDATE files SET shard = -1 WHERE path = 'd/1';
        UPDATE files SET mode = 0010644 WHERE path = 'd/2'"
    run_fail 1 sb verify a.barecat
    run_ok sb rm -n a.barecat d/1 d/2
    output_is "d/1
d/2"
    run_ok sb rm a.barecat d/1 d/2
    run_ok sb verify --strict a.barecat
}

@test "a name that could not be unpacked goes by a pattern; one that is no text is told, and left" {
    sql a.barecat "UPDATE files SET path = 'd//1' WHERE path = 'd/1'"
    run_ok sb rm -r a.barecat 'd/**'
    stderr_is ""
    [[ $(names) == $'5\nd\nf\nf/4.tmp\nlink' ]]
    sql a.barecat "UPDATE files SET path = CAST(path AS BLOB) WHERE path = '5'"
    run_fail 1 sb rm -r a.barecat '*'
    stderr_has "5: path is not text; left as it is"
    [[ $(sql a.barecat "SELECT path FROM files") == 5 ]]
}

@test "a directory without a row of its own" {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        DELETE FROM dirs WHERE path = 'd/e';
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
    run_ok sb rm -r a.barecat d/e
    [[ $(names) == $'5\nd\nd/1\nd/2\nf\nf/4.tmp\nlink' ]]
    [[ $(sql a.barecat "SELECT count(*) FROM dirs WHERE path = 'd/e'") == 0 ]]
}

@test "another writer is named; what is no archive, or older, is refused" {
    mkfifo pipe
    "$SHARDBOX" pack --append --stdin-name=x a.barecat - <pipe &
    pid=$!
    exec 9>pipe
    for ((i = 0; i < 200; i++)); do
        [[ $(sqlite3 -cmd '.timeout 0' a.barecat 'BEGIN IMMEDIATE' 2>&1) == *locked* ]] && break
        sleep 0.02
    done
    run_fail 2 sb rm a.barecat 5
    stderr_has "process $pid is writing this archive; wait for it"
    exec 9>&-
    wait "$pid"
    run_fail 2 sb rm none.barecat 5
    stderr_has "none.barecat: no such archive"
    tar cf t.tar t
    run_fail 2 sb rm t.tar t/5
    stderr_has "t.tar: is a tar, and only archives can be changed; 'shardbox convert' makes one of it"
    sql a.barecat "UPDATE config SET value_int = 2 WHERE key = 'schema_version_minor'"
    run_fail 2 sb rm a.barecat 5
    stderr_has "an older schema; run 'shardbox upgrade"
    ln -s a.barecat l.barecat
    run_fail 2 sb rm l.barecat 5
    stderr_has "a symbolic link; give the name of the archive itself"
}

@test "an index in WAL mode" {
    sql a.barecat "PRAGMA journal_mode = WAL"
    run_ok sb rm a.barecat 5
    run_ok sb rm -n a.barecat d/1
    output_is d/1
    [[ $(sql a.barecat "PRAGMA journal_mode") == delete ]]
    run_ok sb verify --strict a.barecat
}

@test "the lock is held to the end: two at once lose nothing" {
    rm -r t
    mkdir t
    (cd t && seq 3000 | split -l 1 -a 4 -d)
    sb pack --force a.barecat -C t .
    sb find a.barecat | awk 'NR % 2' >odd
    sb find a.barecat | awk 'NR % 4 == 0' >even
    # Each goes on until it was its turn; every run removes what is left of its list.
    for list in odd even; do
        (
            split -l 100 "$list" "$list."
            for part in "$list".*; do
                until "$SHARDBOX" rm -f -T "$part" a.barecat 2>>err; do
                    grep -vE 'is writing this archive|locked by another process' err && exit 1
                    sleep 0.01
                done
            done
        ) &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid"
    done
    [[ $(sql a.barecat "SELECT count(*) FROM files") == 750 ]]
    run_ok sb verify --strict a.barecat
}

@test "statistics that make no sense are damage, and nothing is changed" {
    for number in -9223372036854775808 9223372036854775807; do
        sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
            UPDATE dirs SET num_files = $number WHERE path = 'd';
            UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
        before=$(md5sum a.barecat)
        run_fail 2 sb rm a.barecat d/1
        stderr_has "d/: its tree statistics make no sense; run 'shardbox upgrade'"
        [[ $(md5sum a.barecat) == "$before" ]]
    done
    run_ok sb upgrade a.barecat
    run_ok sb rm a.barecat d/1
    run_ok sb verify --strict a.barecat
}

@test "on a slow file system -T removes the same with any number of threads" {
    need_slow
    mkdir -p many/{a,b,c}
    for i in {1..400}; do
        echo "$i" | tee "many/a/$i" "many/b/$i" >"many/c/$i"
    done
    sb pack one.barecat -C many .
    sb find one.barecat --type=f | awk 'NR % 3 == 1' | shuf --random-source=<(yes) >list
    echo missing >>list
    for threads in 1 2 8; do
        cp one.barecat some.barecat
        cp one.barecat-shard-00000 some.barecat-shard-00000
        run_fail 1 slow_sb rm -n -T list "-j$threads" some.barecat
        output_is "$(grep -v missing list)"
        cmp one.barecat some.barecat
        run_fail 1 slow_sb rm -T list "-j$threads" some.barecat
        stderr_has "missing: no such file or directory in the archive"
        sb find some.barecat --type=f | cmp - <(sb find one.barecat --type=f | grep -vxFf list)
        run_ok sb verify --strict some.barecat
        rm some.barecat*
    done
}
