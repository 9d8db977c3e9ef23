# shardbox cat of bags: records by number, by slices, at random, by key, on a pipe.

load helper
load bag

# ten FILE: ten records, "r0" to "r9".
ten() {
    make_bag "$1" r0 r1 r2 r3 r4 r5 r6 r7 r8 r9
}

# numbered FILE COUNT [SIZE]: records of a number each, filled up to SIZE; uncompressed.
numbered() {
    perl -e 'my ($count, $size) = @ARGV;
        my $end = 0;
        for (0 .. $count - 1) {
            my $record = sprintf("%-*d", $size, $_);
            print $record;
            $end += length $record;
            $limits .= pack("Q<", $end);
        }
        print $limits' "$2" "${3:-0}" >"$1"
}

# lines ARGS...: the records, a line each, in one line.
lines() {
    sb cat --frame=line "$@" | tr '\n' ' '
}

@test "without a number all records are written, as they were" {
    make_bag a.bag one '' 'two words' three
    run_ok sb cat a.bag
    output_is "onetwo wordsthree"
    make_bagz a.bagz one '' 'two words' three
    run_ok sb cat a.bagz
    output_is "onetwo wordsthree"
}

@test "a bag of no records is written as nothing" {
    : >a.bag
    : >a.bagz
    run_ok sb cat a.bag
    output_is ""
    run_ok sb cat a.bagz ::-1
    output_is ""
}

@test "records are numbered from 0, and from the end below zero" {
    ten a.bag
    [ "$(lines a.bag 0 3 -1 -10 3)" = "r0 r3 r9 r0 r3 " ]
    [ "$(lines a.bag -2)" = "r8 " ]
}

@test "slices are those of Python" {
    ten a.bag
    [ "$(lines a.bag 2:5)" = "r2 r3 r4 " ]
    [ "$(lines a.bag :3)" = "r0 r1 r2 " ]
    [ "$(lines a.bag -3:)" = "r7 r8 r9 " ]
    [ "$(lines a.bag ::4)" = "r0 r4 r8 " ]
    [ "$(lines a.bag ::-3)" = "r9 r6 r3 r0 " ]
    [ "$(lines a.bag 8:2:-2)" = "r8 r6 r4 " ]
    [ "$(lines a.bag 5:2)" = "" ]
    [ "$(lines a.bag 7:99)" = "r7 r8 r9 " ]
    [ "$(lines a.bag 0 8: :1)" = "r0 r8 r9 r0 " ]
    [ "$(lines a.bag 1,3,5:7)" = "r1 r3 r5 r6 " ]
}

@test "a number that is not there is named, the rest is done, exit 1" {
    ten a.bag
    run_fail 1 sb cat --frame=line a.bag 3 10 -11 4
    output_is $'r3\nr4'
    stderr_is "shardbox cat: a.bag: record 10: there are 10
shardbox cat: a.bag: record -11: there are 10"
}

@test "what is no number and no slice is refused before anything is written" {
    ten a.bag
    for wrong in x 1:2:0 1:2:3:4 1.5 ''; do
        run_fail 2 sb cat a.bag 0 "$wrong"
        output_is ""
        stderr_is "shardbox cat: a.bag: '$wrong' is neither a record number nor START:STOP:STEP with a step other than 0; names take --keys=BAG"
    done
}

@test "numbers and slices come from a list too, behind the operands" {
    ten a.bag
    printf '7\n-1\n2:4\n5' >numbers
    [ "$(lines -T numbers a.bag)" = "r7 r9 r2 r3 r5 " ]
    [ "$(lines -T - a.bag 1 <numbers)" = "r1 r7 r9 r2 r3 r5 " ]
    printf '1\0002\000' >numbers
    [ "$(lines -0 -T numbers a.bag)" = "r1 r2 " ]
    run_ok sb cat -T /dev/null a.bag
    output_is ""
}

@test "a line of the list that is no number ends the run, behind what came before" {
    ten a.bag
    printf '3\nx\n4\n' >numbers
    run_fail 2 sb cat --frame=line -T numbers a.bag
    output_is r3
    stderr_has "'x' is neither a record number nor START:STOP:STEP"
}

# bats test_tags=threads
@test "each number is answered before the next has to be there" {
    ten a.bag
    for threads in 1 3; do
        coproc ANSWERS { sb cat --frame=line --threads="$threads" -T - a.bag; }
        local pid=$ANSWERS_PID in=${ANSWERS[1]} out
        exec {out}<&"${ANSWERS[0]}"
        for number in 4 0 9 2; do
            echo $number >&"$in"
            read -r -t 20 answer <&"$out"
            [ "$answer" = "r$number" ]
        done
        exec {in}>&- {out}<&-
        wait "$pid"
    done
}

