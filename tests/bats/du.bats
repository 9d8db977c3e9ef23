# shardbox du: how much is below each directory, from the tree statistics.

load helper

# a/{x: 3, y: 1, dir/z: 2}, b: 4, empty/
make_small() {
    mkdir -p tree/a/dir tree/empty
    printf 'xxx' >tree/a/x
    printf 'y' >tree/a/y
    printf 'zz' >tree/a/dir/z
    printf 'bbbb' >tree/b
    sb pack a.barecat -C tree .
}

@test "each directory comes after what it holds" {
    make_small
    run_ok sb du a.barecat
    output_is $'2\ta/dir\n6\ta\n0\tempty\n10\t.'
}

@test "a PATH is a directory or a file" {
    make_small
    run_ok sb du a.barecat a a/x /b
    output_is $'2\ta/dir\n6\ta\n3\ta/x\n4\tb'
}

@test "-s shows the PATHs themselves" {
    make_small
    run_ok sb du -s a.barecat
    output_is $'10\t.'
    run_ok sb du -s a.barecat a empty
    output_is $'6\ta\n0\tempty'
}

@test "-a shows files too, -d limits the depth" {
    make_small
    run_ok sb du -a a.barecat a
    output_is $'2\ta/dir/z\n2\ta/dir\n3\ta/x\n1\ta/y\n6\ta'
    run_ok sb du -d 1 a.barecat
    output_is $'6\ta\n0\tempty\n10\t.'
    run_ok sb du -a -d 1 a.barecat
    output_is $'6\ta\n4\tb\n0\tempty\n10\t.'
    run_ok sb du -d 0 a.barecat
    output_is $'10\t.'
}

@test "sums are those of GNU du" {
    make_archive
    sb du a.barecat sub sub.d deep | LC_ALL=C sort >ours
    (cd tree && find sub sub.d deep -type d | while read -r dir; do
        printf '%s\t%s\n' "$(find "$dir" ! -type d -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }')" "$dir"
    done) | LC_ALL=C sort | cmp - ours
}

@test "--count shows how many files, -h sizes for people" {
    make_small
    run_ok sb du --count a.barecat
    output_is $'1\ta/dir\n3\ta\n0\tempty\n4\t.'
    head -c 5000 /dev/zero >tree/a/x
    sb pack --force a.barecat -C tree .
    run_ok sb du -sh a.barecat a
    output_is $'4.9K\ta'
    run_ok sb du -h
    output_has "usage: shardbox du"
}

@test "--sort orders all lines" {
    make_small
    run_ok sb du -a --sort=size a.barecat
    output_is $'10\t.\n6\ta\n4\tb\n3\ta/x\n2\ta/dir\n2\ta/dir/z\n1\ta/y\n0\tempty'
    run_ok sb du --sort=name a.barecat
    output_is $'10\t.\n6\ta\n2\ta/dir\n0\tempty'
}

@test "--json is an object a line" {
    make_small
    run_ok sb du --json -d 1 a.barecat
    output_is '{"path":"a","type":"dir","size":6,"files":3}
{"path":"empty","type":"dir","size":0,"files":0}
{"path":"","type":"dir","size":10,"files":4}'
}

@test "--export=ncdu is JSON that nests as the tree does" {
    make_archive
    sb du --export=ncdu a.barecat >export
    python3 - export <<'END'
import json, sys

version, _, program, tree = json.load(open(sys.argv[1], "rb"))
assert version == 1 and program["progname"] == "shardbox"

def size(node):
    if isinstance(node, dict):
        return node.get("asize", 0)
    return sum(size(child) for child in node)

children = {c[0]["name"] if isinstance(c, list) else c["name"]: c for c in tree[1:]}
assert children["numbers"]["asize"] == 348894
assert children["new\nline"]["asize"] == 8
assert size(children["sub"]) == 10 + 14 + 2
END
    run_fail 1 sb du --export=ncdu a.barecat a.txt
    stderr_has "cannot access 'a.txt': no such directory in the archive"
}

@test "ncdu opens the export" {
    command -v ncdu >/dev/null || skip "no ncdu here"
    make_archive
    sb du --export=ncdu a.barecat >export
    run_ok within 10 ncdu -f export -o again
    grep -q '"name":"numbers"' again
}

@test "--gaps is what no file owns" {
    make_small
    run_ok sb du --gaps a.barecat
    output_is $'0\ta.barecat'
    sql a.barecat "DELETE FROM files WHERE path = 'a/x'"
    printf 'behind' >>a.barecat-shard-00000
    run_ok sb du --gaps a.barecat
    output_is $'9\ta.barecat'
    rm a.barecat-shard-00000
    run_fail 1 sb du --gaps --json a.barecat
    output_is '{"gaps":3}'
    stderr_has "missing shards: 1"
}

@test "the index alone is enough" {
    make_small
    sb du a.barecat >with
    rm a.barecat-shard-*
    sb du a.barecat | cmp - with
}

