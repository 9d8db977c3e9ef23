# What every test file loads. A test starts in an empty directory of its own, $BATS_TEST_TMPDIR.
#
#   sb ARGS...                  the program under test
#   run_ok COMMAND...           runs it; it must exit 0
#   run_fail STATUS COMMAND...  runs it; it must exit with STATUS
#   output_is / stderr_is TEXT  the whole of what it wrote
#   output_has / stderr_has TEXT, output_lacks / stderr_lacks TEXT
#
#   release_build               from here on the test runs the release build, without sanitizers: they
#                               change what it counts (calls, memory, time), or take too long
#   need_shim                   likewise, with $FAULT_SHIM to be preloaded
#   every_third_day             skips the test on the other days: for what takes many seconds
#   need_slow                   likewise; slow_sb ARGS... is the program where each call on files of this
#                               directory takes 0.3 ms
#
# run_ok and run_fail leave $status, $output, $stderr, $lines and $stderr_lines, as bats' `run
# --separate-stderr` does. A death by signal, a sanitizer's report or a timeout is never a pass.

bats_require_minimum_version 1.5.0

# Without other programs, as each test reads this file.
# absolute VARIABLE: makes a path that is relative to the working directory absolute.
absolute() {
    [[ ${!1} == /* ]] || printf -v "$1" '%s/%s' "$PWD" "${!1}"
}

PROJECT=${BATS_TEST_DIRNAME%/*/*}
: "${SHARDBOX:=$PROJECT/build/release/shardbox}"
absolute SHARDBOX
: "${RELEASE_SHARDBOX:=$SHARDBOX}"
absolute RELEASE_SHARDBOX
export SHARDBOX
export LC_ALL=C.UTF-8 TZ=UTC TMPDIR=$BATS_RUN_TMPDIR
unset LS_COLORS NO_COLOR
umask 022

# The address sanitizer takes more time than all else, so each test is under it every other day, and on the
# days between runs the release build. To look for leaks takes half of the time of a short run that is left:
# each test does it once a week. EVERY=1: all tests do both.
printf -v TODAY '%(%-j)T' -1
if [[ -z ${EVERY:-} && $SHARDBOX == */sanitize/* ]] && (((BATS_TEST_NUMBER + TODAY) % 2)); then
    SHARDBOX=$RELEASE_SHARDBOX
fi
# An exit status that no command of ours has, so that a report cannot pass as "damage".
export ASAN_OPTIONS="exitcode=99:detect_leaks=$((${EVERY:-0} || (BATS_TEST_NUMBER + TODAY) % 7 == 0)):${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="exitcode=99:print_stacktrace=1:${UBSAN_OPTIONS:-}"
export TSAN_OPTIONS="exitcode=99:${TSAN_OPTIONS:-}"

# bats calls this before each command, to say where a test failed; its own takes longer than the commands.
# Here what bats and this file run is passed over, and a command of the test itself is its line.
# shellcheck disable=SC2034 # bats uses them
bats_debug_trap() {
    [[ $1 == "$BATS_TEST_SOURCE" ]] || return 0
    BATS_DEBUG_LASTLAST_STACK_TRACE=("${BATS_DEBUG_LAST_STACK_TRACE[@]}")
    BATS_DEBUG_LAST_LINENO=("${BASH_LINENO[@]}")
    BATS_DEBUG_LAST_SOURCE=("${BASH_SOURCE[@]}")
    if [[ ${FUNCNAME[1]} == "$BATS_TEST_NAME" ]]; then
        BATS_DEBUG_LAST_STACK_TRACE=("${BASH_LINENO[0]} ${FUNCNAME[1]} $1")
    else
        bats_capture_stack_trace
    fi
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

sb() {
    "$SHARDBOX" "$@"
}

release_build() {
    SHARDBOX=$RELEASE_SHARDBOX
}

# need_preload LIBRARY WHAT: a sanitizer's runtime must come before any other library.
need_preload() {
    [[ -e $1 ]] || skip "$2 is not built"
    release_build
}

need_shim() {
    need_preload "${FAULT_SHIM:-}" 'the shim of tests/faults'
}

need_slow() {
    need_preload "${SLOW_SHIM:-}" 'the shim of a slow file system'
}

slow_sb() {
    LD_PRELOAD="$SLOW_SHIM" SLOW_ROOT="$PWD" SLOW_MICROSECONDS=300 "$SHARDBOX" "$@"
}

# every_third_day: of what takes many seconds a third is run each day. EVERY=1: all of it.
every_third_day() {
    [[ -n ${EVERY:-} ]] || (((BATS_TEST_NUMBER + TODAY) % 3 == 0)) || skip 'only every third day'
}

need_strace() {
    strace -o /dev/null true 2>/dev/null || skip 'strace cannot trace here'
}

# traced ARGS...: strace -f, under which leaks cannot be looked for.
traced() {
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f "$@"
}

# Shows what the command did and fails.
fail() {
    printf '%s\n' "$*"
    printf 'status: %s\n--- stdout\n%.3000s\n--- stderr\n%.3000s\n' "${status-}" "${output-}" \
        "${stderr-}"
    return 1
}

# The statuses and messages that mean a crash, a sanitizer's report or a hang.
refuse_crash() {
    if ((status >= 124 || status == 99)); then
        fail "crashed, hung or was reported by a sanitizer: $*"
        return
    fi
    case ${stderr-} in
    *Sanitizer* | *"runtime error:"*) fail "sanitizer report: $*" ;;
    esac
}

# As bats' `run --separate-stderr`, in a third of the time.
# shellcheck disable=SC2034 # tests use them
capture() {
    local flags=$- file=$BATS_TEST_TMPDIR.$BASHPID
    set +eET
    output=$("$@" 2>"$file") && status=0 || status=$?
    IFS=$'\n' read -d '' -r -a lines <<<"$output"
    read -d '' -r stderr <"$file"
    IFS=$'\n' read -d '' -r -a stderr_lines <<<"$stderr"
    set "-$flags"
}

run_ok() {
    capture "$@"
    refuse_crash "$@" || return
    ((status == 0)) || fail "exit status is not 0: $*"
}

run_fail() {
    local wanted=$1
    shift
    capture "$@"
    refuse_crash "$@" || return
    ((status == wanted)) || fail "exit status is not $wanted: $*"
}

output_is() {
    [[ $output == "$1" ]] || fail "stdout is not: $1"
}

stderr_is() {
    [[ $stderr == "$1" ]] || fail "stderr is not: $1"
}

output_has() {
    [[ $output == *"$1"* ]] || fail "not on stdout: $1"
}

stderr_has() {
    [[ $stderr == *"$1"* ]] || fail "not on stderr: $1"
}

output_lacks() {
    [[ $output != *"$1"* ]] || fail "on stdout: $1"
}

stderr_lacks() {
    [[ $stderr != *"$1"* ]] || fail "on stderr: $1"
}

# A small tree: odd names, an empty file, empty directories, links, a deep path, names whose order
# by bytes differs from the order of a walk. Modes and times (with nanoseconds) are always the same.
make_tree() {
    [[ -e $BATS_RUN_TMPDIR/small-tree ]] || build_tree "$BATS_RUN_TMPDIR/small-tree"
    mkdir -p "$1"
    cp -a "$BATS_RUN_TMPDIR/small-tree/." "$1"
}

build_tree() {
    local dir=$1 deep
    deep=$dir/deep/$(printf 'd%d/' {1..20})
    mkdir -p "$dir"/{sub/dir,sub.d,empty-dir/inner,'with space'} "$deep"
    printf 'hello\n' >"$dir/a.txt"
    : >"$dir/empty"
    printf 'x' >"$dir/one"
    printf 'below sub\n' >"$dir/sub/file"
    printf 'below sub/dir\n' >"$dir/sub/dir/file.bin"
    printf 'between\n' >"$dir/sub-file"
    printf 'dotted\n' >"$dir/sub.d/file"
    printf 'bottom\n' >"${deep}bottom"
    printf 'hidden\n' >"$dir/.hidden"
    printf 'dash\n' >"$dir/-dash"
    printf 'space\n' >"$dir/with space/a b"
    printf 'newline\n' >"$dir/"$'new\nline'
    printf 'escape\n' >"$dir/"$'esc\033[31m'
    printf 'umlaut\n' >"$dir/ünïcödé"
    printf 'glob\n' >"$dir/star*[x]?"
    printf 'backslash\n' >"$dir/back\\slash"
    printf 'quote\n' >"$dir/it's \"quoted\""
    seq 60000 >"$dir/numbers"
    ln -s a.txt "$dir/link"
    ln -s nowhere/at/all "$dir/dangling"
    ln -s .. "$dir/sub/up"
    chmod 600 "$dir/one"
    chmod 755 "$dir/sub/file"
    chmod 750 "$dir/sub.d"
    chmod 700 "$dir/empty-dir/inner"
    find "$dir" -depth -exec touch -h -d '2001-02-03 04:05:06.123456789Z' {} +
}

# fill SIZE CHARACTER: prints it so many times.
fill() {
    local text
    printf -v text '%*s' "$1" ''
    printf '%s' "${text// /$2}"
}

# Adds names that are not UTF-8, whose parent SQLite computes rightly all the same.
make_raw_names() {
    printf 'latin\n' >"$1/"$'caf\xe9'
    mkdir -p "$1/"$'r\xe9p'
    printf 'below latin\n' >"$1/"$'r\xe9p/file'
}

# pack of the small tree: leaves tree/ and a.barecat.
make_archive() {
    make_tree tree
    sb pack "$@" a.barecat -C tree .
}

# Every name below a directory with type, mode, size (not of directories), time and link target.
describe_tree() {
    (cd "$1" && find . -mindepth 1 \( -type d -printf '%P %y %m - %T@\0' \) -o \
        -printf '%P %y %m %s %T@ %l\0') | LC_ALL=C sort -z
}

# Two trees that hold the same names, bytes, modes and times.
same_tree() {
    diff -r --no-dereference "$1" "$2" >&2 || return
    cmp <(describe_tree "$1") <(describe_tree "$2")
}

# sql FILE STATEMENT...: runs SQL on an index with SQLite's own program.
sql() {
    local file=$1
    shift
    printf '%s\n' "$*" | sqlite3 -batch -bail -cmd '.timeout 10000' "$file"
}

# flip_byte FILE OFFSET: inverts one byte.
flip_byte() {
    local value
    value=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059 # the format is the escape of one byte
    printf "\\x$(printf %02x $((value ^ 255)))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# within SECONDS COMMAND...: killed after that many seconds, or when it writes a megabyte, with a
# status that no test accepts.
# (Through env, a shell function cannot be given: for sb write "$SHARDBOX".)
within() {
    timeout --signal=KILL "$@" | head -c 1000000
    return "${PIPESTATUS[0]}"
}

# read_only DIR COMMAND...: runs the command where DIR is mounted read-only.
read_only() {
    unshare -rm sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' \
        "$(realpath "$1")" "${@:2}"
}

# Skips the test where this user may not mount (some containers).
need_read_only() {
    mkdir -p "$BATS_TEST_TMPDIR/mountable"
    read_only "$BATS_TEST_TMPDIR/mountable" true 2>/dev/null || skip "cannot mount here"
}

# csv_is_json COMMAND...: --csv has the rows of --json, in a column for each key that any of them has.
csv_is_json() {
    sb "$@" --json >rows.json && sb "$@" --csv >rows.csv || return
    python3 - <<'PYTHON' || fail "$*"
import base64, csv, json

def text(value):
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

rows = []
for line in open("rows.json"):
    row = json.loads(line)
    for key in [key for key in row if key.endswith("_base64")]:
        row[key[:-7]] = base64.b64decode(row.pop(key))
    rows.append(row)
table = list(csv.reader(open("rows.csv", encoding="utf-8", errors="surrogateescape", newline="")))
names = table.pop(0)
assert {key for row in rows for key in row} <= set(names) and len(set(names)) == len(names), names
assert len(rows) == len(table), (len(rows), len(table))
for row, cells in zip(rows, table):
    assert len(cells) == len(names), cells
    got = [cell.encode("utf-8", "surrogateescape") for cell in cells]
    assert got == [text(row.get(name)) for name in names], (row, cells)
PYTHON
}

# holding FILE BYTE COMMAND...: another process has locked that byte for writing.
holding() {
    hold_byte LOCK_EX "$@"
}

# holding_shared FILE BYTE COMMAND...: likewise for reading.
holding_shared() {
    hold_byte LOCK_SH "$@"
}

hold_byte() {
    python3 - "$@" <<'END'
import fcntl, os, subprocess, sys
fd = os.open(sys.argv[2], os.O_RDWR)
fcntl.lockf(fd, getattr(fcntl, sys.argv[1]), 1, int(sys.argv[3]))
sys.exit(subprocess.run(sys.argv[4:]).returncode)
END
}