@test "in a batch every number has an answer" {
    ten a.bag
    run_fail 1 sb cat --batch -T - a.bag <<<$'3\n99\n-1'
    output_is $'3 2\nr3\n99 missing\n9 2\nr9'
    stderr_is "shardbox cat: 1 of the requested records is not there"
    run_ok sb cat --frame=batch a.bag 5
    output_is $'5 2\nr5'
}

# bats test_tags=threads
@test "the bytes do not depend on the number of threads" {
    numbered a.bag 5000 500
    sb cat -j 1 a.bag >one
    head -c 2500000 a.bag | cmp - one
    for slice in : ::-1 ::7 100:4000:3; do
        sb cat -j 1 --frame=u32 a.bag $slice >one
        sb cat -j 5 --frame=u32 a.bag $slice >five
        cmp one five
    done
}

@test "records of a sharded bag are numbered through" {
    make_bag a-00000-of-00003.bag r0 r1
    make_bag a-00001-of-00003.bag
    make_bag a-00002-of-00003.bag r2 r3 r4
    [ "$(lines a@3.bag)" = "r0 r1 r2 r3 r4 " ]
    [ "$(lines 'a@*.bag' ::-1)" = "r4 r3 r2 r1 r0 " ]
    [ "$(lines 'a@*.bag' 1 2 -1)" = "r1 r2 r4 " ]
}

@test "records of an interleaved bag come in turns from its shards" {
    make_bag a-00000-of-00002.bag r0 r2 r4
    make_bag a-00001-of-00002.bag r1 r3
    [ "$(lines --layout=interleaved a@2.bag)" = "r0 r1 r2 r3 r4 " ]
    [ "$(lines --layout=interleaved a@2.bag ::-2)" = "r4 r2 r0 " ]
}

# bats test_tags=threads
@test "a record larger than any buffer passes through" {
    head -c 9000000 /dev/urandom >large
    { cat large; printf small; le64 9000000 9000005; } >a.bag
    sb cat a.bag 0 | cmp - large
    sb cat a.bag | cmp - <(cat large; printf small)
    sb cat -j 3 a.bag 1 0 1 | cmp - <(printf small; cat large; printf small)
    sb cat --frame=u64 a.bag 0 | tail -c +9 | cmp - large
    { zstd -q -c large; le64 "$(zstd -q -c large | wc -c)"; } >a.bagz
    sb cat a.bagz | cmp - large
}

# bats test_tags=threads
@test "records behind one that is larger than any buffer have all their room" {
    head -c 3000000 /dev/urandom >large
    head -c 1900000 /dev/zero >next
    zstd -q -c large >first
    zstd -q -c next >second
    cat first second >records
    { cat records && le64 "$(stat -c %s first)" "$(stat -c %s records)"; } >a.bagz
    sb cat a.bagz | cmp - <(cat large next)
    sb cat -j 3 a.bagz 0 1 1 0 1 | cmp - <(cat large next next large next)
}

@test "a record that is not what its frame says is named, the others are written" {
    make_bagz a.bagz one two three
    put a.bagz 0 <<<garbage
    run_fail 1 sb cat --frame=line a.bagz
    output_is $'two\nthree'
    stderr_has "shardbox cat: a.bagz: record 0: "
    run_fail 1 sb cat --batch a.bagz 1 0
    output_is $'1 3\ntwo\n0 damaged'
    run_ok sb cat a.bagz 2
    output_is three
}

@test "a record whose limits decrease is named, the others are written" {
    make_bag a.bag r0 r1 r2 r3
    le64 1 | put a.bag 16
    run_fail 1 sb cat --frame=line a.bag
    output_is $'r0\n0r1r2\nr3'
    stderr_has "shardbox cat: a.bag: record 1: its limits decrease"
    run_ok sb cat a.bag 3
}

