# Man pages say what the tables say, and stand up to mandoc.

load helper

# Leaves the file `known`; its first fields are the names of the commands.
commands() {
    sb --list >known && [ -s known ] && cut -f1 known
}

page_of() {
    echo "$PROJECT/man/shardbox-$1.1"
}

# Options in the order of the alphabet, "-x" and "--name" a line each.
options_in_help() {
    sb "$1" --help-all | grep -oE '^  (-.|  )[, ] --[a-z0-9-]+' | grep -oE -- '--?[a-zA-Z0-9][a-z0-9-]*' | sort -u
}

# Those that head an entry of a list under OPTIONS.
options_in_page() {
    sed -n '/^\.Sh OPTIONS/,/^\.Sh EXIT STATUS/p' "$1" | grep '^\.It Fl' | grep -oE 'Fl [^ ,]+' |
        sed 's/^Fl /-/' | sort -u
}

@test "every page is without a word from mandoc" {
    for page in "$PROJECT"/man/*.[157]; do
        run_ok mandoc -T lint -W warning "$page"
        output_is ""
    done
}

@test "every command has a page, and every page of a command has one" {
    names=$(commands)
    for name in $names; do
        [[ -e $(page_of "$name") ]] || fail "no page of $name"
    done
    for page in "$PROJECT"/man/shardbox-*.1; do
        page=${page##*/shardbox-}
        run_ok sb "${page%.1}" --help
    done
}

@test "the options of the help are those of the page" {
    names=$(commands)
    for name in $names; do
        diff <(options_in_help "$name") <(options_in_page "$(page_of "$name")") || fail "$name"
    done
}

@test "the letters and names of an option stand together on the page" {
    names=$(commands)
    for name in $names; do
        while read -r letter long; do
            grep -qE "^\.It Fl $letter( Ar [A-Z]+)? , Fl -$long( |$)" "$(page_of "$name")" ||
                fail "$name: -$letter, --$long"
        done < <(sb "$name" --help-all | sed -nE 's/^  -(.), --([a-z0-9-]+).*/\1 \2/p')
    done
}

# EXAMPLES come early, which is not their place by convention: "\&" after the word keeps mandoc quiet.
@test "a page has the sections that readers look for" {
    names=$(commands)
    for name in $names; do
        page=$(page_of "$name")
        for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
            grep -qE "^\.Sh $section(\\\\&)?$" "$page" || fail "$name: no $section"
        done
        grep -qx ".Nm shardbox-$name" "$page" || fail "$name: its name"
        grep -q '^.Xr shardbox 1' "$page" || fail "$name: no reference to shardbox(1)"
    done
}

@test "the page's one-line description is the summary of the help" {
    commands
    while IFS=$'\t' read -r name summary; do
        grep -qxF ".Nd $summary" "$(page_of "$name")" || fail "$name: $summary"
    done <known
}

@test "shardbox(1) lists every command and every option of its own" {
    names=$(commands)
    for name in $names; do
        grep -qxF ".It Xr shardbox-$name 1" "$PROJECT/man/shardbox.1" || fail "$name"
    done
    diff <(echo "$names") <(sed -n 's/^.It Xr shardbox-\(.*\) 1$/\1/p' "$PROJECT/man/shardbox.1")
    for option in -list -version -help -help-all -completions -quiet -verbose -progress -no-progress; do
        grep -qE "^\.It.* Fl $option( |$)" "$PROJECT/man/shardbox.1" || fail "$option"
    done
}

@test "examples use only commands and options that there are" {
    for page in "$PROJECT"/man/*.1; do
        while read -r _ name rest; do
            sb "$name" --help-all >help || fail "$page: $name"
            for word in $rest; do
                [[ $word == --[a-z]* ]] || continue
                grep -qE -- "${word%%=*}([= ]|$)" help || fail "$page: $name $word"
            done
        done < <(sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$page" | grep -oE 'shardbox [a-z]+[^|&;]*')
    done
}

@test "every reference to one of our pages leads to one" {
    while read -r target; do
        [[ -e $PROJECT/man/$target ]] || fail "no page $target"
    done < <(grep -hoE '^\.(It )?Xr shardbox[a-z-]* [157]' "$PROJECT"/man/*.[157] |
        sed -E 's/.*Xr ([a-z-]+) ([157])/\1.\2/' | sort -u)
}
