# Bags as outputs: names, what is in the way, what another writer does, and what stays behind.
# tests/faults does the same with failing calls.

load helper
load bag

setup_lines() {
    seq 1000 >lines
    seq 1001 1500 >more
    cat lines more >all
}

lines_of() {
    sb cat --frame=line "$@"
}

nothing_left() {
    [[ -z $(find . -name '.*shardbox*') ]] || fail "left: $(find . -name '.*shardbox*')"
}

# What a killed append leaves: new bytes over the tail of FILE, the old limits of its COUNT records
# beside it, and a journal.
break_append() {
    local size limits=$((8 * $2))
    size=$(stat -c %s "$1")
    tail -c $limits "$1" >"limits.$1"
    printf 'shardbox append to tail: records end at %d, limits take %d\n' $((size - limits)) $limits \
        >".$1.shardbox-lock"
    head -c 20000 /dev/zero | put "$1" $((size - limits))
}

@test "an uncompressed bag: records, then their limits" {
    printf 'one\n\nthree\n' | sb convert --frame=line - a.bag
    make_bag wanted.bag one '' three
    cmp a.bag wanted.bag
    printf 'one\n\nthree\n' | sb convert --frame=line --limits=separate - s.bag
    separate wanted.bag 3
    cmp s.bag wanted.bag
    cmp limits.s.bag limits.wanted.bag
    : | sb convert --frame=line - none.bag
    [[ -f none.bag && ! -s none.bag ]]
    nothing_left
}

@test "to a pipe: records as they come, limits at the end" {
    setup_lines
    sb convert --frame=line lines - --to=bagz >a.bagz
    lines_of a.bagz | cmp - lines
    sb convert --frame=line lines - --to=bag >a.bag
    sb convert --frame=line lines b.bag
    cmp a.bag b.bag
    run_fail 2 sb convert --frame=line lines - --to=bag --limits=separate
    stderr_has "standard output: is a stream, beside which limits cannot be; name a file"
}

@test "a reader that goes away ends it quietly; a full device does not" {
    setup_lines
    run_ok bash -c 'seq 300000 | "$SHARDBOX" convert --frame=line - - --to=bag | head -c 1 >/dev/null
        ((PIPESTATUS[1] == 0 || PIPESTATUS[1] == 141))'
    stderr_is ''
    run_fail 2 bash -c '"$SHARDBOX" convert --frame=line lines - --to=bag >/dev/full'
    stderr_has 'No space left on device'
    run_fail 2 bash -c 'ulimit -f 8; seq 30000 | "$SHARDBOX" convert --frame=line - a@4.bag'
    stderr_has 'File too large'
    nothing_left
    [[ -z $(find . -name 'a-*') ]]
}

@test "a set of many shards with few open files" {
    seq 3000 >lines
    run_ok bash -c 'ulimit -n 32; "$SHARDBOX" convert --frame=line --count=3 lines "c@*.bagz"'
    lines_of 'c@1000.bagz' | cmp - lines
    run_ok bash -c 'ulimit -n 32; "$SHARDBOX" convert --frame=line --layout=interleaved lines "i@500.bag"'
    lines_of --layout=interleaved 'i@500.bag' | cmp - lines
    run_ok bash -c 'ulimit -n 32; "$SHARDBOX" convert --frame=line lines "s@500.bag"'
    lines_of 's@500.bag' | cmp - lines
    nothing_left
}

# bats test_tags=threads
@test "the same bytes, whatever the number of threads, and as one known total or another cuts them" {
    setup_lines
    mkdir files
    head -c 3000000 /dev/zero >files/large
    cp lines more files
    for threads in 1 4; do
        sb convert -q -j$threads --frame=line all a$threads.bagz
        sb convert -q -j$threads files f$threads.bagz
        sb convert -q -j$threads files "f$threads@2.bagz"
    done
    cmp a1.bagz a4.bagz
    cmp f1.bagz f4.bagz
    cmp f1-00000-of-00002.bagz f4-00000-of-00002.bagz
    cmp f1-00001-of-00002.bagz f4-00001-of-00002.bagz
    sb convert -q a1.bagz 'known@3.bagz'
    sb convert -q --frame=line all 'spooled@3.bagz'
    for shard in 0 1 2; do
        cmp known-0000$shard-of-00003.bagz spooled-0000$shard-of-00003.bagz
    done
}

@test "what is there is replaced with --force only" {
    setup_lines
    sb convert --frame=line lines a.bagz
    run_fail 2 sb convert --frame=line more a.bagz
    stderr_has "a.bagz: exists already; use --force to replace it"
    sb convert --force --frame=line more a.bagz
    lines_of a.bagz | cmp - more
    sb convert --force --limits=separate --frame=line lines a.bagz
    [[ -e limits.a.bagz ]]
    lines_of a.bagz | cmp - lines
    sb convert --force --frame=line more a.bagz
    [[ ! -e limits.a.bagz ]]
    lines_of a.bagz | cmp - more
    nothing_left
}

