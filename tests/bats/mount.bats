# mount and umount: containers as a directory that any program reads.

load helper
load mount

# The tree and what is mounted are alike, for programs that compare.
same_as_tree() {
    timed diff -r --no-dereference "$1" "$2" || fail "$2 differs from $1"
}

# bats test_tags=threads
@test "an archive is a directory of files, until it is unmounted" {
    make_archive
    run_ok mounted a.barecat
    output_is ''
    stderr_is ''
    same_as_tree tree m
    cmp <(describe_tree tree) <(describe_tree m)
    run_ok timed "$SHARDBOX" umount m
    gone
    [ -z "$(ls m)" ]
}

@test "rsync finds nothing to do between the tree and the mount" {
    make_archive
    mounted a.barecat
    run_ok timed rsync -anic --delete tree/ m/
    output_is ''
}

@test "find over the mount prints what shardbox find prints" {
    make_archive
    mounted a.barecat
    (cd m && timed find . -mindepth 1 -printf '%P\n') | LC_ALL=C sort >mounted
    sb find a.barecat | LC_ALL=C sort >found
    cmp mounted found
}

# bats test_tags=threads
@test "every kind of container with a tree view is mounted" {
    make_tree tree
    sb pack a.barecat -C tree .
    sb convert a.barecat a.tar
    sb convert a.barecat a.zip
    (cd tree && find . -print0 | cpio --quiet --null -o -H newc >../a.cpio)
    for container in a.barecat a.tar a.zip a.cpio; do
        run_ok mounted "$container"
        same_as_tree tree m
        timed "$SHARDBOX" umount m
    done
}

@test "a compressed member of a zip is read in any order" {
    mkdir tree
    seq 300000 >tree/numbers
    (cd tree && zip -q ../a.zip numbers)
    mounted a.zip
    timed cmp tree/numbers m/numbers
    timed tail -c 100000 m/numbers | cmp - <(tail -c 100000 tree/numbers)
    timed dd if=m/numbers bs=1000 skip=77 count=3 status=none |
        cmp - <(dd if=tree/numbers bs=1000 skip=77 count=3 status=none)
}

@test "records of a bag are files called by their numbers, or by --keys" {
    printf 'one\ntwo\n' | sb convert --frame=line - a.bag
    printf 'first\nsub/second\n' | sb convert --frame=line - keys.bag
    mounted a.bag
    [ "$(timed cat m/00000001)" = two ]
    timed "$SHARDBOX" umount m
    mounted --keys=keys.bag a.bag
    [ "$(timed cat m/sub/second)" = two ]
    [ "$(timed find m -type f | wc -l)" -eq 2 ]
}

@test "wrapped and linked archives are mounted" {
    make_tree tree
    tar -cf a.tar -C tree .
    sb convert --wrap a.tar wrapped.barecat
    mounted wrapped.barecat
    same_as_tree tree m
    timed "$SHARDBOX" umount m
    mkdir other
    echo other >other/other
    sb pack a.barecat -C tree .
    sb pack b.barecat -C other .
    sb merge-symlink a.barecat b.barecat both.barecat
    mounted both.barecat
    [ "$(timed cat m/other)" = other ]
    timed cmp tree/numbers m/numbers
}

@test "a compressed tar, or one with holes, is refused, with the two commands that help" {
    make_tree tree
    tar -czf a.tar.gz -C tree .
    run_fail 2 mounted a.tar.gz
    stderr_is "shardbox mount: a.tar.gz: is compressed as a whole, or a pipe, and can only be read from end to end; 'shardbox convert a.tar.gz ARCHIVE' makes an archive of it, which can be mounted, and 'shardbox unpack a.tar.gz' its files"
    run ! is_mounted m
    truncate -s 10M tree/holes
    tar -Scf a.tar -C tree .
    run_fail 2 mounted a.tar
    stderr_has "a.tar: has members with holes, and can only be read from end to end; 'shardbox convert a.tar ARCHIVE'"
}

@test "a directory is refused" {
    mkdir tree
    run_fail 2 mounted tree
    stderr_has "tree: is a directory, not a container"
}

@test "what is mounted is read-only" {
    make_archive
    mounted a.barecat
    run_fail 1 timed touch m/new
    stderr_has 'Read-only file system'
    run_fail 1 timed rm m/a.txt
    stderr_has 'Read-only file system'
}

# bats test_tags=threads
@test "several containers have a directory each" {
    make_archive
    mkdir other
    echo other >other/other
    sb pack b.barecat -C other .
    mounted a.barecat b.barecat
    [ "$(ls m)" = $'a.barecat\nb.barecat' ]
    same_as_tree tree m/a.barecat
    same_as_tree other m/b.barecat
}

@test "several containers of one name are refused" {
    make_archive
    mkdir sub
    (cd sub && make_tree tree && sb pack a.barecat -C tree .)
    run_fail 2 mounted a.barecat sub/a.barecat
    stderr_is "shardbox mount: sub/a.barecat: is called 'a.barecat' as a.barecat is, and each needs a directory of its own; --union makes one tree of them"
}

@test "--union makes one tree, the later containers over the earlier" {
    mkdir -p one/sub two/sub
    echo one >one/both
    echo one >one/sub/one
    echo two >two/both
    echo two >two/sub/two
    sb pack one.barecat -C one .
    sb pack two.barecat -C two .
    mounted --union one.barecat two.barecat
    (cd m && timed find . | sort) >names
    printf '%s\n' . ./both ./sub ./sub/one ./sub/two >expected
    cmp names expected
    [ "$(timed cat m/both m/sub/one m/sub/two)" = $'two\none\ntwo' ]
}

# union_is LINE...: what `find` prints of the united tree, and that each name can be looked up.
union_is() {
    (cd m && timed find . -mindepth 1 -printf '%P %y\n' | LC_ALL=C sort) >names
    printf '%s\n' "$@" | LC_ALL=C sort | diff - names || fail 'other names'
    (cd m && cut -d' ' -f1 ../names | xargs stat -c %n) >/dev/null || fail 'listed, but not found'
}

@test "--union: what is no directory hides the directories of earlier containers" {
    mkdir -p a/x/y a/both b/both c/x c/both
    echo a >a/x/a
    echo a >a/x/y/z
    echo a >a/both/a
    echo b >b/x
    echo b >b/both/b
    echo c >c/x/c
    echo c >c/both/c
    for name in a b c; do sb pack $name.barecat -C $name .; done
    mounted --union a.barecat b.barecat c.barecat
    union_is 'both d' 'both/'{a,b,c}' f' 'x d' 'x/c f'
    [[ ! -e m/x/a && ! -e m/x/y && ! -e m/x/y/z ]]
    timed "$SHARDBOX" umount m
    mounted --union b.barecat a.barecat c.barecat
    union_is 'both d' 'both/'{a,b,c}' f' 'x d' 'x/'{a,c}' f' 'x/y d' 'x/y/z f'
    timed "$SHARDBOX" umount m
    mounted --union c.barecat a.barecat b.barecat
    union_is 'both d' 'both/'{a,b,c}' f' 'x f'
    [[ $(timed cat m/x) == b ]]
}

@test "--union: a link in the place of a directory above hides it, also of those in between" {
    mkdir -p a/x/y/deep b/x c/x/y/deep
    echo a >a/x/y/deep/a
    ln -s elsewhere b/x/y
    echo c >c/x/y/deep/c
    for name in a b c; do sb pack $name.barecat -C $name .; done
    mkdir empty
    sb pack d.barecat -C empty .
    mounted --union a.barecat b.barecat c.barecat d.barecat
    union_is 'x d' 'x/y d' 'x/y/deep d' 'x/y/deep/c f'
    [[ ! -e m/x/y/deep/a ]]
}

