# shardbox unpack: from an archive to a tree, and nowhere else.

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

# add_name NAME: a further file with the bytes of a.txt, under any name at all (an SQL expression).
add_name() {
    alter "INSERT INTO files (path, shard, offset, size, crc32c, mode)
        SELECT $1, shard, offset, size, crc32c, mode FROM files WHERE path = 'a.txt'"
}

# Makes a file an entry of mode S_IFLNK, so that its bytes are a target.
make_link_of() {
    alter "UPDATE files SET mode = 40960 + 511 WHERE path = '$1'"
}

# damage NAME: inverts the last stored byte of a file.
damage() {
    flip_byte a.barecat-shard-00000 \
        "$(sql a.barecat "SELECT offset + size - 1 FROM files WHERE path = '$1'")"
}

# one FILE...: a.barecat with these files of a directory `one`, each holding its own name.
one() {
    local name
    for name; do
        mkdir -p "$(dirname "one/$name")"
        printf '%s\n' "$name" >"one/$name"
    done
    sb pack a.barecat -C one .
}

@test "a whole archive gives the tree that was packed, with modes, times and links" {
    make_archive
    run_ok sb unpack -C out a.barecat
    output_is ''
    stderr_is ''
    same_tree tree out
}

# bats test_tags=threads
@test "the same on one thread, on many, and unchecked" {
    make_archive
    for options in --threads=1 --threads=7 --no-check --sync; do
        run_ok sb unpack "$options" -C "out$options" a.barecat
        same_tree tree "out$options"
    done
}

@test "names that are not UTF-8 come back as they were" {
    make_tree tree
    make_raw_names tree
    sb pack -q a.barecat -C tree .
    run_ok sb unpack -C out a.barecat
    same_tree tree out
}

@test "without -C it unpacks here" {
    make_archive
    mkdir here
    cd here
    run_ok sb unpack ../a.barecat
    same_tree ../tree .
}

@test "DIR is made, the directory above it is not" {
    make_archive
    run_fail 2 sb unpack -C no/such a.barecat
    stderr_has 'no/such'
    [[ ! -e no ]]
}

@test "DIR may be a link to a directory, and keeps its own mode and time if it was there" {
    make_archive
    mkdir -m 711 real
    ln -s real out
    run_ok sb unpack -C out a.barecat
    [[ $(stat -c %a real) == 711 ]]
    same_tree tree real
}

@test "DIR that unpack makes has the mode and time of the packed top" {
    make_tree tree
    chmod 751 tree
    sb pack a.barecat -C tree .
    run_ok sb unpack -C out a.barecat
    [[ $(stat -c '%a %y' out) == "$(stat -c '%a %y' tree)" ]]
}

@test "-m sets no times, neither of files nor of links, directories and DIR" {
    make_tree tree
    sb pack a.barecat -C tree .
    sb convert -q tree a.tar
    touch now
    for input in a.barecat a.tar; do
        run_ok sb unpack -q -m -C "out-$input" $input
        [[ $(find "out-$input" | wc -l) -gt 20 && -z $(find "out-$input" ! -newer now) ]] || fail $input
        run_ok sb diff -q --ignore=time -C "out-$input" $input
    done
}

@test "a PATH brings what is below it, a GLOB what matches, under the whole name" {
    make_archive
    run_ok sb unpack -C out a.barecat sub/dir '*.txt'
    [[ $(cd out && find . -type f | LC_ALL=C sort) == $'./a.txt\n./sub/dir/file.bin' ]]
    [[ $(stat -c %y out/sub/dir) == "$(stat -c %y tree/sub/dir)" ]]
}

@test "a name that looks like a pattern is taken literally" {
    make_archive
    run_ok sb unpack -C out a.barecat 'star*[x]?'
    [[ $(ls -A out) == 'star*[x]?' ]]
}

@test "a PATH that is not there is named, the rest is done, exit 1" {
    make_archive
    run_fail 1 sb unpack -C out a.barecat nowhere a.txt 'no*thing' .hidden
    stderr_has 'nowhere: no such file or directory in the archive'
    stderr_has 'no*thing: no such file or directory in the archive'
    [[ $(ls -A out) == $'.hidden\na.txt' ]]
}