# bats test_tags=threads
@test "a sample has so many records, each once, the same ones for a seed" {
    numbered a.bag 1000 4
    sb cat --frame=line --sample=100 --seed=7 a.bag >got
    [ "$(wc -l <got)" -eq 100 ]
    [ "$(sort -u got | wc -l)" -eq 100 ]
    sb cat --frame=line --sample=100 --seed=7 -j 4 a.bag | cmp - got
    sb cat --frame=line --sample=100 --seed=8 a.bag >other
    run ! cmp -s other got
    sb cat --frame=line --sample=100 --seed=7 a.bag | head -10 >first
    sb cat --frame=line --sample=10 --seed=7 a.bag | cmp - first
    [ "$(sb cat --frame=line --sample=5000 a.bag | sort -u | wc -l)" -eq 1000 ]
}

@test "a sample with replacement may have a record more than once" {
    ten a.bag
    [ "$(sb cat --frame=line --sample=500 --replace a.bag | wc -l)" -eq 500 ]
    [ "$(sb cat --frame=line --sample=500 --replace a.bag | sort -u | wc -l)" -eq 10 ]
    run_fail 2 sb cat --replace a.bag
    stderr_has "--replace says how --sample draws"
}

@test "a shuffle has every record once" {
    numbered a.bag 1000 4
    sb cat --frame=line a.bag >all
    sb cat --frame=line --shuffle a.bag >got
    sort -n got | cmp - all
    run ! cmp -s got all
    sb cat --frame=line --shuffle --seed=0 a.bag | cmp - got
}

@test "the order of a seed never changes" {
    ten a.bag
    [ "$(lines --shuffle a.bag)" = "r5 r2 r8 r6 r0 r4 r9 r7 r1 r3 " ]
}

@test "samples and shuffles are taken of the slices" {
    ten a.bag
    [ "$(sb cat --frame=line --shuffle a.bag 7: 1 | sort | tr '\n' ' ')" = "r1 r7 r8 r9 " ]
    [[ $(lines --sample=1 a.bag 4:6) == r[45]" " ]]
}

@test "--forever ends where nothing would ever come of it" {
    make_bag a.bag '' '' ''
    for order in "" --shuffle --sample=2 '--sample=5 --replace'; do
        # shellcheck disable=SC2086 # two options
        run_fail 2 timeout 60 "$SHARDBOX" cat --forever $order a.bag
        stderr_is "shardbox cat: a.bag: none of the requested records has a byte, so that nothing would ever be written"
        # shellcheck disable=SC2086
        [ "$(sb cat --forever --frame=line $order a.bag | head -100 | wc -l)" = 100 ]
    done
    make_bag b.bagz 'no frame' 'nor this'
    run_fail 1 timeout 60 "$SHARDBOX" cat --forever --shuffle --frame=u32 b.bagz
    stderr_has "record 1: is not zstd data"
    stderr_has "b.bagz: none of the requested records can be read, or has a byte, so that nothing would ever be written"
    { printf abc && le64 0 3 0 3; } >c.bag
    [ "$(sb cat --forever c.bag 1 2>problems | head -c 9)" = abcabcabc ]
}

@test "--forever goes on until nobody reads" {
    make_bag a.bag r0 r1 r2
    [ "$(sb cat --frame=line --forever a.bag | head -7 | tr '\n' ' ')" = "r0 r1 r2 r0 r1 r2 r0 " ]
    sb cat --frame=line --forever --shuffle a.bag | head -300 >got
    [ "$(sort got | uniq -c | awk '{ print $1 }' | sort -u)" = 100 ]
    run ! cmp -s <(head -30 got) <(sed -n 31,60p got)
    set +o pipefail
    sb cat --forever a.bag 2>message | head -c 100000 >/dev/null
    [ ! -s message ]
    : >empty.bag
    run_ok sb cat --forever empty.bag
}

@test "options that are for files of archives are refused for bags, and the other way round" {
    ten a.bag
    for option in --range=0:1 --decompress --no-check --order=address; do
        run_fail 2 sb cat $option a.bag
        stderr_has "a.bag: is a bag, and ${option%=*}"
    done
    make_archive
    for option in --keys=x --find=x --compression=zstd; do
        run_fail 2 sb cat $option a.barecat a.txt
        stderr_has "a.barecat: is no bag, and ${option%=*} is for bags"
    done
    for option in --sample=1 --seed=1 --shuffle --forever; do
        run_fail 2 sb cat $option a.barecat a.txt
        stderr_has "a.barecat: ${option%=*} goes with rows, or with --samples"
    done
}

@test "what contradicts itself is refused" {
    ten a.bag
    run_fail 2 sb cat --sample=1 --shuffle a.bag
    run_fail 2 sb cat --shuffle -T /dev/null a.bag
    stderr_has "--files-from cannot be sampled, shuffled or repeated"
    run_fail 2 sb cat --forever --frame=tar a.bag
    run_fail 2 sb cat --batch --frame=line a.bag
}

