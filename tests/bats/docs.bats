#!/usr/bin/env bats
# README.md and the pages of docs/ say what is so: their examples run on what scripts/example makes.

load helper
release_build # hundreds of commands, of which the words count

pages() {
    (cd "$PROJECT" && ls README.md docs/*.md)
}

@test "the commands of each page print what the page says" {
    for page in $(pages); do
        run_ok "$PROJECT/tests/tools/run-page" "$SHARDBOX" "$PROJECT/$page"
        diff "$PROJECT/$page" - <<<"$output" || fail "$page: 'make pages' puts what is printed there"
    done
}

@test "a page whose commands print something else is noticed" {
    printf '%s\n' '```console' '$ echo one; echo two' 'one' '$ echo three' 'th...' '$ true' 'four' '```' >page
    printf '%s\n' '```console' '$ echo one; echo two' 'one' 'two' '$ echo three' 'th...' '$ true' '```' >wanted
    run_ok "$PROJECT/tests/tools/run-page" "$SHARDBOX" page
    diff wanted - <<<"$output"
}

@test "commands that are only shown have the options that they name" {
    for page in $(pages); do
        while read -r _ name rest; do
            manual=$PROJECT/man/shardbox-$name.1
            [[ -e $manual ]] || fail "$page: shardbox $name"
            for word in $rest; do
                [[ $word == --[a-z]* ]] || continue
                word=${word%%=*}
                grep -qE "^\.It .*Fl -${word#--}( |$)" "$manual" || fail "$page: shardbox $name $word"
            done
        done < <(sed -n '/^```sh$/,/^```$/p' "$PROJECT/$page" | sed "s/ #.*//" | grep -oE 'shardbox [a-z][a-z-]*[^|&;]*')
    done
}

@test "every link leads to a file" {
    for page in $(pages) CONTRIBUTING.md; do
        while read -r target; do
            [[ -e $PROJECT/$(dirname "$page")/${target%%#*} ]] || [[ $target == \#* ]] || fail "$page: $target"
        done < <(grep -oE '\]\([^)]*\)' "$PROJECT/$page" | sed -E 's/^..(.*).$/\1/' | grep -v '^https:')
    done
}

@test "the picture is what its script draws" {
    diff "$PROJECT/docs/archive.svg" <("$PROJECT/scripts/picture" "$SHARDBOX")
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$PROJECT/docs/archive.svg"
}

@test "the figures of README's first screen are those of its table" {
    saves=$(sed -n '/^- \*\*It saves/,/^- \*\*It comes/p' "$PROJECT/README.md" | tr '\n' ' ')
    figures=$(grep -oE '[0-9.]+ m?s\>' <<<"$saves")
    (($(wc -l <<<"$figures") == 4))
    while read -r figure; do
        grep -qE "^\| [a-z ]+ \| $figure \|" "$PROJECT/README.md" || fail "$figure"
    done <<<"$figures"
}
