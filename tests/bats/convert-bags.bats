# shardbox convert: bags become bags, and any other container; records keep their order and bytes.

load helper

# Leaves lines.txt, and a.bagz with its lines as records; some are empty.
make_bag() {
    local i x=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    for i in {0..199}; do
        ((i % 7)) && printf 'record %d, %s' "$i" "${x:i % 30}"
        echo
    done >lines.txt
    sb convert --frame=line lines.txt a.bagz
}

# lines_of SPEC: its records, a line each.
lines_of() {
    sb cat --frame=line "$@"
}

# numbers FIRST STEP LAST: lines of lines.txt, counted from 0.
numbers() {
    local n lines
    mapfile -t lines <lines.txt
    for n in $(seq "$@"); do printf '%s\n' "${lines[n]}"; done
}

@test "a bag becomes a bag: frames are moved as they are" {
    make_bag
    run_ok sb convert a.bagz b.bagz
    output_is ""
    stderr_is ""
    run_ok sb convert -v --force a.bagz b.bagz
    stderr_has "b.bagz: stored 200 records ("
    cmp a.bagz b.bagz
    sb convert a.bagz b.bag
    sb convert b.bag c.bag
    cmp b.bag c.bag
    lines_of b.bag | cmp - lines.txt
}

# bats test_tags=threads
@test "what is compressed otherwise is decoded and encoded, the same on any number of threads" {
    make_bag
    sb convert a.bagz plain.bag
    sb convert plain.bag b.bagz
    lines_of b.bagz | cmp - lines.txt
    for threads in 1 3; do
        sb convert -j $threads --level=9 a.bagz level-$threads.bagz
    done
    cmp level-1.bagz level-3.bagz
    lines_of level-3.bagz | cmp - lines.txt
}

@test "--level and --dictionary encode anew; without them a dictionary's frames are moved" {
    make_bag
    head -c 3000 lines.txt >dictionary
    sb convert --dictionary=dictionary a.bagz d.bagz
    run ! cmp -s a.bagz d.bagz
    lines_of --dictionary=dictionary d.bagz | cmp - lines.txt
    run_ok sb convert d.bagz moved.bagz
    cmp d.bagz moved.bagz
    sb convert --from-dictionary=dictionary --dictionary=dictionary d.bagz same.bagz
    cmp d.bagz same.bagz
    cp dictionary copy
    sb convert --level=19 --dictionary=dictionary a.bagz best.bagz
    run ! cmp -s best.bagz d.bagz
    sb convert --from-dictionary=dictionary --dictionary=copy best.bagz same-content.bagz
    cmp best.bagz same-content.bagz
    sb convert --from-dictionary=dictionary d.bagz without.bagz
    lines_of without.bagz | cmp - lines.txt
}

@test "memory follows the size of records, not the level" {
    make_bag
    (
        grep -qE '__(asan|tsan)_init' "$SHARDBOX" || ulimit -v 100000
        run_ok sb convert --threads=1 --level=19 --frame=line lines.txt b.bagz
        run_ok sb convert --threads=1 --level=19 a.bagz c.bagz
    )
    cmp b.bagz c.bagz
    cmp lines.txt <(lines_of c.bagz)
}

@test "several bags, lists and sets are joined, compressed or not" {
    make_bag
    sb convert a.bagz plain.bag
    sb convert a.bagz 's@3.bagz'
    run_ok sb convert a.bagz,plain.bag s@3.bagz joined.bagz
    cat lines.txt lines.txt lines.txt | cmp - <(lines_of joined.bagz)
    run_ok sb convert a.bagz,plain.bag 's@*.bagz' joined.bag
    cat lines.txt lines.txt lines.txt | cmp - <(lines_of joined.bag)
}