@test "an empty PATH is not the whole archive" {
    make_archive
    run_fail 1 sb unpack -C out a.barecat ''
    stderr_has "shardbox unpack: '': no such file or directory in the archive"
    [[ $(find out -mindepth 1) == '' ]]
}

@test "a PATH that is not there is named beside one that means everything" {
    make_archive
    run_fail 1 sb unpack -C out a.barecat . nowhere
    stderr_has 'nowhere: no such file'
    same_tree tree out
}

@test "--include and --exclude: the first rule that matches decides" {
    make_archive
    run_ok sb unpack -C out --include='*.txt' --exclude=dir --include=sub a.barecat
    [[ $(cd out && find . -type f | LC_ALL=C sort) == $'./a.txt\n./sub/file' ]]
    run_ok sb unpack -C most --exclude=sub --exclude='*.txt' a.barecat
    [[ ! -e most/sub && ! -e most/a.txt && -e most/sub.d/file ]]
}

@test "--strip-components shortens names and leaves out those that vanish" {
    make_archive
    run_ok sb unpack -C out --strip-components=1 a.barecat sub deep a.txt
    [[ $(cd out && find . -type f | LC_ALL=C sort | head -3) == $'./d1/'*$'\n./dir/file.bin\n./file' ]]
    [[ ! -e out/sub && ! -e out/a.txt ]]
    [[ $(readlink out/up) == .. ]]
}

# bats test_tags=threads
@test "--strip-components: of files that get one name the first one counts, on any threads" {
    one {1..9}/same
    for threads in 1 2 3 5 8; do
        run_fail 1 sb unpack --threads=$threads -C out$threads --strip-components=1 a.barecat
        stderr_has '9/same: left out: it would be called same, as another one is already'
        stderr_has 'problems, named above: 8'
        [[ $(<out$threads/same) == 1/same && $(ls -A out$threads) == same ]]
    done
}

@test "--strip-components: what was there before stays, unless --existing allows" {
    one x/same y/same
    mkdir out
    echo mine >out/same
    run_fail 1 sb unpack -C out --strip-components=1 a.barecat
    stderr_has 'same: exists already'
    [[ $(<out/same) == mine ]]
    run_fail 1 sb unpack --existing=replace -C out --strip-components=1 a.barecat
    [[ $(<out/same) == x/same ]]
}

@test "directories without a row are made, with the default mode" {
    one d/e/f
    alter "DELETE FROM dirs WHERE path <> ''"
    umask 027
    run_ok sb unpack -C out a.barecat
    [[ $(<out/d/e/f) == d/e/f && $(stat -c %a out/d/e) == 750 ]]
}

@test "the umask is not applied to stored modes" {
    make_archive
    umask 077
    run_ok sb unpack -C out a.barecat
    same_tree tree out
}

@test "where mode or time are unknown, the umask and the present time count" {
    one d/f
    alter "UPDATE files SET mode = NULL, mtime_ns = NULL; UPDATE dirs SET mode = NULL, mtime_ns = NULL"
    umask 027
    run_ok sb unpack -C out a.barecat
    [[ $(stat -c %a out/d/f out/d) == $'640\n750' ]]
    (($(date +%s) - $(stat -c %Y out/d/f) < 60))
}

@test "set-id and sticky bits are dropped, unless -p" {
    one f d/g
    chmod 6755 one/f
    chmod 1777 one/d
    sb pack --force a.barecat -C one .
    run_ok sb unpack --no-same-owner -C out a.barecat
    [[ $(stat -c %a out/f out/d) == $'755\n777' ]]
    run_ok sb unpack -p -C kept a.barecat
    [[ $(stat -c %a kept/f kept/d) == $'6755\n1777' ]]
}

@test "a mode that keeps everyone out is set last, also on directories within each other" {
    one a/b/c/f a/b/g a-b/h z/f
    alter "UPDATE dirs SET mode = 16384 WHERE path LIKE 'a%'; UPDATE dirs SET mode = 16704 WHERE path = 'z'"
    run_ok ordinary "$SHARDBOX" unpack -C out a.barecat
    [[ $(stat -c %a out/a out/a-b out/z) == $'0\n0\n500' ]]
    chmod 700 out/a && [[ $(stat -c %a out/a/b) == 0 ]]
    chmod 700 out/a/b && [[ $(stat -c %a out/a/b/c) == 0 && $(<out/a/b/g) == a/b/g ]]
    chmod 700 out/a/b/c out/a-b
}