@test "a limits file where there is no bag is in the way: it would be taken for the new one's" {
    setup_lines
    le64 7 >limits.a.bag
    run_fail 2 sb convert --frame=line lines a.bag
    stderr_has "limits.a.bag: exists already; use --force to replace it"
    sb convert --force --frame=line lines a.bag
    lines_of a.bag | cmp - lines
    [[ ! -e limits.a.bag ]]
}

@test "a bag with separate limits and several names is not replaced: its other names would change" {
    setup_lines
    sb convert --frame=line --limits=separate lines a.bag
    ln a.bag other.bag
    ln limits.a.bag limits.other.bag
    cp a.bag before
    run_fail 2 sb convert --force --frame=line more a.bag
    stderr_is 'shardbox convert: a.bag: has its limits beside it, and several names (hard links); remove it first, or choose another name'
    cmp other.bag before
    rm other.bag
    run_ok sb convert --force --frame=line more a.bag
    nothing_left
}

@test "sets: the first shard that is there is named; parts of one, and sets of another number are told" {
    setup_lines
    sb convert --frame=line lines 'a@4.bagz'
    run_fail 2 sb convert --frame=line lines 'a@4.bagz'
    stderr_has "a-00000-of-00004.bagz: exists already; use --force to replace the set"
    run_fail 2 sb convert --frame=line --count=100 lines 'a@*.bagz'
    stderr_has "a-00000-of-00004.bagz: exists already"
    rm a-00000-of-00004.bagz
    run_fail 2 sb convert --frame=line lines 'a@4.bagz'
    stderr_has "a-00001-of-00004.bagz: exists already, though shard 0 of the set does not"
    run_ok sb convert --force --frame=line more 'a@4.bagz'
    stderr_has "a@4.bagz: shards of it are there without the first, as a run that was killed leaves them"
    lines_of 'a@4.bagz' | cmp - more
    run_ok sb convert --frame=line lines 'a@2.bagz'
    stderr_has 'shards of another set, of 4, stay beside the 2 of this one; remove them'
    lines_of 'a@2.bagz' | cmp - lines
    nothing_left
}

@test "a set that cannot be replaced is left as it was" {
    setup_lines
    sb convert --frame=line lines set@2.bag
    cp set-00000-of-00002.bag first
    mv set-00001-of-00002.bag second
    mkdir set-00001-of-00002.bag
    run_fail 2 sb convert --force --frame=line more set@2.bag
    stderr_has 'cannot rename to set-00001-of-00002.bag: Is a directory'
    cmp set-00000-of-00002.bag first
    nothing_left
    rmdir set-00001-of-00002.bag
    mv second set-00001-of-00002.bag
    run_ok sb convert --force --frame=line more set@2.bag
    lines_of set@2.bag | cmp - more
    nothing_left
    mv set-00000-of-00002.bag elsewhere
    cp elsewhere before
    ln -s elsewhere set-00000-of-00002.bag
    run_ok sb convert --force --frame=line lines set@2.bag
    [[ ! -L set-00000-of-00002.bag ]]
    lines_of set@2.bag | cmp - lines
    cmp elsewhere before
    nothing_left
}

@test "--append: to a bag, beside separate limits, to the last shard of a set; not to an interleaved one" {
    setup_lines
    sb convert --frame=line lines a.bagz
    sb convert --frame=line --limits=separate lines s.bag
    sb convert --frame=line lines 'set@4.bagz'
    for bag in a.bagz s.bag 'set@*.bagz'; do
        run_ok sb convert --append --frame=line more "$bag"
        output_is ''
        lines_of "$bag" | cmp - all
    done
    [[ ! -e limits.a.bagz && -e limits.s.bag ]]
    run_fail 2 sb convert --append --layout=interleaved --frame=line more 'set@4.bagz'
    stderr_has 'set@4.bagz: nothing can be appended to an interleaved set'
    ln s.bag backup.bag
    run_fail 2 sb convert --append --frame=line more s.bag
    stderr_has 's.bag: has several names (hard links), and would change under all of them; copy it first'
    ln -s a.bagz link.bagz
    run_fail 2 sb convert --append --frame=line more link.bagz
    stderr_has 'link.bagz: is a link, beside which its limits would not be found; name the file'
    run_fail 2 sb convert --append --frame=line more new@2.bag
    stderr_has 'is not there, so nothing can be appended to it'
    nothing_left
}

@test "an append that was killed: readers see the old bag, and the next writer undoes it" {
    setup_lines
    sb convert --frame=line lines a.bagz
    cp a.bagz old.bagz
    break_append a.bagz 1000
    lines_of a.bagz | cmp - lines
    : | sb convert --append --frame=line - a.bagz
    cmp a.bagz old.bagz
    [[ ! -e limits.a.bagz ]]
    break_append a.bagz 1000
    sb convert --append --frame=line more a.bagz
    lines_of a.bagz | cmp - all
    sb convert --force --frame=line lines a.bagz
    break_append a.bagz 1000
    sb convert --force --frame=line more a.bagz
    lines_of a.bagz | cmp - more
    [[ ! -e limits.a.bagz ]]
    nothing_left
}

