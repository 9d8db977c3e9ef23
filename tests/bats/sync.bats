#!/usr/bin/env bats
# shardbox sync: what differs, what is removed, and what stays.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p t/a/b t/c
    echo one >t/a/1
    echo two >t/a/b/2
    ln -s 1 t/a/l
    seq 1000 >t/c/n
    age
}

# Every time lies in the past, so that a later change has another.
age() {
    find t -depth -exec touch -h -d '2024-05-06 07:08:09.123456789' {} +
}

equal() {
    run_ok sb diff -C t a.barecat
    run_ok sb verify --strict a.barecat
}

# bats test_tags=threads
@test "a new archive, then nothing to do: no byte is read, and nothing is written" {
    need_strace
    run_ok sb sync t a.barecat
    output_is ''
    equal
    before=$(stat -c '%n %i %Y %Z %s' a.barecat*)
    chmod 0 t/c/n
    ((EUID == 0)) || chmod 644 t/c/n
    chmod 644 t/c/n
    touch -d '2024-05-06 07:08:09.123456789' t/c/n
    run_ok traced -o calls -e trace=openat "$SHARDBOX" sync --delete -v t a.barecat
    stderr_is ''
    run ! grep -E '"(n|1|2)", O_RDONLY' calls
    [[ $(stat -c '%n %i %Y %Z %s' a.barecat*) == "$before" ]]
}

# bats test_tags=threads
@test "what differs: bytes, the row alone, what is new; -i and --json say how" {
    sb sync t a.barecat
    shard=$(stat -c %s a.barecat-shard-00000)
    echo uno >t/a/1
    chmod 600 t/c/n
    touch -d '2024-05-06 07:08:09.123456789' t/c
    touch t/a/b/2
    echo longer >t/a/new
    ln -sfn b/2 t/a/l
    run_ok sb sync -n t a.barecat
    planned=$output
    [[ $(stat -c %s a.barecat-shard-00000) == "$shard" ]]
    run_ok sb sync -i t a.barecat
    [[ $(sort <<<"$output") == "$(sort <<<"$planned")" ]]
    [[ $(grep -v '/$' <<<"$output" | sort) == "$(printf '%s\n' '.f...p..... c/n' '.f..t...... a/b/2' \
        '>f+++++++++ a/new' '>fc.t...... a/1' 'cLc.t...... a/l' | sort)" ]] || fail 'lines'
    # Only new bytes came in.
    (($(stat -c %s a.barecat-shard-00000) == shard + 4 + 7 + 3))
    equal
    echo dos >t/a/1
    run_ok sb sync --json t a.barecat
    [[ $(jq -c 'select(.path == "a/1")' <<<"$output") == \
        '{"change":"changed","path":"a/1","type":"file","size":4,"differs":["bytes","time"]}' ]]
    [[ $(tail -n 1 <<<"$output" | jq '.changed, .new, .removed, .files_written, .bytes_written' | tr '\n' ' ') == '1 0 0 1 4 ' ]]
}

@test "--checksum finds bytes that size and time do not show; --size-only sets times alone" {
    sb sync t a.barecat
    echo uno >t/a/1
    age
    run_ok sb sync -i t a.barecat
    output_is ''
    run_ok sb sync -ic t a.barecat
    output_is '>fc........ a/1'
    echo dos >t/a/1
    run_ok sb sync -i --size-only t a.barecat
    output_has '.f..t...... a/1'
    [[ $(sb cat a.barecat a/1) == uno ]]
    run_ok sb sync -c t a.barecat
    equal
}

@test "nothing is removed without --delete, and with it all that the tree does not have" {
    sb sync t a.barecat
    rm -r t/a/b t/c/n
    run_ok sb sync -i t a.barecat
    output_lacks deleting
    [[ $(sb cat a.barecat a/b/2) == two ]]
    run_ok sb sync -n --delete t a.barecat
    output_is $'*deleting   c/n\n*deleting   a/b/2\n*deleting   a/b/'
    [[ $(sb cat a.barecat a/b/2) == two ]]
    run_ok sb sync -iv --delete t a.barecat
    output_is $'*deleting   c/n\n*deleting   a/b/2\n*deleting   a/b/'
    stderr_has 'new: 0, changed: 0, removed: 3; bytes written: 0'
    equal
}

