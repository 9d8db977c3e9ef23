# One program, many commands: how a command is found, and what holds for all of them.

load helper

# Leaves the file `known`; its first fields are the names of the commands.
commands() {
    sb --list >known && [ -s known ] && cut -f1 known
}

# link NAME: a link of that name to the program, in the test's directory.
link() {
    ln -sf "$SHARDBOX" "$1"
}

# on_terminal COMMAND...: runs it with a terminal for its output, which it writes to stdout.
on_terminal() {
    script -qec "$*" /dev/null </dev/null
}

@test "--list names every command with its summary, a tab between" {
    run_ok sb --list
    [ "${#lines[@]}" -ge 6 ]
    for line in "${lines[@]}"; do
        [[ $line =~ ^[a-z-]+$'\t'[^[:space:]][^$'\t']+[^.]$ ]]
    done
    output_has $'pack\t'
    output_has $'upgrade\t'
}

@test "--list on a terminal has columns" {
    on_terminal "$SHARDBOX" --list >got
    grep -q '^  pack           [a-z]' got
    run ! grep -q $'\t' got
}

@test "--help, -h and help show usage and every command" {
    run_ok sb --help
    local help=$output
    output_has "usage: shardbox COMMAND"
    names=$(commands)
    for name in $names; do
        output_has "  $name "
    done
    for word in -h help; do
        run_ok sb "$word"
        output_is "$help"
    done
}

@test "help NAME is NAME --help" {
    names=$(commands)
    for name in $names; do
        run_ok sb "$name" --help
        local help=$output
        output_has "usage: shardbox $name "
        run_ok sb help "$name"
        output_is "$help"
    done
    run_fail 2 sb help no-such
}

@test "a command is found by the name of the program, with the prefix and without" {
    make_tree tree
    link shardbox-pack
    link cat
    run_ok ./shardbox-pack a.barecat -C tree .
    run_ok ./cat a.barecat a.txt
    output_is hello
    run_fail 2 ./cat b.barecat
    stderr_has "shardbox cat: "
}

@test "every command of --list can be called by each of its names" {
    names=$(commands)
    for name in $names; do
        link "shardbox-$name"
        link "$name"
        run_ok "./shardbox-$name" --help
        output_has "usage: shardbox $name "
        run_ok "./$name" --help
        output_has "usage: shardbox $name "
    done
}

@test "a program of another name takes the command from its first argument" {
    link sbox
    run_ok ./sbox help cat
    output_has "usage: shardbox cat "
}

