#!/usr/bin/env bats
# Rules of --include and --exclude, held against rsync's own.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

make_rules_tree() {
    mkdir -p tree/{a,b,ab}/{a,b,x.d}/{a,thumbs} tree/keep/sub
    local dir
    for dir in $(cd tree && find . -type d); do
        touch "tree/$dir"/{a.c,b.o,ab,x.jpg}
    done
    sb pack -q tree.barecat -C tree .
}

@test "300 lists of rules choose what rsync chooses, and what an earlier include names below what is excluded" {
    every_third_day
    make_rules_tree
    run_ok python3 - "$SHARDBOX" <<'PYTHON'
import os, random, subprocess, sys

random.seed(20)
parts = ["a", "b", "ab", "*", "a*", "?", "[ab]", "*.c", "x.*", "thumbs", "keep", "sub", "x.d", "*.jpg"]


def pattern():
    text = "/".join(random.choice(parts) for _ in range(random.choice([1, 1, 1, 2, 2, 3])))
    text = random.choice(["", "", "", "/", "**/", "" if text[0] == "*" else "**"]) + text
    return text + random.choice(["", "", "", "/", "/**", "/***", "" if text[-1] == "*" else "**"])


def rsync(rules):
    out = subprocess.run(["rsync", "-r", "--list-only", *rules, "tree/"], capture_output=True, check=True, text=True)
    lines = out.stdout.splitlines()
    return {line.split(None, 4)[4] for line in lines} - {"."}


def ours(rules):
    out = subprocess.run([sys.argv[1], "find", "-q", *rules, "tree.barecat"], capture_output=True, text=True)
    assert out.returncode in (0, 1) and not out.stderr, (rules, out)
    return set(out.stdout.splitlines()) - {"", "."}


plain = differing = 0
for _ in range(300):
    rules = [random.choice(["--include=", "--exclude=", "--exclude="]) + pattern() for _ in range(random.randint(1, 4))]
    if rules[0].startswith("--include"):
        rules.append(random.choice(["--include=*", "--exclude=*"]))
    wanted, got = rsync(rules), ours(rules)
    assert wanted <= got, (rules, sorted(wanted - got))
    plain += wanted == got
    if wanted == got:
        continue
    # rsync takes these, too, once it gets so far.
    differing += 1
    found = rsync(["--include=*/", *rules])
    for name in got - wanted:
        assert os.path.isdir("tree/" + name) or name in found, (rules, name)
        above = os.path.dirname(name)
        while above in wanted:
            above = os.path.dirname(above)
        assert above, (rules, name)
assert plain > 200 and differing > 5, (plain, differing)
print(plain, differing)
PYTHON
}

@test "the rules mean the same in every command that has them" {
    make_rules_tree
    local rules=(--include='**/thumbs/x.jpg' --exclude='/a/**' --exclude=b/ --include='*') wanted
    wanted=$(sb find --type=f "${rules[@]}" tree.barecat)
    [[ $(grep '^a/' <<<"$wanted") == $'a/a/thumbs/x.jpg\na/b/thumbs/x.jpg\na/x.d/thumbs/x.jpg' ]]
    [[ $(grep -c '^ab/a/' <<<"$wanted") == 12 && $(grep '^b/b/' <<<"$wanted") == b/b/thumbs/x.jpg ]]
    sb pack -q packed.barecat "${rules[@]}" -C tree .
    [[ $(sb find --type=f packed.barecat) == "$wanted" ]]
    sb unpack -q "${rules[@]}" -C out tree.barecat
    [[ $(cd out && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) == $(LC_ALL=C sort <<<"$wanted") ]]
    sb convert -q "${rules[@]}" tree.barecat out.tar
    [[ $(sb find --type=f out.tar) == "$wanted" ]]
    sb merge -q "${rules[@]}" -o merged.barecat tree.barecat
    [[ $(sb find --type=f merged.barecat) == "$wanted" ]]
}

@test "an include on the command line that decided about nothing is named, an exclude under -v" {
    mkdir tree
    touch tree/a.c tree/b.h
    tar cf a.tar -C tree .
    echo '*.bak' >excludes
    rules=(--include='*.c' --exclude='*.o' --include='*.cc' --exclude='*.h')
    run_ok sb pack --exclude-from=excludes "${rules[@]}" a.barecat -C tree .
    stderr_is "shardbox pack: --include=*.cc: matched nothing"
    for command in 'convert -f a.barecat b.tar' 'merge -f -o b.barecat a.tar' 'unpack -C out a.tar'; do
        # shellcheck disable=SC2086 # words
        run_ok sb $command "${rules[@]}"
        stderr_is "shardbox ${command%% *}: --include=*.cc: matched nothing"
    done
    run_ok sb convert -qf "${rules[@]}" a.tar b.tar
    stderr_is ''
    run_ok sb pack -fv --exclude-from=excludes "${rules[@]}" a.barecat -C tree .
    stderr_has "--exclude=*.o: matched nothing"
    stderr_lacks .bak
    stderr_lacks '*.h'
    run_fail 2 sb convert "${rules[@]}" none.tar b.tar
    stderr_lacks 'matched nothing'
}

@test "a rule that begins with ./ is of the top, as tar's users type it" {
    mkdir -p t/a t/b/a
    touch t/a/x t/b/a/x
    run_ok sb pack a.barecat --exclude=./a -C t .
    [ "$(sb find a.barecat | paste -sd' ')" = 'b b/a b/a/x' ]
    run_ok sb pack -f a.barecat --include=./a -C t .
    [ "$(sb find a.barecat | paste -sd' ')" = 'a a/x' ]
    run_ok sb pack -f a.barecat --exclude=a -C t .
    [ "$(sb find a.barecat | paste -sd' ')" = b ]
}

@test "a / at the end of a GLOB lets it match directories only, in every command" {
    mkdir -p t/ab
    touch t/ab/x t/ac
    sb pack a.barecat -C t .
    sb convert a.barecat a.tar
    for container in a.barecat a.tar; do
        [ "$(sb ls -d $container 'a*/')" = ab ]
        [ "$(sb find $container 'a*/' | paste -sd' ')" = 'ab ab/x' ]
        [ "$(sb du -s $container 'a*/')" = $'0\tab' ]
        [ "$(sb unpack -n -C none $container 'a*/' | paste -sd' ')" = 'ab ab/x' ]
    done
    run_ok sb unpack -n -C none - 'a*/' <a.tar
    output_is $'ab\nab/x'
    echo changed >t/ac
    run_ok sb diff --ignore=time -C t a.barecat 'a*/'
    run_fail 1 sb diff --ignore=time -C t a.barecat 'a*'
    output_has 'size: ac'
    run_ok sb rm -nr a.barecat 'a*/'
    output_is $'ab\nab/x'
    run_ok sb mv -n a.barecat 'a*/' b
    output_is 'ab -> b'
}
