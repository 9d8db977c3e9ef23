# Options: parsing, help and messages, which all come from one table per command.

load helper

# Leaves the file `known`; its first fields are the names of the commands.
commands() {
    sb --list >known && [ -s known ] && cut -f1 known
}

@test "options and operands come in any order" {
    make_archive
    run_ok sb cat a.barecat --no-check a.txt -j 1 one
    output_is $'hello\nx'
}

@test "-- ends the options" {
    make_archive
    run_ok sb cat --no-check -- a.barecat -dash
    output_is dash
}

@test "behind the first operand a dash and a digit are a number, before it an option" {
    make_archive
    run_fail 1 sb cat a.barecat -5 -j 1 a.txt -12x
    output_is hello
    stderr_is "shardbox cat: -5: no such file in the archive
shardbox cat: -12x: no such file in the archive"
    run_fail 2 sb cat -5 a.barecat
    stderr_is "shardbox cat: unrecognized option '-5'; try 'shardbox cat --help'"
}

@test "a digit that is an option's letter stays that option" {
    make_archive
    printf 'a.txt\0' >names
    run_ok sb cat a.barecat -0 -T names
    output_is hello
}

@test "a value that looks like a number below zero belongs to its option" {
    make_archive
    run_fail 2 sb cat a.barecat a.txt --threads -5
    stderr_has "--threads: '-5' is not a whole number"
}

@test "a value is attached or follows, short letters are joined" {
    make_archive
    echo a.txt >names
    for form in "-T names" -Tnames "--files-from names" --files-from=names "-qT names" -qTnames; do
        # shellcheck disable=SC2086 # words
        run_ok sb cat $form a.barecat
        output_is hello
    done
}

@test "a long name may be shortened while only one option begins so" {
    make_archive
    echo a.txt >names
    run_ok sb cat --files=names a.barecat
    output_is hello
    run_fail 2 sb cat --n a.barecat a.txt
    stderr_is "shardbox cat: option '--n' is ambiguous: --null, --npy, --nested, --no-check, --no-progress; \
try 'shardbox cat --help'"
}

@test "what is no option is named, with a hint" {
    run_fail 2 sb cat --frobnicate=3 a.barecat
    stderr_is "shardbox cat: unrecognized option '--frobnicate'; try 'shardbox cat --help'"
    output_is ""
    run_fail 2 sb cat -Z a.barecat
    stderr_is "shardbox cat: unrecognized option '-Z'; try 'shardbox cat --help'"
    run_fail 2 sb cat -0Z a.barecat
    stderr_has "'-Z'"
    run_fail 2 sb cat $'--\033[31m'
    stderr_has '--\033[31m'
}

@test "a misspelt option names its neighbour" {
    run_fail 2 sb ls --recursve a.barecat
    stderr_is "shardbox ls: unrecognized option '--recursve'; did you mean '--recursive'?"
    run_fail 2 sb pack --shard-szie=3G a.barecat
    stderr_is "shardbox pack: unrecognized option '--shard-szie'; did you mean '--shard-size'?"
    run_fail 2 sb ls --sort=szie a.barecat
    stderr_has "--sort: 'szie' is none of name, size, time, address"
}

# Of each command that is named in the table, each option; of find, each word of an expression too.
@test "an option of another program, which there is none of, says what to do instead" {
    sed -n '/^} elsewhere/,/^};/p' "$PROJECT/cmd/ui/meant.c" | tr -d '\n' |
        grep -oE '\{"[a-z -]+", *"-[^"]*"' | tr -d '{",' >table
    [ "$(wc -l <table)" -gt 40 ]
    local words word command says
    while read -ra words; do
        for command in "${words[@]}"; do
            [[ $command != -* ]] || break
            for word in "${words[@]}"; do
                [[ $word == -* ]] || continue
                run_fail 2 sb "$command" "$word" a.barecat
                says="unrecognized option '$word'; "
                [[ $word != -[!-]?* ]] || says="$word: "
                [[ $stderr == "shardbox $command: $says"* ]] || fail "$command $word"
                stderr_lacks 'no such word'
                stderr_lacks "did you mean"
            done
        done
    done <table
}

@test "a value that lacks, or is too many, is named" {
    run_fail 2 sb cat a.barecat --files-from
    stderr_is "shardbox cat: option '--files-from' needs a value: FILE; try 'shardbox cat --help'"
    run_fail 2 sb cat a.barecat -T
    stderr_is "shardbox cat: option '-T' needs a value: FILE; try 'shardbox cat --help'"
    run_fail 2 sb cat --null=yes a.barecat
    stderr_is "shardbox cat: option '--null' takes no value; try 'shardbox cat --help'"
    run_fail 2 sb cat --quiet=yes a.barecat
    stderr_has "option '--quiet' takes no value"
}