@test "a set has its records evenly, or by their number or size" {
    make_bag
    sb convert a.bagz e@6.bagz
    run_ok sb ls --count e@6.bagz
    output_is 200
    for i in 0 1 2 3 4 5; do
        records=$(sb ls --count e-0000$i-of-00006.bagz)
        ((records == 33 || records == 34)) || fail "$records records in shard $i"
    done
    sb convert --count=90 a.bagz 'c@*.bagz'
    [[ -e c-00002-of-00003.bagz && ! -e c-00003-of-00003.bagz ]]
    [[ $(sb ls --count c-00002-of-00003.bagz) == 20 ]]
    sb convert --shard-size=1000 a.bagz 's@*.bag'
    for shard in s-*.bag; do
        # Records of 1000 bytes at most, and 8 bytes for each.
        (($(stat -c %s "$shard") <= 1000 + 8 * $(sb ls --count "$shard"))) || fail "$shard"
    done
    for spec in e@6.bagz 'c@*.bagz' 's@*.bag'; do
        lines_of "$spec" | cmp - lines.txt
    done
}

@test "interleaved and concatenated sets become one another" {
    make_bag
    sb convert --layout=interleaved a.bagz i@6.bagz
    lines_of i-00002-of-00006.bagz | cmp - <(numbers 2 6 199)
    lines_of --layout=interleaved i@6.bagz | cmp - lines.txt
    sb convert --from-layout=interleaved i@6.bagz one.bagz
    cmp one.bagz a.bagz
    sb convert --from-layout=interleaved i@6.bagz c@4.bag
    lines_of c@4.bag | cmp - lines.txt
    sb convert --from-layout=interleaved --layout=interleaved i@6.bagz j@5.bag
    lines_of --layout=interleaved j@5.bag | cmp - lines.txt
}

@test "--records takes slices of each bag, as Python has them" {
    make_bag
    run_ok sb convert --records=10:20 a.bagz b.bagz
    lines_of b.bagz | cmp - <(numbers 10 1 19)
    sb convert -f --records=::-1 a.bagz b.bagz
    lines_of b.bagz | cmp - <(tac lines.txt)
    sb convert -f --records=150:20:-13,3 --records=-1 a.bagz b.bag
    lines_of b.bag | cmp - <(numbers 150 -13 21; numbers 3 3; numbers 199 199)
    sb convert -f --records=:2 a.bagz a.bagz b.bagz
    lines_of b.bagz | cmp - <(numbers 0 1; numbers 0 1)
    printf '5\n10:12\n' | sb convert -f -T - a.bagz b.bagz
    lines_of b.bagz | cmp - <(numbers 5 5; numbers 10 11)
    sb convert -f --records=::3 a.bagz s@4.bagz
    lines_of s@4.bagz | cmp - <(numbers 0 3 199)
    run_ok sb convert --records=3:3 a.bagz none.bagz
    [[ $(sb ls --count none.bagz) == 0 ]]
}

@test "a number that is not there is named, and the others are taken" {
    make_bag
    run_fail 1 sb convert --records=3,500,4 a.bagz b.bagz
    stderr_has "a.bagz: record 500: there are 200"
    lines_of b.bagz | cmp - <(numbers 3 4)
    run_fail 2 sb convert --strict --records=3,500,4 a.bagz c.bagz
    [ ! -e c.bagz ]
}

@test "--records is refused where records have no numbers" {
    make_archive
    run_fail 2 sb convert --records=3 a.barecat b.bagz
    stderr_has "--records and -T are for bags"
    [ ! -e b.bagz ]
}

@test "limits beside a bag, and at its tail" {
    make_bag
    sb convert --limits=separate a.bagz s.bagz
    [ -e limits.s.bagz ]
    lines_of s.bagz | cmp - lines.txt
    cat s.bagz limits.s.bagz | cmp - a.bagz
    sb convert s.bagz tail.bagz
    cmp tail.bagz a.bagz
}

@test "what stands there is replaced under --force only" {
    make_bag
    sb convert a.bagz b.bagz
    run_fail 2 sb convert --records=:3 a.bagz b.bagz
    stderr_has "b.bagz"
    cmp a.bagz b.bagz
    run_ok sb convert -f --records=:3 a.bagz b.bagz
    lines_of b.bagz | cmp - <(numbers 0 2)
}

@test "--append adds records behind those that are there" {
    make_bag
    sb convert --records=:50 a.bagz b.bagz
    run_ok sb convert --append --records=50: a.bagz b.bagz
    cmp a.bagz b.bagz
    run_ok sb convert --append a.bagz new.bagz
    cmp a.bagz new.bagz
}