@test "records by their keys, which lie in a bag beside them" {
    ten a.bag
    make_bagz keys.bagz k0 k1 k2 k3 k4 k5 k6 k7 k8 'k 9'
    [ "$(lines --keys=keys.bagz a.bag k3 'k 9' k3)" = "r3 r9 r3 " ]
    [ "$(lines --keys=keys.bagz --find=k1 a.bag k0)" = "r1 r0 " ]
    [ "$(printf 'k7\nk2\n' | lines --keys=keys.bagz -T - a.bag)" = "r7 r2 " ]
    run_fail 1 sb cat --frame=line --keys=keys.bagz a.bag k3 none k4
    output_is $'r3\nr4'
    stderr_is "shardbox cat: none: no such record in keys.bagz"
    run_fail 1 sb cat --batch --keys=keys.bagz a.bag k3 none
    output_is $'k3 2\nr3\nnone missing'
}

@test "each key is answered before the next has to be there" {
    ten a.bag
    make_bag keys.bag k0 k1 k2 k3 k4 k5 k6 k7 k8 k9
    coproc ANSWERS { sb cat --frame=line --keys=keys.bag -T - a.bag; }
    local pid=$ANSWERS_PID in=${ANSWERS[1]} out
    exec {out}<&"${ANSWERS[0]}"
    for number in 4 0 9; do
        echo k$number >&"$in"
        read -r -t 20 answer <&"$out"
        [ "$answer" = "r$number" ]
    done
    exec {in}>&- {out}<&-
    wait "$pid"
}

@test "members of a tar are called by their numbers, or by their keys" {
    ten a.bag
    make_bag keys.bag k0 k1 k2 k3 k4 k5 k6 k7 k8 k9
    sb cat --frame=tar a.bag 2 7 >a.tar
    [ "$(tar tf a.tar | tr '\n' ' ')" = "00000002 00000007 " ]
    [ "$(tar xOf a.tar 00000007)" = r7 ]
    sb cat --frame=tar --keys=keys.bag a.bag k3 k1 >b.tar
    [ "$(tar tf b.tar | tr '\n' ' ')" = "k3 k1 " ]
    [ "$(tar xOf b.tar k1)" = r1 ]
}

@test "a bag comes from a pipe where --from says so" {
    ten a.bag
    [ "$(sb cat --from=bag --frame=line - 3 -1 <a.bag | tr '\n' ' ')" = "r3 r9 " ]
    make_bagz a.bagz r0 r1 r2
    [ "$(sb cat --from=bagz --frame=line - -1 <a.bagz)" = r2 ]
    run_fail 2 sb cat - 0 <a.bag
}

@test "files of a list or a pattern are one bag" {
    make_bag b.bag r0 r1
    make_bagz c.bagz r2
    make_bag d.bag r3
    [ "$(lines b.bag,c.bagz,d.bag)" = "r0 r1 r2 r3 " ]
    [ "$(lines '[bd].bag' -2:)" = "r1 r3 " ]
    [ "$(lines --from=bag '[bcd].bag*' -2:)" = "r2 r3 " ]
    [ "$(lines fs:b.bag,fs:c.bagz 2)" = "r2 " ]
}

@test "keys must be as many as the records" {
    ten a.bag
    make_bag keys.bag k0 k1
    run_fail 2 sb cat --keys=keys.bag a.bag k0
    stderr_has "keys.bag: has 2 records, and a.bag 10: they are not the keys of those"
}

@test "--find looks a record up by its bytes" {
    ten a.bag
    run_ok sb cat --frame=jsonl --find=r4 a.bag
    output_has '"index":4'
    run_fail 1 sb cat --find=r44 a.bag
    stderr_is "shardbox cat: r44: no such record in a.bag"
    [ "$(printf 'r8\nr2\n' | lines --find -T - a.bag)" = "r8 r2 " ]
    run_fail 2 sb cat --find a.bag
    stderr_has "--find needs a key"
    run_fail 2 sb cat --find=r4 a.bag 4
    stderr_has "--find without --keys and record numbers"
}

@test "a framing that cannot hold a record ends the run, and says what can" {
    make_bag a.bag one $'two\nlines' three
    run_fail 2 sb cat --frame=line a.bag
    output_is one
    stderr_has "shardbox cat: a.bag: record 1: "
}