@test "--version names the program and the libraries that it runs with" {
    run_ok sb --version
    [[ ${lines[0]} =~ ^shardbox\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    [[ ${lines[1]} =~ ^SQLite\ 3\.[0-9.]+$ ]]
    [[ ${lines[2]} =~ ^libarchive\ 3\.[0-9.]+$ ]]
    [[ ${lines[3]} =~ ^zlib\ 1\.[0-9.]+$ ]]
    [[ ${lines[4]} =~ ^zstd\ 1\.[0-9.]+$ ]]
    [ "${#lines[@]}" -eq 5 ]
}

@test "--version --json is an object with what is built in" {
    run_ok sb --version --json
    [[ ${#lines[@]} == 1 ]] || fail 'one line'
    echo "$output" >got
    jq -e --arg version "$(sb --version | sed -n '1s/shardbox //p')" '.version == $version' got
    jq -e '.schema == [0, 3] and (.libc.static | type) == "boolean" and (.libc.glibc | startswith("2."))' got
    jq -e '.libraries | keys == ["bzip2", "libarchive", "libbson", "liblzma", "lz4", "sqlite", "utf8proc", "zlib", "zstd"]' got
    jq -e '.libraries | all(test("^[0-9]+([.][0-9]+)+$"))' got
    jq -e '.codecs == ["gz", "bz2", "xz", "lzma", "zst", "lz4"]' got
    jq -e '.formats | map(select(.reads and .writes).name)
        == ["archive", "dir", "tar", "zip", "bag", "bagz", "syrah", "cache"]' got
    jq -e '.formats | map(select(.reads and (.writes | not)).name) == ["cpio"]' got
    run_fail 2 sb --version --jsn
    stderr_is "shardbox: --version: '--jsn' does not go with it, only --json; try 'shardbox --help'"
}

@test "a mistyped command brings a suggestion" {
    run_fail 2 sb verfiy a.barecat
    stderr_is "shardbox: verfiy: no such command; did you mean 'verify'?"
    output_is ""
    run_fail 2 sb pakc
    stderr_has "'pack'"
    run_fail 2 sb upgarde
    stderr_has "'upgrade'"
    run_fail 2 sb help unpck
    stderr_has "'unpack'"
}

@test "a word that is like no command brings none" {
    for word in xylophone q clone vf "" "$(printf 'a%.0s' {1..5000})"; do
        run_fail 2 sb "$word"
        stderr_has "no such command"
        stderr_has "shardbox --list"
        stderr_lacks "did you mean"
    done
}

# Lines of "typed -> line to type", on stdin.
hints_are() {
    local typed wanted words
    while IFS='|' read -r typed wanted; do
        eval "words=($typed)"
        run_fail 2 sb "${words[@]}"
        output_is ""
        stderr_is "shardbox: ${words[0]}: no such command; type: shardbox $wanted"
    done
}

@test "words of tar, zip, Barecat and squashfs-tools lead to the line to type" {
    hints_are <<'EOF'
extract a.barecat d|unpack ARCHIVE [-C DIR] [PATH...]
create -f -j 8 -s 10G a.barecat dir|pack ARCHIVE [-C DIR] PATH...
add a.barecat 'a b'|pack --append ARCHIVE [-C DIR] PATH...
stat a.barecat x|ls -ld ARCHIVE [PATH...]
index a.tar b.barecat|convert --wrap INPUT... OUTPUT
delete a.barecat|rm ARCHIVE PATH...
rsync -avn dir/ a.barecat|sync SOURCE TARGET
reshard -s 5G a.barecat|split --shard-size=SIZE ARCHIVE
subset a.barecat -o b.barecat|convert --include=GLOB INPUT... OUTPUT
ncdu a.barecat|du --export=ncdu ARCHIVE | ncdu -f-
zip -r a.zip dir|convert INPUT... OUTPUT
mksquashfs dir a.barecat -noappend|pack ARCHIVE -C DIR .
unzip -l a.zip|ls -lR ARCHIVE [PATH...]
fusermount -u dir|umount DIR
-V|--version
EOF
}

@test "letters of tar too, in one word or several" {
    hints_are <<'EOF'
-xf 'my a.tar' -C d x|unpack ARCHIVE [-C DIR] [PATH...]
xvf a.tar|unpack ARCHIVE [-C DIR] [PATH...]
x|unpack ARCHIVE [-C DIR] [PATH...]
--extract --file=a.tar|unpack ARCHIVE [-C DIR] [PATH...]
-cf a.barecat -C dir .|pack ARCHIVE [-C DIR] PATH...
c|pack ARCHIVE [-C DIR] PATH...
-tf a.tar|find ARCHIVE [PATH...]
-tvf a.tar|ls -lR ARCHIVE [PATH...]
xOf a.tar x|cat ARCHIVE PATH...
-rf a.barecat x|pack --append ARCHIVE [-C DIR] PATH...
tar xf a.tar|unpack ARCHIVE [-C DIR] [PATH...]
EOF
    run_fail 2 sb help extract
    stderr_has "type: shardbox unpack ARCHIVE"
}

@test "each line to type begins with a command that there is, and options that it has" {
    sed -n '/^} elsewhere/,/^};/s/^ *{"", "\([^"]*\)".*/\1/p' \
        "$PROJECT/cmd/ui/meant.c" | tr ' ' '\n' >words
    [ "$(wc -l <words)" -gt 60 ]
    [ -z "$(sort words | uniq -d)" ]
    local word command option
    while read -r word; do
        run_fail 2 sb "$word"
        [[ $stderr == *"; type: shardbox "* ]] || fail "$word"
        read -r command _ <<<"${stderr#*; type: shardbox }"
        [[ $command != --* ]] || continue
        sb --list | grep -q "^$command"$'\t' || fail "$command"
        for option in $(grep -oE -- '--[a-z-]+' <<<"${stderr#*"shardbox $command"}" || true); do
            sb "$command" --help-all | grep -q -- " $option" || fail "$command $option"
        done
    done <words
}

@test "without a command the usage goes to stderr" {
    run_fail 2 sb
    output_is ""
    stderr_has "usage: shardbox COMMAND"
    [[ ${stderr_lines[-1]} == "shardbox: no command given; try 'shardbox --help'" ]]
}

@test "an option that is none is named" {
    run_fail 2 sb --frobnicate
    stderr_is "shardbox: unrecognized option '--frobnicate'; try 'shardbox --help'"
    run_fail 2 sb --completions=tcsh
    stderr_has "'tcsh' is none of bash, zsh, fish"
}

@test "what is wrong with an argument cannot write to the terminal" {
    run_fail 2 sb $'\033[31mred\nline\u202e'
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr != *$'\033'* && $stderr != *$'\u202e'* ]]
    stderr_has '\033[31mred\nline'
}

@test "output to a full disk is an error" {
    for arguments in --list --help --version "help pack" --completions=bash; do
        # shellcheck disable=SC2086 # words
        run_fail 2 bash -c '"$SHARDBOX" "$@" >/dev/full' - $arguments
        stderr_has "standard output"
        stderr_has "No space left on device"
    done
}

@test "a reader that goes away is no error, and nothing is said" {
    for arguments in --list "help pack" --completions=fish; do
        # shellcheck disable=SC2086 # words
        { sleep 0.1 && sb $arguments 2>said; } | true
        statuses=("${PIPESTATUS[@]}")
        [ "${statuses[0]}" -eq 141 ]
        [ ! -s said ]
    done
}

@test "a closed stdout is an error when there is something to write" {
    run_fail 2 bash -c '"$SHARDBOX" --list >&-'
    stderr_has "standard output"
}

@test "with closed descriptors, messages do not get into the files of an archive" {
    make_tree tree
    mkfifo tree/fifo
    bash -c '"$SHARDBOX" pack a.barecat -C tree . <&- >&- 2>&-' || [ $? -eq 1 ]
    rm tree/fifo
    run_ok sb verify a.barecat
    run_ok sb diff -C tree a.barecat
    bash -c '"$SHARDBOX" unpack -C out a.barecat <&- >&- 2>&-'
    same_tree tree out
}

@test "SIGTERM and SIGINT end a command by the signal, after a word" {
    make_archive
    mkfifo names
    for signal in TERM INT; do
        # A job in the background ignores SIGINT unless it is told not to.
        env --default-signal="$signal" "$SHARDBOX" cat -T names a.barecat 2>said &
        pid=$!
        exec 9>names
        sleep 0.2
        kill -"$signal" $pid
        status=0
        wait $pid || status=$?
        exec 9>&-
        [ $status -eq $((128 + $(kill -l $signal))) ]
        grep -qx 'shardbox cat: interrupted' said
    done
}

@test "what only shows text opens no files but the libraries" {
    traced -e trace=openat,open -o trace "$SHARDBOX" --list >/dev/null
    run ! grep -vE '"(/etc/ld\.so|/lib|/usr/lib|/proc|/sys)|\+\+\+' trace
    [ -s trace ]
}
