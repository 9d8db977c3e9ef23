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
    stderr_is $'shardbox find: nowhere: no such file or directory in the archive\nshardbox find: no*thing: no such file or directory in the archive; \'*\' stays within a directory, \'**/\' means any below'
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

@test "of an option that is given twice the last holds; types are added" {
    make_archive
    run_ok sb find --name='*le' --name='sub?file' --path='sub/**' --path='sub*' a.barecat
    output_is sub-file
    run_ok sb find --type=l --type=f --size=-1 --size=1 a.barecat
    output_is one
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

@test "--sort=size gives the largest first, without directories, from any container" {
    mkdir -p tree/sub
    for name in 1-5 2-30 3-7 4-7 5-0 6-1000; do
        head -c "${name#*-}" /dev/zero >tree/sub/$name
    done
    sb pack a.barecat -C tree .
    sb convert a.barecat a.tar
    for container in a.barecat a.tar; do
        run_ok sb find --sort=size $container
        output_is $'sub/6-1000\nsub/2-30\nsub/3-7\nsub/4-7\nsub/1-5\nsub/5-0'
        run_ok sb find --sort=size $container sub -size -10c -printf '%s %f %d\n'
        output_is $'7 3-7 1\n7 4-7 1\n5 1-5 1\n0 5-0 1'
        run_ok sb find --sort=size $container -name '*-7' -quit
        output_is ""
        run_fail 1 sb find --sort=size $container none 'sub/6*'
        output_is sub/6-1000
    done
    run_ok sb find --sort=size --json a.barecat 'sub/2*'
    output_has '"path":"sub/2-30"'
    sb find -0 --sort=size a.barecat | head -z -n 2 | sb rm -0 -T - a.barecat
    run_ok sb find --sort=size a.barecat
    output_is $'sub/3-7\nsub/4-7\nsub/1-5\nsub/5-0'
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
    for option in --max-depth=1 --sort=address --sort=size; do
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

# Expressions; find-gnu.bats holds some hundreds of them against GNU find.

@test "an expression follows the PATHs, and its words are no letters of options" {
    make_archive
    run_ok sb find a.barecat -name 'file*'
    output_is $'sub.d/file\nsub/dir/file.bin\nsub/file'
    run_ok sb find a.barecat sub/dir sub.d '**/up' -type f,l -name '*'
    output_is $'sub.d/file\nsub/dir/file.bin\nsub/up'
    [[ $(sb find a.barecat sub -name file -print0 | tr '\0' '|') == 'sub/file|' ]]
    [[ $(sb find a.barecat sub ! -type d | wc -l) == 3 ]]
    [[ $(sb find a.barecat sub \( -name up -o -name dir \) | wc -l) == 2 ]]
}

@test "not binds closer than and, and closer than or, or closer than a comma" {
    make_archive
    run_ok sb find a.barecat sub -name up -o -type f -name 'file*' ! -name '*.bin'
    output_is $'sub/file\nsub/up'
    run_ok sb find a.barecat sub -not \( -name up -or -type d \) -a -name '*.bin'
    output_is sub/dir/file.bin
    run_ok sb find a.barecat sub ! ! -name up
    output_is sub/up
    run_ok sb find a.barecat sub -name file -print -o -name up -printf '%f is a link\n'
    output_is $'sub/file\nup is a link'
}

@test "of what a comma joins all is done, and the last decides" {
    make_archive
    run_ok sb find a.barecat sub -type f , -name dir
    output_is sub/dir
    run_ok sb find a.barecat sub -type d -printf 'd %f\n' , -name 'd*' -print
    output_is $'d sub\nd dir\nsub/dir'
}

@test "an action anywhere takes the place of printing; -prune and -quit are none" {
    make_archive
    run_ok sb find a.barecat sub -name nothing -print -o -name file
    output_is ''
    run_ok sb find a.barecat sub -name dir -prune
    output_is sub/dir
    run_ok sb find a.barecat sub -name dir -quit
    output_is ''
    run_ok sb find a.barecat sub \( -name dir -printf '%f\n' \) -o -true
    output_is dir
}

@test "-name and -path match across what a shell would not, hidden names too" {
    make_archive
    run_ok sb find a.barecat -name '*hidden' -o -name '?hidden'
    output_is .hidden
    run_ok sb find a.barecat -path 'sub*file'
    output_is $'sub-file\nsub.d/file\nsub/file'
    run_ok sb find a.barecat -path 'sub?file'
    output_is $'sub-file\nsub/file'
    run_ok sb find a.barecat -path 'sub[/]file' -o -name '[[:upper:][:digit:]]*'
    output_is sub/file
    run_ok sb find a.barecat -name 'star\*[[]x[]]\?'
    output_is 'star*[x]?'
}

@test "a character is one of UTF-8, and -iname knows its case" {
    mkdir tree
    touch tree/ü tree/Üb tree/ab tree/É.JPG $'tree/\xff'
    sb pack -q a.barecat -C tree .
    run_ok sb find a.barecat -name '?'
    output_is $'ü\n\xff'
    run_ok sb find a.barecat -name '[[:alpha:]]?'
    output_is $'ab\nÜb'
    run_ok sb find a.barecat -iname 'ü*' -o -iname 'é.jpg'
    output_is $'É.JPG\nÜb\nü'
    run_ok sb find a.barecat -ipath $'\xff' -o -iname '[AÜ]B'
    output_is $'ab\nÜb\n\xff'
}

@test "-path is held against the path without a leading ./, as it stands in the archive" {
    make_archive
    for glob in 'sub/*' './sub/*' '*/sub/*'; do
        [[ $(sb find a.barecat -path "$glob" | wc -l) == 4 ]] || fail "$glob"
    done
    run_ok sb find a.barecat -path '*/sub' -o -path '*/sub.d/*'
    output_is $'sub\nsub.d/file'
    run_ok sb find a.barecat -path './*/sub'
    output_is ''
    run_ok sb find a.barecat -path '/sub'
    output_is ''
}

@test "a GLOB of -name that no name can match draws a warning" {
    make_archive
    run_ok sb find a.barecat -name sub/file
    output_is ''
    stderr_is "shardbox find: -name: 'sub/file' matches nothing: a last component has no '/'; use -path"
}

@test "-size counts units that are begun, of files and links" {
    make_archive
    run_ok sb find a.barecat -type f -size -1k
    output_is empty
    run_ok sb find a.barecat -size +1000w
    output_is numbers
    run_ok sb find a.barecat -size 1c -o -size 1M -name numbers
    output_is $'numbers\none'
    run_ok sb find a.barecat sub -size 5c -o ! -size -99
    output_is $'sub\nsub/dir'
    for value in '' k 5X 1.5k ++1 -; do
        run_fail 2 sb find a.barecat -size "$value"
        stderr_has "-size: '$value' is not a number with c, w, b, k, M or G, such as +10M or 512c"
    done
}

@test "-empty is a file of no bytes, or a directory with nothing in it" {
    make_archive
    run_ok sb find a.barecat -empty
    output_is $'empty\nempty-dir/inner'
    sb find -0 -T <(printf 'empty\0sub\0') a.barecat -empty >got
    cmp got <(printf 'empty\0')
    tar cf a.tar -C tree .
    run_ok sb find a.tar -empty
    output_is $'empty\nempty-dir/inner'
    tar cf few.tar -C tree sub/file empty
    run_ok sb find few.tar sub -empty
    output_is ''
}

@test "-newer, -newermt, -mtime and -mmin go by the time of modification" {
    make_archive
    touch -d '2001-02-03 04:05:06.123456788Z' older
    touch -d '2001-02-03 04:05:06.123456789Z' same
    run_ok sb find a.barecat one -newer older
    output_is one
    run_ok sb find a.barecat one -newer same -o -newermm same
    output_is ''
    run_ok sb find a.barecat one -newermt '2001-02-03 04:05:06' ! -newermt 2001-02-04
    output_is one
    run_ok sb find a.barecat one -mtime +30 -mmin +5 ! -mtime -30 ! -mtime 7
    output_is one
    run_fail 2 sb find a.barecat -newer nowhere
    stderr_has "-newer: 'nowhere' is no file here; for a date use -newermt"
    run_fail 2 sb find a.barecat -newermt yesterday
    stderr_has "-newermt: 'yesterday' is not a date such as 2026-11-21 or '2026-11-21 08:30'; @\$(date -d 'yesterday' +%s) may be one"
    run_fail 2 sb find a.barecat -mtime 3d
    stderr_has "-mtime: '3d' is not a number of days, such as -7 or +30"
    run_fail 2 sb find a.barecat -mmin .
    stderr_has "-mmin: '.' is not a number of minutes"
}

@test "an age is rounded as GNU find rounds it" {
    mkdir tree
    for age in 10 50 70 86390 86410 172700 172900; do
        touch -d "@$(($(date +%s) - age))" "tree/$age"
    done
    sb pack -q a.barecat -C tree .
    for words in '-mmin 1' '-mmin -1' '-mmin +1' '-mtime 0' '-mtime 1' '-mtime -1' '-mtime +0' '-mtime +1' '-mtime -2'; do
        # shellcheck disable=SC2086 # words
        diff <(sb find a.barecat $words) <(cd tree && find . -type f $words | sed 's,./,,' | sort) || fail "$words"
    done
}

@test "-perm takes a mode, all of its bits, or any" {
    make_archive
    run_ok sb find a.barecat -type f -perm 755
    output_is sub/file
    run_ok sb find a.barecat -type f -perm -u+x
    output_is sub/file
    run_ok sb find a.barecat -type f ! -perm /go+r
    output_is one
    run_ok sb find a.barecat -perm u=rwx,g=rx
    output_is sub.d
    for value in '' 8 rwx u+X 77777 -; do
        run_fail 2 sb find a.barecat -perm "$value"
        stderr_has "-perm: '$value' is not a mode such as 644, -u+w or /111"
    done
}

@test "-uid, -gid, -user and -group go by the numbers in the archive" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE files SET uid = 0, gid = 12345 WHERE path = 'one';
        UPDATE files SET uid = 4321, gid = NULL WHERE path = 'empty';"
    run_ok sb find a.barecat one empty -user root
    output_is one
    run_ok sb find a.barecat one empty -uid +4320 -o -group 12345
    output_is $'empty\none'
    run_ok sb find a.barecat one empty -gid -99999
    output_is one
    run_fail 2 sb find a.barecat -user no-such-user
    stderr_has "-user: this machine knows no 'no-such-user'; give the number"
    run_fail 2 sb find a.barecat -gid root
    stderr_has "-gid: 'root' is not a number"
}

@test "what is not known passes no test of it" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        UPDATE files SET mode = NULL, uid = NULL, gid = NULL, mtime_ns = NULL WHERE path = 'one';"
    for words in '-perm /0' '-uid +0' '-mtime +0' '-newermt @0'; do
        # shellcheck disable=SC2086 # words
        run_ok sb find a.barecat one $words
        output_is ''
        # shellcheck disable=SC2086
        run_ok sb find a.barecat one ! $words
        output_is one
    done
}

