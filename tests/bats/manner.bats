# What is alike in all commands: options that several have, what they replace, print and leave.

load helper

# Two trees: `same`, `link` and `large` are alike, `other` is not, and each has a file of its own.
make_pair() {
    mkdir -p one/d two/d
    seq 500000 >one/large
    cp one/large two/large
    echo same | tee one/same >two/same
    ln -s same one/link
    ln -s same two/link
    ln one/same one/z-again
    ln two/same two/z-again
    echo 1 >one/d/1
    echo 2 >two/d/2
    local name
    for name in one two; do
        [[ -z ${1-} ]] || echo "$name" >$name/other
        tar cf $name.tar -C $name .
        sb pack $name.barecat -C $name .
        (cd $name && zip -qry ../$name.zip .)
    done
}

@test "two files of one name with the same bytes are no conflict, whatever holds them" {
    make_pair
    for inputs in 'one two' 'one.tar two.tar' 'one.barecat two.barecat' 'one.zip two.zip' 'one.tar two.zip' 'one.barecat two'; do
        read -ra inputs <<<"$inputs"
        for target in out.barecat out.tar out.zip out/; do
            run_ok sb convert -n -q "${inputs[@]}" "$target"
            stderr_lacks ' and in '
            [[ ! -e $target ]]
            run_ok sb convert "${inputs[@]}" "$target"
            [[ $(grep -c -v 'not held by\|hard link' <<<"$stderr") == 0 || -z $stderr ]] || fail "said"
            [[ $target == */ ]] || [[ $(sb cat "$target" same d/1 d/2) == $'same\n1\n2' ]]
            rm -r "${target%/}"*
        done
        run_ok sb merge -q "${inputs[@]}" out.barecat
        stderr_is ""
        run_ok sb verify --strict out.barecat
        # Nothing is stored twice.
        (($(stat -c %s out.barecat-shard-00000) == $(sql out.barecat "SELECT sum(size) FROM files")))
        rm out.barecat*
        sb pack out.barecat -C one .
        before=$(stat -c %s out.barecat-shard-00000)
        for command in 'convert -q --append' 'merge -q --append'; do
            # shellcheck disable=SC2086 # words
            run_ok sb $command "${inputs[1]}" out.barecat
            stderr_is ""
        done
        (($(stat -c %s out.barecat-shard-00000) == before + 2))
        rm out.barecat*
    done
    sb pack out.barecat -C one .
    run_ok sb pack -q --append out.barecat -C two .
    stderr_is ""
    run_ok sb pack -qf out.barecat -C one . -C ../two .
    run_ok sb verify --strict out.barecat
}

@test "a conflict is named with both places, in every command, and --duplicates is the same in all" {
    make_pair other
    for input in '' .tar .barecat .zip; do
        run_fail 1 sb convert -q one$input two$input out.barecat
        stderr_is "shardbox convert: other: is in one$input and in two$input; only the first is taken (see --duplicates)
shardbox convert: out.barecat: done in part; problems, named above: 1"
        [[ $(sb cat out.barecat other) == one ]]
        rm out.barecat*
        run_fail 1 sb merge -q one$input two$input out.barecat
        stderr_is "shardbox merge: other: is in one$input and in two$input; only the first is taken (see --duplicates, --prefix and --as-subdirs)
shardbox merge: out.barecat: done in part; problems, named above: 1"
        [[ $(sb cat out.barecat other) == one ]]
        rm out.barecat*
        for which in first last; do
            for command in convert merge; do
                run_ok sb $command -q --duplicates=$which one$input two$input out.barecat
                [[ $(sb cat out.barecat other) == $([[ $which == first ]] && echo one || echo two) ]]
                rm out.barecat*
            done
        done
    done
    run_fail 1 sb pack out.barecat -C one . -C ../two .
    stderr_has "'other' was already given as ./other; left out (see --duplicates)"
    [[ $(grep -c 'already given' <<<"$stderr") == 1 ]]
    for command in pack convert merge; do
        run_ok sb $command --help-all
        grep -A2 -- ' --duplicates=WHICH' <<<"$output" | tr -d ' \n' | grep -q '{error|first|last}'
    done
}