@test "--max-delete, and a source that is empty, stop it before anything changes" {
    sb sync t a.barecat
    echo more >t/more
    rm -r t/a
    before=$(md5sum a.barecat*)
    run_fail 2 sb sync --delete --max-delete=4 t a.barecat
    stderr_has 'a.barecat: 5 files and directories would be removed, and at most 4 may; nothing was changed'
    mkdir empty
    run_fail 2 sb sync --delete empty a.barecat
    stderr_has 'empty: is empty, and nothing is removed for that; see --force'
    [[ $(md5sum a.barecat*) == "$before" ]]
    run_ok sb sync --delete --max-delete=5 t a.barecat
    equal
    sb convert a.barecat none.tar --exclude='*'
    run_ok sb sync a.barecat out/
    tar cf none.tar -T /dev/null
    run_fail 2 sb sync --delete none.tar out
    run_fail 2 sb sync --delete --max-delete=0 a.barecat:c out
    [[ -e out/more && -e out/c/n ]]
    run_ok sb sync --delete --force empty a.barecat
    [[ $(sb find a.barecat) == '' ]]
    run_fail 2 sb sync --max-delete=1 t a.barecat
    stderr_has '--max-delete goes with --delete'
}

@test "a file that became a directory or a link, and the other way, is replaced" {
    sb sync t a.barecat
    sb sync a.barecat out/
    rm -r t/a/1 t/a/b t/a/l
    mkdir t/a/1 t/a/l
    echo x >t/a/1/x
    echo b >t/a/b
    ln -s nowhere t/a/l/q
    age
    run_fail 1 sb sync t a.barecat
    stderr_has 'a/b: is a directory in the archive; left out'
    run_ok sb sync --delete t a.barecat
    equal
    run_ok sb sync -n --delete a.barecat out
    planned=$(sort <<<"$output")
    stderr_is ''
    run_fail 1 sb sync a.barecat out
    stderr_has 'a/b: a directory is in its place; --delete removes it'
    [[ $(cat out/a/b/2) == two ]]
    run_ok sb sync -i --delete a.barecat out
    run_ok sb diff -C out a.barecat
    run_ok rsync -ain --delete t/ out/
    output_is ''
    grep -q '^\*deleting   a/b/2$' <<<"$planned"
}

@test "excluded files are left alone on both sides" {
    sb sync t a.barecat
    sb sync a.barecat out/
    mkdir t/tmp
    echo 1 >t/tmp/1
    echo log >t/a/log
    age
    sb sync t a.barecat
    rm -r t/tmp t/a/log
    age
    run_ok sb sync -i --delete --exclude=tmp --exclude=log t a.barecat
    output_is ''
    [[ $(sb cat a.barecat tmp/1 a/log) == $'1\nlog' ]]
    mkdir out/tmp out/gone
    echo mine >out/tmp/mine
    echo log >out/gone/log
    echo go >out/gone/go
    run_ok sb sync -i --delete --exclude=tmp --exclude=log a.barecat out
    [[ $(cat out/tmp/mine out/gone/log) == $'mine\nlog' && ! -e out/gone/go && ! -e out/a/log ]]
    # What an excluded file is in needs its directory.
    rm -r t/c
    age
    sb sync t a.barecat
    run_ok sb sync --delete --exclude=n t a.barecat
    [[ $(sb find a.barecat c) == $'c\nc/n' ]]
}

@test "what cannot be read, and what is special, keeps what the archive has there" {
    ((EUID != 0)) || skip 'root reads everything'
    sb sync t a.barecat
    chmod 0 t/a
    run_fail 1 sb sync --delete t a.barecat
    stderr_has 'a: '
    chmod 755 t/a
    [[ $(sb cat a.barecat a/b/2) == two ]]
}