@test "what is not there is named and the rest is done" {
    make_small
    run_fail 1 sb du a.barecat nope a/dir
    output_is $'2\ta/dir'
    stderr_is "shardbox du: cannot access 'nope': no such file or directory in the archive"
}

@test "an empty PATH is not the whole archive" {
    make_small
    run_fail 1 sb du a.barecat '' a/dir
    output_is $'2\ta/dir'
    stderr_is "shardbox du: cannot access '': no such file or directory in the archive"
    run_fail 1 sb du --export=ncdu a.barecat ''
    output_is ''
}

@test "options that contradict each other are refused" {
    make_small
    run_fail 2 sb du -s -a a.barecat
    run_fail 2 sb du -s -d 2 a.barecat
    run_fail 2 sb du --gaps a.barecat a
    for option in -s '-d 1' '-d 0' --sort=size --sort=name --count --json; do
        # shellcheck disable=SC2086 # an option and its value
        run_fail 2 sb du --export=ncdu $option a.barecat
        stderr_has "--export and ${option%%[ =]*} cannot be given together"
    done
    run_fail 2 sb du --gaps -s a.barecat
    stderr_has "--gaps and -s cannot be given together"
    run_fail 2 sb du --gaps --count a.barecat
    stderr_has "--gaps and --count cannot be given together"
    run_fail 2 sb du
    stderr_has "no archive given"
}

@test "-c adds a last line, total; what several PATHs hold counts once" {
    make_small
    run_ok sb du -c a.barecat
    output_is $'2\ta/dir\n6\ta\n0\tempty\n10\t.\n10\ttotal'
    run_ok sb du -sc a.barecat a b a/x
    output_is $'6\ta\n4\tb\n3\ta/x\n10\ttotal'
    run_ok sb du -c a.barecat a/dir a/x
    output_is $'2\ta/dir\n3\ta/x\n5\ttotal'
    run_ok sb du -s --total a.barecat b / b
    output_is $'4\tb\n10\t.\n4\tb\n10\ttotal'
    run_ok sb du -sc --count a.barecat a b
    output_is $'3\ta\n1\tb\n4\ttotal'
    run_ok sb du -sch --sort=size a.barecat empty a
    output_is $'6\ta\n0\tempty\n6\ttotal'
    run_ok sb du -sc --json a.barecat a
    output_is '{"path":"a","type":"dir","size":6,"files":3}
{"size":6,"files":3,"total":true}'
    run_fail 1 sb du -c a.barecat nothing
    output_is $'0\ttotal'
    tar cf a.tar -C tree .
    run_ok sb du -sc a.tar a b
    output_is $'6\ta\n4\tb\n10\ttotal'
    for option in --gaps --export=ncdu; do
        run_fail 2 sb du -c $option a.barecat
        stderr_has " and -c cannot be given together"
    done
}

@test "the total counts once, whatever stands between a directory and what is below it" {
    mkdir -p tree/a/b 'tree/a b' tree/a-b
    for file in a/b/x 'a b/x' a-b/x a.b $'a\001'; do printf 1 >"tree/$file"; done
    sb pack a.barecat -C tree .
    sb du -sc a.barecat a/b 'a b' a-b a.b $'a\001' a a/b/x | tail -n 1 >got
    [[ $(cat got) == $'5\ttotal' ]] || fail "$(cat got)"
}

@test "-b is accepted, -k and -m count in their units, rounded up as GNU du does" {
    make_small
    truncate -s 2000000 tree/b
    sb pack --force a.barecat -C tree .
    run_ok sb du -b a.barecat
    output_is $'2\ta/dir\n6\ta\n0\tempty\n2000006\t.'
    run_ok sb du -sbh a.barecat
    output_is $'2.0M\t.'
    run_ok sb du -k a.barecat
    output_is $'1\ta/dir\n1\ta\n0\tempty\n1954\t.'
    run_ok sb du -scm a.barecat b a/x
    output_is $'2\tb\n1\ta/x\n2\ttotal'
    run_ok sb du -sk --json a.barecat
    output_has '"size":2000006'
    for options in -bk -km -hm '--count -k'; do
        # shellcheck disable=SC2086 # words of a command
        run_fail 2 sb du $options a.barecat
        output_is ''
    done
    stderr_is "shardbox du: --count counts files, and has no -k and no -m; try 'shardbox du --help'"
}

@test "--csv is a row for each object, below a line of names" {
    make_small
    run_ok sb du --csv a.barecat a
    output_is 'path,type,size,files
a/dir,dir,2,1
a,dir,6,3'
    run_ok sb du -sc --csv a.barecat a
    output_is 'path,type,size,files,total
a,dir,6,3,
,,6,3,true'
    csv_is_json du -ac a.barecat
    csv_is_json du --gaps a.barecat
    csv_is_json du --samples a.barecat
    run_fail 2 sb du --csv --export=ncdu a.barecat
    stderr_has '--export and --csv cannot be given together'
}