# on_terminal COLUMNS COMMAND...: what the command writes to a terminal of that width, into `screen`;
# what it writes to stdout is left out.
on_terminal() {
    local columns=$1 command
    shift
    printf -v command '%q ' "$@"
    script -qec "stty cols $columns; $command >/dev/null" typescript </dev/null >/dev/null || fail "$command"
    sed '1d;$d' typescript | tr -d '\n' >screen
}

@test "a progress line says how much and how fast, is cut to the terminal, cleared, and only there" {
    every_third_day
    mkdir t
    local i
    for ((i = 0; i < 400; i++)); do
        head -c 100000 /dev/zero >"t/$i"
    done
    sb pack -q a.barecat -C t .
    tar cf a.tar -C t .
    cp a.barecat b.barecat
    cp a.barecat-shard-00000 b.barecat-shard-00000
    for command in 'pack x.barecat -C t .' 'convert a.barecat x.tar' 'unpack -C out a.tar' 'merge a.tar y.barecat' \
        'split --parts=2 -o z{}.barecat a.barecat' 'verify a.barecat' 'verify a.tar' 'diff -C t a.barecat' 'cat a.barecat' \
        'split --shard-size=20M b.barecat'; do
        rm -rf x* y* z* out
        mkdir out
        # shellcheck disable=SC2086 # words
        on_terminal 30 "$SHARDBOX" $command --bwlimit=40M
        grep -q "shardbox ${command%% *}: [0-9.]*[KM]" screen || fail "$command: no progress: $(<screen)"
        tr '\r' '\n' <screen | sed 's/\x1b\[K//' | grep '^shardbox [a-z]*: [0-9.]*[KM]' >shown
        run ! grep -E '.{30}' shown
        (($(wc -l <shown) <= 20)) || fail "$command: flickers"
        rm -rf x* y* z* out
        mkdir out
        [[ $command != *shard-size* ]] || continue
        # shellcheck disable=SC2086 # words
        run --separate-stderr sb $command --bwlimit=80M
        stderr_lacks 'M/s'
    done
    on_terminal 200 "$SHARDBOX" verify --bwlimit=20M a.barecat
    grep -qaE 'verify: [0-9.]+M of [0-9]+M, [0-9]+%, .*M/s, 0:0[0-9] left' screen || fail "$(<screen)"
    tail -c 4 screen | cmp - <(printf '\r\e[K')
}

# Everything below this directory, as a run that changes nothing leaves it.
on_disk() {
    find . ! -name before ! -name after ! -name 'separate-stderr*' ! -path . -printf '%p %i %m %s %T@ %C@ %n %l\n' | sort
}

@test "-n lists what would change and nothing else, and changes nothing on disk" {
    mkdir -p t/d t/e o
    echo one >t/d/1
    echo two >t/d/2
    sb pack -q a.barecat -C t .
    sb pack -q b.barecat --prefix=b -C t .
    cp -a t u
    echo n >u/new
    chmod 600 u/d/2
    sb convert -q a.barecat a.tar
    sb pack -q damaged.barecat -C t .
    flip_byte damaged.barecat-shard-00000 1
    sb pack -q gap.barecat -C t .
    sb rm -q gap.barecat d/1
    sb pack -q old.barecat -C t .
    sql old.barecat "UPDATE config SET value_int = 2 WHERE key = 'schema_version_minor'"
    on_disk >before
    # A line each: the command, then what it prints, sorted.
    while IFS='|' read -r command wanted; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr sb $command
        refuse_crash
        [[ $(sort <<<"$output" | paste -sd' ') == "$wanted" ]] || fail "$command"
        [[ $command == verify* ]] || stderr_is ""
        on_disk >after
        diff before after >&2 || fail "$command changes the disk"
    done <<'END'
pack -n o/x.barecat -C t .|. d d/1 d/2 e
pack -n --append --update a.barecat -C t .|
pack -n --append --update a.barecat -C u .|. d/2 new
unpack -n -C u a.barecat --existing=replace|d/1 d/2
convert -n a.barecat o/x.tar|. d d/1 d/2 e
convert -n a.tar o/x.zip|d d/1 d/2 e
convert -n a.tar o/x.barecat|. d d/1 d/2 e
convert -n a.tar o/x/|d d/1 d/2 e
rm -n a.barecat d/1|d/1
rm -n -r a.barecat d|d d/1 d/2
rm -n -d a.barecat e|e
mv -n a.barecat d/1 d/9|d/1 -> d/9
merge -n a.barecat b.barecat o/x.barecat|. b b/d b/d/1 b/d/2 b/e d d/1 d/2 e
merge-symlink -n -o o/x.barecat a.barecat b.barecat|b/d/1 b/d/2 d/1 d/2
defrag -n a.barecat|
verify -n --repair-from=t damaged.barecat|d/1
upgrade -n a.barecat|
upgrade -n old.barecat|would build an index of schema 0.3 from one of 0.2
END
    run_ok sb defrag -n gap.barecat
    output_has "back"
    run_ok sb split -n --shard-size=5 a.barecat
    output_is "shards: 1, would be: 2; files to move: 1 (4)"
    on_disk | diff before - >&2
}

