# shardbox find: full paths of entries that pass every test.

load helper

# The names of a tree in bytewise order, NUL-separated.
names_of() {
    (cd "$1" && find . -mindepth 1 -printf '%P\0' | LC_ALL=C sort -z)
}

@test "every name of a tree comes once, in bytewise order" {
    make_archive
    sb find -0 a.barecat | cmp - <(names_of tree)
}

@test "without the shards it answers the same" {
    make_archive
    sb find -0 a.barecat >with
    rm a.barecat-shard-*
    sb find -0 a.barecat | cmp - with
}

@test "names that are not UTF-8 come as they are" {
    make_tree tree
    make_raw_names tree
    sb pack -q a.barecat -C tree .
    sb find -0 a.barecat | cmp - <(names_of tree)
}

@test "a PATH brings itself and what is below it" {
    make_archive
    run_ok sb find a.barecat sub
    output_is $'sub\nsub/dir\nsub/dir/file.bin\nsub/file\nsub/up'
}

@test "PATHs that overlap give each entry once, in order" {
    make_archive
    run_ok sb find a.barecat sub/dir sub sub/file 'sub/d*' sub-file
    output_is $'sub\nsub-file\nsub/dir\nsub/dir/file.bin\nsub/file\nsub/up'
}

@test "a PATH that is not there is named, and the rest is done" {
    make_archive
    run_fail 1 sb find a.barecat nowhere a.txt 'no*thing'
    output_is "a.txt"
    stderr_is $'shardbox find: nowhere: no such file or directory in the archive\nshardbox find: no*thing: no such file or directory in the archive'
}

@test "an empty PATH is not the whole archive" {
    make_archive
    for sort in path address; do
        run_fail 1 sb find --sort=$sort a.barecat ''
        output_is ''
        stderr_is "shardbox find: '': no such file or directory in the archive"
        run_fail 1 sb find --sort=$sort a.barecat '' a.txt
        output_is a.txt
    done
}

@test "globs stay within a component, ** crosses them, hidden names match" {
    make_archive
    run_ok sb find a.barecat '*.txt'
    output_is "a.txt"
    run_ok sb find a.barecat '**/file*'
    output_is $'sub.d/file\nsub/dir/file.bin\nsub/file'
    run_ok sb find a.barecat '?hidden' '[a-b]*.txt'
    output_is $'.hidden\na.txt'
}

@test "a PATH that exists is taken literally, whatever characters it has" {
    make_archive
    run_ok sb find a.barecat 'star*[x]?' './a.txt' '/one'
    output_is $'a.txt\none\nstar*[x]?'
}

@test "--type tells files, directories and links apart" {
    make_archive
    sb find --type=l -0 a.barecat | cmp - <(cd tree && find . -type l -printf '%P\0' | LC_ALL=C sort -z)
    sb find --type=d -0 a.barecat |
        cmp - <(cd tree && find . -mindepth 1 -type d -printf '%P\0' | LC_ALL=C sort -z)
    sb find --type=f,l -0 a.barecat | cmp - <(cd tree && find . ! -type d -printf '%P\0' | LC_ALL=C sort -z)
    run_fail 2 sb find --type=x a.barecat
    stderr_has "--type: 'x' is not a list of f, d and l"
}

@test "--type needs a type" {
    make_archive
    run_fail 2 sb find --type= a.barecat
    stderr_has "--type: '' is not a list of f, d and l"
}

@test "--name is held against the last component, --path against all" {
    make_archive
    run_ok sb find --name 'file*' a.barecat
    output_is $'sub.d/file\nsub/dir/file.bin\nsub/file'
    run_ok sb find --path 'sub*/file' a.barecat
    output_is $'sub.d/file\nsub/file'
}

@test "--size compares bytes" {
    make_archive
    run_ok sb find --size=+100K a.barecat
    output_is "numbers"
    run_ok sb find --size=1 a.barecat
    output_is "one"
    run_ok sb find --size=-1 a.barecat
    output_is "empty"
}