@test "--append takes no dictionary that does not read the records that are there" {
    seq -f 'line %g of the first' 3000 >first
    seq -f '%g: quite another text' 3000 >second
    zstd -q --train -B20 --maxdict=2048 first -o d1
    zstd -q --train -B20 --maxdict=2048 second -o d2
    sb convert --frame=line --dictionary=d1 first a.bagz
    sb convert --frame=line --dictionary=d2 second b.bagz
    cp a.bagz before.bagz
    run_fail 2 sb convert --append --frame=line --dictionary=d2 second a.bagz
    stderr_is 'shardbox convert: a.bagz: its records cannot be read by the dictionary that is to be used for more; --dictionary must be that of the bag'
    run_fail 2 sb convert --append --from-dictionary=d2 --dictionary=d2 b.bagz a.bagz
    cmp a.bagz before.bagz
    run_ok sb convert --append --frame=line --dictionary=d1 second a.bagz
    sb cat --dictionary=d1 --frame=line a.bagz | cmp - <(cat first second)
}

@test "an output that is an input, or a shard of one, is refused" {
    make_bag
    sb convert a.bagz s@3.bagz
    for pair in "a.bagz a.bagz" "s@3.bagz s@3.bagz" "s@3.bagz s@*.bagz" "a.bagz,s@3.bagz a.bagz" \
        "s-00001-of-00003.bagz s@3.bagz" "s@3.bagz s-00002-of-00003.bagz"; do
        # shellcheck disable=SC2086 # two words
        run_fail 2 sb convert --force --count=10 $pair
        [[ $stderr == *"input and output at once"* || $stderr == *"several name a set"* ]] || fail "$pair"
    done
    lines_of s@3.bagz | cmp - lines.txt
    run_ok sb convert s@3.bagz s@4.bagz
    sb convert --limits=separate a.bagz beside.bagz
    run_fail 2 sb convert --force beside.bagz limits.beside.bagz
    stderr_has 'input and output at once'
    lines_of beside.bagz | cmp - lines.txt
}

@test "damaged records are named and left out; what is moved as it is is not looked into" {
    make_bag
    sb convert a.bagz b.bagz
    at=$(sb ls -l --json b.bagz | sed -n 's/.*"index":10,.*"offset":\([0-9]*\).*/\1/p')
    printf '\377\377\377\377' | dd of=b.bagz bs=1 seek="$at" conv=notrunc status=none
    run_fail 1 sb convert b.bagz plain.bag
    stderr_has "b.bagz: record 10: "
    lines_of plain.bag | cmp - <(numbers 0 9; numbers 11 199)
    run_fail 2 sb convert --strict b.bagz strict.bag
    [ ! -e strict.bag ]
    run_ok sb convert b.bagz moved.bagz
    cmp b.bagz moved.bagz
}

@test "limits that decrease are found though frames are moved as they are" {
    printf 'aabbccdd' >x.bag
    perl -e 'print pack("Q<4", 2, 6, 4, 8)' >>x.bag
    run_fail 1 sb convert x.bag y.bag
    stderr_has "x.bag: record 2: "
    lines_of y.bag | cmp - <(printf 'aa\nbbcc\n' && lines_of x.bag 3)
}

@test "an archive, a directory and a tar become bags, in the order of their files" {
    mkdir tree
    for i in 1 2 3; do echo "file $i" >tree/$i; done
    sb pack a.barecat -C tree .
    sb convert a.barecat a.bagz
    tar cf t.tar -C tree 1 2 3
    sb convert t.tar t.bagz
    cmp a.bagz t.bagz
    run_ok sb convert tree/ d.bag
    run_ok sb cat a.bagz
    output_is $'file 1\nfile 2\nfile 3'
}

@test "a bag becomes an archive, a tar, and a directory: a file for each record" {
    make_bag
    sb convert a.bagz a.barecat
    run_ok sb cat a.barecat 00000010
    output_is "$(sed -n 11p lines.txt)"
    sb convert a.bagz a.tar
    [[ $(tar tf a.tar | wc -l) == 200 ]]
    sb convert --records=5:7 a.bagz out/
    [[ $(ls out | wc -l) == 2 ]]
}

