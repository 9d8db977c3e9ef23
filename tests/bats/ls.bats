# shardbox ls: what a directory of an archive holds.

load helper

# on_terminal COMMAND...: runs it with a terminal of 60 columns as stdout; leaves $output.
on_terminal() {
    run_ok env COLUMNS=60 script -qec "$(printf '%q ' "$@")" /dev/null
    output=${output//$'\r'/}
}

# A tree whose listing fits a test: a/{x,y,dir/z}, b.
make_small() {
    mkdir -p tree/a/dir
    printf 'xxx' >tree/a/x
    printf 'y' >tree/a/y
    printf 'zz' >tree/a/dir/z
    printf 'bbbb' >tree/b
    ln -s a/x tree/l
    chmod 640 tree/b
    chmod 750 tree/a
    find tree -depth -exec touch -h -d '2001-02-03 04:05:06.5Z' {} +
    sb pack a.barecat -C tree .
}

@test "the top is listed without arguments, hidden names too, in bytewise order" {
    make_archive
    sb ls a.barecat | LC_ALL=C sort >ours
    (cd tree && find . -mindepth 1 -maxdepth 1 -printf '%P\n' | LC_ALL=C sort) | cmp - ours
    run_ok sb ls a.barecat
    [[ ${lines[0]} == -dash && ${lines[1]} == .hidden && ${lines[2]} == a.txt ]] || fail "order"
}

@test "-a and -A are accepted, and change nothing" {
    make_archive
    run_ok sb ls a.barecat
    plain=$output
    [[ $plain == *.hidden* ]]
    for option in -a -A --all --almost-all; do
        run_ok sb ls $option a.barecat
        output_is "$plain"
    done
}

@test "a directory shows its children, whose order is that of their names" {
    make_archive
    run_ok sb ls a.barecat sub
    output_is $'dir\nfile\nup'
    run_ok sb ls a.barecat /
    output_has $'\nsub\nsub-file\nsub.d\n'
}

@test "files come first, then each directory under its name" {
    make_small
    run_ok sb ls a.barecat a b a/dir
    output_is $'b\n\na:\ndir\nx\ny\n\na/dir:\nz'
}

@test "what is not there is named and the rest is done" {
    make_small
    run_fail 1 sb ls a.barecat nope b '*.jpg'
    output_is "b"
    stderr_is $'shardbox ls: cannot access \'nope\': no such file or directory in the archive\nshardbox ls: cannot access \'*.jpg\': no such file or directory in the archive; \'*\' stays within a directory, \'**/\' means any below'
}

@test "an empty PATH is not the top" {
    make_small
    run_fail 1 sb ls -d a.barecat '' a
    output_is a
    stderr_is "shardbox ls: cannot access '': no such file or directory in the archive"
    run_fail 1 sb ls a.barecat ''
    output_is ''
}

@test "globs name files and directories" {
    make_small
    run_ok sb ls a.barecat 'a/*'
    output_is $'a/x\na/y\n\na/dir:\nz'
    run_ok sb ls -d a.barecat 'a/*' '**/z'
    output_is $'a/dir\na/dir/z\na/x\na/y'
}

@test "-d shows directories themselves" {
    make_small
    run_ok sb ls -d a.barecat a b
    output_is $'a\nb'
    run_ok sb ls -d a.barecat
    output_is "."
}

@test "-l shows mode, links, owner, group, size, time, name and target" {
    make_small
    local owner
    owner=$(id -un)
    run_ok sb ls -l a.barecat
    output_is "drwxr-x--- 3 $owner $(id -gn) 6 Feb  3  2001 a
-rw-r----- 1 $owner $(id -gn) 4 Feb  3  2001 b
lrwxrwxrwx 1 $owner $(id -gn) 3 Feb  3  2001 l -> a/x"
}

@test "-l shows the hour of recent times, in local time" {
    make_small
    local now
    now=$(date +%s)
    sql a.barecat "UPDATE files SET mtime_ns = ($now - 86400) * 1000000000 WHERE path = 'b'"
    TZ=Asia/Kathmandu run_ok sb ls -l a.barecat b
    output_has "$(TZ=Asia/Kathmandu date -d "@$((now - 86400))" '+%b %e %H:%M') b"
    sql a.barecat "UPDATE files SET mtime_ns = -3000000000000000000 WHERE path = 'b'"
    run_ok sb ls -l a.barecat b
    output_has "Dec  7  1874 b"
}

@test "-l shows ? for what is not known" {
    make_small
    sql a.barecat "UPDATE files SET mode = NULL, uid = NULL, gid = NULL, mtime_ns = NULL
        WHERE path = 'b'"
    run_ok sb ls -l a.barecat b
    output_is "-????????? 1 ? ? 4            ? b"
}

@test "it works with the index alone; only where links point is then unknown" {
    make_small
    sb ls -R a.barecat >with
    rm a.barecat-shard-*
    sb ls -R a.barecat | cmp - with
    run_ok sb ls -l a.barecat l
    output_lacks "->"
}

@test "-R lists everything below, directories in order of name" {
    make_archive
    (cd tree && LC_ALL=C ls -AR . | sed 's#^\./\(.*:\)$#\1#') >theirs
    sb ls -R a.barecat | cmp - theirs
}

@test "-h writes sizes for people, alone it helps" {
    make_archive
    run_ok sb ls -lh a.barecat numbers
    output_has " 341K "
    run_ok sb ls -h
    output_has "usage: shardbox ls"
}

@test "--sort=size, time and address, and -r" {
    make_small
    sql a.barecat "UPDATE files SET mtime_ns = 5000000000 WHERE path = 'a/y'"
    run_ok sb ls --sort=size a.barecat a
    output_is $'x\ndir\ny'
    run_ok sb ls -Sr a.barecat a
    output_is $'y\ndir\nx'
    run_ok sb ls -tr a.barecat a
    [[ ${lines[0]} == y ]] || fail "the oldest first"
    run_ok sb ls -r a.barecat a
    output_is $'y\nx\ndir'
    sql a.barecat "UPDATE files SET offset = 100 WHERE path = 'a/x'"
    run_ok sb ls --sort=address a.barecat a
    output_is $'dir\ny\nx'
}

@test "directories without a row are shown, once, and in their place" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        DELETE FROM dirs WHERE path IN ('sub', 'sub/dir');"
    run_ok sb ls a.barecat
    output_has $'one\nstar*[x]?\nsub\nsub-file\nsub.d\n'
    run_ok sb ls a.barecat sub
    output_is $'dir\nfile\nup'
    run_ok sb ls -ld a.barecat sub
    output_has "d?????????"
}

