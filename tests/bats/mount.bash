# What the tests of mount load, besides helper.
#
#   need_fuse            skips the test where nothing can be mounted
#   need_own_mounts      skips the test where there are no mount namespaces; "${own_mounts[@]}" COMMAND...
#                        then runs it in one, from which no mount gets out
#   mounted ARGS...      shardbox mount ARGS... m, in the background; m is made
#   server               the process that serves m
#   gone                 waits until no process serves m
#   await COMMAND...     waits until the command succeeds
#
# A server in the background has no stderr: what a sanitizer reports of one goes to files, for which
# teardown looks.
#
# Whatever a test leaves is unmounted after it. Nothing waits longer than LIMIT seconds, which only what
# hangs takes, also with a sanitizer and on a busy machine.

LIMIT=60

need_fuse() {
    { : <>/dev/fuse; } 2>/dev/null || skip '/dev/fuse cannot be opened'
    [[ $(id -u) -eq 0 ]] || command -v fusermount3 >/dev/null || skip 'neither root nor fusermount3'
}

# Called by the test itself: under `run` a skip would be status 0 and nothing more.
need_own_mounts() {
    if [[ $(id -u) -eq 0 ]]; then
        # By itself unshare makes mounts private from / on, which in a chroot is no mount: nsenter
        # goes to the root of the namespace.
        # shellcheck disable=SC2016 # for the shell that is started
        own_mounts=(unshare -m --propagation=unchanged sh -c
            'nsenter --mount=/proc/self/ns/mnt mount --make-rprivate / && exec "$@"' sh)
    else
        own_mounts=(unshare -rm)
    fi
    "${own_mounts[@]}" mount -t tmpfs tmpfs m 2>/dev/null || skip 'no mount namespaces'
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_fuse
    mkdir m
    export ASAN_OPTIONS="log_path=$PWD/sanitizer:$ASAN_OPTIONS"
    export UBSAN_OPTIONS="log_path=$PWD/sanitizer:$UBSAN_OPTIONS"
    export TSAN_OPTIONS="log_path=$PWD/sanitizer:$TSAN_OPTIONS"
}

teardown() {
    local point
    cd / || return
    grep -F " $BATS_TEST_TMPDIR/" /proc/mounts | cut -d' ' -f2 | sort -r | while read -r point; do
        point=$(printf '%b' "$point") # a space is \040
        timed umount -l "$point" 2>/dev/null || timed fusermount3 -uz "$point" || true
    done
    cd "$BATS_TEST_TMPDIR" && gone || return
    ! compgen -G 'sanitizer.*' >/dev/null || fail "$(cat sanitizer.*)"
}

timed() {
    timeout --kill-after=1 "$LIMIT" "$@"
}

mounted() {
    timed "$SHARDBOX" mount "$@" m
}

server() {
    pgrep -f -- "^$SHARDBOX mount .*m\$" | while read -r pid; do
        if [[ $(readlink "/proc/$pid/cwd") == "$PWD" ]]; then echo "$pid"; fi
    done
}

await() {
    local end=$((SECONDS + LIMIT))
    until "$@"; do
        ((SECONDS < end)) || return
        sleep 0.1
    done
}

is_gone() {
    [[ ! $(server) ]]
}

gone() {
    await is_gone || fail "still served by $(server)"
}

is_mounted() {
    grep -qF " $PWD/$1 " /proc/mounts
}

is_unmounted() {
    ! is_mounted "$1"
}
