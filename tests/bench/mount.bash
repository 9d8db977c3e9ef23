# What is mounted, for tests/bench/run: beside squashfuse_ll, of an image that is not compressed, and
# ratarmount, of the tar, where these are; and beside the bare tree. Each is mounted anew for each
# run, so that the system knows nothing of it yet.

mount_point=$work/mounted

find_mounting() {
    local venv=$project/build/bench/venv
    mounting=
    ratarmount=
    { : <>/dev/fuse; } 2>/dev/null && mounting=yes
    [ -n "$mounting" ] || say "/dev/fuse cannot be opened: nothing is mounted"
    squashfuse=$(command -v squashfuse_ll || true)
    [ -n "$squashfuse" ] || say "no squashfuse_ll: its rows are left out"
    if [ -x "$venv/bin/ratarmount" ] || "$venv/bin/pip" install -q ratarmount==1.3.0 >&2 2>/dev/null; then
        ratarmount=$venv/bin/ratarmount
    else
        say "no ratarmount: its rows are left out"
    fi
}

# on NAME COMMAND...: with what the tool of that name mounts.
on() {
    local name=$1 status=0
    shift
    mkdir -p "$mount_point"
    case $name in
    sb) "$shardbox" mount m.barecat "$mount_point" ;;
    immutable) "$shardbox" mount --immutable m.barecat "$mount_point" ;;
    squashfuse) "$squashfuse" m.sqfs "$mount_point" ;;
    ratarmount) "$ratarmount" -o ro --index-file "$work/m.index" m.tar "$mount_point" >/dev/null ;;
    esac
    "$@" || status=$?
    fusermount3 -u "$mount_point" 2>/dev/null || umount "$mount_point"
    return "$status"
}

# Peers that are there.
mounting_tools() {
    echo sb immutable
    [ -z "$squashfuse" ] || [ ! -e m.sqfs ] || echo squashfuse
    [ -z "$ratarmount" ] || echo ratarmount
}

# note KEY SECONDS
note() {
    echo "$1 $2 0" >>"$results"
}

# Cold, and once more.
read_mounted() {
    local name=$1 threads=$2 times
    mapfile -t times < <("$tools/read_files" "${3:-$mount_point}" "$threads" 2 <mount-names)
    note "mount-reads-$threads-$name" "${times[0]}"
    note "mount-again-$threads-$name" "${times[1]}"
}

measure_mounted() {
    local name=$1 threads
    on "$name" measure "mount-sizes-$name" find "$mount_point" -size +1M
    on "$name" measure "mount-large-$name" cat "$mount_point/large"
    for threads in 1 2 8; do
        on "$name" read_mounted "$name" "$threads"
    done
}

# One large directory, whose files have no bytes.

list_mounted() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    measure "mount-directory-$1" sh -c 'ls -f "$1" >/dev/null' sh "$mount_point/d"
}

memory_of_server() {
    find "$mount_point" >/dev/null
    note mount-memory "$(awk '/^VmHWM/ { print $2 / 1024 }' "/proc/$(pgrep -nf "^$shardbox mount m.barecat")/status")"
}

measure_directory() {
    local name
    mkdir -p mtree/d "$mount_point"
    (cd mtree/d && seq -f '%08.0f.jpg' "$((rows / 2))" | xargs touch)
    "$shardbox" pack -q m.barecat -C mtree .
    [ -z "$squashfs" ] || mksquashfs mtree m.sqfs -noI -noD -noF -noX -quiet -no-progress >/dev/null
    rm -rf mtree
    for ((run = 1; run <= runs; run++)); do
        measure mount-ready "$shardbox" mount m.barecat "$mount_point"
        "$shardbox" umount "$mount_point"
        for name in $(mounting_tools); do
            [[ $name == ratarmount ]] || on "$name" list_mounted "$name"
        done
    done
    on sb memory_of_server
    rm -f m.*
}

# Small files in stored order, where each call takes a millisecond (slow.bash).
measure_mount_slowly() {
    local key times
    local -A options=([immutable]=--threads=16 [readahead]=--readahead=4M)
    mkdir slow-mount
    mv m.barecat* slow-mount
    "$shardbox" find --sort=address --type=f slow-mount/m.barecat | grep -vx large | sed -n 1,1000p >stored
    for key in immutable readahead; do
        slow "$work/slow-mount" "$shardbox" mount --immutable "${options[$key]}" slow-mount/m.barecat "$mount_point"
        times=$("$tools/read_files" "$mount_point" 1 1 <stored)
        note "mount-slow-$key" "$times"
        "$shardbox" umount "$mount_point"
    done
    rm -rf slow-mount stored
}

measure_mount() {
    local name threads run
    [ -n "$mounting" ] || return 0
    "$tools/make_tree" mtree "$files" 5000
    head -c "$((files * 5000))" /dev/urandom >mtree/large
    "$shardbox" pack -q m.barecat -C mtree .
    tar cf m.tar -C mtree .
    [ -z "$squashfs" ] || mksquashfs mtree m.sqfs -noI -noD -noF -noX -quiet -no-progress >/dev/null
    (cd mtree && find . -type f ! -name large -printf '%P\n') | shuf -n "$reads" --random-source=m.tar >mount-names
    for ((run = 1; run <= runs; run++)); do
        for name in $(mounting_tools); do
            say "mounted, $name ($run of $runs)"
            measure_mounted "$name"
        done
        for threads in 1 2 8; do
            read_mounted tree "$threads" mtree
        done
    done
    measure_mount_slowly
    rm -rf m.* mtree mount-names
    measure_directory
}

# Of the peer's time, how many times that of the program under test.
mount_ratio() {
    ratio "$(median "mount-$1-$2")" "$(median "mount-$1-${3:-sb}")"
}

print_mount_figures() {
    local threads
    [ -n "$mounting" ] || return 0
    figure "a mount of $((rows / 2)) files is ready" at-most 50 " ms" "$(ratio "$(median mount-ready)" 1 1000)"
    figure "a mounted directory of $((rows / 2)) is listed" at-most 0.5 " s" "$(median mount-directory-sb)"
    figure "the same: time of squashfuse_ll" at-least 1 " ×" "$(mount_ratio directory squashfuse)"
    figure "the most memory of that server, after find" at-most 64 " MB" "$(median mount-memory)"
    figure "sizes of a mount: time of squashfuse_ll" at-least 2 " ×" "$(mount_ratio sizes squashfuse)"
    figure "the same: time of ratarmount" at-least 5 " ×" "$(mount_ratio sizes ratarmount)"
    for threads in 1 2 8; do
        figure "$reads random files of a mount, $threads threads: time of squashfuse_ll" at-least 1.5 " ×" \
            "$(mount_ratio "reads-$threads" squashfuse)"
        figure "the same: time of ratarmount" at-least 3 " ×" "$(mount_ratio "reads-$threads" ratarmount)"
        figure "read once more, --immutable: speed of the bare tree" at-least 0.4 " ×" \
            "$(mount_ratio "again-$threads" tree immutable)"
    done
    figure "1000 files of a mount as stored, 1 ms a call: time with --readahead=4M" at-least 5 " ×" \
        "$(mount_ratio slow immutable readahead)"
    figure "one large file of a mount: time of squashfuse_ll" at-least 1 " ×" "$(mount_ratio large squashfuse)"
}