@test "an inherited set-group-id bit of a directory stays" {
    one d/f
    mkdir -m 2755 out
    run_ok sb unpack --no-same-owner -C out a.barecat
    [[ $(stat -c %a out/d out/d/f) == $'2755\n644' ]]
}

# What nobody unpacks of an archive here, in a directory of its own, with these options.
as_nobody() {
    rm -rf theirs
    mkdir theirs
    chmod 755 .
    chmod 644 a.*
    chown 65534:65534 theirs
    run_ok setpriv --reuid=65534 --regid=65534 --clear-groups "$SHARDBOX" unpack -C theirs "$@" <a.tar
}

@test "root gets owners and set-id bits back, as with tar; others, and with --no-same-owner, not" {
    ((EUID == 0)) || skip "needs root"
    one d/f same
    chown -h 12345:54321 one/d one/d/f
    chmod 6751 one/d/f
    chmod 1777 one/d
    sb pack --force a.barecat -C one .
    tar --numeric-owner -cf a.tar -C one .
    for input in a.barecat a.tar; do
        for options in '' --preserve --numeric-owner; do
            rm -rf out
            # shellcheck disable=SC2086 # none, or one
            run_ok sb unpack $options -C out $input
            stderr_is ''
            [[ $(stat -c '%u:%g %a' out/d out/d/f out/same) == $'12345:54321 1777\n12345:54321 6751\n0:0 644' ]]
        done
        for options in '' --preserve; do
            rm -rf out
            # shellcheck disable=SC2086 # none, or one
            run_ok sb unpack $options --no-same-owner -C out $input
            [[ $(stat -c '%u:%g %a' out/d out/d/f) == $'0:0 777\n0:0 751' ]]
        done
        rm -rf out
        run_ok sb convert $input out/
        [[ $(stat -c '%u:%g %a' out/d/f) == '12345:54321 6751' ]]
        rm -rf out
        run_ok sb convert --no-same-owner $input out/
        [[ $(stat -c '%u:%g %a' out/d/f) == '0:0 751' ]]
    done
    as_nobody -
    stderr_is ''
    [[ $(stat -c '%u:%g %a' theirs/d/f) == '65534:65534 751' ]]
}

@test "an owner is found by its name, and else by its number" {
    ((EUID == 0)) || skip "needs root"
    local input
    mkdir one
    echo x | tee one/f >one/g
    tar --owner=daemon:12345 --group=nogroup:54321 -cf a.tar -C one f
    tar --owner=no-such-user:12346 --group=no-such-group:54322 -rf a.tar -C one g
    sb convert a.tar a.barecat
    for input in a.tar a.barecat; do
        rm -rf out numbers
        run_ok sb unpack -C out $input
        [[ $(stat -c %U:%G out/f) == daemon:nogroup && $(stat -c %u:%g out/g) == 12346:54322 ]]
        run_ok sb unpack --numeric-owner -C numbers $input
        [[ $(stat -c %u:%g numbers/f numbers/g) == $'12345:54321\n12346:54322' ]]
    done
    rm -rf out
    run_ok sb convert a.tar out/
    stderr_is ''
    [[ $(stat -c %U:%G out/f) == daemon:nogroup ]]
    rm -rf out
    run_ok sb convert --numeric-owner a.tar out/
    [[ $(stat -c %u:%g out/f) == 12345:54321 ]]
    run_fail 2 sb convert --numeric-owner a.tar b.tar
    stderr_has 'are for a directory'
}

@test "in a directory that gives its group to files, root's have the archive's all the same" {
    ((EUID == 0)) || skip "needs root"
    one f g
    chmod 640 one/f one/g
    sb pack --force a.barecat -C one .
    mkdir -m 2755 out
    chgrp 54321 out
    run_ok sb unpack -C out a.barecat
    [[ $(stat -c '%u:%g %a' out/f out/g) == $'0:0 640\n0:0 640' ]]
}

