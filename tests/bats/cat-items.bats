# shardbox cat of Syrah files: values of arrays, by item, at random, framed, as .npy files.

load helper
load syrah

# Four items: two bytes, a number of two bytes, a text.
make_four() {
    make_syrah "${1:-a.syr}" '{"pair": ("uint8", b"aA", b"bB", b"cC", b"dD"), "n": ("int16", [0x3030], [0x3131], [0x3232], [0x3333]),
                               "text": ("str", "null", "eins", "zwei", "drei")}' "${@:2}"
}

@test "all arrays of an item one after the other, or the one that is asked for" {
    make_four
    run_ok sb cat a.syr 1
    output_is bB11eins
    run_ok sb cat a.syr 1/text
    output_is eins
    run_ok sb cat a.syr
    output_is aA00nullbB11einscC22zweidD33drei
    stderr_is ''
}

@test "a name that no file may have is none of a tar" {
    make_syrah a.syr "{'../../x': ('int8', [1]), 'a//b': ('int8', [2])}"
    run_fail 2 sb cat --frame=tar a.syr 0/../../x
    output_is ''
    stderr_is "shardbox cat: a.syr: item 0, array '../../x': its name has a .. component, which no file may have; choose jsonl"
    run_ok sb cat --frame=jsonl a.syr 0/../../x
    output_is '{"index":0,"key":"00000000/../../x.int8","data":"AQ=="}'
    sb cat --frame=tar a.syr 0/a//b | tar tf - | cmp - <(echo 00000000/a/b.int8)
    printf '../k\nfine\n' | sb convert -q --frame=line - keys.bag
    printf '1\n2\n' | sb convert -q --frame=line - a.bag
    run_fail 2 sb cat --frame=tar --keys=keys.bag a.bag ../k
    stderr_has 'its name has a .. component, which no file may have; choose jsonl'
}

@test "numbers, slices and lists of them come in the order asked for" {
    make_four
    run_ok sb cat a.syr -1/text 1:3/pair 2,0/n ::-2/pair
    output_is dreibBcC2200dDbB
    run_ok sb cat --array=text --array=pair a.syr 3,0
    output_is dDdreiaAnull
    run_ok sb cat --array=text a.syr 3 0/n
    output_is drei00
}

@test "-T reads numbers and slices, each with an array where it names one" {
    make_four
    printf '%s\n' 2/text -1 0:2/pair >list
    run_ok sb cat -T list a.syr 1/n
    output_is 11zweidD33dreiaAbB
    printf '0/text\0001/text' >list
    run_ok sb cat -0 -T list a.syr
    output_is nulleins
    printf '%s\n' 0/text abc 1/text >list
    run_fail 2 sb cat -T - a.syr <list
    output_is null
    stderr_has "'abc' is neither a record number nor START:STOP:STEP"
}

@test "each line of a pipe is answered as it comes" {
    make_four
    mkfifo questions
    coproc ITEMS { sb cat --frame=line -T questions a.syr; }
    pid=$ITEMS_PID
    exec 5>questions
    for item in 2 0; do
        echo "$item/text" >&5
        read -r -t 20 answer <&"${ITEMS[0]}"
        [[ $answer == "$(sb cat a.syr $item/text)" ]]
    done
    exec 5>&-
    wait "$pid"
}

@test "what is not there is named, and the rest is given out" {
    make_four
    run_fail 1 sb cat a.syr 0/text 4 1/nix 2:9/text -9/pair
    output_is nullzweidrei
    stderr_is "shardbox cat: a.syr: item 4: there are 4
shardbox cat: a.syr: 1/nix: there is no array 'nix'
shardbox cat: a.syr: item -9: there are 4"
    run_fail 2 sb cat --array=nix a.syr
    stderr_is "shardbox cat: a.syr: has no array 'nix'"
}

@test "--batch answers each array by the name that it has as a file, and what is missing by its own words" {
    make_four
    run_fail 1 sb cat --batch a.syr 1 7/text 0:2,3/nix
    output_is '00000001/pair.uint8 2
bB
00000001/n.int16 2
11
00000001/text.txt 4
eins
7/text missing
0:2,3/nix missing'
    stderr_is 'shardbox cat: 2 of the requested items are not there'
    run_ok sb cat --batch --npy --array=n --array=text a.syr 2
    [[ ${lines[0]} == '00000002/n.npy 130' ]] || fail 'its size is that of the .npy'
    output_has '00000002/text.txt 4'
}