@test "a FIFO in the place of a file is named, and the archive keeps the file" {
    sb sync t a.barecat
    rm t/a/1 t/a/b/2
    mkfifo t/a/1
    run_fail 1 sb sync -i --delete t a.barecat
    stderr_has 'a/1: '
    output_has '*deleting   a/b/2'
    [[ $(sb cat a.barecat a/1) == one ]]
    rm t/a/1
    mkfifo t/a/b/2
    sb sync --delete t a.barecat || true
    run_fail 1 sb cat a.barecat a/1
}

@test "paths within archives, from any container, into any directory of an archive" {
    sb sync t a.barecat
    run_ok sb sync t/a a.barecat:x/y
    run_ok sb cat a.barecat x/y/b/2
    output_is two
    run_ok sb sync --delete t/c a.barecat:x/y
    [[ $(sb find a.barecat x/y) == $'x/y\nx/y/n' ]]
    [[ $(sb cat a.barecat a/b/2) == two ]]
    run_ok sb sync a.barecat:a out/
    run_ok rsync -ain --delete t/a/ out/
    [[ $(grep -v '^\.d\..t\.\.\.\.\.\. \./$' <<<"$output") == '' ]]
    tar cf a.tar -C t .
    gzip -k a.tar
    (cd t && zip -qry ../a.zip .)
    sb convert a.tar b.cpio || true
    for container in a.tar a.tar.gz a.zip a.barecat; do
        rm -rf new.barecat* tree
        run_ok sb sync "$container" new.barecat
        run_ok sb sync -i --delete "$container" new.barecat
        output_is ''
        run_ok sb sync "$container:a" tree/
        run_ok sb sync -i --delete "$container:a" tree
        output_is ''
        [[ $(cat tree/b/2) == two && $(readlink tree/l) == 1 ]]
        run_ok sb sync --delete "$container:c" tree
        [[ $(ls -A tree) == n ]]
    done
}

@test "of a name that a tar holds twice the last counts, whatever the archive has" {
    sb sync t a.barecat
    tar cf twice.tar -C t a/1
    cp a.barecat first.barecat
    cp a.barecat-shard-00000 first.barecat-shard-00000
    echo uno >t/a/1
    age
    tar rf twice.tar -C t a/1
    run_ok sb sync -c twice.tar a.barecat
    [[ $(sb cat a.barecat a/1) == uno ]]
    echo one >t/a/1
    age
    tar rf twice.tar -C t a/1
    run_ok sb sync -c twice.tar a.barecat
    [[ $(sb cat a.barecat a/1) == one ]]
    run_ok sb sync -c twice.tar first.barecat
    [[ $(sb cat first.barecat a/1) == one ]]
    run_ok sb verify --strict a.barecat
}

@test "--seal puts what is new into a new shard, and no old one changes" {
    sb sync t a.barecat
    before=$(md5sum a.barecat-shard-00000)
    echo more >t/more
    rm t/c/n
    run_ok sb sync --delete --seal t a.barecat
    [[ $(md5sum a.barecat-shard-00000) == "$before" && -s a.barecat-shard-00001 ]]
    equal
}