@test "stdout on a full disk is an error in every command that prints" {
    mkdir -p t/d
    seq 20000 >t/d/1
    sb pack -q a.barecat -C t .
    sb pack -q b.barecat -C t .
    sb rm -q b.barecat d/1
    sb pack -q c.barecat -C t .
    flip_byte c.barecat-shard-00000 0
    seq 4 | tee t/d/2 >t/d/3
    sb pack -q d.barecat -C t .
    rm t/d/[23]
    while read -r command; do
        # shellcheck disable=SC2086 # words
        run_fail 2 bash -c '"$SHARDBOX" "$@" >/dev/full' - $command
        stderr_has "standard output: cannot write: No space left on device"
    done <<'END'
--help
--list
--version
pack --help
ls a.barecat
ls --json a.barecat
ls --shards a.barecat
find a.barecat
find --json a.barecat
du a.barecat
cat a.barecat
cat --frame=tar a.barecat
diff -C t b.barecat
verify --json c.barecat
convert --to=tar a.barecat -
convert --to=zip a.barecat -
convert --to=bag a.barecat -
pack -n x.barecat -C t .
convert -n a.barecat x.tar
unpack -n -C out a.barecat
rm -n a.barecat d/1
mv -n a.barecat d/1 d/2
merge -n a.barecat x.barecat
merge-symlink -n a.barecat x.barecat
split -n --shard-size=10 d.barecat
defrag -n b.barecat
END
    [[ ! -e x.barecat && $(sb find --type=f a.barecat) == d/1 ]]
}

# on_small_disk COMMAND...: in a file system of 64 kB, `small`, which goes when the command ends;
# then prints what is there.
on_small_disk() {
    mkdir -p small
    unshare -rm bash -c 'mount -t tmpfs -o size=64k,nr_inodes=200 none small && { "$@"; status=$?; ls -A small >&3; exit $status; }' - \
        "$SHARDBOX" "$@" 3>left
}

@test "an output on a disk that is full: status 2, nothing half made, what was there stays" {
    need_read_only
    mkdir t
    seq 60000 >t/1
    sb pack -q a.barecat -C t .
    tar cf a.tar -C t .
    while read -r command; do
        # shellcheck disable=SC2086 # words
        run_fail 2 on_small_disk $command
        stderr_has "No space left on device"
        [[ ! -s left ]] || fail "$command left $(<left)"
    done <<'END'
pack small/x.barecat -C t .
convert a.barecat small/x.tar
convert a.barecat small/x.zip --method=store
convert a.barecat small/x.bag
convert a.tar small/x.barecat
merge a.tar small/x.barecat
split --parts=2 -o small/{}.tar a.barecat
END
    run_fail 2 on_small_disk unpack -C small a.barecat
    [[ ! -s left ]] || fail "unpack left $(<left)"
}

