# Bags side by side, "a.bag+b.bag": one table, whose row i consists of record i of each.

load helper
load cache
load syrah

four="{'pair': ('uint8', b'aA', b'bB', b'cC', b'dD'), 'n': ('int16', [0x3030], [0x3131], [0x3232], [0x3333]), 'text': ('str', 'null', 'eins', 'zwei', 'drei')}"

# The arrays of four items, a bag each.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    make_syrah a.syr "$four"
    sb convert -q --to=bagz a.syr bags
    cd bags || return
    spec=pair.uint8.bagz+n.int16.bagz+text.str.bagz
}

# records BAG TEXT...: a bag of these.
records() {
    printf '%s\n' "${@:2}" | sb convert -q --frame=line - "$1"
}

@test "what a Syrah file was converted to becomes the same one again" {
    run_ok sb convert "$spec" b.syr
    cmp ../a.syr b.syr
    run_ok sb convert --to=bagz "$spec" again
    for bag in *.bagz; do cmp "$bag" "again/$bag"; done
    run_ok sb convert --array=text "$spec" text.bag
    run_ok sb cat --frame=line text.bag
    output_is $'null\neins\nzwei\ndrei'
}

@test "it becomes whatever the Syrah file would" {
    for to in tar archive zip dir; do
        run_ok sb convert --to=$to "$spec" side.$to
        run_ok sb convert --to=$to ../a.syr one.$to
    done
    cmp side.tar one.tar
    diff -r side.dir one.dir
    run_ok sb diff -C one.dir side.archive
    run_ok sb convert --to=cache --exclude='**.txt' --key-prefix=m: "$spec" m
    run_ok sb cat m m:00000002/pair
    output_is cC
    run_ok sb convert --part=2/2 "$spec" p.syr
    run_ok sb cat p-00001-of-00002.syr 1/text
    output_is drei
}

@test "ls lists arrays of items" {
    run_ok sb ls --array=n --array=text "$spec" 1 3
    output_is $'1 int16 2 n\n1 str   4 text\n3 int16 2 n\n3 str   4 text'
    run_ok sb ls --json pair.uint8.bagz+text.str.bagz 1/text
    output_is '{"item":1,"array":"text","dtype":"str","offset":13,"stored":13,"bytes":4,"file":"text.str.bagz"}'
    run_ok sb ls -l "$spec" 0/pair
    output_is '0 uint8 11 2 0 pair'
    run_ok sb ls --count "$spec"
    output_is 4
    run_ok sb ls --count --records=1: "$spec"
    output_is 3
    run_ok sb ls --rsync-list "$spec"
    output_is $'pair.uint8.bagz\nn.int16.bagz\ntext.str.bagz'
}

@test "cat writes items, arrays and files of them" {
    run_ok sb cat "$spec" 1
    output_is bB11eins
    run_ok sb cat "$spec" -1/text 1:3/pair 2,0/n
    output_is dreibBcC2200
    run_ok sb cat --array=text --array=pair "$spec" 3,0
    output_is dDdreiaAnull
    printf '2/text\n0\n' >list
    run_ok sb cat -T list "$spec"
    output_is zweiaA00null
    sb cat "$spec" 2/n.npy | cmp - <(sb cat ../a.syr 2/n.npy)
    sb cat --npy "$spec" 2/n | cmp - <(sb cat ../a.syr 2/n.npy)
    sb cat --frame=tar "$spec" | cmp - <(sb cat --frame=tar ../a.syr)
    sb cat --frame=tar --npy "$spec" 1 | tar tf - | cmp - <(printf '00000001/%s\n' pair.npy n.npy text.txt)
    run_fail 1 sb cat "$spec" 9
    stderr_has "shardbox cat: $spec: item 9: there are 4"
    run_fail 1 sb cat "$spec" 1/none
    stderr_has "1/none: there is no array 'none'"
}