@test "--detect-renamed: files with other names keep their bytes, and only the index changes" {
    seq 5000 >t/a/big
    cp -p t/a/big t/a/twin
    age
    sb sync t a.barecat
    before=$(md5sum a.barecat-shard-00000)
    mkdir t/moved
    mv t/a/big t/moved/big
    mv t/a/twin t/moved/twin
    mv t/c/n t/c/m
    # Of the same size and time, with other bytes
    echo 2nd >t/a/1st
    rm t/a/1
    age
    run_fail 2 sb sync --detect-renamed t a.barecat
    stderr_has '--detect-renamed goes with --delete'
    cp a.barecat b.barecat
    cp a.barecat-shard-00000 b.barecat-shard-00000
    tar cf t.tar -C t .
    run_ok sb sync -n --delete --detect-renamed t a.barecat
    planned=$(sort <<<"$output")
    run_ok sb sync -i --delete --detect-renamed t a.barecat
    [[ $(sort <<<"$output") == "$planned" ]]
    output_has 'cf+++++++++ moved/big'
    output_has 'cf+++++++++ c/m'
    output_has '>f+++++++++ a/1st'
    output_has '*deleting   a/twin'
    equal
    [[ $(head -c "$(stat -c %s b.barecat-shard-00000)" a.barecat-shard-00000 | md5sum | cut -d' ' -f1) == "${before%% *}" ]]
    (($(stat -c %s a.barecat-shard-00000) == $(stat -c %s b.barecat-shard-00000) + 4))
    run_ok sb sync --delete --detect-renamed a.barecat b.barecat
    run_ok sb diff -C a.barecat b.barecat
    run_ok sb verify --strict b.barecat
    (($(stat -c %s b.barecat-shard-00000) == $(stat -c %s a.barecat-shard-00000)))
    run_ok sb sync -i --delete --detect-renamed t.tar b.barecat
    run_ok sb verify --strict b.barecat
    run_ok sb diff -C t b.barecat
}

@test "a tree is written through no link, and nothing outside of it is touched" {
    sb sync t a.barecat
    sb sync a.barecat out/
    mkdir outside
    echo victim >outside/2
    echo victim >outside/more
    rm -r out/a/b
    ln -s ../../outside out/a/b
    ln -s ../outside out/link
    ln outside/more out/hard
    run_ok sb sync --delete a.barecat out
    [[ $(cat outside/2 outside/more) == $'victim\nvictim' ]]
    run_ok sb diff -C out a.barecat
}

# bats test_tags=threads
@test "what a program has open keeps its bytes" {
    sb sync t a.barecat
    sb sync a.barecat out/
    exec 8<out/a/1
    echo uno >t/a/1
    sb sync t a.barecat
    sb sync a.barecat out
    [[ $(cat <&8) == one && $(cat out/a/1) == uno ]]
    exec 8<&-
}

@test "damage in the archive is named, and the tree keeps what it had" {
    sb sync t a.barecat
    sb sync a.barecat out/
    echo uno >t/a/1
    sb sync t a.barecat
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset FROM files WHERE path = 'a/1'")"
    run_fail 1 sb sync --delete a.barecat out
    stderr_has 'a/1: '
    [[ $(cat out/a/1) == one ]]
}

@test "a PATH that is missing, that is a file, or that leads up, is an error, and nothing changes" {
    sb sync t a.barecat
    sb sync t b.barecat
    sb sync a.barecat out/
    tar cf a.tar -C t .
    before=$(md5sum b.barecat*)
    for container in a.barecat a.tar; do
        for path in nope a/1 ../a a/../c; do
            for target in out b.barecat fresh.barecat fresh/; do
                run_fail 2 sb sync --delete --force "$container:$path" "$target"
            done
        done
    done
    stderr_is "shardbox sync: a.tar:a/../c: '..' leads out of the directory"
    run_fail 2 sb sync --delete a.barecat:a/1 out
    stderr_is 'shardbox sync: a.barecat: its a/1 is a file, and no directory'
    run_fail 2 sb sync a.barecat:nope out
    stderr_is 'shardbox sync: a.barecat: has no directory nope'
    run_fail 2 sb sync a.tar:nope b.barecat
    stderr_is 'shardbox sync: a.tar: has no directory nope, or nothing in it'
    for path in .. a/1 a/1/x; do
        for source in t/c a.tar:c a.barecat:c; do
            run_fail 2 sb sync --delete "$source" "b.barecat:$path"
        done
    done
    [[ $(md5sum b.barecat*) == "$before" && ! -e fresh && ! -e fresh.barecat ]]
    run_ok rsync -ain --delete t/ out/
    output_is ''
}

@test "a colon: a file that is called so, or a directory in an archive, also in a new one" {
    sb sync t a:b.barecat
    [[ -e a:b.barecat ]]
    run_ok sb sync a:b.barecat:c out/
    [[ $(ls -A out) == n ]]
    run_ok sb sync t/c new.barecat:x/y
    [[ $(sb find --type=f new.barecat) == x/y/n ]]
    run_ok sb sync -n --delete t/c new.barecat:/x//y/
    output_is ''
}