@test "--wait waits for another writer, in every command that writes; without it the run ends at once" {
    every_third_day
    mkdir t
    echo 1 >t/1
    for name in a b c; do
        sb pack -q $name.barecat -C t .
    done
    echo 2 >t/2
    sb pack -q --append b.barecat -C t 2
    sb merge-symlink -o v.barecat c.barecat
    flip_byte a.barecat-shard-00000 0
    mkfifo pipe
    # Holds the lock of each while it waits for its input.
    for name in a v; do
        "$SHARDBOX" pack -q --append --seal --wait=1m --stdin-name=held $name.barecat - <pipe &
        pid=$!
        exec 9>pipe
        # It has the lock a moment before it has written who it is.
        until "$SHARDBOX" rm -q -f $name.barecat none 2>&1 | grep -q "process $pid is"; do
            sleep 0.02
        done
        while read -r target command; do
            [[ $target == "$name" ]] || continue
            # shellcheck disable=SC2086 # words
            run_fail 2 within 5 "$SHARDBOX" $command
            stderr_has "process $pid is writing this archive"
            # shellcheck disable=SC2086 # words
            run_fail 2 within 10 "$SHARDBOX" $command --wait=1s
            stderr_has "process $pid is writing this archive"
        done <<'END'
a pack --append a.barecat -C t 2
a pack --force a.barecat -C t 2
a convert --append b.barecat a.barecat
a convert --force b.barecat a.barecat
a merge --append b.barecat a.barecat
a rm a.barecat 1
a mv a.barecat 1 3
a defrag a.barecat
a split --shard-size=5 a.barecat
a verify --repair-from=t a.barecat
a upgrade a.barecat
v merge-symlink --append -o v.barecat b.barecat
END
        "$SHARDBOX" rm --wait $name.barecat 1 2>waited 9>&- &
        waiter=$!
        sleep 0.3
        kill -0 $waiter
        echo x >&9
        exec 9>&-
        wait $pid
        wait $waiter
        [[ $(sb find --type=f $name.barecat) == held ]]
    done
    run_fail 2 sb rm --wait=x a.barecat 1
    stderr_has "--wait: 'x' is no time, such as 90s, 5m, 2h or 1d"
}

@test "rm -d removes empty directories only, and names the others" {
    mkdir -p t/full t/empty/inner
    echo x >t/full/x
    sb pack -q a.barecat -C t .
    run_fail 1 sb rm a.barecat empty/inner
    stderr_has "empty/inner: is a directory; -r removes it with all that is below it"
    run_fail 1 sb rm -d a.barecat full empty
    stderr_has "full: is a directory that is not empty; -r removes it with all that is below it"
    [[ $(sb find a.barecat | paste -sd' ') == 'empty empty/inner full full/x' ]]
    run_ok sb rm -d a.barecat empty/inner
    run_ok sb rm -d a.barecat empty full/x
    run_ok sb rm -d a.barecat full
    [[ -z $(sb find a.barecat) ]]
    run_ok sb verify --strict a.barecat
}

@test "SIGINT and SIGTERM end a long command quietly, and no temporary file stays" {
    every_third_day
    mkdir t
    local i
    for ((i = 0; i < 200; i++)); do
        head -c 100000 /dev/zero >"t/$i"
    done
    sb pack -q a.barecat -C t .
    tar cf a.tar -C t .
    sb pack -q c.barecat -C t .
    on_disk | awk '{ print $1 }' >before
    while read -r command; do
        for signal in INT TERM; do
            # shellcheck disable=SC2086 # words
            run --separate-stderr timeout --signal=$signal 0.4 env -u X "$SHARDBOX" $command --bwlimit=5M
            [[ $stderr == "shardbox ${command%% *}: interrupted"* || -z $stderr ]] || fail "$command: $signal"
            rm -rf out
            on_disk | awk '{ print $1 }' >after
            diff before after >&2 || fail "$command: $signal left it"
        done
    done <<'END'
pack x.barecat -C t .
convert a.barecat x.tar
convert a.tar x.barecat
convert a.barecat x.zip
convert a.barecat x.bag
merge a.tar x.barecat
split --parts=2 -o x{}.barecat a.barecat
unpack -C out a.tar
verify a.barecat
verify a.tar
diff -C t a.barecat
END
    # What rearranges an archive stops where it is whole, and says so.
    run --separate-stderr timeout --signal=INT 0.4 "$SHARDBOX" split --shard-size=1M --bwlimit=5M c.barecat
    stderr_is "shardbox split: interrupted
shardbox split: c.barecat: is whole; run the same command again to go on"
    run_ok sb verify c.barecat
    run_ok sb split --shard-size=1M c.barecat
    run_ok sb verify c.barecat
}