@test "items are drawn, shuffled and shared as those of a Syrah file are" {
    for how in '--shuffle --seed=3' '--sample=3 --seed=1' '--part=2/3' '--shuffle --part=1/2'; do
        # shellcheck disable=SC2086 # several words
        sb cat --frame=jsonl $how "$spec" | cmp - <(sb cat --frame=jsonl $how ../a.syr)
    done
}

@test "du, find, unpack, verify and split take it" {
    run_ok sb du --json "$spec"
    output_is '{"array":"pair","dtype":"uint8","records":4,"stored":44,"bytes":8}
{"array":"n","dtype":"int16","records":4,"stored":44,"bytes":8}
{"array":"text","dtype":"str","records":4,"stored":52,"bytes":16}
{"total":true,"records":4,"stored":140,"bytes":32}'
    run_ok sb find --type=f "$spec"
    output_is "$(sb find --type=f ../a.syr)"
    run_ok sb unpack -q -C out "$spec"
    run_ok sb diff -C out "$spec"
    printf x >>out/00000002/text.txt
    run_fail 1 sb diff -C out "$spec"
    output_has 00000002/text.txt
    run_ok sb verify --json "$spec"
    output_has '"defects":0,"shards":3,"records":12,"damaged":0'
    run_ok sb split -q --ratio=a=0.5,b=0.5 --output='{}.barecat' "$spec"
    (sb find --type=f a.barecat && sb find --type=f b.barecat) | sort | cmp - <(sb find --type=f ../a.syr | sort)
}

@test "a bag is a set of them, a .npy file a record, or bytes" {
    run_ok sb convert --array=text ../a.syr 'text.str@2.bag'
    records 'scan.jpg.bag' one two three four
    make_npy <<'END'
d/0.npy int32 [2,1] 5 6
d/1.npy int32 [1] 7
d/2.npy int32 [1] 8
d/3.npy int32 [1] 9
END
    run_ok sb convert d label.npy.bagz
    local wide='text.str@*.bag+scan.jpg.bag+label.npy.bagz'
    run_ok sb ls "$wide" 2
    output_is $'2 str     4 text\n2 bytes   5 scan.jpg\n2 npy   132 label'
    run_ok sb convert "$wide" out.tar
    tar xf out.tar
    [[ $(<00000002/scan.jpg) == three && $(<00000002/text.txt) == zwei ]]
    cmp 00000000/label.npy d/0.npy
    sb cat "$wide" 3/label.npy 3/label 1/scan.jpg | cmp - <(cat d/3.npy d/3.npy && printf two)
    run_ok sb convert --to=bag --array=scan.jpg --array=label "$wide" again
    cmp scan.jpg.bag again/scan.jpg.bag
    [[ $(ls again) == $'label.npy.bag\nscan.jpg.bag' ]]
    run_ok sb convert --array=text --array=label "$wide" y.syr
    stderr_has 'shapes of 1 member are not held'
    run_ok sb cat y.syr 1/text
    output_is eins
    sb cat y.syr 1/label.npy | cmp - d/1.npy
}

@test "as many records in each, and another name" {
    records few.int8.bag a b
    run_fail 2 sb ls few.int8.bag+n.int16.bagz
    stderr_is 'shardbox ls: n.int16.bagz: has 4 records, and few.int8.bag 2; arrays of the same items are equally many'
    run_fail 1 sb verify few.int8.bag+n.int16.bagz
    output_is 'layout: n.int16.bagz: has 4 records, and few.int8.bag 2'
    run_fail 2 sb convert few.int8.bag+n.int16.bagz b.tar
    stderr_has 'arrays of the same items are equally many'
    [[ ! -e b.tar ]]
    cp n.int16.bagz n.int8.bagz
    run_fail 2 sb ls n.int16.bagz+n.int8.bagz
    stderr_is "shardbox ls: n.int8.bagz: is called 'n', as n.int16.bagz is; arrays need different names"
    run_fail 2 sb ls n.int16.bagz+none.bag
    stderr_is 'shardbox ls: none.bag: No such file or directory'
}