@test "--npy gives .npy files, but texts as they are" {
    make_syrah a.syr '{"x": ("float32", [1, 2, 3], []), "b": ("bool", [True], []), "s": ("str", "text", "")}'
    sb cat --npy a.syr 0/x >x.npy
    (($(stat -c %s x.npy) == 128 + 12)) || fail 'size'
    [[ $(head -c 128 x.npy | tail -c +11) == "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"* ]] || fail 'header'
    cmp <(tail -c 12 x.npy) <(sb cat a.syr 0/x)
    run_ok sb cat --npy a.syr 0/s
    output_is text
    [[ $(sb cat --npy a.syr 1/b) == *"'|b1'"*"'shape': (0,)"* ]] || fail 'no values'
}

@test "what find prints is taken, and is the file; named bare an array is its values" {
    make_four
    sb unpack -C out a.syr
    sb find --type=f a.syr >names
    sb cat -T names a.syr | cmp - <(while read -r name; do cat out/"$name"; done <names)
    sb cat a.syr 00000001/n.npy 2/n.npy | cmp - <(cat out/0000000{1,2}/n.npy)
    sb cat --npy a.syr 1/n 2/n.npy | cmp - <(cat out/0000000{1,2}/n.npy)
    run_ok sb cat --raw a.syr 1/n.npy 2/n 0/text.txt
    output_is 1122null
    run_ok sb cat a.syr ::3/n.int16
    output_is 0033
    sb cat --shuffle --seed=3 a.syr ::/n.npy | wc -c | cmp - <(cat out/*/n.npy | wc -c)
    run_fail 1 sb cat a.syr 1/n.float32 1/text.npy 1/n.txt
    stderr_has 'a.syr: 1/n.float32'
    run_fail 2 sb cat --raw --npy a.syr 1/n
    stderr_is "shardbox cat: --raw and --npy cannot be given together; try 'shardbox cat --help'"
}

@test "frames: jsonl tells the item's number, tar makes files" {
    make_four
    run_ok sb cat --frame=jsonl a.syr 3/text
    output_is '{"index":3,"key":"00000003/text.txt","data":"ZHJlaQ=="}'
    sb cat --frame=tar --npy a.syr 2: | tar x
    run_ok find 0* -type f
    (($(wc -l <<<"$output") == 6)) || fail 'six files'
    [[ $(<00000003/text.txt) == drei ]]
    [[ $(tail -c 2 00000002/pair.npy) == cC ]]
    run_ok sb cat --frame=line --array=text a.syr
    output_is $'null\neins\nzwei\ndrei'
}

@test "samples and shuffles are of items, the same for ever, and those of a bag of as many records" {
    make_four
    for item in 0 1 2 3; do
        printf '%s\n' $item
    done | sb convert --frame=line - numbers.bag
    for options in --shuffle '--shuffle --seed=3' --sample=2 '--sample=9 --replace'; do
        # shellcheck disable=SC2086 # several words
        run_ok sb cat $options --frame=line numbers.bag
        wanted=$output
        # shellcheck disable=SC2086
        sb cat $options --frame=jsonl --array=pair a.syr >drawn
        [[ $(sed 's/.*"index":\([0-9]*\).*/\1/' drawn) == "$wanted" ]] || fail "$options"
    done
    run_ok sb cat --shuffle a.syr 0:2
    [[ $output == aA00nullbB11eins || $output == bB11einsaA00null ]] || fail 'arrays stay together'
}

@test "--forever goes on, and ends where nothing would ever come" {
    make_syrah a.syr '{"x": ("uint8", b"1", b"2"), "none": ("uint8", [], [])}'
    [[ $(sb cat --forever --array=x a.syr | head -c 5) == 12121 ]]
    run_fail 2 sb cat --forever a.syr 0/none
    stderr_has 'nothing would ever be written'
}

@test "parts one behind the other are the whole, whatever was asked for" {
    make_four
    printf '%s\n' 3 0/text 1:3/n 9 >list
    for words in '' '1:' '3,0/text 0/n' '-T list' '--shuffle' '--sample=3 1:/text'; do
        # shellcheck disable=SC2086 # several words
        sb cat --frame=batch a.syr $words >whole 2>/dev/null || [[ $words == '-T list' ]]
        : >parts
        for part in 1 2 3; do
            # shellcheck disable=SC2086
            sb cat --frame=batch --part=$part/3 a.syr $words >>parts 2>>errors || [[ $words == '-T list' ]]
        done
        sed -i '/missing/d' whole
        cmp whole parts || fail "$words"
    done
    [[ $(<errors) == 'shardbox cat: a.syr: item 9: there are 4' ]] || fail 'told once'
}

@test "an array that lies where it cannot is named, and the rest is given out" {
    make_four a.syr 'offsets["pair"][1] = 9999' 'sizes["n"][2] = 1'
    run_fail 1 sb cat a.syr
    output_is aA00null11einscCzweidD33drei
    stderr_is "shardbox cat: a.syr: item 1, array 'pair': lies outside the data section (offset 9999, 2 bytes)
shardbox cat: a.syr: item 2, array 'n': has 1 bytes, no multiple of 2"
    run_fail 1 sb cat --batch a.syr 1/pair
    output_is '00000001/pair.uint8 damaged'
}

@test "a file that became shorter gives out what it has, and names the rest" {
    make_syrah a.syr '{"x": ("uint8", b"1" * 9000, b"2" * 9000)}'
    mkfifo questions
    coproc ITEMS { sb cat --batch -T questions a.syr 2>errors; }
    pid=$ITEMS_PID
    exec 5>questions 6<&"${ITEMS[0]}"
    echo 0 >&5
    read -r -t 20 name size <&6
    [[ $name == 00000000/x.uint8 ]]
    head -c $((size + 1)) <&6 | cmp - <(head -c 9000 /dev/zero | tr '\0' 1 && echo)
    truncate -s 9500 a.syr
    echo 1 >&5
    exec 5>&-
    wait "$pid" || status=$?
    ((status == 1)) || fail 'exit status'
    [[ $(<errors) == *'a.syr: '*'shorter'* ]] || fail "$(<errors)"
}

@test "arrays that are larger than the room for many are streamed" {
    make_syrah a.syr '{"x": ("uint8", b"12345678" * 400000, b"8" * 3000000), "n": ("uint8", b"0", b"1")}'
    sb cat a.syr >all
    cmp all <(head -c $((22 + 6200002)) a.syr | tail -c +23)
    sb cat --npy a.syr 1/x | tail -c 3000000 | cmp - <(head -c 3000000 /dev/zero | tr '\0' 8)
    sb cat --frame=u64 a.syr 1/x | tail -c +9 | cmp - <(head -c 3000000 /dev/zero | tr '\0' 8)
}

# bats test_tags=threads
@test "the bytes do not depend on the number of threads" {
    make_syrah a.syr '{"x": ("uint8",) + tuple(bytes([i % 256]) * (i * 37 % 4001) for i in range(600)), "n": ("int32",) + tuple([i] for i in range(600))}'
    for options in '' --shuffle '--npy --frame=tar'; do
        # shellcheck disable=SC2086 # several words
        sb cat -j1 $options a.syr >one
        # shellcheck disable=SC2086
        sb cat -j4 $options a.syr | cmp - one
    done
}

@test "several files are one sequence; from a pipe one is spooled" {
    make_four
    make_syrah b.syr '{"text": ("str", "vier"), "n": ("int16", [0x3434]), "pair": ("uint8", b"eE")}'
    run_ok sb cat a.syr,b.syr 3:
    output_is dD33dreieE44vier
    run_ok sb cat a.syr,b.syr -1/n ::-1/text
    output_is 44vierdreizweieinsnull
    run_ok sb cat --from=syrah - 1/text < <(cat a.syr)
    output_is eins
}

@test "options of other containers are refused" {
    make_four
    for option in --keys=x --find=x --compression=zstd --layout=interleaved; do
        run_fail 2 sb cat $option a.syr
        stderr_has "a.syr: is a Syrah file, and ${option%%=*} is for bags"
    done
    for option in --range=0:1 --decompress --no-check --order=address; do
        run_fail 2 sb cat $option a.syr
        stderr_has "a.syr: is a Syrah file, and ${option%=0:1} is for files of archives"
    done
    run_fail 2 sb cat --raw --npy a.syr 0
    stderr_has '--raw and --npy cannot be given together'
    run_fail 2 sb cat --sample=1 -T list a.syr
    stderr_has '--files-from cannot be sampled'
    run_fail 2 sb cat --shuffle a.syr 0/n 1/text
    stderr_is 'shardbox cat: a.syr: items of a list, or of different arrays, cannot be sampled, shuffled or repeated'
    touch empty.bag
    run_fail 2 sb cat --npy empty.bag
    stderr_has 'empty.bag: is no Syrah file and no cache, and --npy is for these'
}