@test "a whole number out of its range is refused, and the range is said" {
    make_archive
    for value in 0 257 -1 1.5 x "" " 2" 99999999999999999999; do
        run_fail 2 sb cat --threads="$value" a.barecat a.txt
        stderr_has "--threads: '$value' is not a whole number from 1 to 256"
    done
    run_ok sb cat --threads=256 a.barecat a.txt
}

@test "a size that is none is refused, with examples" {
    mkdir tree
    for value in -1 10X 1.2.3 "" 99E; do
        run_fail 2 sb pack --shard-size="$value" a.barecat tree
        stderr_has "--shard-size: '$value' is not a size like 500, 64K, 1.5GiB or 10GB"
    done
    [ ! -e a.barecat ]
    run_ok sb pack --shard-size=1.5MiB a.barecat tree
}

@test "a word that is not among the choices is refused, and they are said" {
    run_fail 2 sb cat --order=size a.barecat a
    stderr_is "shardbox cat: --order: 'size' is none of input, address; try 'shardbox cat --help'"
}

# What was written to stdout by the command before, by lines; no line is wider than a screen.
read_help() {
    mapfile -t help <<<"$output"
    stderr_is ""
    for line in "${help[@]}"; do
        [[ ${#line} -le 80 ]] || fail "${#line} columns: $line"
    done
}

@test "help goes to stdout and fits a screen: usage, examples, options in groups, exit status" {
    names=$(commands)
    for name in $names; do
        run_ok sb "$name" -h
        read_help
        [[ ${#help[@]} -le 40 ]] || fail "$name: ${#help[@]} lines"
        [[ ${help[0]} == "usage: shardbox $name [OPTION]... "* ]]
        [[ $(grep -c "^[u ].* shardbox $name \[OPTION\]" <<<"$output") -le 4 ]] || fail "$name: usage"
        [[ $(grep -cE '^ *(-.,|  ) --' <<<"$output") -le 24 ]] || fail "$name: options"
        [[ $(grep -cE "^  [^ ].*shardbox $name |^  shardbox $name " <<<"$output") -eq 2 ]] || fail "$name: examples"
        [[ $(grep -c '^[A-Z][a-z, ]*:$' <<<"$output") -ge 2 ]] || fail "$name: groups"
        [[ ${help[-2]} == "Exit status: 0 "*", 2 error"* ]] || fail "$name: exit status"
        [[ ${help[-1]} == "More: shardbox $name --help-all, man shardbox-$name" ]]
        for option in --help --quiet --verbose; do
            output_has "$option"
        done
        local short=$output
        run_ok sb "$name" --help
        output_is "$short"
    done
}

@test "--help-all has every option, once, and what else the help has" {
    names=$(commands)
    for name in $names; do
        run_ok sb "$name" --help
        local options
        options=$(grep -oE '^  (-., |    )--[a-z0-9-]+' <<<"$output")
        run_ok sb "$name" --help-all
        read_help
        grep -oE '^  (-., |    )--[a-z0-9-]+' <<<"$output" | grep -oE -- '--.*' >all
        for option in $options; do
            [[ $option != --* ]] || grep -qx -- "$option" all || fail "$name: $option"
        done
        [ -z "$(sort all | uniq -d)" ]
        [ -z "$(grep '^[A-Z].*:$' <<<"$output" | sort | uniq -d)" ]
        output_has "--no-progress"
        output_has "Exit status: 0 "
    done
}

@test "the examples of the help are lines that the parser takes" {
    names=$(commands)
    for name in $names; do
        while read -r -a words; do
            for word in "${words[@]}"; do
                [[ $word == --* ]] || continue
                sb "$name" --help-all | grep -qE -- " ${word%%=*}([= [,]|$)" || fail "$name: $word"
            done
        done < <(sb "$name" --help | sed -nE "s/^  .*(shardbox $name [^|>]*).*/\1/p")
    done
}

@test "help wraps at words, below the text of the option" {
    run_ok sb cat --help-all
    output_has "  -T, --files-from=FILE "
    output_has "      --order=ORDER "
    output_has "{input|address}"
    output_has "      --range=OFFSET:LENGTH  only these bytes of each file, unchecked"
    grep -A1 -- '--frame=HOW' <<<"$output" | tail -1 | grep -qE '^ {28}[^ ]'
    run_ok sb ls --help-all
    grep -A1 -- '--at=SHARD:OFFSET\[+LENGTH\]' <<<"$output" | grep -q '  the files that own'
}

@test "choices that would make another line are for --help-all only" {
    run_ok sb cat --help
    output_has "--frame=HOW "
    output_lacks tfrecord
    run_ok sb cat --help-all
    output_has tfrecord
}

@test "choices that say what a word may be are in the short help" {
    for name in pack convert merge merge-symlink; do
        run_ok sb "$name" --help
        output_has "which file of a name is kept: {error|first|last}"
    done
    run_ok sb ls --help
    output_has "{name|size|time|address}"
    output_has "--rsync-list"
}

@test "the summary of a command begins its help" {
    commands
    while IFS=$'\t' read -r name summary; do
        run_ok sb "$name" --help
        [[ ${output,,} == *$'\n\n'"${summary,,}".$'\n  '* ]] || fail "$name: $summary"
    done <known
}

@test "-h alone is help also where it means human sizes" {
    for name in ls du; do
        run_ok sb "$name" -h
        output_has "usage: shardbox $name "
    done
    make_archive
    run_ok sb ls -h a.barecat
    output_lacks usage
    run_ok sb du -h a.barecat
    output_lacks usage
}

@test "help comes before what else is wrong only when it is met first" {
    run_ok sb cat --help --frobnicate
    run_fail 2 sb cat --frobnicate --help
    output_is ""
}

@test "-q leaves warnings out, not problems" {
    mkdir tree
    echo x >tree/file
    run_ok sb pack a.barecat "$PWD/tree"
    stderr_has "shardbox pack: "
    run_ok sb pack -q b.barecat "$PWD/tree"
    stderr_is ""
    run_fail 1 sb cat -q b.barecat no-such
    stderr_has "no-such: "
}

@test "--progress shows a line on a pipe too, --no-progress and the default none" {
    make_archive
    run_ok sb cat --progress a.barecat numbers
    [[ $stderr =~ ^"shardbox cat: "[0-9.]+K.*/s$ ]] || fail "no progress"
    run_ok sb cat --no-progress a.barecat numbers
    stderr_is ""
    run_ok sb cat a.barecat numbers
    stderr_is ""
}

@test "messages name the program, the command and the subject in one line" {
    make_archive
    run_fail 1 sb cat a.barecat $'no\nsuch\033[1m'
    [ "${#stderr_lines[@]}" -eq 1 ]
    stderr_has 'shardbox cat: no\nsuch\033[1m: '
}

@test "JSON strings are valid whatever a name holds, and harmless on a terminal" {
    mkdir tree
    local names=(plain 'with "quotes"' 'back\slash' $'new\nline' $'esc\033[31m' $'del\177' umlaut-ü
        $'c1-\u009b' $'bidi-\u202e' $'mark-\u200f' $'isolate-\u2066' $'letter-\u061c')
    for name in "${names[@]}"; do
        touch "tree/$name"
    done
    sb pack a.barecat -C tree .
    run_ok sb find --json a.barecat
    [ "${#lines[@]}" -eq ${#names[@]} ]
    [[ $output != *[$'\001'-$'\011\013'-$'\037\177']* ]]
    for hidden in $'\u009b' $'\u202e' $'\u200f' $'\u2066' $'\u061c'; do
        output_lacks "$hidden"
    done
    output_has umlaut-ü
    sqlite3 :memory: "SELECT hex(json_extract(line, '$.path')) FROM (
        SELECT value AS line FROM json_each('[' || '$(paste -sd, <<<"${output//\'/\'\'}")' || ']'))" |
        sort >got
    for name in "${names[@]}"; do
        printf %s "$name" | od -An -tx1 -v | tr -d ' \n' | tr a-f A-F
        echo
    done | sort | cmp - got
}

@test "a name that is not UTF-8 comes as base64 in JSON" {
    mkdir tree
    for name in $'\xff' $'a\xe9' $'ab\xe9'; do
        printf %s "$name" >"tree/$name"
    done
    sb pack -q a.barecat -C tree .
    run_ok sb find --json a.barecat
    for name in $'\xff' $'a\xe9' $'ab\xe9'; do
        output_has "{\"path_base64\":\"$(printf %s "$name" | base64)\",\"type\":\"file\""
    done
}

@test "names are quoted on a terminal and raw on a pipe" {
    make_archive
    script -qec "'$SHARDBOX' find a.barecat" /dev/null </dev/null >got
    grep -q "^'with space/a b'" got
    grep -qF "'new'\$'\n''line'" got
    run ! grep -q $'\033\[31m' got
    sb find a.barecat >got
    grep -qx 'with space/a b' got
    grep -q $'esc\033\[31m' got
}
