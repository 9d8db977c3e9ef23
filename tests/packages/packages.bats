#!/usr/bin/env bats
# What `make deb` and `make tarball` make: installed, used and removed in a bare Debian 12 of its own,
# which has no network. DEB and TARBALL are what was made; BARE is where the system is kept.

load ../bats/helper

# Made once: what it takes from a server is the libraries that the package needs, and three shells.
make_bare() {
    local site
    [[ -e $BARE.tar ]] && return
    site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
        sed -n 's,/* bookworm$,,p' | head -n 1)
    rm -rf "$BARE"
    debootstrap --variant=minbase --include="$(needed),bash,zsh,fish,man-db" bookworm "$BARE" \
        "${site:-http://deb.debian.org/debian}" >&2
    tar -C "$BARE" -cf "$BARE.new" .
    mv "$BARE.new" "$BARE.tar"
}

needed() {
    dpkg-deb -f "$DEB" Depends | sed 's/ ([^)]*)//g; s/, /,/g'
}

# bare COMMAND: as a shell of root in the bare system, without network
bare() {
    unshare --mount --net chroot "$BARE" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        LC_ALL=C.UTF-8 bash -euc "cd /root; $1"
}

setup_file() {
    ((EUID == 0)) || skip 'needs root, for a system of its own'
    make_bare
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    rm -rf "$BARE"
    mkdir "$BARE"
    tar -C "$BARE" -xf "$BARE.tar"
    cp "$DEB" "$TARBALL" "$BARE/root"
}

teardown_file() {
    rm -rf "$BARE"
}

# What a user does first
uses='
    mkdir tree && seq 1000 >tree/numbers && ln -s numbers tree/link
    shardbox pack a.barecat -C tree .
    shardbox-verify a.barecat
    shardbox cat a.barecat numbers | cmp - tree/numbers
    shardbox convert a.barecat a.tar.zst
    shardbox unpack -C out a.tar.zst
    test "$(readlink out/link)" = numbers'

@test "the package: lintian finds no error" {
    run_ok lintian --fail-on error "$DEB"
    output_lacks 'E:'
}

@test "the package: installed, used, and removed without a trace" {
    bare 'find / -xdev | sort' >before
    run_ok bare 'dpkg -i *.deb'
    run_ok bare "$uses"
    run_ok bare 'man -w shardbox shardbox-pack shardbox-archive shardbox-cron'
    run_ok bare 'ls /usr/share/doc/shardbox/examples'
    output_is "$(printf '%s\n' shardbox-alarm.service shardbox-verify.service shardbox-verify.timer)"
    run_ok bare 'grep ExecStart= /usr/share/doc/shardbox/examples/shardbox-verify.service'
    output_has 'ExecStart=/usr/bin/shardbox verify'
    bare 'rm -r tree out a.*; dpkg --purge shardbox'
    bare 'find / -xdev | sort' >after
    run diff before after
    output_lacks shardbox
}

@test "the tarball: unpacked, put on the paths of three shells and of logins, used, and taken off them" {
    bare 'echo "[ -n \"\$PS1\" ] || return; # mine" >.bashrc; rm -f .profile .bash_login; touch .bash_profile; tar xf *.tar.gz; mv shardbox-*-linux-*/ "it'\''s here"'
    for ((i = 0; i < 2; i++)); do
        run_ok bare '"it'\''s here"/setup'
    done
    output_has "give its path: /root/it's here/bin/shardbox"
    [[ $(grep -c '>>> shardbox' "$BARE/root/.bashrc") == 1 ]]
    run_ok bare "PATH=/usr/bin:/bin bash -lc 'shardbox --version'"
    run_ok bare "PATH=/usr/bin:/bin bash -c '. ./.bashrc; shardbox --version'"
    run_ok bare "bash -ic '${uses//\'/\'\\\'\'}'"
    run_ok bare 'bash -ic "shardbox --version && complete -p shardbox"'
    run_ok bare 'zsh -ic "shardbox --version && print \$_comps[shardbox] && man -w shardbox-pack"'
    output_has _shardbox
    run_ok bare 'fish -ic "shardbox --version && complete -C \"shardbox unp\""'
    output_has unpack
    run_ok bare '"it'\''s here"/setup --remove'
    [[ $(cat "$BARE/root/.bashrc") == *'# mine' ]]
    run_ok bare 'cat .bash_profile .zshrc .config/fish/config.fish'
    output_is ''
}