@test "--newer-than takes a file or a date" {
    make_archive
    touch -d '2001-02-03 04:05:06.123456789Z' same
    touch -d '2001-02-03 04:05:06.123456788Z' older
    run_ok sb find --newer-than=same a.barecat
    output_is ""
    run_ok sb find --newer-than=older a.barecat sub
    output_is $'sub\nsub/dir\nsub/dir/file.bin\nsub/file\nsub/up'
    run_ok sb find --newer-than='2001-02-03 04:05:06.123456788' a.barecat one
    output_is "one"
    run_ok sb find --newer-than=2001-02-03T05:05:07+01:00 a.barecat one
    output_is ""
    run_ok sb find --newer-than=@981173106 a.barecat one
    output_is "one"
    run_fail 2 sb find --newer-than=yesterday a.barecat
    stderr_has "neither a file nor a date"
}

@test "--max-depth counts from the nearest PATH above" {
    make_archive
    run_ok sb find --max-depth=0 a.barecat sub empty-dir
    output_is $'empty-dir\nsub'
    run_ok sb find --max-depth=1 a.barecat sub
    output_is $'sub\nsub/dir\nsub/file\nsub/up'
    sb find -0 --max-depth=1 a.barecat |
        cmp - <(cd tree && find . -mindepth 1 -maxdepth 1 -printf '%P\0' | LC_ALL=C sort -z)
}

@test "--include and --exclude are tried in order" {
    make_archive
    run_ok sb find --exclude sub/dir --type=f a.barecat sub
    output_is "sub/file"
    run_ok sb find --include '*.bin' --exclude '*' a.barecat sub/dir
    output_is "sub/dir/file.bin"
    run_ok sb find --exclude '*' --include '*.bin' a.barecat sub/dir
    output_is ""
    run_ok sb find --include '*.bin' a.barecat sub/dir
    output_is "sub/dir/file.bin"
}

@test "--sort=address gives the order in the shards, without directories" {
    mkdir tree
    for name in c a b; do echo $name >tree/$name; done
    printf 'c\na\nb\n' >list
    sb pack --order=input a.barecat -C tree -T list
    run_ok sb find a.barecat
    output_is $'a\nb\nc'
    run_ok sb find --sort=address a.barecat
    output_is $'c\na\nb'
    run_ok sb find --sort=address a.barecat b c
    output_is $'c\nb'
}

@test "-T prints the names of a list that are there, --missing the others" {
    make_archive
    printf 'a.txt\nnowhere\nsub\n\nnot/here' >list
    run_ok sb find -T list --missing a.barecat
    output_is $'nowhere\nnot/here'
    run_fail 1 sb find -T list --type=f a.barecat
    output_is "a.txt"
    stderr_has "nowhere: no such file or directory in the archive"
    printf 'new\nline\0gone' >list0
    run_ok sb find -0 -T list0 --missing a.barecat
    [[ $(sb find -0 -T list0 --missing a.barecat | tr '\0' '|') == "gone|" ]]
}

@test "-T - reads a stream, and --missing needs a list" {
    make_archive
    [[ $(printf 'one\nmissing\n' | sb find -T - --missing a.barecat) == missing ]]
    run_fail 2 sb find --missing a.barecat
    stderr_has "--missing needs -T FILE"
    run_fail 2 sb find -T list a.barecat sub
    stderr_has "-T FILE and PATHs cannot be given together"
    for option in --json --printf=%p; do
        run_fail 2 sb find -T list --missing $option a.barecat
        stderr_has "--missing and ${option%=*} cannot be given together"
    done
    for option in --max-depth=1 --sort=address; do
        run_fail 2 sb find -T list $option a.barecat
        stderr_has "-T FILE and ${option%=1} cannot be given together"
    done
}

