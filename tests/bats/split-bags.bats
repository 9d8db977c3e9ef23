# shardbox split: a bag, or a set of them, becomes several.

load helper

make_bag() {
    for i in {0..99}; do echo "record $i"; done >lines.txt
    sb convert --frame=line lines.txt a.bagz
}

# make_numbers N: numbers.bag, whose record I is I.
make_numbers() {
    seq 0 $(($1 - 1)) | sb convert --frame=line - numbers.bag
}

lines_of() {
    sb cat --frame=line "$@"
}

@test "--parts: as many records each, in order; names are numbers" {
    make_bag
    run_ok sb split --parts=3 -o 'p-{}.bagz' a.bagz
    output_is ""
    stderr_is ""
    for i in 0 1 2; do lines_of p-$i.bagz; done | cmp - lines.txt
    [[ $(sb ls --count p-0.bagz) == 34 && $(sb ls --count p-2.bagz) == 33 ]]
    sb split --parts=3 -o 'q-{}.bag' a.bagz
    for i in 0 1 2; do lines_of q-$i.bag; done | cmp - lines.txt
}

@test "a bag on standard input, from a pipe or a file" {
    make_bag
    sb split --parts=3 -o 'p-{}.bagz' a.bagz
    run_ok sh -c '"$0" split --from=bagz --parts=3 -o "q-{}.bagz" - <a.bagz' "$SHARDBOX"
    run_ok sh -c 'cat a.bagz | "$0" split --from=bagz --parts=3 -o "r-{}.bagz" -' "$SHARDBOX"
    for part in 0 1 2; do
        cmp p-$part.bagz q-$part.bagz
        cmp p-$part.bagz r-$part.bagz
    done
    run_fail 2 sh -c 'head -c 50 a.bagz | "$0" split --from=bagz --parts=3 -o "s-{}.bagz" -' "$SHARDBOX"
    stderr_has 'standard input: is no bag, or was cut'
}