@test "a dry run prints what the run then prints, also of directories, and what it leaves" {
    sb sync t a.barecat
    sb sync a.barecat out/
    touch out/a/b/mine out/a/b/keep out/c
    mkdir -p out/a/1-is-new/keep out/gone/x
    rm -r out/a/1 out/c/n
    mkdir -p out/a/1 out/c/n/keep
    touch out/a/1/x out/a/1-is-new/keep/keep
    for rules in --exclude=keep --exclude=nothing; do
        sb sync -n --delete "$rules" a.barecat out >planned 2>/dev/null || true
        sb sync -i --delete "$rules" a.barecat out >printed 2>errors || true
        [[ $(sort planned) == "$(sort printed)" ]] || fail "$(diff <(sort planned) <(sort printed))"
    done
    run_ok sb diff -C out a.barecat
}

@test "what stands in the way of two files goes before either is written" {
    mkdir -p t/x t/x.y
    touch t/x/1 t/x.y/1
    sb sync t a.barecat
    sb sync a.barecat out/
    rm -r t/x t/x.y
    echo file >t/x
    echo file >t/x.y
    sb sync --delete t a.barecat
    run_fail 1 sb sync a.barecat out
    [[ -e out/x/1 && -e out/x.y/1 ]]
    run_ok sb sync --delete a.barecat out
    [[ -f out/x && -f out/x.y ]]
}

@test "an empty directory that a container has as a file becomes one" {
    mkdir t/d
    sb sync t a.barecat
    rmdir t/d
    echo file >t/d
    tar cf a.tar -C t .
    sb pack b.barecat -C t .
    for container in a.tar b.barecat; do
        rm -f c.barecat*
        cp a.barecat c.barecat
        cp a.barecat-shard-00000 c.barecat-shard-00000
        run_ok sb sync "$container" c.barecat
        [[ $(sb cat c.barecat d) == file ]]
        run_ok sb verify --strict c.barecat
    done
}

@test "a hard link of a tar is stored again only if its bytes are others" {
    ln t/a/1 t/a/z
    tar cf a.tar -C t .
    sb sync a.tar a.barecat
    run_ok sb sync -n a.tar a.barecat
    output_is ''
    size=$(stat -c %s a.barecat-shard-00000)
    run_ok sb sync -i --delete a.tar a.barecat
    output_is ''
    [[ $(stat -c %s a.barecat-shard-00000) == "$size" ]]
    echo other >t/a/1
    tar cf a.tar -C t .
    run_ok sb sync -n a.tar a.barecat
    planned=$output
    run_ok sb sync -i a.tar a.barecat
    output_is "$planned"
    [[ $(sb cat a.barecat a/1 a/z) == $'other\nother' ]]
    equal
}

@test "no file of a tree has its own name before it is whole" {
    need_strace
    seq 100000 >t/large
    sb sync t a.barecat
    run_ok traced -o calls -e trace=openat "$SHARDBOX" sync a.barecat out/
    run ! grep -E '"(large|n|1|2)", .*O_CREAT' calls
    sb convert -q a.barecat a.tar
    run_ok traced -o calls -e trace=openat "$SHARDBOX" sync a.tar other/
    run ! grep -E '"(large|n|1|2)", .*O_CREAT' calls
}

@test "a source that is cut short, damaged, or has what cannot be held, removes nothing of it" {
    sb sync t a.barecat
    tar cf whole.tar -C t .
    for size in 512 1024 2048 5632 6144 7000 9000; do
        rm -rf out b.barecat*
        sb sync a.barecat out/
        sb sync a.barecat b.barecat
        head -c "$size" whole.tar >cut.tar
        run_fail 1 sb sync --delete --force cut.tar out
        run_ok sb diff -C out a.barecat
        run_fail 1 sb sync --delete --force cut.tar b.barecat
        [[ $(sb find b.barecat) == "$(sb find a.barecat)" ]]
    done
    mkdir -p out/p/q
    touch out/p/q/mine out/gone
    rm t/a/1
    mkfifo t/a/1 t/p
    tar cf fifo.tar -C t .
    run_fail 1 sb sync -n --delete fifo.tar out
    planned=$(sort <<<"$output")
    run_fail 1 sb sync -i --delete fifo.tar out
    [[ $(sort <<<"$output") == "$planned" ]]
    [[ -f out/a/1 && -e out/p/q/mine && ! -e out/gone ]]
    run_fail 1 sb sync --delete fifo.tar:a out/a
    [[ -f out/a/1 ]]
}