@test "-prune leaves out what is below a directory, and nothing else" {
    make_archive
    run_ok sb find a.barecat sub sub-file sub.d -name sub -prune -o -print
    output_is $'sub-file\nsub.d\nsub.d/file'
    run_ok sb find a.barecat sub sub-file sub.d \( -name sub -o -name sub.d \) -prune -o -print
    output_is sub-file
    run_ok sb find a.barecat -type d ! -name 'sub*' -prune -o -type f -name 'f*' -print
    output_is $'sub.d/file\nsub/file'
    run_ok sb find a.barecat sub -name file -prune
    output_is sub/file
    run_ok sb find a.barecat sub sub/dir/file.bin 'd*p/d1/d2' -name sub -prune -o -name d2 -prune -o -type f
    output_is $'deep/d1/d2\nsub\nsub/dir/file.bin'
    run_fail 2 sb find --sort=address a.barecat -name sub -prune -o -print
    stderr_has "-prune and --sort=address cannot be given together: directories have no address"
}

@test "-maxdepth and -mindepth hold for the whole expression, wherever they are" {
    make_archive
    run_ok sb find a.barecat sub -mindepth 1 -maxdepth 1
    output_is $'sub/dir\nsub/file\nsub/up'
    run_ok sb find a.barecat sub -name up -o -name file.bin -maxdepth 1
    output_is sub/up
    run_ok sb find a.barecat sub -mindepth 2 \( -name dir -prune -o -print \)
    output_is sub/dir/file.bin
    run_ok sb find a.barecat -maxdepth 0
    output_is ''
    run_fail 2 sb find a.barecat -maxdepth x
    stderr_has "-maxdepth: 'x' is not a whole number from 0 on"
}