@test "a limits file that another program left is not undone, but named" {
    setup_lines
    sb convert --frame=line --limits=separate lines a.bag
    echo 'a record without its limit' >>a.bag
    cp a.bag before
    run_fail 2 sb convert --append --frame=line more a.bag
    stderr_has "limits.a.bag: does not end where a.bag does"
    stderr_has "verify --repair-to"
    cmp a.bag before
    nothing_left
}

@test "two writers: the second is told to wait, and a reader reads the old records" {
    setup_lines
    sb convert --frame=line lines a.bagz
    mkfifo pipe
    sb convert --append --frame=line - a.bagz <pipe &
    writer=$!
    exec 7>pipe
    seq 100000 >&7
    for _ in {1..100}; do
        [[ ! -e limits.a.bagz ]] || break
        sleep 0.1
    done
    [[ -e limits.a.bagz ]] || fail "the append did not begin"
    run_fail 2 sb convert --append --frame=line more a.bagz
    stderr_has 'a.bagz: another process, perhaps on another machine, is writing it; wait for it'
    run_fail 2 sb convert --force --frame=line more a.bagz
    stderr_has 'another process'
    lines_of a.bagz | cmp - lines
    exec 7>&-
    wait $writer
    { cat lines && seq 100000; } >all
    lines_of a.bagz | cmp - all
    nothing_left
}

@test "SIGTERM leaves what was there" {
    setup_lines
    mkfifo pipe
    sb convert --frame=line lines a.bagz
    sb convert --frame=line lines 'set@2.bagz'
    for output in "--append a.bagz" "--force a.bagz" "--force set@2.bagz"; do
        "$SHARDBOX" convert "${output% *}" --frame=line - "${output#* }" <pipe 2>/dev/null &
        writer=$!
        exec 7>pipe
        seq 100000 >&7
        kill -TERM $writer
        status=0
        wait $writer || status=$?
        exec 7>&-
        ((status == 143 || status == 2)) || fail "status $status"
        lines_of "${output#* }" | cmp - lines
        nothing_left
    done
}

@test "what killed runs left under temporary names is removed by the next" {
    setup_lines
    touch .a-00000.bagz.shardbox-new .a-00031.bagz.shardbox-new .limits.a-00031.bagz.shardbox-new \
        .a@.bagz.shardbox-lock .b.bagz.shardbox-new .limits.b.bagz.shardbox-new
    sb convert --frame=line lines 'a@2.bagz'
    sb convert --frame=line lines b.bagz
    nothing_left
}

@test "names go to a bag of keys; links are records of their targets; directories are passed over" {
    mkdir -p tree/sub
    printf 1 >tree/a
    printf 22 >tree/sub/b
    ln -s a tree/link
    mkfifo tree/fifo
    run_fail 1 sb convert -q --keys=keys.bag tree data.bagz
    stderr_has "fifo: is a FIFO, which cannot be held here; left out"
    paste <(lines_of keys.bag) <(lines_of data.bagz) | sort >got
    printf '%s\t%s\n' a 1 link a sub/b 22 | cmp - got
    ln tree/a tree/same
    run_fail 1 sb convert tree told.bag
    stderr_has "are not held by a bag, nor are modes, times and, without --keys, names; --report=FILE lists them"
    tar cf links.tar -C tree a same
    run_fail 1 sb convert -q links.tar links.bag
    stderr_has "same: is a hard link, which a bag cannot hold; left out"
    [[ $(lines_of links.bag) == 1 ]]
}

@test "a .bagz that is larger than its records says once what helps" {
    seq 1000000 1040000 >lines
    run_ok sb convert --frame=line lines a.bagz
    stderr_is "shardbox convert: a.bagz: is larger than its records, as each is compressed by itself; --dictionary=FILE helps ('zstd --train' makes one of samples), and a .bag is not compressed"
    for more in "lines a.bag" "lines -q b.bagz"; do
        # shellcheck disable=SC2086 # words
        run_ok sb convert --frame=line $more
        stderr_is ''
    done
}

@test "what makes no sense is refused" {
    setup_lines
    run_fail 2 sb convert --frame=line lines 'a@*.bagz'
    stderr_has 'a@*.bagz: leaves the number of shards open; name it, as data@16.bagz, or say by --count or --shard-size what goes into one'
    run_fail 2 sb convert --frame=line --count=10 'lines' 'a@2.bagz'
    stderr_has 'a@2.bagz: more records come than 2 shards hold'
    ln -s a.bag link.bag
    run_fail 2 sb convert --frame=line lines link.bag
    stderr_has 'link.bag: is a link to what is not there; remove it'
    run_fail 2 sb convert --frame=line lines missing/a.bag
    stderr_has 'missing/a.bag'
    nothing_left
}
