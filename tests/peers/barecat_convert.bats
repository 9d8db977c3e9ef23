#!/usr/bin/env bats
# Barecat's own convert, on what we wrote and beside ours.

load containers
load barecat

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    make_text_tree tree
    find tree -type l -delete
    sb pack a.barecat -C tree .
}

# Of directories, its triggers set the times anew.
describe_files() {
    (cd "$1" && find . -type f -printf '%P %m %s %T@\n' | sort)
}

barecat_convert() {
    barecat convert "$@"
}

@test "it turns our tar and our zip into an archive of the same files" {
    for file in a.tar a.tar.gz a.zip; do
        run_ok sb convert a.barecat "$file"
        run_ok barecat_convert -f "$file" theirs.barecat
        peer check theirs.barecat tree
        run_ok sb unpack -C "out.$file" theirs.barecat
        diff -r tree "out.$file"
        # Of a zip it reads no modes.
        [[ $file == *.zip ]] || diff <(describe_files tree) <(describe_files "out.$file")
    done
}

@test "it turns our archive into a tar and a zip that we read" {
    for file in b.tar b.zip; do
        run_ok barecat_convert a.barecat "$file"
        run_ok sb convert --force "$file" back.barecat
        run_ok sb verify --strict back.barecat
        run_ok sb unpack -C "out.$file" back.barecat
        diff -r tree "out.$file"
    done
}

@test "its library reads what we convert from a tar, a zip, and several of them" {
    tar -C tree -cf a.tar .
    (cd tree && zip -qr ../a.zip .)
    for file in a.tar a.zip; do
        run_ok sb convert --force --shard-size=50k "$file" ours.barecat
        peer check ours.barecat tree
    done
    run_ok sb convert --prefix=tar a.tar ours.barecat --force
    run_ok sb convert --prefix=zip a.zip ours.barecat --append
    mkdir both
    cp -a tree both/tar
    cp -a tree both/zip
    peer check ours.barecat both
}

@test "its library reads what we wrap, and we what it wraps" {
    # It fails at a member that is the root, and reads UTF-8 only where a zip says that it is.
    (cd tree && tar -cf ../a.tar -- * .hidden)
    sb convert --method=store tree a.zip
    for file in a.tar a.zip; do
        rm -f ours.barecat* theirs.barecat*
        run_ok sb convert --wrap "$file" ours.barecat
        peer check ours.barecat tree
        run_ok barecat_convert --wrap "$file" theirs.barecat
        run_ok sb unpack -C "out.$file" theirs.barecat
        diff -r tree "out.$file"
    done
}