@test "-quit ends at once" {
    make_archive
    run_ok sb find a.barecat sub -type f -print -quit
    output_is sub/dir/file.bin
    run_ok sb find a.barecat sub \( -quit , -print \)
    output_is ''
    printf 'one\nsub\nempty\n' >list
    run_ok sb find -T list a.barecat -name sub -quit -o -print
    output_is one
    run_ok sb find a.barecat 'no*thing' one -quit
    stderr_is ''
}

@test "-printf prints as --printf does, and %P the path below the PATH" {
    make_archive
    run_ok sb find a.barecat sub sub.d/file -printf '%P|%p|%d|%h|%f|%y\n'
    output_is $'|sub|0|.|sub|d\n|sub.d/file|0|sub.d|file|f\ndir|sub/dir|1|sub|dir|d
dir/file.bin|sub/dir/file.bin|2|sub/dir|file.bin|f\nfile|sub/file|1|sub|file|f\nup|sub/up|1|sub|up|l'
    run_ok sb find a.barecat -name file.bin -printf '%P\n'
    output_is sub/dir/file.bin
    run_fail 2 sb find a.barecat -printf '%p %q'
    stderr_has "-printf: '%q' begins with no directive that there is"
}

@test "-print prints as the options say; what prints otherwise does not go with them" {
    make_archive
    run_ok sb find --json a.barecat sub -name dir -prune -o -name file -print
    [[ ${#lines[@]} == 1 ]]
    output_has '"path":"sub/file","type":"file"'
    run_ok sb find a.barecat sub -name up -print --printf '%f->%l\n'
    output_is 'up->..'
    [[ $(sb find -0 a.barecat sub -name up -print | tr '\0' '|') == 'sub/up|' ]]
    run_fail 2 sb find --json a.barecat -print0
    stderr_is "shardbox find: -print0 and --json cannot be given together; -print prints as --json says; try 'shardbox find --help'"
    run_fail 2 sb find a.barecat -printf %p --printf %f
    stderr_has "-printf and --printf cannot be given together"
}

@test "long options hold beside the expression, wherever they are" {
    make_archive
    run_ok sb find --type=f a.barecat sub -name '*e' --name='f*' -o -name '*.bin' -q
    output_is $'sub/dir/file.bin\nsub/file'
    run_ok sb find a.barecat -type f -name 'f*' --sort=address --exclude '*.bin'
    [[ $(sort <<<"$output") == $'sub.d/file\nsub/file' ]]
    run_ok sb find --type=f --type=l a.barecat sub -true
    output_is $'sub/dir/file.bin\nsub/file\nsub/up'
    [[ $(printf 'a.txt\0sub\0' | sb find -0T - a.barecat -type d | tr '\0' '|') == 'sub|' ]]
    run_ok sb find --max-depth=1 a.barecat sub -name 'f*'
    output_is sub/file
}

@test "-T and an expression choose among the names of the list" {
    make_archive
    printf 'a.txt\nsub\nsub/file\n' >list
    run_ok sb find -T list a.barecat -type f -name '*e' -o -type d -prune
    output_is $'sub\nsub/file'
    run_ok sb find -T list a.barecat ! -type d -printf '%d%P,%f\n'
    output_is $'0,a.txt\n0,file'
    run_fail 2 sb find -T list --missing a.barecat -name a
    stderr_has "--missing and an expression cannot be given together"
    for word in -maxdepth -mindepth; do
        run_fail 2 sb find -T list a.barecat $word 1
        stderr_has "-T FILE and --max-depth cannot be given together"
    done
}

@test "expressions work on a tar, and on one from a pipe" {
    make_tree tree
    tar cf a.tar -C tree .
    run_ok sb find a.tar sub -name dir -prune -o -newermt 2001-01-01 -printf '%P %s %l\n'
    [[ $output == ' '*$'\nfile 10 \nup 2 ..' ]] || fail "not that"
    [[ $(sb find - -name 'file*' -size -11c <a.tar) == $'sub.d/file\nsub/file' ]]
}

@test "a misspelt word names its neighbour" {
    make_archive
    run_fail 2 sb find a.barecat -nmae 'x*'
    stderr_is "shardbox find: -nmae: no such word; did you mean '-name'?; try 'shardbox find --help'"
    run_fail 2 sb find a.barecat -type f -pirnt0
    stderr_has "-pirnt0: no such word; did you mean '-print0'?"
    run_fail 2 sb find a.barecat -qiut
    stderr_has "-qiut: no such word; did you mean '-quit'?"
    run_fail 2 sb find a.barecat -frobnicate
    stderr_is "shardbox find: -frobnicate: no such word of an expression; try 'shardbox find --help'"
    run_fail 2 sb find a.barecat -Z
    stderr_has "unrecognized option '-Z'"
}

@test "words of find's that make no sense here say what to do instead" {
    make_archive
    run_fail 2 sb find a.barecat -name x -exec cat '{}' ';'
    stderr_is "shardbox find: -exec: no command is run; pipe the paths: -print0 | xargs -0, or the files: -print0 | shardbox cat -0 -T - ARCHIVE"
    run_fail 2 sb find a.barecat -name x -delete
    stderr_is "shardbox find: -delete: find only reads; pipe the paths: -print0 | shardbox rm -0 -T - ARCHIVE"
    run_fail 2 sb find a.barecat -depth
    stderr_has "-depth: a directory comes before what is below it; to turn that round, pipe: -print0 | sort -rz"
    run_fail 2 sb find a.barecat -fprint list
    stderr_has "redirect that: >FILE"
    run_fail 2 sb find a.barecat -newerct 2026-01-01
    stderr_has "-newerct: an archive keeps the time of modification alone; use -mtime, -mmin or -newer"
    run_fail 2 sb find a.barecat -xdev
    stderr_has "-xdev: has no meaning in an archive; leave it out"
    [[ -e tree/a.txt ]]
}

@test "what to do instead of -delete and -exec does it" {
    make_archive
    sb find a.barecat -name 'file*' -print0 | sb cat -0 -T - a.barecat | cmp - <(cd tree && cat sub.d/file sub/dir/file.bin sub/file)
    sb find a.barecat -name 'file*' -print0 | sb rm -0 -T - a.barecat
    run_ok sb find a.barecat -name 'file*'
    output_is ''
}

@test "an expression that is not whole names the word" {
    make_archive
    run_fail 2 sb find a.barecat -name
    stderr_is "shardbox find: -name needs a value: GLOB; try 'shardbox find --help'"
    run_fail 2 sb find a.barecat -type x
    stderr_has "-type: 'x' is not a list of f, d and l"
    run_fail 2 sb find a.barecat -name a -o
    stderr_has "'-o': a test or an action must follow it"
    run_fail 2 sb find a.barecat -o -name a
    stderr_has "'-o': a test or an action must come before it"
    run_fail 2 sb find a.barecat !
    stderr_has "'!': a test or an action must follow it"
    run_fail 2 sb find a.barecat \( \)
    stderr_has "')': a test or an action must come before it"
    run_fail 2 sb find a.barecat \( -name a
    stderr_has "'(' is not closed; add '\\)' after what belongs into it"
    run_fail 2 sb find a.barecat -name a \)
    stderr_has "')': no '\\(' comes before it"
    # shellcheck disable=SC2046 # words
    run_fail 2 sb find a.barecat $(printf '! %.0s' {1..1001}) -true
    stderr_has "more than 1000 '(' and '!' within each other"
    # shellcheck disable=SC2046
    run_ok sb find a.barecat one $(printf -- '-name x -o %.0s' {1..5000}) -true
    output_is one
}

@test "ARCHIVE and PATHs come before the expression; after -- a word is a PATH" {
    make_archive
    run_fail 2 sb find -name a a.barecat
    stderr_is "shardbox find: a.barecat: ARCHIVE and PATHs come before the expression; try 'shardbox find --help'"
    run_fail 2 sb find a.barecat -name '*.txt' sub
    stderr_has "sub: ARCHIVE and PATHs come before the expression"
    run_fail 2 sb find -name a
    stderr_has "no archive given"
    run_ok sb find a.barecat -- -dash
    output_is -dash
    run_fail 1 sb find a.barecat -- -name one
    output_is one
    run_fail 1 sb find a.barecat -5
    stderr_has "-5: no such file or directory in the archive"
}

# A list of 300 of 2000 names, mixed, one of them twice, and one that is missing.
make_list() {
    mkdir -p many/{a,b,c}
    for i in {1..600}; do
        echo "$i" | tee "many/a/$i" "many/b/$i" >"many/c/$i"
    done
    sb pack many.barecat -C many .
    (cd many && find . -type f -printf '%P\n' | LC_ALL=C sort | awk 'NR % 6 == 1' |
        shuf --random-source=<(yes)) >list
    sed -i -e '20i missing' -e "\$a $(head -n 1 list)" list
}

@test "on a slow file system -T answers the same with any number of threads" {
    need_slow
    make_list
    grep -v missing list >there
    for threads in 1 2 8; do
        run_fail 1 slow_sb find -T list --printf='%p %s\n' "-j$threads" many.barecat
        stderr_is "shardbox find: missing: no such file or directory in the archive"
        output_is "$(sb find -T there --printf='%p %s\n' many.barecat)"
        run_ok slow_sb find -T list --missing "-j$threads" many.barecat
        output_is missing
    done
}