@test "--tree draws and counts" {
    make_small
    run_ok sb ls --tree a.barecat
    output_is ".
├── a
│   ├── dir
│   │   └── z
│   ├── x
│   └── y
├── b
└── l

2 directories, 5 files"
}

@test "--tree -L draws that many levels, -d only directories" {
    make_small
    run_ok sb ls --tree -L 1 a.barecat
    output_is ".
├── a
├── b
└── l

1 directory, 2 files"
    run_ok sb ls --tree -L2 -d a.barecat
    output_is ".
└── a
    └── dir

2 directories"
    run_ok sb ls --tree -d --max-depth=1 a.barecat a
    output_is $'a\n└── dir\n\n1 directory'
    tar cf a.tar -C tree .
    for container in a.barecat a.tar; do
        run_ok sb ls --tree -F -L 2 $container
        output_is ".
├── a/
│   ├── dir/
│   ├── x
│   └── y
├── b
└── l@

2 directories, 4 files"
    done
}

@test "-R -L lists that many levels" {
    make_small
    run_ok sb ls -R -L 1 a.barecat
    output_is $'.:\na\nb\nl'
    run_ok sb ls -R -L 2 a.barecat
    output_is $'.:\na\nb\nl\n\na:\ndir\nx\ny'
    sb ls -R a.barecat >whole
    sb ls -R -L 3 a.barecat | cmp - whole
    sb ls -R -L 99 a.barecat | cmp - whole
}

@test "-L goes with --tree or -R, and these two not with each other" {
    make_small
    run_fail 2 sb ls -L 1 a.barecat
    stderr_is "shardbox ls: -L goes with --tree or -R; try 'shardbox ls --help'"
    run_fail 2 sb ls -R --tree a.barecat
    stderr_is "shardbox ls: -R and --tree cannot be given together: --tree shows every level; try 'shardbox ls --help'"
    run_fail 2 sb ls --tree -L 0 a.barecat
    stderr_has "--max-depth: '0' is not a whole number from 1"
}

@test "-F marks directories, links and executable files, -p only directories, as GNU ls does" {
    make_small
    chmod +x tree/a/x
    ln -s /nowhere tree/a/link
    sb pack --force a.barecat -C tree .
    for options in -F -p -RF -Rp -aF '-dF a b l' '-F a/x a/link'; do
        # shellcheck disable=SC2086 # words of a command
        (cd tree && LC_ALL=C ls ${options/-R/-AR} | sed 's#^\./\(.*:\)$#\1#' | sed '/^\.\{1,2\}\/$/d') >theirs
        read -ra words <<<"$options"
        sb ls "${words[0]}" a.barecat "${words[@]:1}" | cmp - theirs || fail "$options"
    done
    tar cf a.tar -C tree .
    run_ok sb ls -F a.tar
    output_is $'a/\nb\nl@'
    run_ok sb ls -1 --classify a.barecat a
    output_is $'dir/\nlink@\nx*\ny'
    run_ok sb ls -lF a.barecat
    output_has ' a/'
    output_has 'l -> a/x'
    output_lacks '@'
    rm a.barecat-shard-00000
    run_ok sb ls -lF a.barecat
    output_has ' l@'
}