@test "a member without an owner gets no set-id bits from root" {
    ((EUID == 0)) || skip "needs root"
    one f
    chmod 4755 one/f
    sb pack --force a.barecat -C one .
    alter "UPDATE files SET uid = NULL, gid = NULL"
    run_ok sb unpack -C out a.barecat
    [[ $(stat -c '%u:%g %a' out/f) == '0:0 755' ]]
    chmod 6755 one/f
    sb pack --force a.barecat -C one .
    alter "UPDATE files SET uid = NULL, gid = 54321"
    run_ok sb unpack -C group a.barecat
    [[ $(stat -c '%u:%g %a' group/f) == '0:54321 2755' ]]
    alter "UPDATE files SET uid = 12345, gid = NULL"
    run_ok sb unpack -C user a.barecat
    [[ $(stat -c '%u:%g %a' user/f) == '12345:0 4755' ]]
}

@test "a group of very many members is known by its name" {
    ((EUID == 0)) || skip "needs root"
    unshare -m true 2>/dev/null || skip "cannot mount here"
    one f
    chgrp 54321 one/f
    { cat /etc/group && printf 'crowd:x:54321:' && seq -f 'member%.0f' -s , 20000; } >group
    among() { unshare -m sh -c 'mount --bind group /etc/group && exec "$@"' - "$SHARDBOX" "$@"; }
    run_ok among pack --force a.barecat -C one .
    run_ok among ls -l a.barecat
    [[ $output == *' crowd '* ]]
    tar -c --group=crowd:7 -f a.tar -C one f
    run_ok among unpack -C out a.tar
    [[ $(stat -c %g out/f) == 54321 ]]
}

@test "owners are not set with --no-same-owner, and are with -p" {
    ((EUID == 0)) || skip "needs root"
    one d/f
    ln -s f one/l
    sb pack --force a.barecat -C one .
    alter "UPDATE files SET uid = 12345, gid = 54321; UPDATE dirs SET uid = 12345 WHERE path = 'd'"
    run_ok sb unpack --no-same-owner -C out a.barecat
    [[ $(stat -c %u:%g out/d/f) == 0:0 ]]
    run_ok sb unpack -p -C kept a.barecat
    [[ $(stat -c %u:%g kept/d/f kept/l) == $'12345:54321\n12345:54321' && $(stat -c %u kept/d) == 12345 ]]
}

@test "an owner that may not be set is named; the file is kept without set-id bits" {
    ((EUID == 0)) || skip "needs root"
    one f
    chmod 4755 one/f
    sb pack --force a.barecat -C one .
    alter "UPDATE files SET uid = 12345"
    run_fail 1 setpriv --bounding-set=-chown "$SHARDBOX" unpack -p -C out a.barecat
    stderr_has 'f: unpacked, but its owner cannot be set'
    [[ $(stat -c '%u %a' out/f) == '0 755' ]]
}

@test "--dry-run lists what would be written, and writes nothing" {
    make_archive
    run_ok sb unpack -n -C out a.barecat sub
    [[ $(LC_ALL=C sort <<<"$output") == $'sub\nsub/dir\nsub/dir/file.bin\nsub/file\nsub/up' ]]
    [[ ! -e out ]]
}

@test "--dry-run names conflicts as a real run does" {
    one f d/g
    mkdir -p out/d
    echo mine >out/f
    run_fail 1 sb unpack -n -C out a.barecat
    output_is d/g
    stderr_has 'f: exists already'
    run_ok sb unpack -n --existing=replace -C out a.barecat
    output_is $'d/g\nf'
    [[ $(<out/f) == mine ]]
}

