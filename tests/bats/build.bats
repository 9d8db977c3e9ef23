#!/usr/bin/env bats
# The Makefile: what is rebuilt when, and what is installed.

load helper

# make_here ARGS...: in a copy of the sources and of the release build's objects, with nothing of the
# make that runs the tests.
make_here() {
    env -u MAKEFLAGS -u MAKELEVEL -u SANITIZE -u SHARED -u STATIC -u BUILD -u CC \
        make --no-print-directory -C "$BATS_FILE_TMPDIR/copy" "$@"
}

setup_file() {
    mkdir "$BATS_FILE_TMPDIR/copy"
    cp -a "$PROJECT"/{Makefile,lib,cmd,man,completions,scripts} "$BATS_FILE_TMPDIR/copy"
    mkdir "$BATS_FILE_TMPDIR/copy/tests"
    cp -a "$PROJECT"/tests/{unit,faults,tools} "$BATS_FILE_TMPDIR/copy/tests"
    if [[ -d $PROJECT/build/release ]]; then
        mkdir "$BATS_FILE_TMPDIR/copy/build"
        cp -a "$PROJECT/build/release" "$BATS_FILE_TMPDIR/copy/build"
    fi
    make_here -s
}

@test "nothing is rebuilt when nothing changed" {
    run_ok make_here -q
    run_ok make_here
    output_lacks CC
    output_lacks LINK
}

@test "a header that changed rebuilds what includes it, and only that" {
    touch "$BATS_FILE_TMPDIR/copy/lib/core/glob.h"
    run_ok make_here
    output_has lib/core/glob.o
    output_has LINK
    output_lacks lib/core/crc32c.o
    run_ok make_here -q
}

@test "other flags rebuild everything, and each switch has objects of its own" {
    run_ok make_here -n CFLAGS=-O1
    output_has lib/core/crc32c.o
    run_ok make_here -n SANITIZE=1
    output_has build/sanitize/lib/core/crc32c.o
    run_ok make_here -q
}

@test "the release binary needs libc alone, and is a few MB" {
    program=$BATS_TEST_TMPDIR/shardbox
    strip -o "$program" "$BATS_FILE_TMPDIR/copy/build/release/shardbox"
    [[ $(stat -c %s "$program") -lt 8000000 ]]
    needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
    [[ $needed == "libc.so.6 " || $needed == "libc.so.6 libm.so.6 " ]] || fail "needs $needed"
}

@test "install puts the binary, a link for each command, pages and completions; uninstall removes them" {
    run_ok make_here install "DESTDIR=$PWD/root" PREFIX=/usr
    [[ -x root/usr/bin/shardbox ]]
    run_ok root/usr/bin/shardbox --version
    while read -r name _; do
        [[ $(readlink "root/usr/bin/shardbox-$name") == shardbox ]]
        run_ok "root/usr/bin/shardbox-$name" --help
        [[ -f root/usr/share/man/man1/shardbox-$name.1 ]]
    done < <(sb --list)
    [[ -f root/usr/share/man/man1/shardbox.1 && -f root/usr/share/man/man5/shardbox-archive.5 ]]
    [[ -f root/usr/share/bash-completion/completions/shardbox ]]
    [[ -f root/usr/share/zsh/site-functions/_shardbox ]]
    [[ -f root/usr/share/fish/vendor_completions.d/shardbox.fish ]]
    run_ok make_here uninstall "DESTDIR=$PWD/root" PREFIX=/usr
    [[ -z $(find root ! -type d) ]] || fail "left: $(find root ! -type d)"
}

@test "make help names every target of a user" {
    run_ok make_here help
    for target in test lint fuzz bench demo deps install uninstall clean static test-peers test-faults; do
        output_has "$target"
    done
}

@test "without root and without sudo the missing packages are named, and it fails" {
    ((EUID == 0)) || skip "needs to become nobody"
    dir=$(mktemp -d)
    chmod 755 "$dir"
    for program in sh sed sort tr id env; do
        ln -s "$(command -v "$program")" "$dir"
    done
    ln -s /bin/true "$dir/apt-get"
    cp "$PROJECT/scripts/deps" "$dir/deps"
    run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups \
        env -i "PATH=$dir" sh "$dir/deps" build </dev/null
    rm -r "$dir"
    ((status == 1)) || fail "status is not 1"
    stderr_has "apt-get install"
    stderr_has libsqlite3-dev
    output_is ''
}