@test "--union: a file that has the name of a directory in its own container hides those of earlier ones" {
    mkdir -p a/x b/x c/x
    echo a >a/x/a
    echo b >b/x/b
    echo b >b/file
    echo c >c/x/c
    for name in a b c; do sb pack $name.barecat -C $name .; done
    sql b.barecat "UPDATE files SET path = 'x' WHERE path = 'file'"
    mounted --union a.barecat b.barecat c.barecat
    union_is 'x d' 'x/c f'
    [[ ! -e m/x/a && ! -e m/x/b ]]
}

@test "a command has the mount as \$SHARDBOX_MOUNT, and its status is the command's" {
    make_archive
    # shellcheck disable=SC2016 # for the shell that is started
    run_fail 7 timed "$SHARDBOX" mount a.barecat -- sh -c 'cat "$SHARDBOX_MOUNT/a.txt"; echo "$SHARDBOX_MOUNT" >where; exit 7'
    output_is hello
    [ ! -e "$(cat where)" ]
    run_ok timed "$SHARDBOX" mount a.barecat --at=m -- cat m/a.txt
    output_is hello
    run ! is_mounted m
    run_fail 2 timed "$SHARDBOX" mount a.barecat --at=m -- ./no-such-command
    stderr_is 'shardbox mount: ./no-such-command: No such file or directory'
    run ! is_mounted m
}

@test "a command that a signal ends has the status that a shell gives it" {
    make_archive
    # shellcheck disable=SC2016 # for the shell that is started
    run timed "$SHARDBOX" mount a.barecat --at=m -- sh -c 'kill -USR1 $$'
    [ "$status" -eq 138 ]
    run ! is_mounted m
}

@test "the end of a command is seen where the caller ignores the ends of its children" {
    make_archive
    cat >ignoring.py <<'END'
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])
END
    run_fail 7 timed python3 ignoring.py "$SHARDBOX" mount a.barecat --at=m -- sh -c 'cat m/a.txt; exit 7'
    output_is hello
    run ! is_mounted m
}

@test "a signal is passed on to the command, which ends the mount" {
    make_archive
    "$SHARDBOX" mount a.barecat --at=m -- sh -c 'trap "echo caught; exit 3" TERM; : >ready; while :; do sleep 0.1; done' >out 3>&- &
    pid=$!
    await test -e ready
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 3 ]
    [ "$(cat out)" = caught ]
    run ! is_mounted m
}

@test "a signal at any time of the start leaves a mount and status 0, or neither" {
    make_archive
    mkdir temporary
    cat >signals.py <<'END'
import os, random, signal, subprocess, sys, time
limit, program, where = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
def mounted():
    return any(" %s/" % os.getcwd() in line for line in open("/proc/mounts"))
def start():
    words = ["env", "--default-signal=INT,TERM,HUP", program, "mount", "a.barecat"]
    return subprocess.Popen(words + where, start_new_session=True,
                            stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=os.getcwd() + "/temporary"))
def clear():
    while mounted():
        subprocess.run([program, "umount", "m"])
began = time.monotonic()
start().wait(limit)
usual = time.monotonic() - began
clear()
for number in range(40):
    process = start()
    time.sleep(random.random() * usual * 1.2)
    send = random.choice((os.kill, os.killpg))
    send(process.pid, random.choice((signal.SIGTERM, signal.SIGINT, signal.SIGHUP)))
    status = process.wait(limit)
    assert mounted() == (where == ["m"] and status == 0), (number, status, process.stderr.read())
    assert not os.listdir("temporary"), (number, status, process.stderr.read())
    clear()
END
    run_ok python3 signals.py "$LIMIT" "$SHARDBOX" m
    run_ok python3 signals.py "$LIMIT" "$SHARDBOX" -- true
}

@test "signals that the caller ignores, as by nohup, do not end a mount" {
    make_archive
    (trap '' HUP INT && exec "$SHARDBOX" mount -f a.barecat m) 3>&- &
    pid=$!
    await is_mounted m
    kill -HUP "$pid"
    kill -INT "$pid"
    sleep 0.5
    timed cmp tree/numbers m/numbers
    kill -TERM "$pid"
    wait "$pid"
    run ! is_mounted m
}

# bats test_tags=threads
@test "SIGTERM and SIGINT unmount, also while something is in use" {
    make_archive
    for signal in TERM INT; do
        # Whoever runs the tests may ignore it.
        timed env --default-signal=INT "$SHARDBOX" mount a.barecat m
        exec {held}<m/numbers
        kill -"$signal" "$(server)"
        gone
        exec {held}<&-
        run ! is_mounted m
    done
}

# bats test_tags=threads
@test "in the foreground it ends with status 0 when it is unmounted" {
    make_archive
    "$SHARDBOX" mount -f a.barecat m 3>&- &
    pid=$!
    await is_mounted m
    timed cmp tree/numbers m/numbers
    timed "$SHARDBOX" umount m
    wait "$pid"
}

@test "what a killed server left is cleared by the next mount" {
    make_archive
    mounted a.barecat
    kill -KILL "$(server)"
    gone
    run_fail 2 timed ls m
    stderr_has 'Transport endpoint is not connected'
    run_ok mounted a.barecat
    same_as_tree tree m
}

@test "a dead mount is cleared also where the system still knows its attributes" {
    make_archive
    for option in --check=read --immutable; do
        mounted "$option" a.barecat
        timed ls -l m >/dev/null
        kill -KILL "$(server)"
        gone
        run_ok mounted a.barecat
        [ "$(grep -cF " $PWD/m " /proc/mounts)" -eq 1 ]
        timed "$SHARDBOX" umount m
        gone
        [ -z "$(ls m)" ]
    done
}

@test "a dead mount is not cleared with what is mounted in it" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    # Otherwise the system asks anew after a second whether m/sub is there, and umount cannot reach it.
    mounted --immutable a.barecat
    mount -t tmpfs tmpfs m/sub
    echo precious >m/sub/precious
    kill -KILL "$(server)"
    gone
    run_fail 2 mounted a.barecat
    stderr_is "shardbox mount: m: something is mounted in it, at m/sub: unmount that first"
    umount "$PWD/m/sub"
    run_ok mounted a.barecat
    same_as_tree tree m
}

# faulty CALLS HOW [VARIABLE=VALUE...] -- ARGS...: shardbox mount ARGS..., where from the mount on such
# calls fail. Programs that it starts have no faults.
faulty() {
    local -a settings=("FAULT_CALLS=$1" "FAULT_HOW=$2" FAULT_AT=1 FAULT_ALONE=1 FAULT_FROM=/dev/fuse)
    shift 2
    while [[ $1 != -- ]]; do
        settings+=("$1")
        shift
    done
    timed env "${settings[@]}" LD_PRELOAD="$FAULT_SHIM" "$SHARDBOX" mount "${@:2}"
}

@test "where no thread can be started, or only some, it answers all the same" {
    need_shim
    make_archive
    for at in 1 2 3; do
        run_ok faulty start EAGAIN FAULT_ONWARD=1 FAULT_AT=$at -- a.barecat --at=m -- diff -r --no-dereference tree m
        run ! is_mounted m
    done
    run_fail 2 faulty start EAGAIN FAULT_ONWARD=1 -- a.barecat --at=m -- ./no-such-command
    stderr_is 'shardbox mount: ./no-such-command: No such file or directory'
    # A command that is in what is mounted is read while it is started.
    printf '#!/bin/sh\necho ran\n' >tree/program
    chmod +x tree/program
    sb pack --append -q a.barecat -C tree program
    run_ok faulty start EAGAIN FAULT_ONWARD=1 -- a.barecat --at=m -- m/program
    output_is ran
    run_ok faulty start EAGAIN FAULT_ONWARD=1 -- --log="$PWD/log" a.barecat m
    same_as_tree tree m
    flip_byte a.barecat-shard-00000 0
    run_ok timed "$SHARDBOX" umount m
    gone
    run ! is_mounted m
}