@test "a reader that has enough ends a command without a word" {
    mkdir t
    seq 200000 >t/1
    touch t/x{1..3000}
    sb pack -q a.barecat -C t .
    for command in 'cat a.barecat' 'ls a.barecat' 'find a.barecat' 'find --json a.barecat' 'convert --to=tar a.barecat -' \
        'pack -n x.barecat -C t .' 'unpack -n -C out a.barecat' 'rm -n -r a.barecat *' 'diff -C . a.barecat'; do
        run_ok bash -c 'set -f; "$SHARDBOX" $1 | head -c 1 >/dev/null' - "$command"
        stderr_lacks 'roken pipe'
    done
}

# fails_with WORD COMMAND...: its last object says so, and has the message.
fails_with() {
    local word=$1
    shift
    capture "$@"
    refuse_crash "$@" || return
    ((status > 0)) || fail "did not fail: $*"
    [[ $(tail -n 1 <<<"$output" | jq -r .failure) == "$word" ]] || fail "not $word: $*"
    [[ $stderr == *"$(tail -n 1 <<<"$output" | jq -r .text)"* ]] || fail "not the message: $*"
}

@test "a run with --json that fails ends with an object that has one word for it" {
    make_archive
    echo text >text
    truncate -s 5000 short.barecat
    while read -r command; do
        # shellcheck disable=SC2086 # words
        fails_with missing sb $command
    done <<'LIST'
ls --json nope
find --json nope
du --json nope
verify --json nope
defrag --json nope
split --json --parts=2 -o p-{} nope
sync --json nope a.barecat
diff --json -C nope a.barecat
LIST
    fails_with usage sb ls --json --no-such-option a.barecat
    fails_with format sb verify --json text
    fails_with format sb defrag --json text
    run_ok sb ls --json a.barecat
    [[ $output != *failure* ]]
    run_fail 2 sb ls --csv nope
    output_is ''
}

@test "busy, full, unreadable and without locks are words of their own" {
    need_shim
    make_archive
    fault() {
        env FAULT_CALLS="$1" FAULT_HOW="$2" FAULT_AT=2 FAULT_ONWARD=1 LD_PRELOAD="$FAULT_SHIM" "$RELEASE_SHARDBOX" "${@:3}"
    }
    fails_with unreadable fault read EIO ls --json a.barecat
    sb rm -q a.barecat numbers
    fails_with no-space fault write ENOSPC defrag --json --quick a.barecat
    fails_with no-space fault write EDQUOT defrag --json --quick a.barecat
    fails_with no-locks fault lock ENOLCK defrag --json a.barecat
    mkfifo pipe
    "$SHARDBOX" pack --append --stdin-name=piped a.barecat - <pipe &
    writer=$!
    exec 7>pipe
    echo begun >&7
    for _ in {1..50}; do
        capture env SHARDBOX_LOCK_WAIT=0 "$SHARDBOX" defrag --json a.barecat
        ((status == 0)) || break
        sleep 0.1
    done
    exec 7>&-
    wait "$writer"
    [[ $(tail -n 1 <<<"$output" | jq -r .failure) == locked ]] || fail 'not locked'
}

@test "a report of a run that fails ends with the same" {
    need_shim
    make_archive
    for command in 'convert nope x.tar' 'unpack nope -C out' 'merge nope -o x.barecat'; do
        rm -f r.jsonl
        # shellcheck disable=SC2086 # words
        run_fail 2 sb $command --report=r.jsonl
        [[ $(tail -n 1 r.jsonl | jq -r '.failure + ": " + .text') == 'missing: nope: No such file or directory'* ]] ||
            fail "$command: $(cat r.jsonl)"
    done
    run_fail 2 env FAULT_CALLS=sync FAULT_HOW=ENOSPC FAULT_AT=1 LD_PRELOAD="$FAULT_SHIM" "$RELEASE_SHARDBOX" \
        pack --report=r.jsonl x.barecat -C tree .
    [[ $(tail -n 1 r.jsonl | jq -r .failure) == no-space ]] || fail "$(cat r.jsonl)"
}

@test "the manual has every word for a failure" {
    page=$(man -l "$PROJECT/man/shardbox-reports.7" 2>/dev/null | col -b || true)
    [[ $page ]] || page=$(cat "$PROJECT/man/shardbox-reports.7")
    while read -r word; do
        [[ $page == *"$word"* ]] || fail "$word"
    done < <(sed -n '/_words\[\] = {/,/^};/p' "$PROJECT/cmd/ui/message.c" | grep -o '"[a-z-]*"' | tr -d '"')
}