@test "what cannot be read in the source or the target stays" {
    plainly() {
        if ((EUID == 0)); then
            setpriv --bounding-set=-dac_override,-dac_read_search "$SHARDBOX" sync "$@"
        else
            sb sync "$@"
        fi
    }
    sb sync t a.barecat
    sb sync a.barecat out/
    mkdir -p out/x t/more
    touch out/x/mine t/more/1
    for mode in 0 100 400; do
        chmod "$mode" t/a out/x
        run_fail 1 plainly --delete t a.barecat
        [[ $(sb cat a.barecat a/b/2 a/1) == $'two\none' ]]
        [[ $(sb find --type=f a.barecat more) == more/1 ]]
    done
    chmod 755 t/a
    chmod 0 out/x
    run_fail 1 plainly -n --delete a.barecat out
    output_lacks deleting
    run_fail 1 plainly --delete a.barecat out
    stderr_has 'x: cannot be opened'
    chmod 755 out/x
    [[ -e out/x/mine && -e out/more/1 ]]
}

@test "-x removes nothing on another file system, in a source or a target" {
    unshare -Urm true 2>/dev/null || skip 'nothing can be mounted here'
    mkdir t/m
    echo in >t/m/in
    sb sync t a.barecat
    sb sync a.barecat out/
    mkdir out/other
    cat >mounted <<'EOF'
mount -t tmpfs none t/m && mount -t tmpfs none out/other || exit 9
echo other >t/m/other
echo other >out/other/file
"$SHARDBOX" sync -x --delete t a.barecat && "$SHARDBOX" sync -x --delete a.barecat out && cat out/other/file
EOF
    run --separate-stderr unshare -Urm bash mounted
    ((status != 9)) || skip 'nothing can be mounted here'
    output_is other
    [[ $(sb cat a.barecat m/in) == in && ! -e out/other/file ]]
}

@test "an archive of linked or wrapped shards: what it shares is not changed" {
    sb sync t part.barecat
    sb merge-symlink -o view.barecat part.barecat
    tar cf a.tar -C t .
    sb convert -q --wrap a.tar wrapped.barecat
    before=$(md5sum part.barecat* a.tar)
    rm t/a/1
    seq 500 >t/c/n
    echo new >t/new
    for archive in view wrapped; do
        run_ok sb sync --delete t "$archive.barecat"
        run_ok sb diff -C t "$archive.barecat"
        run_ok sb verify --strict "$archive.barecat"
    done
    [[ $(md5sum part.barecat* a.tar) == "$before" ]]
}

# SYNC_TREES: how many; more of them are tried by hand.
# bats test_tags=threads
@test "trees that change at random, both ways: rsync has nothing to say" {
    every_third_day
    for ((seed = 1; seed <= ${SYNC_TREES:-25}; seed++)); do
        ((seed % 5 != 1)) || rm -rf random unpacked
        "$BATS_TEST_DIRNAME/../tools/random-tree" "$seed" random
        run_ok sb sync -q --delete random random.barecat
        rm -rf unpacked
        run_ok sb unpack -q random.barecat -C unpacked
        run_ok rsync -anci --delete random/ unpacked/
        output_is '' || fail "seed $seed"
        run_ok sb sync -q --delete random.barecat local/
        run_ok rsync -anci --delete random/ local/
        output_is '' || fail "seed $seed"
    done
    run_ok sb verify random.barecat
}