@test "a record that is damaged costs its array alone, and its item where items are whole" {
    sb convert -q --to=bag ../a.syr plain
    # The limit of the first record, beyond that of the second.
    printf '\10' | put plain/n.int16.bag 8
    spec=plain/n.int16.bag+plain/text.str.bag
    run_fail 1 sb convert "$spec" b.tar
    stderr_has "shardbox convert: $spec: item 1, array 'n': plain/n.int16.bag: record 1: its limits decrease, from 8 to 4; it cannot be read; left out"
    tar tf b.tar | grep -c . | cmp - <(echo 7)
    run_fail 1 sb convert "$spec" b.syr
    stderr_has 'left out, with all of its item'
    run_ok sb cat --frame=line --array=text b.syr
    output_is $'null\nzwei\ndrei'
    run_fail 1 sb cat --array=n "$spec"
    stderr_has "shardbox cat: $spec: item 1, array 'n': plain/n.int16.bag: record 1: its limits decrease"
    run_fail 1 sb ls "$spec" 1
    stderr_has 'its limits decrease'
    run_fail 1 sb verify "$spec"
    output_has 'limits: plain/n.int16.bag'
    # Two bytes are no four.
    cp plain/text.str.bag text.int32.bag
    cp plain/pair.uint8.bag pair.int32.bag
    run_fail 1 sb cat --npy text.int32.bag+pair.int32.bag 1
    stderr_has "item 1, array 'pair': pair.int32.bag: has bytes that are no multiple of a int32"
}

@test "a file with a + in its name is itself" {
    records one.bag one
    mv one.bag a.bag+b.bag
    records a.bag x y
    records b.bag x y
    records c.bag z
    run_ok sb ls --count a.bag+b.bag
    output_is 1
    run_ok sb cat --frame=line a.bag+b.bag
    output_is one
    run_ok sb ls a.bag+b.bag+c.bag
    output_is $'0 bytes 3 a.bag+b\n0 bytes 1 c'
    rm a.bag+b.bag
    run_ok sb ls a.bag+b.bag 1
    output_is $'1 bytes 1 a\n1 bytes 1 b'
    run_fail 2 sb ls --from=bagz a.bag+b.bag
    stderr_is 'shardbox ls: a.bag+b.bag: No such file or directory'
    mkdir d+e
    records d+e/q.bag x y
    run_ok sb ls d+e/q.bag+a.bag 0
    output_is $'0 bytes 1 q\n0 bytes 1 a'
}

@test "what is not done is refused" {
    run_fail 2 sb convert --wrap "$spec" w.barecat
    stderr_has 'not for this kind: table of bags'
    run_fail 2 sb convert ../a.syr pair.bag+n.bag
    stderr_has 'bags side by side are only read'
    run_fail 2 sb convert --array=n ../a.syr pair.bag+n.bag
    stderr_has 'bags side by side are only read'
    for option in --limits=tail --layout=interleaved --compression=zstd --dictionary=d; do
        for command in ls cat du; do
            run_fail 2 sb $command $option "$spec"
            stderr_has 'is a table of bags'
            stderr_has "${option%%=*}"
        done
    done
    run_fail 2 sb convert --force --array=text "$spec" n.int16.bagz
    stderr_has 'n.int16.bagz: is input and output at once'
    run_fail 2 sb verify --repair-to=x.bagz "$spec"
    stderr_has 'bags side by side are repaired one by one'
}

@test "a spec of very many bags is read in time" {
    mkdir t
    echo x >t/00000000
    sb convert t a.bag
    run_fail 2 within 60 "$SHARDBOX" ls "$(printf 'a.bag+%.0s' {1..15000})a.bag"
    stderr_has "a.bag: is called 'a', as a.bag is; arrays need different names"
}