@test "damage is logged also where no thread can be started" {
    need_shim
    mkdir tree
    echo hello >tree/a.txt
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 0
    run_ok faulty start EAGAIN FAULT_ONWARD=1 -- --log="$PWD/log" a.barecat m
    run_fail 1 timed cat m/a.txt
    timed "$SHARDBOX" umount m
    gone
    grep -q 'a.txt' log
}

@test "a server that is killed before it is ready is an error that is named" {
    need_shim
    make_archive
    run_fail 2 faulty mount kill -- a.barecat m
    stderr_is 'shardbox mount: the server was ended by signal 9: Killed'
}

@test "a request that cannot be read for a moment is read then" {
    need_shim
    make_archive
    run_ok faulty read EIO -- a.barecat --at=m -- diff -r --no-dereference tree m
    run ! is_mounted m
}

@test "where no more requests can be read, a command is ended, and nobody sees an empty directory" {
    need_shim
    make_archive
    run_fail 2 faulty read EIO FAULT_ONWARD=1 -- a.barecat --at=m -- cat m/a.txt
    stderr_has 'shardbox mount: requests of the mount cannot be read: Input/output error'
    run ! is_mounted m
    run_ok faulty read EIO FAULT_ONWARD=1 -- --log="$PWD/log" a.barecat m
    run_fail 2 timed ls m
    gone
    run_fail 2 timed ls m
    stderr_has 'Transport endpoint is not connected'
    grep -q 'mount: requests of the mount cannot be read: Input/output error$' log
    run_ok mounted a.barecat
    same_as_tree tree m
}

@test "it ends also where the server has no descriptor left" {
    need_shim
    make_archive
    for at in 1 2 3 4 5 6 7; do
        run faulty open EMFILE FAULT_ONWARD=1 "FAULT_AT=$at" -- a.barecat --at=m -- true
        run ! is_mounted m
    done
}

@test "a mount that ends leaves alone what is mounted over it" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    sb pack b.barecat tree/a.txt
    mounted --log="$PWD/log" a.barecat
    first=$(server)
    mounted b.barecat
    kill -TERM "$first"
    await test -s log
    grep -q "left without a server: $PWD/m: something else is mounted over it: unmount that first\$" log
    [ "$(timed cat m/tree/a.txt)" = hello ]
    timed "$SHARDBOX" umount m
    gone
    run_fail 2 timed ls m
    timed "$SHARDBOX" umount m
    run ! is_mounted m
}

@test "a mount that ends leaves alone what is mounted over a directory above" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    mkdir -p above/m
    timed "$SHARDBOX" mount --log="$PWD/log" a.barecat above/m
    pid=$(server)
    mount -t tmpfs tmpfs above
    mkdir above/m
    mount -t tmpfs tmpfs above/m
    echo precious >above/m/precious
    kill -TERM "$pid"
    await test -s log
    grep -q "left without a server: $PWD/above/m: something else is mounted over a directory above\$" log
    [ "$(cat above/m/precious)" = precious ]
    umount above/m above
    timed "$SHARDBOX" umount above/m
}

@test "--idle does not end a mount while something is mounted over it" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    mounted --idle=2s a.barecat
    mount -t tmpfs tmpfs m
    echo precious >m/precious
    sleep 4.5
    [ "$(cat m/precious)" = precious ]
    # In one process: by now it may try at any moment.
    run_ok timed python3 - <<'END'
import ctypes
expected = open("tree/numbers").read()
assert ctypes.CDLL(None).umount2(b"m", 0) == 0
assert open("m/numbers").read() == expected
END
    gone
    run ! is_mounted m
}

@test "a mount below a directory that was renamed ends there, and nothing at its former path" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    mkdir -p 'above one/m'
    timed "$SHARDBOX" mount a.barecat 'above one/m'
    pid=$(server)
    mv 'above one' 'above two'
    mkdir -p 'above one/m'
    mount -t tmpfs tmpfs 'above one/m'
    echo precious >'above one/m/precious'
    kill -TERM "$pid"
    gone
    [ "$(cat 'above one/m/precious')" = precious ]
    [ -z "$(ls 'above two/m')" ]
    umount 'above one/m'
}

@test "umount refuses what is in use, and --lazy does not" {
    make_archive
    mounted a.barecat
    exec {held}<m/numbers
    run_fail 2 timed "$SHARDBOX" umount m
    stderr_is 'shardbox umount: m: is in use: a program has a file open there, or is in a directory of it; --lazy unmounts it all the same'
    run_ok timed "$SHARDBOX" umount --lazy m
    run ! is_mounted m
    [ "$(timed head -c 3 <&"$held")" = $'1\n2' ]
    exec {held}<&-
    gone
}

@test "a directory may be named by a link, or with a slash at its end" {
    make_archive
    ln -s m link
    run_ok timed "$SHARDBOX" mount a.barecat link
    timed cmp tree/numbers m/numbers
    kill "$(pgrep -f "^$SHARDBOX mount a.barecat link\$" | while read -r pid; do
        [[ $(readlink "/proc/$pid/cwd") == "$PWD" ]] && echo "$pid"
    done)"
    await is_unmounted m
    run_ok timed "$SHARDBOX" mount a.barecat m/
    timed cmp tree/numbers m/numbers
    run_ok timed "$SHARDBOX" umount m/
    run ! is_mounted m
    run_ok timed "$SHARDBOX" mount a.barecat m
    run_ok timed "$SHARDBOX" umount link
    run ! is_mounted m
    run_ok timed "$SHARDBOX" mount a.barecat m
    run_fail 2 timed "$SHARDBOX" umount m/sub
    stderr_is 'shardbox umount: m/sub: nothing is mounted there'
}

@test "umount refuses what shardbox has not mounted, and what something is mounted in" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    mount -t tmpfs tmpfs m
    echo precious >m/precious
    for option in '' --lazy; do
        # shellcheck disable=SC2086 # no word where it is empty
        run_fail 2 timed "$SHARDBOX" umount $option m
        stderr_is "shardbox umount: m: is a file system of type tmpfs, which 'shardbox mount' has not mounted"
    done
    [ "$(cat m/precious)" = precious ]
    umount m
    make_archive
    mounted a.barecat
    mount -t tmpfs tmpfs m/sub
    echo precious >m/sub/precious
    run_fail 2 timed "$SHARDBOX" umount --lazy m
    stderr_is "shardbox umount: m: something is mounted in it, at $PWD/m/sub: unmount that first"
    [ "$(cat m/sub/precious)" = precious ]
    umount m/sub
}

@test "umount of what is not mounted says so" {
    run_fail 2 timed "$SHARDBOX" umount m
    stderr_is 'shardbox umount: m: nothing is mounted there'
    run_fail 2 timed "$SHARDBOX" umount no-such-dir
    stderr_is 'shardbox umount: no-such-dir: No such file or directory'
    run_fail 2 timed "$SHARDBOX" umount
    stderr_has 'no DIR given'
}

# bats test_tags=threads
@test "--idle ends a mount that nobody uses" {
    make_archive
    mounted --idle=2s a.barecat
    exec {held}<m/numbers
    sleep 4.5
    is_mounted m
    exec {held}<&-
    gone
    run ! is_mounted m
}