@test "--from and --to name a bag where its suffix does not, and on pipes" {
    make_bag
    sb convert --to=bagz a.bagz data
    cmp data a.bagz
    sb convert --from=bagz data b.bag
    lines_of b.bag | cmp - lines.txt
    sb convert --to=bagz a.bagz - | cmp - a.bagz
    sb convert --from=bagz - c.bag <data
    cmp b.bag c.bag
    # shellcheck disable=SC2002 # a pipe
    cat data | sb convert --from=bagz - --to=bag - | cmp - b.bag
}

@test "records that are larger than any buffer are moved, decoded and encoded piece by piece" {
    head -c 5000000 /dev/zero | tr '\0' z >big
    { cat big && echo && echo small && seq 600000 | tr '\n' ' ' && echo; } >lines
    sb convert --frame=line lines a.bagz
    sb convert a.bagz b.bagz
    cmp a.bagz b.bagz
    sb convert a.bagz c.bag
    sb cat --frame=line c.bag | cmp - lines
    sb convert --records=::-1 c.bag d.bagz
    sb cat --frame=line d.bagz | cmp - <(tac lines)
}

@test "a dry run names the bag, and writes nothing" {
    make_bag
    run_ok sb convert -n --records=::2 a.bagz b.bagz
    output_is b.bagz
    stderr_is ""
    [ ! -e b.bagz ]
}

@test "options that do not go with bags, or only with them, are refused" {
    make_bag
    run_fail 2 sb convert --count=3 a.bagz b.tar
    stderr_has "--count is for a bag of several shards"
    run_fail 2 sb convert --count=3 a.bagz b.bagz
    stderr_has "b.bagz: is one file"
    run_fail 2 sb convert --level=3 a.bagz b.bag
    stderr_has "--level is for what is compressed"
    run_fail 2 sb convert --append --to=bagz a.bagz -
    run_fail 2 sb convert -T - a.bagz a.bagz b.bagz </dev/null
    stderr_has "-T is read but once: it goes with one INPUT, which may be bags joined by ','"
    run_fail 2 sb convert --wrap a.bagz b.bag
    make_archive
    run_fail 2 sb convert --layout=interleaved a.barecat b.tar
    stderr_has "are for bags"
    run_fail 2 sb convert --from-limits=tail a.barecat b.bag
    stderr_has "are for bags that are read"
    [ ! -e b.bag ] && [ ! -e b.bagz ]
}

@test "a missing shard is named, and nothing is made" {
    make_bag
    sb convert a.bagz s@3.bagz
    rm s-00001-of-00003.bagz
    run_fail 2 sb convert s@3.bagz b.bagz
    stderr_has "s-00001-of-00003.bagz"
    [ ! -e b.bagz ]
}

@test "--records numbers each INPUT, and a list of bags throughout" {
    make_bag
    head -n 3 lines.txt | sb convert --frame=line - few.bagz
    run_ok sb convert --records=1,-1 few.bagz a.bagz each.bagz
    lines_of each.bagz | cmp - <(sed -n '2p;3p' lines.txt && sed -n '2p;$p' lines.txt)
    run_ok sb convert --records=2,3 few.bagz,a.bagz joined.bagz
    lines_of joined.bagz | cmp - <(sed -n 3p lines.txt && sed -n 1p lines.txt)
    run_ok sb convert -T - few.bagz,a.bagz listed.bagz < <(printf '%s\n' 3 0:2)
    lines_of listed.bagz | cmp - <(sed -n 1p lines.txt && sed -n 1,2p lines.txt)
}

@test "on a slow file system chosen records become the same bag with any number of threads" {
    need_slow
    seq 3000 >lines
    sb convert --frame=line lines a.bagz
    shuf --random-source=<(yes) -i 0-2999 -n 300 >list
    sb convert -T list a.bagz wanted.bag
    for threads in 1 2 8; do
        run_ok slow_sb convert -f -T list "-j$threads" a.bagz out.bag
        cmp wanted.bag out.bag
    done
}
