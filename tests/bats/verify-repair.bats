#!/usr/bin/env bats
# shardbox verify --repair-from

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p tree/dir
    seq 2000 >tree/numbers
    seq 500 >tree/dir/more
    printf 'small\n' >tree/dir/small
    : >tree/empty
    ln -s dir/more tree/link
    sb pack --shard-size=6k -C tree a.barecat .
    mkdir copy
    cp a.barecat* copy
}

# Every byte is as it was, the index's too.
is_as_before() {
    local file
    for file in copy/a.barecat*; do
        cmp "$file" "${file#copy/}" || return
    done
    rm -f a.barecat-before-repair
    [[ $(cd copy && echo a.barecat*) == "$(echo a.barecat*)" ]] || fail 'files beside the archive'
}

shard_of() {
    sql a.barecat "SELECT printf('a.barecat-shard-%05d', shard) FROM files WHERE path = '$1'"
}

offset_of() {
    sql a.barecat "SELECT offset FROM files WHERE path = '$1'"
}

damage() {
    flip_byte "$(shard_of "$1")" "$(($(offset_of "$1") + ${2:-0}))"
}

repaired='shardbox verify: a.barecat: 1 damaged file (1.9K) restored from'

@test "a damaged file is restored in place, a warning says so, and nothing else is touched" {
    damage dir/more 700
    run_ok sb verify --repair-from=copy/a.barecat a.barecat
    [[ $output == 'checksum: dir/more: its 1892 bytes at '* ]] || fail 'the defect is not named'
    stderr_is "$repaired copy/a.barecat"
    is_as_before
}

@test "a copy may be an archive, a directory, a tar, a compressed tar or a zip" {
    for to in tar tar.gz zip; do
        sb convert --quiet copy/a.barecat "copy.$to"
    done
    for copy in copy/a.barecat tree copy.tar copy.tar.gz copy.zip; do
        damage dir/more
        damage link
        run_ok sb verify -v --repair-from="$copy" a.barecat
        stderr_has 'shardbox verify: dir/more: restored'
        stderr_has 'shardbox verify: link: restored'
        is_as_before
    done
}

@test "a tar comes from standard input too" {
    damage dir/more
    run_ok sb verify --repair-from=- a.barecat < <(sb convert --to=tar copy/a.barecat -)
    stderr_is "$repaired standard input"
    is_as_before
}

# bats test_tags=threads
@test "shards that are missing or short are made whole, with many threads as with one" {
    for threads in 1 5; do
        rm a.barecat-shard-00000
        truncate -s 10 a.barecat-shard-00001
        run_ok sb verify -j $threads --repair-from=tree a.barecat
        output_has 'shard: '
        is_as_before
    done
}

@test "a file larger than is held in memory goes through a temporary file" {
    seq 900000 >tree/large
    sb pack --force a.barecat -C tree .
    cp a.barecat* copy
    rm copy/a.barecat-shard-00001
    sb convert copy/a.barecat copy.tar.gz
    for copy in copy/a.barecat tree copy.tar.gz; do
        damage large 6000000
        run_ok sb verify --repair-from=$copy a.barecat
        is_as_before || fail "from $copy"
    done
    [ -z "$(find . -name 'sb*')" ]
}

@test "what the copy lacks, or has with other bytes, stays damaged and is named" {
    damage dir/more
    damage dir/small
    damage numbers
    rm tree/dir/small
    seq 501 900 >tree/dir/more
    truncate -s 1892 tree/dir/more
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_is "shardbox verify: dir/more: not restored: tree has other bytes under this name
shardbox verify: dir/small: not restored: tree has no such file
shardbox verify: a.barecat: 1 of 3 damaged files (8.7K) restored from tree
shardbox verify: a.barecat: 2 defects remain; copy the damaged shards again, or restore the files from another copy with --repair-from=COPY"
    run_fail 1 sb verify a.barecat
    output_lacks numbers
}