# bats test_tags=threads
@test "a file whose checksum is wrong ends in EIO, and one line in the log names it" {
    mkdir tree
    seq 100000 >tree/numbers
    echo small >tree/small
    echo good >tree/good
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset + 5 FROM files WHERE path = 'numbers'")"
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset FROM files WHERE path = 'small'")"
    mounted --log="$PWD/log" a.barecat
    run_fail 1 timed cat m/numbers
    stderr_has 'Input/output error'
    run_fail 1 timed cat m/small
    stderr_has 'Input/output error'
    output_is ''
    run_fail 1 timed cat m/small m/numbers
    run_ok timed cat m/good
    timed "$SHARDBOX" umount m
    gone
    [ "$(grep -c 'numbers: ' log)" -eq 1 ]
    [ "$(grep -c 'small: ' log)" -eq 1 ]
    grep -qE '^[-0-9]{10} [:0-9]{8} shardbox\[[0-9]+\] mount: numbers: checksum does not match: bytes are [0-9a-f]{8}, should be [0-9a-f]{8}$' log
}

# bats test_tags=threads
@test "lines that the log has no room for are counted in it" {
    mkdir tree
    for ((i = 0; i < 1500; i++)); do echo "$i" >"tree/file-with-a-name-of-some-length-$i"; done
    sb pack a.barecat -C tree .
    sql a.barecat 'UPDATE files SET crc32c = crc32c + 1'
    mkfifo log
    exec {both}<>log
    exec {end}<log {both}<&-
    mounted --log="$PWD/log" a.barecat
    (cd m && timed cat -- * >/dev/null 2>&1) || true
    timed cat <&"$end" >lines 3>&- &
    exec {end}<&-
    timed "$SHARDBOX" umount m
    gone
    wait
    left_out=$(sed -n 's/.* mount: \([0-9]*\) more lines were left out$/\1/p' lines)
    (($(grep -c ' mount: file-.*checksum' lines) + left_out == 1500 && left_out > 0))
}

# with_dev_log COMMAND...: in own_mounts, where /dev/log is a socket, with a listener, process $LISTENER, that
# adds what it gets to `system`, a line each. Returns when what COMMAND has mounted has ended. Where that does
# not, the status is 97, and where nothing can be set up, 98.
with_dev_log() {
    cat >listener.py <<'END'
import socket
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind("/dev/log")
print("bound", flush=True)
with open("system", "wb", 0) as out:
    while (line := listener.recv(8192)) != b"end":
        out.write(line.rstrip(b"\n\0") + b"\n")
END
    cat >separate.bash <<'END'
[[ $(readlink /proc/self/ns/mnt) != "$OUTER" ]] || exit 98
mkdir dev && mount -t tmpfs dev dev || exit 98
for device in null zero urandom fuse; do
    touch "dev/$device" && mount --bind "/dev/$device" "dev/$device" || exit 98
done
# The test may be in there.
mkdir dev/shm && mount --rbind /dev/shm dev/shm || exit 98
ln -s /proc/self/fd dev/fd && mount --rbind dev /dev && cd "$PWD" || exit 98
exec {bound}< <(exec python3 listener.py)
export LISTENER=$!
read -r <&"$bound" || exit 98
"$@"
status=$?
for ((i = 0; i < LIMIT * 10; i++)); do
    pgrep -f "^$SHARDBOX mount " --nslist mnt --ns $$ >/dev/null || break
    sleep 0.1
done
((i < LIMIT * 10)) || status=97
kill -CONT "$LISTENER"
python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", "/dev/log")'
wait "$LISTENER" || status=98
exit $status
END
    OUTER=$(readlink /proc/self/ns/mnt) LIMIT=$LIMIT \
        timeout --kill-after=1 $((2 * LIMIT)) "${own_mounts[@]}" bash separate.bash "$@" 3>&-
}

@test "in the background the log is the system's, of which no line is broken by a name" {
    need_own_mounts
    mkdir tree
    echo small >tree/small
    echo other >tree/$'two\nlines'
    echo good >tree/good
    sb pack a.barecat -C tree .
    sql a.barecat "UPDATE files SET crc32c = crc32c + 1 WHERE path != 'good'"
    cat >reads.bash <<'END'
"$SHARDBOX" mount a.barecat m && cat m/good || exit
for i in 1 2; do
    cat m/small m/two*lines 2>/dev/null && exit 9
done
"$SHARDBOX" umount m
END
    run_ok with_dev_log bash reads.bash
    output_is good
    sed -E 's/^<28>[A-Z][a-z]{2} [ 0-9]{2} [:0-9]{8} shardbox\[[0-9]+\]: //' system >lines
    printf 'mount: %s: its bytes do not match their checksum\n' small 'two\nlines' | diff - lines
}

@test "in the foreground the log is on stderr" {
    mkdir tree
    echo small >tree/small
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 0
    run_fail 1 timed "$SHARDBOX" mount a.barecat --at=m -- cat m/small
    stderr_has 'shardbox mount: small: its bytes do not match their checksum'
}