@test "--count and --size: parts that hold no more" {
    make_bag
    sb split --count=40 -o 'c{}.bagz' a.bagz
    [[ $(sb ls --count c0.bagz) == 40 && $(sb ls --count c2.bagz) == 20 && ! -e c3.bagz ]]
    sb convert a.bagz a.bag
    sb split --size=100 -o 's{}.bag' a.bag
    for part in s*.bag; do
        (($(stat -c %s "$part") <= 100 + 8 * $(sb ls --count "$part"))) || fail "$part"
        lines_of "$part"
    done | cmp - lines.txt
    run_ok sb split --size=1 -n -o '{}.bag' a.bag
    [[ ${#lines[@]} == 100 ]]
}

@test "parts are the shards of one set where OUTPUT names one" {
    make_bag
    run_ok sb split --parts=4 -o 's@*.bagz' a.bagz
    [ -e s-00003-of-00004.bagz ]
    lines_of s@4.bagz | cmp - lines.txt
    sb split --parts=4 -o 't@4.bagz' s@4.bagz
    cmp t-00002-of-00004.bagz s-00002-of-00004.bagz
    sb split --count=30 -o 'u@*.bagz' a.bagz
    [[ $(sb ls --count u-00003-of-00004.bagz) == 10 ]]
    run_fail 2 sb split --parts=4 -o 'v@5.bagz' a.bagz
    stderr_has "v@5.bagz: has 5 shards, and --parts=4"
}

@test "--layout=interleaved: each part every N-th record" {
    make_bag
    sb split --parts=3 --layout=interleaved -o 'p-{}.bagz' a.bagz
    lines_of p-1.bagz | cmp - <(awk 'NR % 3 == 2' lines.txt)
    sb split --parts=3 --layout=interleaved -o 's@3.bagz' a.bagz
    cmp s-00001-of-00003.bagz p-1.bagz
    sb split --count=50 --layout=interleaved -o 'c-{}.bagz' a.bagz
    lines_of c-1.bagz | cmp - <(awk 'NR % 2 == 0' lines.txt)
    run_fail 2 sb split --size=1K --layout=interleaved -o 'x-{}.bagz' a.bagz
    stderr_has "excludes --layout=interleaved"
    sb split --parts=2 --from-layout=interleaved -o 'y-{}.bagz' s@3.bagz
    lines_of y-0.bagz,y-1.bagz | cmp - lines.txt
}

@test "--records: only these are split" {
    make_bag
    sb split --records=90:10:-2 --parts=4 -o 'p-{}.bagz' a.bagz
    lines_of p-0.bagz,p-1.bagz,p-2.bagz,p-3.bagz |
        cmp - <(seq 90 -2 11 | sed 's/^/record /')
    sb split --records=:3,50 --parts=2 --layout=interleaved -o 'i-{}.bagz' a.bagz
    run_ok lines_of i-1.bagz
    output_is $'record 1\nrecord 50'
}

@test "there may be more parts than records: the last are empty" {
    make_bag
    sb split --records=:2 --parts=4 -o 'p-{}.bagz' a.bagz
    [[ $(sb ls --count p-1.bagz) == 1 && $(sb ls --count p-3.bagz) == 0 ]]
}

@test "a dry run shows the parts, --json too" {
    make_bag
    sb convert a.bagz a.bag
    run_ok sb split -n --parts=3 -o 'p-{}.bag' a.bag
    output_is '        34             296 p-0.bag
        33             297 p-1.bag
        33             297 p-2.bag'
    run_ok sb split -n --json --parts=3 -o 's@*.bag' a.bag
    output_has '"output":"s-00002-of-00003.bag","records":33,"bytes":297'
    run_ok sb split --json --count=60 -o 's@*.bag' a.bag
    output_has '"output":"s-00001-of-00002.bag","records":40,"bytes":360,"skipped":false'
    run_ok sb split -v --count=60 -o 't@*.bag' a.bag
    stderr_is 'shardbox split: t-00000-of-00002.bag: 60 records (530)
shardbox split: t-00001-of-00002.bag: 40 records (360)'
    run compgen -G 'p-*'
    [ -z "$output" ]
}

@test "parts that stand: refused, kept under --existing=skip, replaced under --force" {
    make_bag
    sb split --parts=3 -o 'p-{}.bagz' a.bagz
    rm p-1.bagz
    run_fail 2 sb split --parts=3 -o 'p-{}.bagz' a.bagz
    stderr_has "p-0.bagz: exists already, nothing was written"
    [ ! -e p-1.bagz ]
    echo other >p-0.bagz
    run_ok sb split --existing=skip --parts=3 -o 'p-{}.bagz' a.bagz
    [[ $(<p-0.bagz) == other && -e p-1.bagz ]]
    run_ok sb split --force --parts=3 -o 'p-{}.bagz' a.bagz
    lines_of p-0.bagz,p-1.bagz,p-2.bagz | cmp - lines.txt
    sb split --parts=3 -o 's@3.bagz' a.bagz
    run_fail 2 sb split --parts=3 -o 's@3.bagz' a.bagz
    run_ok sb split --existing=skip --parts=3 -o 's@3.bagz' a.bagz
}

@test "a bag goes into archives and tars by its records' names" {
    make_bag
    sb split --parts=2 -o 'p-{}.barecat' a.bagz
    run_ok sb cat p-1.barecat 00000099
    output_is "record 99"
    sb split --ratio=train=0.5,test=0.5 -o '{}.bagz' a.bagz
    lines_of train.bagz,test.bagz | sort | cmp - <(sort lines.txt)
}

@test "what cannot be is refused" {
    make_bag
    make_archive
    run_fail 2 sb split --count=3 -o 'p-{}.barecat' a.bagz
    stderr_has "--count is for a bag whose parts are bags"
    run_fail 2 sb split --count=3 -o 'p-{}.bagz' a.barecat
    run_fail 2 sb split --parts=3 -o 'p.bagz' a.bagz
    stderr_has "there are 3 parts, and one name"
    run_fail 2 sb split --parts=2 --layout=interleaved -o 'p-{}.tar' a.barecat
    stderr_has "are for bags"
    run_fail 2 sb split --shard-size=1K --level=3 a.barecat
    stderr_has "changes ARCHIVE itself"
    run_fail 2 sb split --parts=2 -f -o 'a-{}.bagz' missing.bagz
    run_fail 2 sb split --parts=1 -f -o a.bagz a.bagz
}

@test "parts of the records that a list names" {
    local options part
    make_numbers 20
    # Numbers in no order, repeated, and as slices; one is not there.
    printf '%s\n' 7 3 3 0:4 -1 99 19:10:-3 >list
    printf '%s\n' 7 3 3 0 1 2 3 19 19 16 13 >wanted
    for options in --parts=4 --count=3 --size=4 '--parts=4 --layout=interleaved' \
        '--count=3 --layout=interleaved'; do
        rm -f p-*
        # shellcheck disable=SC2086 # several words
        run_fail 1 sb split $options -T list -o 'p-{}.bag' numbers.bag
        stderr_has 'numbers.bag: record 99: there are 20'
        if [[ $options == *interleaved ]]; then
            diff <(for part in p-*.bag; do lines_of "$part"; done | sort) <(sort wanted)
            diff <(lines_of p-0.bag) <(awk 'NR % 4 == 1' wanted)
        else
            diff <(for part in p-*.bag; do lines_of "$part"; done) wanted
        fi
    done
    [[ $(sb split -T - --parts=3 -n -o 'q-{}.bag' numbers.bag <wanted | awk '{print $1}') == $'4\n4\n3' ]]
    sb split -T - --parts=3 -o 'set@*.bagz' numbers.bag <wanted
    diff <(lines_of 'set@3.bagz') wanted
    [[ $(sb ls --count set-00000-of-00003.bagz) == 4 ]]
    sb convert -T wanted --layout=interleaved --count=3 numbers.bag 'other@*.bagz'
    diff <(lines_of --layout=interleaved 'other@*.bagz') wanted
    [[ -e other-00000-of-00004.bagz ]]
}

@test "a list of more numbers than are kept in memory" {
    make_numbers 1000
    seq 0 999 | awk '{ for (i = 0; i < 300; i++) print ($1 * 7 + i * 13) % 1000 }' >list
    for options in '' --layout=interleaved; do
        # shellcheck disable=SC2086 # none, or one
        sb split --parts=2 $options -f -T list -o 'p-{}.bag' numbers.bag
        diff <(for part in p-0.bag p-1.bag; do lines_of "$part"; done) \
            <(if [[ $options ]]; then awk 'NR % 2 == 1' list && awk 'NR % 2 == 0' list; else cat list; fi)
    done
}

@test "on a slow file system chosen records are divided alike with any number of threads" {
    need_slow
    seq 3000 >lines
    sb convert --frame=line lines a.bag
    shuf --random-source=<(yes) -i 0-2999 -n 300 >list
    sb split -T list --size=400 -o 'wanted-{}.bag' a.bag
    for threads in 1 2 8; do
        run_ok slow_sb split -f -T list --size=400 "-j$threads" -o 'part-{}.bag' a.bag
        for part in part-*.bag; do
            cmp "wanted-${part#part-}" "$part"
        done
        [[ $(ls part-* | wc -l) == $(ls wanted-* | wc -l) ]]
    done
}