@test "what exists is left and named, each once; the rest is unpacked, exit 1" {
    make_archive
    mkdir -p out/sub
    echo mine >out/a.txt
    echo mine >out/sub/file
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'a.txt: exists already'
    stderr_has 'sub/file: exists already'
    stderr_has '2 exist already; see --existing=skip, replace and newer'
    ((${#stderr_lines[@]} == 3))
    [[ $(<out/a.txt) == mine && $(<out/sub/dir/file.bin) == 'below sub/dir' ]]
}

@test "--existing=replace writes all anew" {
    make_archive
    mkdir -p out/sub
    echo mine >out/a.txt
    ln -s nowhere out/link
    run_ok sb unpack --existing=replace -C out a.barecat
    same_tree tree out
}

@test "--existing=skip leaves what has size and time, and writes what a killed run left short" {
    make_archive
    sb unpack -C out a.barecat
    truncate -s 3 out/numbers
    rm out/one out/link
    ln -s elsewhere out/link
    printf 'HELLO\n' >out/a.txt
    local untouched
    untouched=$(stat -c '%i %z' out/sub/file out/dangling)
    run_ok sb unpack --existing=skip -C out a.barecat
    same_tree tree out
    [[ $(stat -c '%i %z' out/sub/file out/dangling) == "$untouched" ]]
}

@test "--existing=skip reads nothing of what is there" {
    make_archive
    sb unpack -C out a.barecat
    rm -f out/link out/dangling out/sub/up a.barecat-shard-00000
    run_fail 1 sb unpack --existing=skip -C out a.barecat
    stderr_lacks 'numbers'
    stderr_has 'link: '
}

@test "--existing=newer replaces what is older, and leaves the rest" {
    make_archive
    sb unpack -C out a.barecat
    echo old >out/a.txt
    touch -d 1999-01-01 out/a.txt
    echo young >out/one
    run_ok sb unpack --existing=newer -C out a.barecat
    [[ $(<out/a.txt) == hello && $(<out/one) == young ]]
}

@test "a run that was killed is finished by --existing=skip" {
    mkdir tree
    (cd tree && seq 3000 | split -l 1 -a 3 - f && mkdir d && seq 90000 >d/big)
    sb pack a.barecat -C tree .
    for delay in 0.004 0.01 0.02; do
        rm -rf out
        "$SHARDBOX" unpack -C out a.barecat &
        sleep "$delay"
        kill -KILL $! 2>/dev/null || true
        wait $! || true
        run_ok sb unpack --existing=skip -C out a.barecat
        same_tree tree out
    done
}

@test "a large file that a killed run left short is finished by --existing=newer" {
    mkdir tree
    need_strace
    seq 900000 >tree/big
    for time in '2001-02-03 04:05:06Z' @0 @-5; do
        rm -rf out
        touch -d "$time" tree/big
        sb pack --force a.barecat -C tree .
        traced -o trace -e trace=write \
            -e inject=write:signal=KILL:when=4 "$SHARDBOX" unpack -j1 -C out a.barecat || true
        [[ -s out/big && $(stat -c %s out/big) -lt $(stat -c %s tree/big) ]] ||
            fail 'not killed half way'
        run_ok sb unpack --existing=newer -C out a.barecat
        cmp tree/big out/big
    done
}

@test "a hard link, a link and a FIFO in the way: their victims stay as they are" {
    one h l p
    mkdir out
    echo victim >victim
    chmod 600 victim
    ln victim out/h
    ln -s ../victim out/l
    mkfifo out/p
    run_fail 1 sb unpack -C out a.barecat
    [[ -L out/l && -p out/p ]]
    for how in skip newer replace; do
        within 10 "$SHARDBOX" unpack --existing="$how" -C out a.barecat
        [[ $(<victim) == victim && $(stat -c %a victim) == 600 ]]
    done
    [[ $(cat out/h out/l out/p) == $'h\nl\np' && ! -L out/l ]]
}

@test "a directory in the place of a file is never replaced" {
    one f
    mkdir -p out/f/mine
    for how in fail skip replace newer; do
        run_fail 1 sb unpack --existing="$how" -C out a.barecat
        stderr_has 'f: a directory is in its place'
    done
    [[ -d out/f/mine && $(ls -A out) == f ]]
}

@test "a file in the place of a directory is never replaced, and nothing is written into it" {
    one d/f e
    mkdir out
    echo mine >out/d
    run_fail 1 sb unpack --existing=replace -C out a.barecat
    stderr_has 'd: exists already, and is not a directory'
    stderr_has 'd/f: '
    [[ $(<out/d) == mine && $(<out/e) == e ]]
}

@test "names that lead out of the tree, or are no plain names, are named and left out" {
    one a.txt
    mkdir -p in
    for name in "'../x'" "'a/../../x'" "'$PWD/abs'" "'a//b'" "'./c'" "'e/'" "''" "'..'" \
        "'g/' || printf('%0300d', 1)" "'n' || char(0) || 'm'"; do
        add_name "$name"
    done
    run_fail 1 sb unpack -C in/out a.barecat
    stderr_has '../x'
    stderr_has 'a/../../x'
    stderr_has "$PWD/abs"
    [[ $(ls -A in) == out && ! -e abs && ! -e x ]]
    [[ $(find in/out -type f) == in/out/a.txt ]]
}

@test "through a link in the archive nothing is written" {
    mkdir victim
    one a.txt d l/f
    printf '%s' "$PWD/victim" >one/l.target
    sb pack --force a.barecat -C one .
    alter "DELETE FROM dirs WHERE path = 'l'; UPDATE files SET path = 'l' WHERE path = 'l.target'"
    make_link_of l
    for options in --threads=1 --threads=4 --existing=replace; do
        rm -rf out
        run_fail 1 sb unpack "$options" -C out a.barecat
        [[ $(find victim -mindepth 1) == '' && $(<out/d) == d ]]
    done
}

@test "through a link that stands there, also from an earlier archive, nothing is written" {
    mkdir victim one
    ln -s "$PWD/victim" one/d
    sb pack first.barecat -C one .
    rm one/d
    one d/f d/sub/g e
    sb unpack -C out first.barecat
    for how in fail skip replace newer; do
        run_fail 1 sb unpack --existing="$how" -C out a.barecat
        stderr_has 'd/f: '
        stderr_has 'links are not followed'
    done
    [[ -L out/d && $(find victim -mindepth 1) == '' && $(<out/e) == e ]]
}

@test "one name that is both a directory and a link: no mode or time is set through the link" {
    mkdir -m 700 victim
    touch -d 2001-01-01 victim
    one d/f a.txt
    printf '%s' "$PWD/victim" >one/t
    sb pack --force a.barecat -C one .
    alter "DELETE FROM files WHERE path = 'd/f'; UPDATE files SET path = 'd' WHERE path = 't';
        UPDATE dirs SET mode = 16895 WHERE path = 'd'"
    make_link_of d
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'd: '
    [[ $(stat -c '%a %y' victim) == "700 2001-01-01 00:00:00.000000000 +0000" ]]
}

# bats test_tags=threads
@test "a directory that another process keeps swapping for a link leads nowhere" {
    mkdir victim
    for ((i = 0; i < 200; i++)); do
        printf 'd/%d\0e/%d\0' "$i" "$i"
    done >names
    mkdir -p one/d one/e
    (cd one && xargs -0 touch <../names)
    sb pack --order=input a.barecat -C one -0 -T names
    for ((i = 0; i < 10; i++)); do
        rm -rf out
        mkdir -p out/d
        perl -e 'for ($i = 0; ; $i++) {
            rename "out/d", "out/kept"; symlink "../victim", "out/d"; unlink "out/d";
            rename "out/kept", "out/d" or rename "out/kept", "out/d.$i" }' &
        run sb unpack --existing=replace --threads=2 -C out a.barecat
        kill $! && { wait $! || true; }
        refuse_crash
        [[ $(find victim -mindepth 1) == '' ]]
        [[ $(find out/e -type f | wc -l) == 200 ]]
    done
}

@test "a link's target must be a name that a link can have" {
    one short empty long nul good
    : >one/empty
    printf '%05000d' 1 >one/long
    printf 'a\0b' >one/nul
    printf 'short' >one/good
    sb pack --force a.barecat -C one .
    for name in empty long nul good; do
        make_link_of "$name"
    done
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'empty: a link whose target is empty'
    stderr_has 'long: a link whose target is empty or longer than 4095 bytes'
    stderr_has 'nul: a link whose target holds a NUL byte'
    [[ $(ls -A out) == $'good\nshort' && $(readlink out/good) == short ]]
}

@test "control characters of names are masked in messages" {
    make_archive
    mkdir -p out
    touch "out/"$'esc\033[31m' "out/"$'new\nline'
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'esc\033[31m: exists already'
    stderr_has 'new\nline: exists already'
    stderr_lacks $'\033'
}

@test "a damaged file is named and not written, the others are" {
    make_archive
    damage sub/file
    damage link
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'sub/file: its bytes do not match their checksum; left out'
    stderr_has 'link: its bytes do not match'
    [[ ! -e out/sub/file && ! -L out/link ]]
    rm tree/sub/file tree/link
    diff -r --no-dereference tree out
}

@test "a damaged file of more than a block is removed again, and what stood there stays" {
    mkdir one
    seq 400000 >one/big
    sb pack a.barecat -C one .
    damage big
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'big: '
    [[ $(ls -A out) == '' ]]
    echo mine >out/big
    run_fail 1 sb unpack --existing=replace -C out a.barecat
    [[ $(ls -A out) == big && $(<out/big) == mine ]]
    run_ok sb unpack --existing=replace --no-check -C out a.barecat
    [[ $(stat -c %s out/big) == "$(stat -c %s one/big)" ]]
}

@test "a shard that ends early: those that it holds are unpacked, the others named" {
    one a b c
    truncate -s 3 a.barecat-shard-00000
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'b: '
    stderr_has 'c: '
    stderr_lacks 'a: '
    [[ $(ls -A out) == a ]]
}

@test "a missing shard is named for each of its files, the others are unpacked" {
    one a b
    mkdir more
    echo c >more/c
    sb pack --append --seal a.barecat -C more .
    rm a.barecat-shard-00000
    run_fail 1 sb unpack -C out a.barecat
    stderr_has 'a: '
    stderr_has 'a.barecat-shard-00000'
    [[ $(ls -A out) == c ]]
}

@test "a file that is too large for the file system's limit is named and removed" {
    make_archive
    run_fail 1 bash -c 'ulimit -f 100; exec "$SHARDBOX" unpack -C out a.barecat'
    stderr_has 'numbers: '
    [[ ! -e out/numbers && $(<out/one) == x ]]
}

# bats test_tags=threads
@test "files and directories of the same address order: empty ones, and thousands in one directory" {
    mkdir -p tree/wide tree/empty
    (cd tree/wide && seq 5000 | split -l 1 -a 4 - f)
    (cd tree/empty && seq 300 | xargs touch)
    sb pack a.barecat -C tree .
    run_ok sb unpack --threads=3 -C out a.barecat
    same_tree tree out
}

@test "many shards are unpacked with few descriptors" {
    mkdir -p one/a/b/c/d/e/f/g/h
    for ((i = 0; i < 90; i++)); do
        printf '%0100d' "$i" >"one/a/b/c/d/e/f/g/h/$i"
    done
    sb pack --shard-size=150 a.barecat -C one .
    run_ok bash -c 'ulimit -n 64; exec "$SHARDBOX" unpack --threads=4 -C out a.barecat'
    same_tree one out
}

@test "usage: no archive, a bad choice" {
    run_fail 2 sb unpack
    run_fail 2 sb unpack --existing=perhaps a.barecat
    run_fail 2 sb unpack nothing.barecat
    stderr_has nothing.barecat
}

@test "an interrupt removes the file being written, and says how to go on" {
    head -c 30M /dev/urandom >big
    sb pack a.barecat big
    "$SHARDBOX" unpack --bwlimit=3M -C out a.barecat 2>said &
    until [[ -e out/big ]]; do sleep 0.01; done
    kill -TERM $!
    wait $! || true
    grep 'interrupted' said
    grep 'a.barecat: unpacked in part; go on with --existing=skip' said
    [[ $(ls -A out) == '' ]]
}

@test "a PATH that is not there, and rather a directory to unpack into, brings the line to type" {
    make_archive
    tar -cf a.tar -C tree .
    mkdir 'my dir' files.d
    for archive in a.barecat a.tar; do
        for name in out ./out ../out "$PWD/out" out/ files.d; do
            run_fail 2 sb unpack $archive "$name"
            stderr_is "shardbox unpack: $name: no such file or directory in the archive, and -C names where to unpack; \
type: shardbox unpack -C $name $archive"
        done
        run_fail 2 sb unpack $archive 'my dir'
        stderr_has "type: shardbox unpack -C 'my dir' $archive"
        [[ ! -e out && ! -e ../out ]]
    done
}

@test "a PATH that is not there and looks like a file's, or with -C, is just that" {
    make_archive
    run_fail 1 sb unpack a.barecat nosuch.txt
    stderr_lacks 'type:'
    run_fail 1 sb unpack -C out a.barecat nosuch
    stderr_lacks 'type:'
    run_fail 1 sb unpack a.barecat a.txt nosuch
    stderr_lacks 'type:'
}
