#!/usr/bin/env bats
# What we write Barecat 0.3.1 reads and changes, and what it writes we read and add to.

load barecat

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    [[ -e $PEERS/barecat-0.2.7/ready ]] || skip "no Barecat 0.2.7 here"
    OLD=$PEERS/barecat-0.2.7/bin
}

# as_barecat_keeps TREE: links become files that hold their targets, as its readers see them.
as_barecat_keeps() {
    local link target
    find "$1" -type l -print0 | while IFS= read -r -d '' link; do
        target=$(readlink "$link")
        rm "$link"
        printf '%s' "$target" >"$link"
    done
}

# Modes and times of the files below a directory; those of directories Barecat's triggers set anew.
describe_files() {
    (cd "$1" && find . -type f -printf '%P %m %s %T@\0' | sort -z)
}

# both_agree ARCHIVE: Barecat and shardbox read the same names and bytes, and both find no defect.
both_agree() {
    rm -rf theirs ours
    mkdir theirs
    peer dump "$1" theirs
    run_ok sb verify "$1"
    run_ok sb unpack -C ours "$1"
    as_barecat_keeps ours
    diff -r --no-dereference theirs ours
    barecat verify "$1"
}

@test "Barecat reads, walks, globs and verifies what we packed" {
    make_wide_tree 2000
    sb pack --shard-size=50k a.barecat -C tree .
    peer check a.barecat tree
    run_ok barecat verify a.barecat
}

@test "Barecat reads what was committed on the way, and what it becomes" {
    make_wide_tree 2000
    tar cf tree.tar --sort=name -C tree .
    mkfifo pipe
    "$SHARDBOX" convert -q --checkpoint=20k --shard-size=50k - a.barecat <pipe 2>/dev/null &
    writer=$!
    exec 7>pipe
    head -c 900000 tree.tar >&7
    until [[ -e a.barecat.part ]]; do sleep 0.05; done
    kill -TERM "$writer"
    wait "$writer" || true
    exec 7>&-
    both_agree a.barecat.part
    sb convert -q --resume --shard-size=50k - a.barecat <tree.tar
    peer check a.barecat tree
    run_ok barecat verify a.barecat
}

@test "Barecat reads the same from one shard, from appended ones, and from a replaced archive" {
    make_wide_tree 2000
    sb pack a.barecat -C tree deep wide
    sb pack --append a.barecat -C tree --exclude=/deep --exclude=/wide .
    peer check a.barecat tree
    sb pack --force --shard-size=9k a.barecat -C tree .
    peer check a.barecat tree
    rm -rf tree/wide
    sb pack --force a.barecat -C tree .
    peer check a.barecat tree
}

@test "Barecat extracts what we packed" {
    make_wide_tree 2000
    sb pack --shard-size=50k a.barecat -C tree .
    run_ok barecat extract -C out a.barecat
    as_barecat_keeps tree
    find tree -type d -empty -delete
    diff -r tree out
}

@test "Barecat deletes from, renames in, adds to and updates what we packed" {
    make_wide_tree 2000
    sb pack --shard-size=50k a.barecat -C tree .
    peer change a.barecat
    both_agree a.barecat
    run_ok sb cat a.barecat added/0/barecat
    output_has added
}

@test "Barecat adds a tree to what we packed" {
    make_tree tree
    sb pack a.barecat -C tree .
    mkdir more
    printf 'more\n' >more/more
    (cd more && barecat add ../a.barecat more)
    both_agree a.barecat
    cp more/more tree/more
    peer check a.barecat tree
}

@test "Barecat defragments what we packed, after deletions" {
    make_wide_tree 2000
    sb pack --shard-size=50k a.barecat -C tree .
    peer change a.barecat
    barecat defrag a.barecat
    both_agree a.barecat
}

@test "Barecat reshards what we packed" {
    # With more files than it fetches at once, its reshard fails on its own archives too.
    make_tree tree
    rm tree/numbers
    seq 3000 | split -b 1500 -a 3 -d - tree/part
    sb pack a.barecat -C tree .
    barecat reshard -s 9K a.barecat
    [[ $(find . -name 'a.barecat-shard-*' | wc -l) -gt 1 ]]
    both_agree a.barecat
    peer check a.barecat tree
}

@test "we read, list, find, compare and unpack what Barecat packed" {
    make_wide_tree 2000
    find tree -type l -delete
    barecat_made a.barecat tree -s 400K
    both_agree a.barecat
    sb find -0 --type=f a.barecat | sort -z >names.ours
    (cd tree && find . -type f -printf '%P\0') | sort -z >names.theirs
    cmp names.ours names.theirs
    sb ls -lR a.barecat >/dev/null
    while IFS= read -r -d '' name; do
        printf '%s\0' "$name"
    done <names.ours | sb cat --files-from=- -0 a.barecat >bytes
    (cd tree && xargs -0 cat -- <../names.ours) | cmp - bytes
    run_ok sb unpack -C back a.barecat
    diff -r tree back
    cmp <(describe_files tree) <(describe_files back)
}

@test "we read and verify what Barecat packed, deleted from, defragmented and resharded" {
    make_wide_tree 2000
    find tree -type l -delete
    barecat_made a.barecat tree -s 400K
    peer change a.barecat
    both_agree a.barecat
    barecat defrag a.barecat
    both_agree a.barecat
    barecat reshard -s 500K a.barecat
    both_agree a.barecat
}

@test "we append to and update what Barecat packed" {
    make_wide_tree 2000
    find tree -type l -delete
    barecat_made a.barecat tree
    peer change a.barecat
    mkdir -p more/added/by/us
    printf 'ours\n' >more/added/by/us/file
    seq 5000 >more/a.txt
    sb pack --append --update a.barecat -C more .
    both_agree a.barecat
    run_ok sb cat a.barecat added/by/us/file
    output_is ours
    peer change a.barecat
    both_agree a.barecat
}

@test "names that are not UTF-8: Barecat reads single paths" {
    make_tree tree
    make_raw_names tree
    run_ok sb pack a.barecat -C tree .
    run_ok "$NEW/python" -c 'from barecat import Barecat
with Barecat("a.barecat") as bc:
    assert bc["a.txt"] == b"hello\n"'
}

@test "an archive of Barecat 0.2.7 is read as it is, and upgraded" {
    make_tree tree
    find tree -type l -delete
    (cd tree && find . -type f -printf '%P\0') >names
    (cd tree && "$OLD/barecat-create" --file=../a.barecat --null <../names) ||
        fail "$("$OLD/barecat-create" --help)"
    [[ -e a.barecat-sqlite-index ]]
    run_ok sb unpack -C out a.barecat
    find tree -type d -empty -delete
    diff -r tree out
    run_ok sb find --type=f -0 a.barecat
    run_ok sb upgrade a.barecat
    [[ ! -e a.barecat-sqlite-index ]]
    run_ok sb verify --strict a.barecat
    both_agree a.barecat
    peer change a.barecat
    both_agree a.barecat
}