@test "-F on a terminal: the mark is behind the colour, and has its room in columns" {
    make_small
    on_terminal "$SHARDBOX" ls -F a.barecat
    output_is $'\033[01;34ma\033[0m/  b  \033[01;36ml\033[0m@'
    on_terminal "$SHARDBOX" ls -F --color=never a.barecat a
    output_is 'dir/  x  y'
}

@test "--full-time is -l with nanoseconds and the zone, as GNU ls has it" {
    make_small
    (cd tree && LC_ALL=C ls --full-time a/x b l | sed 's/^l\(.*\) l -> .*/l\1/') | awk '{ print $6, $7, $8 }' >theirs
    sb ls --full-time a.barecat a/x b l | awk '{ print $6, $7, $8 }' | cmp - theirs
    run_ok sb ls --full-time a.barecat b
    output_has ' 2001-02-03 04:05:06.500000000 +0000 b'
    TZ=America/St_Johns run_ok sb ls --full-time a.barecat b
    output_has ' 2001-02-03 00:35:06.500000000 -0330 b'
    sql a.barecat "UPDATE files SET mtime_ns = NULL WHERE path = 'b'"
    run_ok sb ls --full-time a.barecat b a/x
    output_has '                                  ? b'
}

@test "a deep tree is listed and drawn" {
    make_small
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        INSERT INTO files (path, shard, offset)
        VALUES (replace(hex(zeroblob(500)), '00', 'd/') || 'f', 0, 0);"
    within 20 "$SHARDBOX" ls -R a.barecat >listing
    [[ $(wc -l <listing) -gt 1500 ]]
    run_ok within 20 "$SHARDBOX" ls --tree a.barecat d
    output_has "499 directories"
}