@test "it ends also while nobody reads its log" {
    mkdir tree
    for ((i = 0; i < 2000; i++)); do echo "$i" >"tree/a-name-that-is-long-so-that-not-so-many-are-needed-$i"; done
    sb pack a.barecat -C tree .
    sql a.barecat 'UPDATE files SET crc32c = crc32c + 1'
    mkfifo log
    exec {unread}<>log
    for end in kill umount; do
        "$SHARDBOX" mount -f a.barecat m 2>log 3>&- &
        pid=$!
        await is_mounted m
        timed cat m/* >/dev/null 2>&1 || true
        if [[ $end == kill ]]; then kill -TERM "$pid"; else timed "$SHARDBOX" umount m; fi
        gone
        wait "$pid"
        run ! is_mounted m
    done
    exec {unread}<&-
}

@test "it ends also while the log of the system takes no line" {
    need_own_mounts
    mkdir tree
    for ((i = 0; i < 1000; i++)); do echo "$i" >"tree/$i"; done
    sb pack a.barecat -C tree .
    sql a.barecat 'UPDATE files SET crc32c = crc32c + 1'
    cat >silent.bash <<'END'
kill -STOP "$LISTENER"
"$SHARDBOX" mount a.barecat m || exit
cat m/* >/dev/null 2>&1
pkill -TERM -f "^$SHARDBOX mount a.barecat m\$" --nslist mnt --ns $$
END
    run_ok with_dev_log bash silent.bash
    # It was full.
    (($(wc -l <system) < 1000))
}

@test "--check=open gives out no byte of a damaged file" {
    mkdir tree
    seq 200000 >tree/numbers
    echo good >tree/good
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset + size - 1 FROM files WHERE path = 'numbers'")"
    mounted --check=open a.barecat
    run_fail 1 timed head -c 1 m/numbers
    output_is ''
    stderr_has 'Input/output error'
    [ "$(timed cat m/good)" = good ]
}

@test "--no-check gives out what is there" {
    mkdir tree
    echo small >tree/small
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 0
    mounted --no-check a.barecat
    [ "$(timed tail -c +2 m/small)" = mall ]
    timed "$SHARDBOX" umount m
    run_fail 2 mounted --no-check --check=open a.barecat
    stderr_has '--check and --no-check cannot be given together'
}

# bats test_tags=threads
@test "a file that was mended is read again" {
    mkdir tree
    echo small >tree/small
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 0
    mounted a.barecat
    run_fail 1 timed cat m/small
    flip_byte a.barecat-shard-00000 0
    sleep 1.2
    run_ok timed cat m/small
    output_is small
}

@test "of a large file that was mended, no bytes of before are left" {
    mkdir tree
    head -c 2000000 /dev/urandom >tree/large
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 1000
    mounted --log="$PWD/log" a.barecat
    run_fail 1 timed cat m/large
    flip_byte a.barecat-shard-00000 1000
    for ((i = 0; i < 40; i++)); do
        sleep 0.1
        timed cat m/large >got 2>/dev/null || continue
        cmp got tree/large
        run_ok cat log
        output_has "large: is right again"
        return
    done
    fail "it is never read again"
}

@test "a shard that another file took the place of is opened anew when one of its files is damaged" {
    mkdir tree
    echo small >tree/small
    sb pack a.barecat -C tree .
    cp a.barecat-shard-00000 right
    flip_byte a.barecat-shard-00000 0
    mounted a.barecat
    run_fail 1 timed cat m/small
    mv right a.barecat-shard-00000
    sleep 1.2
    run_ok timed cat m/small
    output_is small
}

@test "a damaged file is not forgotten over others that are read in part" {
    mkdir tree
    head -c 600000 /dev/urandom >tree/large
    truncate -s 140000 tree/{1..2500}
    sb pack a.barecat -C tree .
    place=$(sql a.barecat "SELECT offset FROM files WHERE path = 'large'")
    flip_byte a.barecat-shard-00000 "$((place + 1000))"
    mounted a.barecat
    run_fail 1 timed cat m/large
    (cd m && timed head -qc 100 -- [0-9]* >/dev/null)
    run_fail 1 timed cat m/large
}

@test "bytes that are read again, when they are damaged, are not taken for the first ones" {
    mkdir tree
    head -c 1000000 /dev/urandom >tree/large
    sb pack a.barecat -C tree .
    mounted a.barecat
    run_fail 1 timed python3 - <<'END'
import os
file = os.open("m/large", os.O_RDONLY)
os.pread(file, 100000, 0)
with open("a.barecat-shard-00000", "r+b") as shard:
    shard.seek(1000)
    byte = shard.read(1)[0]
    shard.seek(1000)
    shard.write(bytes([byte ^ 1]))
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
open("m/large", "rb").read()
END
    stderr_has "Input/output error"
}

@test "with --check=open, what was kept of a file while it was damaged is not given out" {
    mkdir tree
    head -c 1000000 /dev/urandom >tree/large
    sb pack a.barecat -C tree .
    mounted --check=open a.barecat
    run_ok timed python3 - <<'END'
import os
def flip():
    with open("a.barecat-shard-00000", "r+b") as shard:
        shard.seek(1000)
        byte = shard.read(1)[0]
        shard.seek(1000)
        shard.write(bytes([byte ^ 1]))
file = os.open("m/large", os.O_RDONLY)
flip()
os.pread(file, 4096, 0)
flip()
END
    timed cmp m/large tree/large
}

# bats test_tags=threads
@test "a large file is checked in whatever order its pieces are read" {
    mkdir tree
    head -c 8000000 /dev/urandom >tree/large
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 1000
    mounted --log="$PWD/log" a.barecat
    run_fail 1 timed python3 - <<'END'
import mmap, os
size = 131072
file = os.open("m/large", os.O_RDONLY | os.O_DIRECT)
block = mmap.mmap(-1, size)
count = -(-os.fstat(file).st_size // size)
for i in [*range(0, count, 2), *range(1, count, 4), *range(3, count, 4)]:
    os.preadv(file, [block], i * size)
END
    stderr_has "Input/output error"
    run_ok cat log
    output_has "large: checksum does not match"
}

@test "extended attributes have the checksum and the place" {
    make_archive
    mounted a.barecat
    run_ok timed python3 -c '
import os
print(*sorted(os.listxattr("m/a.txt")), os.listxattr("m/sub"))
print(*(os.getxattr("m/a.txt", "user." + name).decode() for name in ("crc32c", "shard", "offset")))'
    output_is "user.crc32c user.offset user.shard []
$(sql a.barecat "SELECT printf('%08x %d %d', crc32c, shard, offset) FROM files WHERE path = 'a.txt'")"
}

@test "statfs counts the files, and directories have the links that their subdirectories make" {
    make_archive
    mounted a.barecat
    [ "$(timed stat -f -c %c m)" -eq "$(sql a.barecat 'SELECT count(*) FROM files')" ]
    [ "$(timed stat -c %h m/sub)" -eq 3 ]
}

@test "--uid and --gid show one owner of everything" {
    make_archive
    mounted --uid=1234 --gid=4321 a.barecat
    [ "$(timed stat -c '%u %g' m/a.txt m/sub m/link | sort -u)" = '1234 4321' ]
}

@test "only with --allow-other other users see it, as modes say" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    nobody() {
        timed setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    }
    chmod 711 m
    mounted a.barecat
    cd m && run_fail 2 nobody ls . && cd ..
    stderr_has 'Permission denied'
    timed "$SHARDBOX" umount m
    mounted --allow-other --uid=0 a.barecat
    cd m
    run_ok nobody cat a.txt
    run_fail 1 nobody cat one
    stderr_has 'Permission denied'
}

@test "inside a user namespace it needs no root and no helper" {
    unshare -rm true 2>/dev/null || skip 'no user namespaces'
    make_archive
    # shellcheck disable=SC2016 # for the shell that is started
    run_ok timed unshare -rm "$SHARDBOX" mount a.barecat -- sh -c 'cat "$SHARDBOX_MOUNT/a.txt"'
    output_is hello
}

@test "without any means to mount it says what an administrator can do" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    mkdir bin
    run_fail 2 timed env PATH="$PWD/bin" /usr/bin/setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$SHARDBOX" mount a.barecat m
    stderr_is "shardbox mount: m: cannot be mounted: mount: Operation not permitted; give the container CAP_SYS_ADMIN and /dev/fuse, or run it in a user namespace, by 'unshare -rm'"
}

@test "what cannot be mounted says which call has failed, and what fusermount3 said" {
    need_shim
    make_archive
    mkdir bin
    printf '#!/bin/sh\necho "fusermount3: mount failed: no luck" >&2\nexit 1\n' >bin/fusermount3
    chmod +x bin/fusermount3
    run_fail 2 faulty mount EPERM PATH="$PWD/bin:$PATH" -- a.barecat m
    [[ $stderr == "shardbox mount: m: cannot be mounted: mount: Operation not permitted; fusermount3: mount failed: no luck"* ]] ||
        fail 'not its words'
    run_fail 2 faulty open EPERM FAULT_ONWARD=1 PATH="$PWD/bin:$PATH" -- a.barecat m
    stderr_has 'm: cannot be mounted: open /dev/fuse: Operation not permitted; fusermount3: mount failed: no luck'
    run_fail 2 faulty mount EIO -- a.barecat m
    stderr_is 'shardbox mount: m: cannot be mounted: mount: Input/output error'
    run ! is_mounted m
}

@test "a device that somebody else has mounted is taken as /dev/fd/N, as Apptainer gives it" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    make_archive
    cat >apptainer.py <<'END'
import ctypes, os, subprocess, sys
device = os.open("/dev/fuse", os.O_RDWR)
os.dup2(device, 3)
libc = ctypes.CDLL(None, use_errno=True)
options = b"fd=3,rootmode=40000,user_id=0,group_id=0"
if libc.mount(b"shardbox", b"m", b"fuse.shardbox", 1 | 2 | 4, options):
    sys.exit(os.strerror(ctypes.get_errno()))
os.set_inheritable(3, True)
server = subprocess.Popen([sys.argv[1], "mount", "a.barecat", "/dev/fd/3", "-f"], pass_fds=[3])
os.close(3), os.close(device)
print(open("m/a.txt").read(), end="")
subprocess.run(["umount", "m"])
sys.exit(server.wait())
END
    run_ok timed python3 apptainer.py "$SHARDBOX"
    output_is hello
}

@test "a descriptor that is no device of FUSE is refused" {
    make_archive
    run_fail 2 timed "$SHARDBOX" mount -f a.barecat /dev/fd/0 </dev/null
    stderr_is 'shardbox mount: /dev/fd/0: is no device of FUSE; one that another program has opened goes with --foreground'
    # In the background only the first three stay open.
    exec {device}<>/dev/fuse
    run_fail 2 timed "$SHARDBOX" mount a.barecat "/dev/fd/$device"
    stderr_has 'goes with --foreground'
    exec {device}>&-
}

@test "another user, for whom fusermount3 mounts, has the same messages" {
    [[ $(id -u) -eq 0 ]] || skip 'not root'
    [[ -u $(command -v fusermount3) ]] || skip 'fusermount3 is not there, or not set-user-id'
    [[ -e /etc/mtab ]] || skip 'without /etc/mtab, fusermount3 unmounts nothing'
    need_own_mounts
    make_archive
    mknod fuse c 10 229 2>/dev/null && rm fuse || skip 'no devices can be made'
    mkdir dev
    chown 65534 m
    cat >nobody.bash <<'END'
# Where the tests are, devices may not be opened: /dev/shm is often mounted so.
mount -t tmpfs dev dev && mknod dev/fuse c 10 229 && chmod 666 dev/fuse && mount --bind dev/fuse /dev/fuse || exit
# The tests may be below a directory that others may not read.
mount --bind . /mnt && cd /mnt || exit
nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}
cp "$SHARDBOX" shardbox
nobody ./shardbox mount a.barecat m && nobody cat m/a.txt || exit
nobody bash -c 'exec {held}<m/numbers; ./shardbox umount m'
nobody ./shardbox umount m && ! nobody cat m/a.txt 2>/dev/null || exit
nobody ./shardbox umount m
nobody ./shardbox mount --log=/dev/null a.barecat m && pkill -TERM -f '^./shardbox mount .*a.barecat m$' --nslist mnt --ns $$ || exit
while grep -qF ' /mnt/m ' /proc/mounts; do sleep 0.1; done
END
    run_ok timed "${own_mounts[@]}" bash nobody.bash
    output_is hello
    stderr_is "shardbox umount: m: is in use: a program has a file open there, or is in a directory of it; --lazy unmounts it all the same
shardbox umount: m: nothing is mounted there"
}

# bats test_tags=threads
@test "new files appear within a second, and removed ones go" {
    make_archive
    mounted a.barecat
    timed ls m/sub >/dev/null
    [ ! -e m/new ]
    echo new >new
    sb pack --append a.barecat new
    sb rm a.barecat a.txt
    sleep 1.2
    [ "$(timed cat m/new)" = new ]
    [ ! -e m/a.txt ]
    timed ls m | grep -qx new
}

# bats test_tags=threads
@test "with --immutable writers are kept out, and it is the same tree" {
    make_archive
    mounted --immutable a.barecat
    same_as_tree tree m
    run timeout 1 "$SHARDBOX" rm a.barecat a.txt
    [ "$status" -eq 124 ]
    [ "$(timed cat m/a.txt)" = hello ]
    timed "$SHARDBOX" umount m
    gone
    run_ok timed "$SHARDBOX" rm a.barecat a.txt
}

# bats test_tags=threads
@test "an open file keeps its bytes while the archive is defragmented" {
    make_archive
    mounted a.barecat
    exec {held}<m/numbers
    sb rm a.barecat a.txt one sub-file
    sb defrag a.barecat
    timed cat <&"$held" | cmp - tree/numbers
    exec {held}<&-
}

# bats test_tags=threads
@test "readers are right while files are added, removed and moved" {
    mkdir tree
    for ((i = 0; i < 60; i++)); do seq "$i" "$((i + i * 100))" >"tree/f$i"; done
    sb pack --shard-size=20000 a.barecat -C tree .
    mounted a.barecat
    (for ((i = 0; i < 5; i++)); do
        seq 5000 >extra && sb pack --append a.barecat extra && sb rm a.barecat extra && sb defrag a.barecat || exit
    done) >writers 2>&1 3>&- &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        for ((i = 0; i < 60; i += 7)); do timed cmp "tree/f$i" "m/f$i" || fail "f$i"; done
    done
    wait "$pid" || fail "$(cat writers)"
}

@test "an open file that is renamed is read on at once, and a link is not another's" {
    mkdir tree
    head -c 3000000 /dev/urandom >tree/large
    ln -s first tree/a
    ln -s other tree/b
    sb pack a.barecat -C tree .
    sql a.barecat "UPDATE files SET crc32c = NULL WHERE path IN ('a', 'b')"
    mounted a.barecat
    run_ok timed python3 - "$SHARDBOX" <<'END'
import os, subprocess, sys
def move(*names):
    subprocess.run([sys.argv[1], "mv", "a.barecat", *names], check=True)
with open("tree/large", "rb") as tree, open("m/large", "rb", buffering=0) as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
    os.pread(file.fileno(), 10, 0)
    move("large", "moved")
    assert os.pread(file.fileno(), 1000, 2000000) == tree.read()[2000000:2001000]
link = os.open("m/a", os.O_PATH | os.O_NOFOLLOW)
move("a", "c")
move("b", "a")
print(os.readlink("", dir_fd=link))
END
    output_is first
}

@test "a handle of a directory without a row is stale when its files go elsewhere" {
    mkdir -p tree/a tree/b
    touch tree/a/1 tree/a/2 tree/b/2
    sb pack a.barecat -C tree .
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers'; DELETE FROM dirs WHERE path <> ''"
    mounted a.barecat
    run_ok timed python3 - "$SHARDBOX" <<'END'
import errno, os, subprocess, sys, time
handle = os.open("m/a", os.O_RDONLY)
subprocess.run([sys.argv[1], "mv", "a.barecat", "a/1", "b/1"], check=True)
time.sleep(1.2)
try:
    print(os.listdir(handle))
except OSError as e:
    print(errno.errorcode[e.errno])
END
    output_is ESTALE
    run_ok ls m/a
    output_is 2
}

@test "a listing goes on where files of it were removed" {
    mkdir -p tree/many
    (cd tree/many && seq -f 'file-%08.0f' 20000 | xargs touch)
    sb pack a.barecat -C tree .
    mounted a.barecat
    run_ok timed python3 - "$SHARDBOX" <<'END'
import os, subprocess, sys
names = []
with os.scandir("m/many") as entries:
    for entry in entries:
        names.append(entry.name)
        if len(names) in (2000, 9000):
            gone = names[-1500:]
            subprocess.run([sys.argv[1], "rm", "a.barecat", *("many/" + name for name in gone)], check=True)
assert len(set(names)) == len(names)
assert {f"file-{i:08}" for i in range(12000, 20001)} <= set(names)
END
}

@test "a listing goes on where its last file was renamed, with attributes or without" {
    mkdir -p tree/many
    (cd tree/many && seq -f 'file-%08.0f' 60000 | xargs touch)
    sb pack a.barecat -C tree .
    mounted a.barecat
    for change in 'mv a.barecat %s many/other' 'rm a.barecat %s'; do
        run_ok timed python3 - "$SHARDBOX" "$change" <<'END'
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
directory = os.open("m/many", os.O_RDONLY)
block = ctypes.create_string_buffer(65536)
names = []
expected = set(os.listdir("m/many"))
for count in range(10**6):
    size = libc.syscall(217, directory, block, len(block))
    assert size >= 0
    if size == 0:
        break
    at = 0
    while at < size:
        entry = int.from_bytes(block.raw[at + 16 : at + 18], "little")
        names.append(block.raw[at + 19 : at + entry].split(b"\0")[0].decode())
        at += entry
    if count == 3:
        last = names[-1]
        subprocess.run([sys.argv[1], *(sys.argv[2] % ("many/" + last)).split()], check=True)
        os.stat("m/many/" + names[-20])
assert not expected - {last} - set(names)
assert len(set(names)) == len(names)
END
    done
}

# bats test_tags=threads
@test "a request that waits for a writer's lock does not keep others waiting" {
    make_archive
    cp a.barecat b.barecat
    cp a.barecat-shard-00000 b.barecat-shard-00000
    mounted a.barecat b.barecat
    run_ok timed python3 - <<'END'
import os, sqlite3, threading, time
os.stat("m/a.barecat/a.txt"), os.stat("m/b.barecat/a.txt")
writer = sqlite3.connect("b.barecat", isolation_level=None)
writer.execute("BEGIN EXCLUSIVE")
time.sleep(1.2)
found = []
waits = threading.Thread(target=lambda: found.append(os.stat("m/b.barecat/a.txt").st_size))
waits.start()
time.sleep(0.3)
open("m/a.barecat/a.txt").read()
assert waits.is_alive()
writer.execute("ROLLBACK")
waits.join()
assert found == [os.stat("m/a.barecat/a.txt").st_size]
END
}

# bats test_tags=threads
@test "what a killed writer of another program left is undone" {
    make_archive
    mounted a.barecat
    run_ok timed python3 - <<'END'
import os, sqlite3
if os.fork() == 0:
    writer = sqlite3.connect("a.barecat", isolation_level=None)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE config SET value_int = 0 WHERE key = 'use_triggers'")
    writer.executemany("INSERT INTO files (path, shard, offset, size) VALUES (?, 0, 0, 1)", ((f"new-{i}",) for i in range(3000)))
    os.kill(os.getpid(), 9)
os.wait()
assert os.path.getsize("a.barecat-journal") > 0
END
    sleep 1.2
    timed diff -r --no-dereference m tree
    [ ! -e a.barecat-journal ]
}

@test "when another archive took its place, open files are stale, and the rest is the new one" {
    make_archive
    mkdir other
    echo other >other/other
    mounted --no-check a.barecat
    exec {held}<m/numbers
    sb pack --force a.barecat -C other .
    sleep 1.2
    [ "$(timed cat m/other)" = other ]
    [ "$(timed ls m)" = other ]
    run_fail 1 timed cat <&"$held"
    stderr_has 'Stale file handle'
    exec {held}<&-
}

# bats test_tags=threads
@test "a tar that is written to, or replaced, ends in ESTALE for what is open, and is read anew" {
    mkdir tree
    seq 100000 >tree/a
    tar cf a.tar -C tree a
    seq 100001 200000 | head -c "$(stat -c %s tree/a)" >tree/b
    mv tree/b tree/a
    tar cf b.tar -C tree a
    mounted a.tar
    run_ok timed python3 - <<'END'
import errno, os, shutil, time
def expect(name):
    with open(name, "rb") as tar:
        assert open("m/a", "rb").read() == tar.read()[512:][:os.path.getsize("tree/a")]
def stale(file):
    try:
        os.pread(file.fileno(), 1000, 100000)
    except OSError as e:
        assert e.errno == errno.ESTALE, e
    else:
        assert False
for write in lambda: shutil.copyfile("b.tar", "a.tar"), lambda: (os.rename("a.tar", "old.tar"), os.rename("b.tar", "a.tar")):
    expect("a.tar")
    with open("m/a", "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        write()
        time.sleep(1.2)
        expect("a.tar")
        stale(file)
    shutil.copyfile("a.tar", "b.tar")
END
}

@test "a tar that is written to is read anew, also if its time is set back" {
    mkdir tree
    seq 100000 >tree/a
    tar cf a.tar -C tree a
    mounted a.tar
    timed cmp m/a tree/a
    touch -r a.tar time
    tac tree/a >tree/b && mv tree/b tree/a
    tar cf b.tar -C tree a
    cat b.tar >a.tar
    touch -r time a.tar
    sleep 1.2
    timed cmp m/a tree/a
}

@test "of a zip that is replaced again and again the last one is read, and what is open is stale" {
    every_third_day
    python3 - <<'END'
import zipfile
for version in range(9):
    content = b"%07d\n" % version * 50000
    with zipfile.ZipFile(f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr(zipfile.ZipInfo("a", (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    open(f"{version}.txt", "wb").write(content)
END
    mv 0.zip a.zip
    mounted a.zip
    exec 7<m/a
    run_ok timed head -c 8 <&7
    for version in {1..8}; do
        mv "$version.zip" a.zip
        sleep 1.1
        timed cmp m/a "$version.txt"
        run_fail 1 timed tail -c 8 <&7
        stderr_has "Stale file handle"
    done
    exec 7<&-
}

@test "a shard that vanishes is an error of its files alone" {
    mkdir tree
    head -c 3000 /dev/zero >tree/a
    head -c 3000 /dev/zero >tree/b
    sb pack --shard-size=3000 a.barecat -C tree .
    mv a.barecat-shard-00001 away
    mounted --log="$PWD/log" a.barecat
    timed cmp tree/a m/a
    run_fail 1 timed cat m/b
    stderr_has 'Input/output error'
    grep -q 'b: .*a.barecat-shard-00001' log
    mv away a.barecat-shard-00001
    sleep 1.2
    timed cmp tree/b m/b
}

@test "--readahead takes small files that are read as they are stored out of one read" {
    mkdir tree
    for ((i = 100; i < 400; i++)); do seq "$i" "$((i + i))" >"tree/f$i"; done
    sb pack a.barecat -C tree .
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset FROM files WHERE path = 'f300'")"
    need_slow
    LD_PRELOAD=$SLOW_SHIM SLOW_ROOT=$PWD SLOW_MICROSECONDS=0 SLOW_LOG=$PWD/calls \
        "$SHARDBOX" mount --foreground --readahead=4M --log="$PWD/log" a.barecat m 3>&- &
    await is_mounted m
    run_fail 2 timed cmp m/f300 tree/f300
    for ((i = 100; i < 400; i++)); do
        ((i == 300)) || cmp "m/f$i" "tree/f$i"
    done
    timed "$SHARDBOX" umount m
    gone
    reads=$(grep -c '^read .*a.barecat-shard-00000$' calls)
    ((reads > 0 && reads < 20)) || fail "$reads reads"
    [ "$(grep -c 'f300: ' log)" -eq 1 ]
}

# bats test_tags=threads
@test "threads are started for requests that wait, up to 16, or as many as --threads says" {
    local options least most count i readers
    mkdir tree
    for ((i = 0; i < 24; i++)); do seq "$i" 1000 >"tree/f$i"; done
    sb pack a.barecat -C tree .
    need_slow
    while read -r least most options; do
        # shellcheck disable=SC2086 # none, or one
        LD_PRELOAD=$SLOW_SHIM SLOW_ROOT=$PWD/a.barecat-shard-00000 SLOW_MICROSECONDS=300000 \
            "$SHARDBOX" mount --foreground $options a.barecat m 3>&- &
        await is_mounted m
        count=$(ls "/proc/$(server)/task" | wc -l)
        readers=()
        for ((i = 0; i < 24; i++)); do
            timed cmp "tree/f$i" "m/f$i" 3>&- &
            readers+=($!)
        done
        wait "${readers[@]}"
        count=$(($(ls "/proc/$(server)/task" | wc -l) - count + 1))
        ((count >= least && count <= most)) || fail "$count threads answer with '$options'"
        timed "$SHARDBOX" umount m
        wait
    done <<'END'
10 16
3 3 --threads=3
END
}

# bats test_tags=threads
@test "--readahead gives right bytes to several readers while the archive is changed" {
    mkdir tree
    for ((i = 100; i < 300; i++)); do seq "$i" "$((i + i))" >"tree/f$i"; done
    sb pack a.barecat -C tree .
    mounted --readahead=64K a.barecat
    for part in 1 2 3; do
        for ((i = 101; i < 300; i++)); do cmp "m/f$i" "tree/f$i" || echo "f$i"; done >"bad$part" 2>&1 3>&- &
    done
    sb rm a.barecat f100
    sb defrag a.barecat
    wait
    [ -z "$(cat bad?)" ] || fail "$(cat bad?)"
}

@test "names that no file system can hold are left out, and logged" {
    make_archive
    sql a.barecat "UPDATE files SET path = 'sub/../../x' WHERE path = 'one';
        UPDATE files SET path = '..' WHERE path = 'a.txt';
        UPDATE files SET path = printf('%.*c', 2000, 'x') WHERE path = 'empty'" || true
    mounted --log="$PWD/log" a.barecat
    run_ok timed find m -name '*x*' -printf '%f\n'
    output_lacks xxxx
    timed ls -a m >names
    [ "$(grep -cx '\.\.' names)" -eq 1 ]
    grep -q 'left out of its directory' log
}

@test "names that are not UTF-8, or have control characters, are what they are" {
    make_tree tree
    make_raw_names tree
    sb pack a.barecat -C tree .
    mounted a.barecat
    same_as_tree tree m
    [ "$(timed cat m/$'caf\xe9')" = latin ]
}

@test "one name of a file and a directory is a file, in listings and look-ups" {
    make_archive
    sql a.barecat "UPDATE files SET path = 'sub' WHERE path = 'one'"
    mounted a.barecat
    [ "$(timed ls m | grep -cx sub)" -eq 1 ]
    [ "$(timed stat -c %F m/sub)" = 'regular file' ]
    [ "$(timed find m -maxdepth 1 -name sub -printf %y)" = f ]
}

@test "a row that cannot be used is named, and its look-up fails" {
    make_archive
    sql a.barecat "UPDATE files SET size = -1 WHERE path = 'one'"
    mounted --log="$PWD/log" a.barecat
    timed ls m | grep -qx one
    run_fail 1 timed cat m/one
    stderr_has 'Input/output error'
    grep -q 'one: .*size is negative' log
}

@test "directories without rows exist, as everywhere" {
    make_archive
    sql a.barecat "DELETE FROM dirs"
    mounted a.barecat
    (cd tree && find . -type f | LC_ALL=C sort) >expected
    (cd m && timed find . -type f | LC_ALL=C sort) >names
    cmp expected names
    timed cmp tree/sub/dir/file.bin m/sub/dir/file.bin
}

@test "a listing has the types and numbers of files, also where it is too long for their attributes" {
    mkdir -p tree/many
    (
        cd tree/many
        seq -f 'file-%08.0f' 20000 | xargs touch
        seq -f 'link-%04.0f' 100 | xargs -n 1 ln -s target
        seq -f 'below-%04.0f' 100 | xargs mkdir
    )
    sb pack a.barecat -C tree .
    mounted a.barecat
    run_ok timed python3 - <<'END'
import os
seen = {"file": 0, "link": 0, "below": 0}
with os.scandir("m/many") as entries:
    for entry in entries:
        seen[entry.name.split("-")[0]] += 1
        status = os.lstat(entry.path)
        assert entry.inode() == status.st_ino, entry.name
        assert entry.is_symlink() == entry.name.startswith("link"), entry.name
        assert entry.is_dir(follow_symlinks=False) == entry.name.startswith("below"), entry.name
print(seen)
END
    output_is "{'file': 20000, 'link': 100, 'below': 100}"
}

# bats test_tags=threads
@test "a large directory is listed once, from any place" {
    mkdir -p tree/many
    (cd tree/many && seq 5000 | xargs touch)
    sb pack a.barecat -C tree .
    mounted a.barecat
    sb find --type=f a.barecat | LC_ALL=C sort >found
    (cd m && timed find . -type f -printf '%P\n') | LC_ALL=C sort >names
    cmp found names
    run_ok timed python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
for name in "opendir readdir telldir seekdir closedir".split():
    getattr(libc, name).argtypes = [ctypes.c_void_p] + [ctypes.c_long] * (name == "seekdir")
top = max(((len(files) + len(dirs), path) for path, dirs, files in os.walk("m")))[1]
handle = libc.opendir(ctypes.c_char_p(top.encode()))
def name(entry):
    return ctypes.string_at(entry + 19)
places, names = [], []
while True:
    places.append(libc.telldir(handle))
    entry = libc.readdir(handle)
    if not entry:
        break
    names.append(name(entry))
assert len(set(names)) == len(names)
for i in (0, 2, 3, len(names) // 2, len(names) - 1):
    libc.seekdir(handle, places[i])
    assert name(libc.readdir(handle)) == names[i], i
libc.closedir(handle)
END
}

# bats test_tags=threads
@test "processes that fork read at once, each its own part" {
    mkdir tree
    for ((i = 0; i < 40; i++)); do seq "$i" "$((i * 700))" >"tree/f$i"; done
    sb pack a.barecat -C tree .
    mounted a.barecat
    run_ok timed python3 - <<'END'
import os
names = sorted(os.listdir("m"))
held = open("m/f39", "rb")
children = []
for worker in range(4):
    child = os.fork()
    if child == 0:
        good = all(open("m/" + n, "rb").read() == open("tree/" + n, "rb").read()
                   for n in names[worker::4] * 3)
        good = good and os.pread(held.fileno(), 100, worker * 1000) == \
            open("tree/f39", "rb").read()[worker * 1000:worker * 1000 + 100]
        os._exit(not good)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
END
}

@test "a directory that has the container in it is refused, since the mount would hide that" {
    make_archive
    sb convert a.barecat a.tar
    printf 'one\ntwo\n' | sb convert --frame=line - m/a.bagz
    mkdir m/sub
    refused() {
        run_fail 2 timed "$SHARDBOX" mount "$@"
        stderr_has ': is inside of '
        stderr_has ', and what is mounted there would hide it; mount it at another directory'
        run ! is_mounted m
    }
    mv a.barecat* m/sub
    mv a.tar m
    refused m/sub/a.barecat m
    refused m/sub/a.barecat "$PWD/m/"
    refused m/a.tar m
    refused m/a.bagz m
    refused m/sub/a.barecat --at=m -- true
    # By links: of the index, of the directory, of a shard.
    ln -s m/sub/a.barecat linked.barecat
    refused linked.barecat m
    ln -s m link
    refused m/a.tar link
    sb merge-symlink m/sub/a.barecat both.barecat
    refused both.barecat m
    printf 'three\n' | sb convert --frame=line - other.bagz
    refused other.bagz,m/a.bagz m
    # Where members of a zip are unpacked; an archive has none.
    mkdir m/temporary
    sb convert m/a.tar beside.barecat
    sb convert m/a.tar a.zip
    TMPDIR=$PWD/m/temporary refused a.zip m
    # Anything else may be hidden.
    export TMPDIR=$PWD/m/temporary
    run_ok timed "$SHARDBOX" mount beside.barecat m
    same_as_tree tree m
}

@test "wrong uses are named" {
    make_archive
    run_fail 2 timed "$SHARDBOX" mount
    stderr_is "shardbox mount: no CONTAINER given; try 'shardbox mount --help'"
    run_fail 2 timed "$SHARDBOX" mount a.barecat
    stderr_is "shardbox mount: no DIR given, where a.barecat is to be mounted; try 'shardbox mount --help'"
    run_fail 2 mounted --readahead=1M --no-check a.barecat
    stderr_has '--readahead needs checksums: it excludes --no-check'
    run_fail 2 mounted --union a.barecat
    stderr_has '--union is for several containers'
    run_fail 2 timed "$SHARDBOX" mount - m
    stderr_has 'standard input can only be read from end to end'
    run_fail 2 timed "$SHARDBOX" mount a.barecat no-such-dir
    stderr_has 'no-such-dir: No such file or directory'
    run_fail 2 timed "$SHARDBOX" mount a.barecat a.barecat-shard-00000
    stderr_has 'Not a directory'
    run_fail 2 mounted no-such.barecat
    stderr_has 'no-such.barecat: '
}