@test "wrong uses" {
    sb sync t a.barecat
    mkdir other
    run_fail 2 sb sync t other
    stderr_is "shardbox sync: other: is a directory, as t is; 'rsync' makes one equal to the other"
    run_fail 2 sb sync a.barecat a.barecat:x
    stderr_is 'shardbox sync: a.barecat:x: is SOURCE and TARGET at once'
    run_fail 2 sb sync t new.tar
    stderr_has 'new.tar: is called as a tar, and sync makes archives'
    run_fail 2 sb sync t a.barecat::x
    stderr_is "shardbox sync: a.barecat::x: one ':' comes before a directory; type: a.barecat:x"
    run_fail 2 sb sync nowhere a.barecat
    stderr_has 'nowhere: '
    run_fail 2 sb sync - a.barecat
    stderr_has 'a pipe can be no side of sync'
    run_fail 2 sb sync t
    stderr_has 'give SOURCE and TARGET'
    tar cf a.tar -C t .
    run_fail 2 sb sync t a.tar
    stderr_has 'a.tar: '
    [[ ! -e new.tar ]]
}

@test "on a slow file system threads look ahead, and the result is the same" {
    need_slow
    mkdir -p slow/{a,b}/{c,d}
    for i in {1..30}; do
        echo "$i" | tee "slow/$i" "slow/a/$i" "slow/a/c/$i" >"slow/b/d/$i"
    done
    sb sync slow s.barecat
    echo changed >slow/a/c/7
    rm slow/b/d/9
    for threads in 2 8; do
        run_ok env LD_PRELOAD="$SLOW_SHIM" SLOW_ROOT="$PWD/slow" SLOW_MICROSECONDS=300 \
            "$SHARDBOX" sync -n -i --delete "--threads=$threads" slow s.barecat
        output_is $'>f.st...... a/c/7\n.d..t...... b/d/\n*deleting   b/d/9'
    done
}

@test "with --delete files that were renamed are found without being asked for, in a directory and an archive" {
    for i in 1 2 3; do seq "$i" 5000 >"t/f$i"; done
    age
    sb sync t a.barecat
    cp a.barecat b.barecat
    cp a.barecat-shard-00000 b.barecat-shard-00000
    size=$(stat -c %s a.barecat-shard-00000)
    # The new name comes before the old one, and after it.
    mv t/f1 t/a/f1
    mv t/f2 t/g2
    echo new >t/new
    run_ok sb sync -i --delete t a.barecat
    output_has 'cf+++++++++ a/f1'
    output_has 'cf+++++++++ g2'
    output_has '>f+++++++++ new'
    equal
    (($(stat -c %s a.barecat-shard-00000) == size + 4))
    run_ok sb sync -i --delete a.barecat b.barecat
    output_has 'cf+++++++++ g2'
    run_ok sb verify --strict b.barecat
    (($(stat -c %s b.barecat-shard-00000) == size + 4))
    # Without --delete never.
    mv t/f3 t/h3
    run_ok sb sync -i t b.barecat
    output_has '>f+++++++++ h3'
}

@test "--detect-renamed does not take over an extent that is damaged" {
    for i in 1 2 3; do
        seq "$i" 5000 >"t/f$i"
    done
    age
    sb sync t a.barecat
    flip_byte a.barecat-shard-00000 "$(sql a.barecat "SELECT offset + 9 FROM files WHERE path = 'f2'")"
    mv t/f1 t/g1
    mv t/f2 t/g2
    run_ok sb sync -i --delete --detect-renamed t a.barecat
    output_has 'cf+++++++++ g1'
    output_has '>f+++++++++ g2'
    output_has '*deleting   f2'
    equal
}