@test "--printf writes what GNU find writes" {
    make_archive
    local format='%f|%y|%m|%M|%s|%U:%G|%T@|%t|%TY-%Tm-%Td|%l|%%|\t\101\n'
    sb find --type=f,l --printf "$format" a.barecat sub | LC_ALL=C sort >ours
    (cd tree && find sub ! -type d -printf "$format" | LC_ALL=C sort) | cmp - ours
}

@test "--printf pads to a width" {
    make_archive
    run_ok sb find --printf '[%6s|%-6y|%05s|%h]' a.barecat one sub/file
    output_is "[     1|f     |00001|.][    10|f     |00010|sub]"
}

@test "--printf refuses what is no directive" {
    make_archive
    run_fail 2 sb find --printf '%p %q' a.barecat
    stderr_has "'%q' begins with no directive"
    run_fail 2 sb find --printf '%' a.barecat
}

@test "what is not known shows as ? and null" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE files SET mode = NULL, uid = NULL, gid = NULL, mtime_ns = NULL, crc32c = NULL
        WHERE path = 'one';"
    run_ok sb find --printf '%m %M %u %G %t %T@' a.barecat one
    output_is "? -????????? ? ? ? ?"
    run_ok sb find --json a.barecat one
    output_has '"mode":null,"uid":null,"gid":null,"mtime_ns":null'
    output_has '"crc32c":null'
    run_ok sb find --newer-than=@0 a.barecat one
    output_is ""
}

@test "--json is an object a line with all that is known" {
    make_archive
    run_ok sb find --json a.barecat one link sub/dir
    [[ ${#lines[@]} == 4 ]] || fail "four lines"
    output_has '"path":"link","type":"link"'
    output_has '"target":"a.txt"'
    output_has '"path":"sub/dir","type":"dir"'
    output_has '"mtime_ns":981173106123456789'
}

@test "--json of a name that is not UTF-8 has path_base64" {
    make_tree tree
    make_raw_names tree
    sb pack -q a.barecat -C tree .
    run_ok sb find --json --name $'caf\xe9' a.barecat
    output_has "\"path_base64\":\"$(printf 'caf\xe9' | base64)\""
    output_lacks '"path":'
}

@test "rows that cannot be used are left out and counted" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE files SET size = -5 WHERE path = 'one';
        UPDATE files SET shard = 'abc' WHERE path = 'numbers';"
    run_fail 1 sb find --size=1 a.barecat
    stderr_has "numbers: shard is not an integer; left out with 1 more, 'shardbox verify' names them"
}

@test "a reader that goes away is no error of ours" {
    make_archive
    sb find a.barecat | head -1 >first
    [[ $(cat first) == -dash ]]
}

@test "a full disk is an error" {
    make_archive
    run --separate-stderr bash -c '"$SHARDBOX" find a.barecat >/dev/full'
    refuse_crash
    ((status == 2)) || fail "status"
    stderr_has "No space left on device"
}

@test "no archive, or what is none, is an error" {
    run_fail 2 sb find
    stderr_has "no archive given"
    run_fail 2 sb find nowhere.barecat
    stderr_has "nowhere.barecat: No such file or directory"
    echo text >text
    run_fail 2 sb find text
}

@test "--csv is a row for each object of --json, below a line of names" {
    make_tree tree
    make_raw_names tree
    sb pack -q a.barecat -C tree .
    csv_is_json find a.barecat
    csv_is_json find a.barecat --type=l
    run_ok sb find --csv --name=one a.barecat
    [[ ${lines[0]} == path,type,size,mode,uid,gid,mtime_ns,shard,offset,crc32c,target ]] || fail 'names'
    [[ ${lines[1]} == one,file,1,* && ${#lines[@]} == 2 ]] || fail 'rows'
    run_ok sb find --csv --name=nothing a.barecat
    [[ ${#lines[@]} == 1 ]] || fail 'no rows'
    run_fail 2 sb find --csv --printf=%p a.barecat
    stderr_has '--csv and --printf cannot be given together'
    run_fail 2 sb find --csv --missing -T /dev/null a.barecat
    stderr_has '--missing and --csv cannot be given together'
}
