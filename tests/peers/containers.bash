# What the tests of tar, zip and cpio share: trees with all that these can hold, and their peers.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# containers.py COMMAND...: Python's own tarfile and zipfile.
python_peer() {
    python3 "$PROJECT/tests/peers/containers.py" "$@"
}

# set_times TREE TIME: of everything in it.
set_times() {
    find "$1" -depth -exec touch -h -d "$2" {} +
}

# The small tree with names that are hard to carry: not UTF-8, decomposed, and longer than the field
# of any header; with a long target of a link, hard links, and a time before 1970.
make_odd_tree() {
    local long
    long=$(printf 'l%.0s' {1..120})
    make_tree "$1"
    make_raw_names "$1"
    printf 'decomposed\n' >"$1"/$'u\xcc\x88ber'
    mkdir -p "$1/$long/$long"
    printf 'far down\n' >"$1/$long/$long/$(printf 'f%.0s' {1..80})"
    printf 'long\n' >"$1/$(printf 'n%.0s' {1..250})"
    ln -s "$long/$long/$(printf 'f%.0s' {1..80})" "$1/long-link"
    ln "$1/a.txt" "$1/sub/hard"
    ln "$1/numbers" "$1/zz-hard"
    set_times "$1" '2001-02-03 04:05:06.123456789Z'
    touch -d '1969-12-31 23:59:58Z' "$1/one"
}

# Nothing that a ustar header cannot hold, and whole seconds.
make_ustar_tree() {
    make_tree "$1"
    make_raw_names "$1"
    printf 'decomposed\n' >"$1"/$'u\xcc\x88ber'
    ln "$1/a.txt" "$1/sub/hard"
    set_times "$1" '2001-02-03 04:05:06Z'
}

# A tree whose names are UTF-8: what Barecat and zips of every kind can hold.
make_text_tree() {
    make_tree "$1"
    printf 'decomposed\n' >"$1"/$'u\xcc\x88ber'
    set_times "$1" '2001-02-03 04:05:06Z'
}

# unpacks_to TREE FILE: what we make of the container, straight and by way of an archive, is the tree.
unpacks_to() {
    rm -rf straight through t.barecat*
    run_ok sb unpack -C straight "$2"
    same_tree "$1" straight
    run_ok sb convert "$2" t.barecat
    run_ok sb verify --strict t.barecat
    run_ok sb unpack -C through t.barecat
    same_tree "$1" through
}

same_file() {
    [[ $1 -ef $2 ]] || fail "$1 and $2 are not one file"
}

# need PROGRAM...: skips the test where one is not installed.
need() {
    local program
    for program; do
        command -v "$program" >/dev/null || skip "no $program here"
    done
}