@test "--shards shows a row per shard" {
    mkdir tree
    for name in a b c d; do head -c 1000 /dev/zero >tree/$name; done
    sb pack --shard-size=2000 a.barecat -C tree .
    sql a.barecat "DELETE FROM files WHERE path = 'b'"
    run_ok sb ls --shards a.barecat
    [[ ${#lines[@]} == 3 ]] || fail "a head and two rows"
    [[ ${lines[1]} =~ ^00000\ +2000\ +1000\ +1000\ +1\ .*/a.barecat-shard-00000$ ]] || fail "row 0"
    [[ ${lines[2]} =~ ^00001\ +2000\ +2000\ +0\ +2\ .*/a.barecat-shard-00001$ ]] || fail "row 1"
    mkdir elsewhere
    mv a.barecat-shard-00001 elsewhere/s
    ln -s elsewhere/s a.barecat-shard-00001
    run_ok sb ls --shards a.barecat
    [[ ${lines[2]} == *"/a.barecat-shard-00001 -> elsewhere/s" ]] || fail "a link"
    run_ok sb ls --shards --json a.barecat
    output_has '"target":"elsewhere/s","size":2000,"used":2000,"gaps":0,"files":2,"parity":"none","parity_per_mille":null}'
    rm a.barecat-shard-00001
    run_ok sb ls --shards --json a.barecat
    output_has '"size":null,"used":2000,"gaps":0,"files":2,"parity":"none","parity_per_mille":null}'
}

@test "--at names the owners of bytes" {
    make_small
    run_ok sb ls --at 0:0 a.barecat
    output_is "a/dir/z"
    run_ok sb ls --at 0:1+2 a.barecat
    output_is $'a/dir/z\na/x'
    run_ok sb ls --at 0:0+1K a.barecat
    output_is $'a/dir/z\na/x\na/y\nb\nl'
    for place in 0:1000 7:0; do
        run_fail 1 sb ls --at $place a.barecat
        output_is ""
        stderr_is "shardbox ls: $place: no file has these bytes"
    done
    run_fail 2 sb ls --at 0 a.barecat
    stderr_has "--at: '0' is not SHARD:OFFSET"
}

@test "--json is an object a line, also under -R" {
    make_small
    run_ok sb ls -R --json a.barecat
    [[ ${#lines[@]} == 7 ]] || fail "seven entries"
    output_has '"path":"a/dir/z","type":"file","size":2'
}

@test "--csv is a row for each object, below a line of names" {
    make_small
    run_ok sb ls --csv a.barecat b l
    output_is 'path,type,size,mode,uid,gid,mtime_ns,shard,offset,crc32c,target'"
b,file,4,416,$(id -u),$(id -g),981173106500000000,0,6,$(sql a.barecat "SELECT crc32c FROM files WHERE path = 'b'"),
l,link,3,511,$(id -u),$(id -g),981173106500000000,0,10,$(sql a.barecat "SELECT crc32c FROM files WHERE path = 'l'"),a/x"
    csv_is_json ls -R a.barecat
    csv_is_json ls --shards a.barecat
    csv_is_json ls --at 0:0+1K a.barecat
    tar cf a.tar -C tree .
    csv_is_json ls -R a.tar
    run_fail 1 sb ls --csv a.barecat nothing
    output_is 'path,type,size,mode,uid,gid,mtime_ns,shard,offset,crc32c,target'
}

@test "--csv: names are raw bytes, quoted where a comma, a quote or the end of a line is in them" {
    make_archive
    ln -s $'to,"\r' tree/odd
    printf x >tree/$'a,"b"\n\xff'
    sb pack -q --force a.barecat -C tree .
    csv_is_json ls -R a.barecat
    run_ok sb ls --csv a.barecat
    output_has $'\n"a,""b""\n\xff",file,1,'
    output_has $',"to,""\r"\n'
    on_terminal "$SHARDBOX" ls --csv a.barecat
    output_lacks $'\033'
    output_has 'esc\033[31m,file'
}

@test "--json and --csv cannot be given together, and what has no objects has no rows" {
    make_small
    for command in ls find du diff; do
        run_fail 2 sb $command --json --csv a.barecat
        stderr_is "shardbox $command: --json and --csv cannot be given together; try 'shardbox $command --help'"
        run_fail 2 sb $command --csv --json a.barecat
        stderr_has '--csv and --json cannot be given together'
    done
    run_fail 2 sb ls --csv --tree a.barecat
    stderr_has '--tree is in order of name, and has no --csv'
    run_fail 2 sb ls --csv --rsync-list a.barecat
    stderr_has "lists of shards' names have no --csv"
}

@test "on a terminal names stand in columns, quoted" {
    make_small
    for name in 'a b' c dd eee ffff ggggg hhhhhh iiiiiii jjjjjjjj kkkkkkkkk llllllllll; do
        : >"tree/$name"
    done
    sb pack --force a.barecat -C tree .
    on_terminal "$SHARDBOX" ls --color=never a.barecat
    output_is "a      b  dd   ffff   hhhhhh   jjjjjjjj   l
'a b'  c  eee  ggggg  iiiiiii  kkkkkkkkk  llllllllll"
    on_terminal "$SHARDBOX" ls -1 --color=never a.barecat a
    output_is $'dir\nx\ny'
}

@test "control characters never reach a terminal" {
    make_archive
    on_terminal "$SHARDBOX" ls --color=never -1 a.barecat
    output_lacks $'\033'
    output_has "'esc'\$'\\033''[31m'"
}

@test "colours follow LS_COLORS, NO_COLOR and --color" {
    make_small
    run_ok sb ls --color=always a.barecat
    coloured=$output
    run_ok sb ls --color a.barecat
    output_is "$coloured"
    output_is $'\033[01;34ma\033[0m\nb\n\033[01;36ml\033[0m'
    LS_COLORS='di=35:*b=31' run_ok sb ls --color=always a.barecat
    output_is $'\033[35ma\033[0m\n\033[31mb\033[0m\n\033[01;36ml\033[0m'
    run_ok sb ls a.barecat
    output_lacks $'\033'
    on_terminal "$SHARDBOX" ls a.barecat
    output_has $'\033[01;34ma'
    on_terminal env NO_COLOR=1 "$SHARDBOX" ls a.barecat
    output_lacks $'\033'
}

@test "a newer minor schema is listed with a warning, a newer major one is an error" {
    make_small
    sql a.barecat "UPDATE config SET value_int = 4 WHERE key = 'schema_version_minor'"
    run_ok sb ls a.barecat
    output_is $'a\nb\nl'
    stderr_has "schema 0.4 is newer than this program"
    for command in 'find a.barecat' 'du a.barecat' 'cat a.barecat -T /dev/null' \
        'unpack -n a.barecat' 'diff --quick a.barecat'; do
        # shellcheck disable=SC2086 # words of a command
        run sb $command
        stderr_has "schema 0.4 is newer than this program"
    done
    sql a.barecat "UPDATE config SET value_int = 1 WHERE key = 'schema_version_major'"
    run_fail 2 sb ls a.barecat
    stderr_has "schema 1.4 is newer than 0.3"
}

@test "an index of a user's own does no harm" {
    make_small
    sb ls -lR a.barecat >before
    sql a.barecat "CREATE INDEX by_mtime ON files (mtime_ns); ANALYZE;"
    sb ls -lR a.barecat | cmp - before
}