@test "a damaged copy gives what is sound in it" {
    damage dir/more
    damage numbers
    (cd copy && flip_byte "$(shard_of numbers)" "$(offset_of numbers)")
    run_fail 1 sb verify --repair-from=copy/a.barecat a.barecat
    stderr_has 'numbers: not restored: copy/a.barecat has other bytes under this name'
    run_fail 1 sb verify a.barecat
    output_lacks more
    sb convert --quiet copy/a.barecat broken.tar.gz || true
    truncate -s 400 broken.tar.gz
    run_fail 1 sb verify --repair-from=broken.tar.gz a.barecat
    stderr_has 'what comes after it is not read'
}

@test "hard links in a tar are restored from the file that they lead to" {
    ln tree/dir/more tree/zz
    sb pack --append --quiet -C tree a.barecat zz
    cp a.barecat* copy
    tar --sort=name -czf copy.tar.gz -C tree .
    damage zz
    run_ok sb verify --repair-from=copy.tar.gz a.barecat
    is_as_before
    damage zz
    run_fail 1 sb verify --repair-from=- a.barecat < <(cat copy.tar.gz)
    stderr_has 'files that are hard links in the copy are not restored from a pipe; give the copy as a file'
}

@test "--repair-prefix names the directory of the copy that has the files" {
    tar -czf copy.tar.gz tree
    for copy in . copy.tar.gz; do
        damage dir/more
        run_fail 1 sb verify --repair-from=$copy a.barecat
        stderr_has "dir/more: not restored: $copy has no such file"
        stderr_has "0 of 1 damaged file (0) restored from $copy; --repair-prefix=DIR names the directory of it that has the files, if there is one"
        run_ok sb verify --repair-from=$copy --repair-prefix=tree/ a.barecat
        is_as_before
    done
}

@test "-n finds what could be restored, and writes nothing" {
    damage dir/more
    cp "$(shard_of dir/more)" damaged
    run_fail 1 sb verify -n --repair-from=copy/a.barecat a.barecat
    output_is 'dir/more'
    stderr_has '1 of 1 damaged file (1.9K) can be restored from copy/a.barecat; nothing was written (--dry-run)'
    cmp damaged "$(shard_of dir/more)"
}

@test "of a sound archive nothing is said, and the copy is looked for all the same" {
    run_ok sb verify --repair-from=copy/a.barecat a.barecat
    stderr_is ''
    run_fail 2 sb verify --repair-from=nothing a.barecat
    stderr_has 'nothing'
    run_fail 2 sb verify --repair-from=a.barecat a.barecat
    stderr_is 'shardbox verify: a.barecat: is the archive itself, or has the same index; another copy is needed'
}

@test "only what was verified is repaired" {
    damage dir/more
    damage numbers
    run_ok sb verify --repair-from=tree a.barecat dir
    run_fail 1 sb verify a.barecat
    output_lacks more
    output_has numbers
}

@test "a file without a checksum is not restored, nor made to look sound" {
    sql a.barecat "UPDATE files SET crc32c = NULL WHERE path = 'dir/small'"
    truncate -s "$(offset_of dir/small)" "$(shard_of dir/small)"
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_has 'dir/small: not restored: it has no checksum that a copy could be held against'
    [ "$(stat -c %s "$(shard_of dir/small)")" = "$(offset_of dir/small)" ]
}

@test "a shard that is a link, or has hard links, is not written into" {
    damage dir/more
    ln "$(shard_of dir/more)" other
    cp other before
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_has "its files are not restored: it has 2 hard links, by which other archives may use it; copy it, and rename the copy to this name"
    ln -sf other "$(shard_of dir/more)"
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_has 'its files are not restored: it is a symbolic link to '
    stderr_has 'other; repair the archive that it belongs to'
    cmp other before
}

@test "where two files share bytes neither is written" {
    sql a.barecat "UPDATE files SET shard = (SELECT shard FROM files WHERE path = 'numbers'),
        offset = (SELECT offset FROM files WHERE path = 'numbers') + 10 WHERE path = 'dir/more'"
    cp "$(shard_of numbers)" before
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_has 'dir/more: not restored: it shares bytes with another file'
    cmp before "$(shard_of numbers)"
}