@test "times of one second: other fractions make bytes be compared, the same ones do not" {
    sb sync t a.barecat
    sb sync a.barecat u/
    # The same size, another fraction, and whole seconds as some file systems have them
    for time in '07:08:09' '07:08:09.5'; do
        seq 1000 | tac >u/c/n
        touch -d "2024-05-06 $time" u/c/n
        run_ok sb sync -i a.barecat u/
        output_has '>fc'
        cmp t/c/n u/c/n
        # Only the time differs: it is set, and not again.
        touch -d "2024-05-06 $time" u/c/n
        run_ok sb sync a.barecat u/
        [[ $(stat -c %y u/c/n) == *.123456789* ]]
        seq 1000 | tac >t/c/n
        touch -d "2024-05-06 $time" t/c/n
        run_ok sb sync -i t a.barecat
        output_is '>fc.t...... c/n'
        equal
        seq 1000 >t/c/n
        age
        sb sync -q t a.barecat
    done
    # Equal nanoseconds skip a file.
    seq 1000 | tac >u/c/n
    touch -d '2024-05-06 07:08:09.123456789' u/c/n
    run_ok sb sync -i a.barecat u/
    output_is ''
}

@test "a directory of mode 0555 is written to by its owner, and has that mode again" {
    ((EUID == 0)) || skip "needs to become nobody"
    chmod 555 t/a t/a/b
    sb sync t a.barecat
    chown -R 65534:65534 .
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"/.. .
    own() {
        setpriv --reuid=65534 --regid=65534 --clear-groups "$SHARDBOX" "$@"
    }
    run_ok own sync a.barecat u/
    mkdir t/a/new
    echo changed >t/a/1
    echo more >t/a/b/more
    rm t/a/b/2
    chmod 500 t/a/new
    sb sync -q --delete t a.barecat
    run_ok own sync --delete a.barecat u/
    run_ok sb diff -C u a.barecat
    [[ $(stat -c %a u/a u/a/b u/a/new | tr '\n' ' ') == '555 555 500 ' ]]
    # A run that is killed while it is open is made good by the next one.
    chmod 755 u/a
    rm u/a/1
    run_ok own sync --delete a.barecat u/
    [[ $(stat -c %a u/a) == 555 ]]
    # One that fails closes it again.
    echo again >t/a/1
    echo x >t/a/b/x
    sb sync -q t a.barecat
    need_strace
    cp "$SHARDBOX" program # the directories above that may not be open to nobody
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run_fail 2 setpriv --reuid=65534 --regid=65534 --clear-groups \
        strace -qq -o calls -f -e trace=write -e inject=pwrite64,write:error=ENOSPC:when=1+ \
        ./program sync a.barecat u/
    [[ $(stat -c %a u/a u/a/b | tr '\n' ' ') == '555 555 ' ]]
    run_ok own sync a.barecat u/
    run_ok sb diff -C u a.barecat
    # That of another is not.
    chown 0 u/a/b
    echo y >t/a/b/x
    sb sync -q t a.barecat
    run_fail 1 own sync a.barecat u/
    stderr_has 'a/b/x: cannot be created under a temporary name: Permission denied'
}

@test "a side on another machine is refused as rsync names it, with the line to type" {
    mkdir d
    echo x >d/x
    rm -rf -- t
    sb pack a.barecat d
    while IFS='|' read -r typed what line; do
        read -ra words <<<"$typed"
        run_fail 2 sb sync "${words[@]}"
        stderr_is "shardbox sync: $what: is on another machine; type: $line"
    done <<'LINES'
d u@h:d|u@h:d|rsync -a d/ u@h:d
-n --delete d/ h:d|h:d|rsync -a --delete -n d/ h:d
d h::m|h::m|rsync -a d/ h::m
a.barecat h:d|h:d|shardbox unpack -C DIR a.barecat && rsync -a DIR/ h:d
--delete h:d a.barecat|h:d|rsync -a h:d/ DIR/ && shardbox sync --delete DIR a.barecat
rsync://h/m a.barecat|rsync://h/m|rsync -a rsync://h/m/ DIR/ && shardbox sync DIR a.barecat
LINES
    [ "$(echo *)" = 'a.barecat a.barecat-shard-00000 d' ]
    # A path in an archive is none, nor is what is here.
    run_ok sb sync d new.barecat:in
    mkdir h:d
    run_ok sb sync h:d b.barecat
    run_ok sb sync d ./h:e.barecat
}
