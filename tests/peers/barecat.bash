# What the tests against Barecat share: Barecat 0.3.1 in $NEW, and archives that it makes.

load ../bats/helper

NEW=$PEERS/barecat-0.3.1/bin

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
}

# Skips the test where Barecat could not be installed.
need_barecat() {
    [[ -e $PEERS/barecat-0.3.1/ready ]] || skip "no Barecat here"
}

barecat() {
    "$NEW/barecat" "$@"
}

# peer COMMAND...: Barecat's own library, as peer.py asks it.
peer() {
    "$NEW/python" "$PROJECT/tests/peers/peer.py" "$@"
}

# barecat_made ARCHIVE TREE [OPTION...]: Barecat packs the tree.
barecat_made() {
    (cd "$2" && find . -mindepth 1 -printf '%P\0') >names
    barecat create "${@:3}" -C "$2" -0 -T "$PWD/names" "$PWD/$1"
}

# make_wide_tree FILES: the small tree as tree/, with a directory of so many files.
make_wide_tree() {
    make_tree tree
    mkdir tree/wide
    (cd tree/wide && seq "$1" | split -l 1 -a 4 -d)
}