@test "nothing is written where the index is damaged" {
    damage dir/more
    cp "$(shard_of dir/more)" before
    sql a.barecat 'PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name =
        (SELECT name FROM pragma_index_list("dirs") WHERE origin = "c")'
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_has 'a.barecat: nothing is restored: its index is damaged, which says where files belong; take the index from a copy, then verify again'
    cmp before "$(shard_of dir/more)"
}

@test "while another writer is at work nothing is written" {
    damage dir/more
    cp "$(shard_of dir/more)" before
    mkfifo gate
    (sqlite3 a.barecat "BEGIN IMMEDIATE" ".shell touch locked" ".shell read x <gate" >log 2>&1) &
    until [ -e locked ]; do sleep 0.01; done
    run --separate-stderr sb verify --repair-from=tree a.barecat
    echo >gate
    wait
    ((status == 2)) || fail 'not refused'
    stderr_has 'is writing this archive; wait for it'
    cmp before "$(shard_of dir/more)"
}

@test "it is for archives, and for what is read" {
    run_fail 2 sb verify --quick --repair-from=tree a.barecat
    stderr_is 'shardbox verify: --repair-from: what is damaged is found by reading it; leave out --quick'
    run_fail 2 sb verify --repair-prefix=x a.barecat
    stderr_is 'shardbox verify: --repair-prefix goes with --repair-from'
    tar -cf t.tar tree
    run_fail 2 sb verify --repair-from=tree t.tar
    stderr_is 'shardbox verify: t.tar: --repair-from is for archives; of this, take the whole from the copy'
    run_fail 2 sb verify --repair-from=tree set@4.bagz
    stderr_is 'shardbox verify: set@4.bagz: --repair-from is for archives; --repair-to=BAG keeps what is sound of a bag'
    run_fail 2 sb verify --repair-from=set@4.bagz a.barecat
    stderr_is 'shardbox verify: set@4.bagz: a bag has records, not files by name'
}

@test "a shard that is missing and that no file uses is made anew, empty" {
    mapfile -t names < <(sql a.barecat 'SELECT path FROM files WHERE shard = 0 AND size > 0')
    sb rm a.barecat "${names[@]}"
    rm a.barecat-shard-00000
    run_fail 1 sb verify a.barecat
    run_ok sb verify --repair-from=tree a.barecat
    stderr_is 'shardbox verify: a.barecat: shard 0, which no file uses, was missing, and is made anew'
    [ -e a.barecat-shard-00000 ]
    run_ok sb verify a.barecat
}

@test "several in a row are one line, and one that stands among them is left as it is" {
    sql a.barecat "UPDATE files SET shard = 9, offset = 0 WHERE path = 'dir/small'"
    : >a.barecat-shard-00006
    run_ok sb verify --repair-from=tree a.barecat
    stderr_has 'shardbox verify: a.barecat: shards 7 to 8, which no file uses, were missing, and are made anew'
    stderr_lacks 'shard 6'
    run_ok sb verify a.barecat
}

@test "no shard grows beyond what a file system can hold, whatever the index says" {
    sql a.barecat "UPDATE files SET offset = 1 << 60 WHERE path = 'dir/small'"
    damage dir/more
    run_fail 1 sb verify --repair-from=tree a.barecat
    stderr_has 'shardbox verify: dir/small: not restored: its place is beyond what the file system could hold, where it cannot have been'
    stderr_has '1 of 2 damaged files (1.9K) restored from tree'
    for shard in a.barecat-shard-*; do
        cmp "$shard" "copy/$shard"
    done
}

@test "an index in WAL mode stays in it" {
    sql a.barecat 'PRAGMA journal_mode = WAL' >log
    cp a.barecat copy
    rm a.barecat-shard-00000
    run_ok sb verify --repair-from=tree a.barecat
    is_as_before
}

@test "the directory that holds the copy, in place of the copy, is named" {
    mkdir few copies
    echo content >few/file
    sb pack set.barecat few
    cp set.barecat* copies/
    printf X | dd of=set.barecat-shard-00000 conv=notrunc status=none
    run_fail 1 sb verify --repair-from=copies set.barecat
    stderr_has "restored from copies; there is an archive of this name in it: --repair-from takes that"
    run_ok sb verify --repair-from=copies/set.barecat set.barecat
    run_ok sb verify set.barecat
}
