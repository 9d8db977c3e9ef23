# Reading an archive while another process changes it.

load helper

# goes/ can be removed: then stays/, which lies behind it, is moved by defrag.
make_both() {
    mkdir -p goes stays/dir
    python3 - <<'END'
name = "stays/dir/a-file-of-which-the-name-is-rather-long-so-that-pipes-are-full-"
for i in range(50):
    open(f"goes/{i}", "w").write(f"goes {i}\n" * 2500)
for i in range(1500):
    open(f"{name}{i}", "w").write(f"stays {i}\n" * (1600 - i))
open("stays/large", "w").writelines(f"{i}\n" for i in range(600000))
END
    sb pack -q a.barecat goes
    sb pack -q --append a.barecat stays
    [[ ${1-} != 'without sums' ]] || sqlite3 a.barecat 'UPDATE files SET crc32c = NULL'
}

# during CHANGE COMMAND...: runs the command into a pipe that nobody reads from before CHANGE, which
# must not have to wait, is done; what it wrote is in `got` then.
during() {
    local change=$1 reader
    shift
    rm -f pipe
    mkfifo pipe
    "$@" >pipe 2>said &
    reader=$!
    exec 5<pipe
    head -c 1 <&5 >got
    "$change"
    cat <&5 >>got
    exec 5<&-
    wait "$reader"
}

# Every shard gets another size, and the gaps go.
rearrange() {
    run_ok timeout 100 "$SHARDBOX" rm -r a.barecat goes
    run_ok timeout 100 "$SHARDBOX" defrag a.barecat
    run_ok timeout 100 "$SHARDBOX" split --shard-size=1M a.barecat
    run_ok timeout 100 "$SHARDBOX" verify -q a.barecat
}

remove_many() {
    run_ok timeout 100 "$SHARDBOX" rm -r a.barecat stays/dir
}

replace_large() {
    seq 700000 >stays/large
    run_ok timeout 100 "$SHARDBOX" pack -q --append --update a.barecat stays/large
}

add_shard() {
    mkdir new
    seq 100 >new/file
    run_ok timeout 100 "$SHARDBOX" pack -q --append --seal a.barecat new
}

# bats test_tags=threads
@test "cat: files that are moved, and shards that are cut, while its output waits" {
    for sums in 'with sums' 'without sums'; do
        rm -rf a.barecat* goes stays
        make_both "$sums"
        find stays -type f | sort -r >names
        during rearrange sb cat -j 1 -T names a.barecat
        xargs cat <names | cmp - got
        [[ ! -s said ]] || fail "$(cat said)"
    done
}

# bats test_tags=threads
@test "cat: the same, while another thread looks names up" {
    for sums in 'with sums' 'without sums'; do
        rm -rf a.barecat* goes stays
        make_both "$sums"
        find stays -type f | sort -r >once
        for _ in {1..8}; do cat once; done >names
        during rearrange sb cat -j 4 -T names a.barecat
        xargs cat <names | cmp - got
        [[ ! -s said ]] || fail "$(cat said)"
    done
}

# bats test_tags=threads
@test "cat: a large file moves between two of its blocks" {
    for sums in 'with sums' 'without sums'; do
        rm -rf a.barecat* goes stays
        mkdir stays goes
        seq 100000 >goes/1
        head -c 70000000 /dev/zero | tr '\0' x >stays/large
        date >>stays/large
        sb pack -q a.barecat goes
        sb pack -q --append a.barecat stays
        [[ $sums != 'without sums' ]] || sqlite3 a.barecat 'UPDATE files SET crc32c = NULL'
        during rearrange sb cat -j 1 a.barecat stays/large
        cmp stays/large got
    done
}

# bats test_tags=threads
@test "convert: every file that stays comes once, wherever it was moved to" {
    for sums in 'with sums' 'without sums'; do
        rm -rf a.barecat* goes stays out
        make_both "$sums"
        status=0
        during rearrange sb convert -j 1 --to=tar a.barecat - || status=$?
        # Of files that go, those that were not read yet are named.
        ((status <= 1)) || fail "$(cat said)"
        run_fail 1 grep -v 'goes\|in part' said
        tar tf got | grep '^stays/.*[^/]$' | sort | cmp - <(find stays -type f | sort)
        mkdir out
        tar xf got -C out stays
        diff -r stays out/stays
    done
}

# bats test_tags=threads
@test "find and ls: what is added, removed or moved meanwhile does not hide the rest" {
    make_both
    during rearrange sb find --type=f --sort=address a.barecat
    grep '^stays/' got | sort | cmp - <(find stays -type f | sort)
    during add_shard sb ls -R a.barecat
    [[ $(grep -c a-file got) == 1500 ]]
    [[ ! -s said ]] || fail "$(cat said)"
}

# bats test_tags=threads
@test "a shard that was begun meanwhile is found" {
    make_both
    exec 6> >("$SHARDBOX" cat --batch -T - a.barecat >answers 2>said)
    writer=$!
    printf 'stays/large\n' >&6
    add_shard
    printf 'new/file\n' >&6
    exec 6>&-
    wait "$writer" || true
    { printf 'stays/large %s\n' "$(stat -c %s stays/large)" && cat stays/large && echo &&
        printf 'new/file %s\n' "$(stat -c %s new/file)" && cat new/file && echo; } | cmp - answers
    [[ ! -s said ]]
}

# bats test_tags=threads
@test "a file that was removed while it was read is called that, not damaged" {
    make_both 'without sums'
    status=0
    during remove_many sb convert -j 1 --to=tar a.barecat - || status=$?
    ((status == 1)) || fail "$status"
    run_ok grep -v 'in part; problems, named above\|more of the kind' said
    for line in "${lines[@]}"; do
        [[ $line == 'shardbox convert: stays/dir/'*': was removed from the archive while it was read' ]]
    done
}

# bats test_tags=threads
@test "a file that was replaced before it was read is the new one" {
    make_both
    find stays -name 'a-file*' >names
    echo stays/large >>names
    during replace_large sb cat -j 1 -T names a.barecat
    xargs cat <names | cmp - got
}

# bats test_tags=threads
@test "verify goes on rightly while the archive is rearranged" {
    make_both
    # Something to say at once, and more than a pipe holds behind it.
    sqlite3 a.barecat "UPDATE files SET crc32c = crc32c - 1 WHERE path LIKE 'goes/%'"
    sqlite3 a.barecat "UPDATE files SET crc32c = NULL WHERE path LIKE 'stays/dir/%7'"
    during rearrange sb verify -j 1 a.barecat || true
    run_fail 1 grep -v '^checksum: goes/' got
}

@test "every reading command beside writers of every kind, with checksums and without" {
    release_build
    run_ok "$PROJECT/tests/faults/readers" -n 1 within writers
    output_has 'readers: 0 bad'
}
