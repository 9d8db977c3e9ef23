# One manner for all commands: what an option of one command means, the option of that name means in
# every other; and their help.

load helper

# Lines of "NAME LETTER VALUE COMMAND" for each option of each command; "-" for none.
all_options() {
    local command
    for command in $(sb --list | cut -f1); do
        sb "$command" --help-all | sed -nE "s/^  (-(.), |    )--([a-z0-9-]+)(\[?=[^ ]*)?.*/\3 \2 \4 $command/p" |
            sed -E 's/^([^ ]+)  /\1 - /; s/^([^ ]+ [^ ]+)  /\1 - /'
    done | LC_ALL=C sort
}

# Where one name has two meanings, as the tools have them after which the commands are called, or as
# what it is about has: NAME, the commands that have it in another way, and why.
differ() {
    cat <<'END'
at mount        a directory; elsewhere a place in a shard
check mount     when it is checked; protect only checks then
checksum sync   -c is rsync's own
count convert,split records of each part; elsewhere it is only counted
directory ls    -d is ls's own
help ls,du,defrag   -h is human sizes, as ls and du have them
quiet diff      -q is --brief, as diff has it
max-depth find,ls   find has no letter for it, and ls -L is tree's
quick defrag    a quick defrag moves some files; elsewhere no bytes are read
recursive ls    -R is ls's own, where -r is the order
shards ls       the shards are listed; elsewhere some of them are chosen
size find       find's own test, as +1M
END
}

# Where one letter has two names.
letters_differ() {
    cat <<'END'
L ls            -L is tree's
c sync          -c is rsync's own
f mount         -f is that of every server of FUSE, and Apptainer adds it
T mv            -T is mv's own
d ls,rm,du      -d is ls's, rm's and du's own
h ls,du,defrag  human sizes; help is --help
m unpack        times of now, as of tar; mebibytes, as of du
n ls            numbers of owners, as of ls
p ls,mv         -p is ls's own; directories on the way, as of mkdir
q diff          -q is diff's own
r ls            the reverse order, as of ls
t mv            -t is mv's own
END
}

# Drops what an exception names: KEY in column 1 and COMMAND in the last.
but() {
    awk 'NR == FNR { n = split($2, c, ","); for (i = 1; i <= n; i++) skip[$1 " " c[i]] = 1; next }
        !skip[$1 " " $NF]' "$1" -
}

@test "an option of one name has the same letter and the same value in every command" {
    differ >exceptions
    all_options >options
    [ "$(wc -l <options)" -gt 250 ]
    but exceptions <options | awk '{ print $1, $2, $3 }' | sort -u >kinds
    cut -d' ' -f1 kinds | uniq -d >differing
    while read -r name; do
        fail "--$name: $(grep "^$name " options | tr '\n' ';')"
    done <differing
}

@test "a letter stands for the same name in every command" {
    letters_differ >exceptions
    all_options | awk '$2 != "-" { print $2, $1, $4 }' | LC_ALL=C sort >letters
    [ "$(wc -l <letters)" -gt 100 ]
    but exceptions <letters | awk '{ print $1, $2 }' | sort -u >kinds
    cut -d' ' -f1 kinds | uniq -d >differing
    while read -r letter; do
        fail "-$letter: $(grep "^$letter " letters | tr '\n' ';')"
    done <differing
}

@test "no exception stands here that is none" {
    all_options >options
    differ | while read -r name commands _; do
        for command in ${commands//,/ }; do
            grep -q "^$name .* $command$" options || fail "$name $command"
        done
        [[ $(awk -v name="$name" '$1 == name { print $2, $3 }' options | sort -u | wc -l) -gt 1 ]] || fail "$name"
    done
    letters_differ | while read -r letter commands _; do
        for command in ${commands//,/ }; do
            grep -qE "^[^ ]+ $letter .* $command$" options || fail "$letter $command"
        done
        [[ $(awk -v letter="$letter" '$2 == letter { print $1 }' options | sort -u | wc -l) -gt 1 ]] || fail "$letter"
    done
}

@test "the help of each command has its two examples right below the summary" {
    for name in $(sb --list | cut -f1); do
        run_ok sb "$name" -h
        awk -v name="$name" '
            /^$/ { rest = 1; next }
            rest && n < 3 { n++; good += n == 1 ? /^[A-Z].*\.$/ : index($0, "shardbox " name " ") && /^  [^ ]/ }
            END { exit good != 3 }' <<<"$output" || fail "$name"
    done
}

# The manual names the value, or the words that it may be. Two pages name what is given by a word of
# their own: pack's OUTPUT is its ARCHIVE, and beside the BAG that cat reads KEYS is another.
@test "an option's value is named the same in the manual as in the help" {
    local name value command heading
    all_options | awk '$3 != "-" { print $1, $3, $4 }' >options
    while read -r name value command; do
        value=$(grep -oE '[A-Z]+' <<<"$value" | head -1)
        heading=$(grep -E "^\.It .*Fl -$name( |$)" "$PROJECT/man/shardbox-$command.1") || fail "$command --$name"
        [[ $command-$name == @(pack-output|cat-keys) ]] && continue
        [[ $heading == *"$value"* || $heading == *" Cm "* ]] || fail "$command --$name: $value is not in $heading"
    done <options
}

# Lines of "COMMAND|what its row says".
rows() {
    sed -n '/^## The commands side by side/,/^## To add a command/s/^| `\([a-z-]*\)` | \(.*\) |$/\1|\2/p' "$PROJECT/CONTRIBUTING.md"
}

@test "the table of CONTRIBUTING.md has the commands of --list, in that order, with options that they have" {
    local command row option
    [[ $(rows | cut -d'|' -f1) == "$(sb --list | cut -f1)" ]] || fail "$(rows)"
    all_options >options
    while IFS='|' read -r command row; do
        [[ $(tr -cd '|' <<<"$row" | wc -c) -eq 5 ]] || fail "$command: columns"
        for option in $(grep -oE '`--[a-z-]+`' <<<"$row" | tr -d '`-' || true); do
            awk '{ gsub("-", "", $1); print $1, $NF }' options | grep -q "^$option $command$" || fail "$command --$option"
        done
        for option in force existing duplicates append; do
            ! grep -q "^$option .* $command$" options || [[ $row == *"\`--$option\`"* ]] || fail "$command: --$option is not in $row"
        done
        option=-
        ! grep -q "^dry-run .* $command$" options || option='`-n`'
        [[ $(cut -d'|' -f5 <<<"$row") == " $option " ]] || fail "$command: -n in $row"
        option=no
        ! grep -q "^files-from .* $command$" options || option=yes
        [[ $option != $([[ $(cut -d'|' -f6 <<<"$row") == " -"* ]] && echo yes || echo no) ]] || fail "$command: -T in $row"
    done < <(rows)
}
