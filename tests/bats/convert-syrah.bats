#!/usr/bin/env bats
# Syrah files as what is written: by convert, from directories of arrays and from bags.

load helper
load bag
load syrah

two="{'x': ('float32', [1, 2], [3]), 'name': ('str', 'abc', 'd')}"

# npy FILE DESCR SHAPE [HEX]: a file of NumPy, as one of Python 2 might have written it.
npy() {
    local head="{'descr': '$2', 'fortran_order': False, 'shape': $3}"
    mkdir -p "$(dirname "$1")"
    printf '\x93NUMPY\1\0'"\\x$(printf %02x ${#head})"'\0%s%b' "$head" "${4-}" >"$1"
}

# What a run that failed has made under another name is gone.
refute_left_over() {
    [[ -z $(find . -name '.*.shardbox-out') ]]
}

@test "what the reader of items wrote comes back byte for byte" {
    make_syrah a.syr "{'a': ('bool', [1, 0], []), 'b': ('int64', [-1], [5, 6]), 'c': ('float16', [], [1]), 'd': ('str', 'ü', '')}"
    for kind in dir barecat tar zip tar.gz; do
        run_ok sb convert --to="${kind/barecat/archive}" a.syr "a.$kind"
        run_ok sb convert "a.$kind" "from-$kind.syr"
        cmp a.syr "from-$kind.syr"
    done
    run_ok sb convert a.syr copy.syr
    cmp a.syr copy.syr
}

@test "an array whose name has a slash stays what it is" {
    make_syrah a.syr "{'x': ('int8', [1], [2]), 'a name/of its own': ('int8', [3], [4]), 'x/x': ('str', '', 'b')}"
    run_ok sb convert a.syr b.syr
    cmp a.syr b.syr
    run_ok sb convert --prefix=deep/er --strict a.syr c.syr
    cmp a.syr c.syr
}

@test "a pipe gets it too" {
    make_syrah a.syr "$two"
    sb convert --to=syrah a.syr - | cmp - a.syr
    sb convert --from=syrah --to=syr - - < <(cat a.syr) >b.syr
    cmp a.syr b.syr
}

@test "items and arrays are chosen, and several files are joined" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3]), 'y': ('int8', [4], [5], [6])}"
    make_syrah chosen.syr "{'y': ('int8', [6], [4])}"
    run_ok sb convert --strict --records=2,0 --array=y a.syr b.syr
    cmp b.syr chosen.syr
    stderr_is ''
    make_syrah b.syr "{'x': ('int8', [7]), 'y': ('int8', [8])}"
    make_syrah both.syr "{'x': ('int8', [1], [2], [3], [7]), 'y': ('int8', [4], [5], [6], [8])}"
    run_ok sb convert a.syr b.syr c.syr
    cmp c.syr both.syr
}

@test "arrays come in any order, the first item's counts" {
    npy d/0/x.npy '|i1' '(1,)' '\1'
    npy d/0/y.npy '|i1' '(1,)' '\2'
    npy d/1/x.npy '|i1' '(1,)' '\3'
    npy d/1/y.npy '|i1' '(1,)' '\4'
    make_syrah a.syr "{'y': ('int8', [2], [4]), 'x': ('int8', [1], [3])}"
    tar cf d.tar -C d 0/y.npy 0/x.npy 1/x.npy 1/y.npy
    run_ok sb convert d.tar b.syr
    run_ok sb convert b.syr b/
    run_ok sb convert a.syr a/
    diff -r a b
    [[ $(sb ls --json b.syr | head -1) == *'"array":"y"'* ]]
}

@test "shapes and names of items are lost, and counted" {
    npy d/cat/x.npy '<i2' '(2, 1)' '\1\0\2\0'
    npy d/dog/x.npy '<i2' '()' '\3\0'
    npy d/eel/x.npy '<i2' '(0,)'
    make_syrah a.syr "{'x': ('int16', [1, 2], [3], [])}"
    tar cf d.tar --owner=0 --group=0 --mtime=@1 --format=ustar -C d cat dog eel
    run_ok sb convert d.tar b.syr
    cmp a.syr b.syr
    stderr_has 'shapes of 2'
    stderr_has 'names of items of 3'
    stderr_has 'are not held by a Syrah file, nor are modes and times'
    run_ok sb convert --report=r d.tar c.syr
    grep -qF '{"path":"cat/x.npy","lost":["owners","owner-names","shapes","item-names"]}' r
    run_fail 2 sb convert --strict d.tar d.syr
    [[ ! -e d.syr ]]
}

@test "files that are no arrays, and arrays in no directory, are named and left out" {
    npy d/0/x.npy '|u1' '(1,)' '\1'
    npy d/y.npy '|u1' '(1,)' '\1'
    printf 'a' >d/0/picture.jpg
    printf 'a' >d/0/x.pkl
    ln -s x.npy d/0/z.npy
    make_syrah a.syr "{'x': ('uint8', [1])}"
    run_fail 1 sb convert d b.syr
    cmp a.syr b.syr
    stderr_has 'shardbox convert: 0/picture.jpg: is no array (.npy, or .txt for text), which is all that a Syrah file holds; left out'
    stderr_has 'shardbox convert: 0/x.pkl: is no array'
    stderr_has 'shardbox convert: 0/z.npy: is a link, which a Syrah file cannot hold; left out'
    stderr_has 'shardbox convert: y.npy: is in no directory, which would be its item; left out'
    stderr_has 'shardbox convert: b.syr: done in part; problems, named above: 4'
    run_fail 2 sb convert --strict d c.syr
    [[ ! -e c.syr ]]
}

@test "an array that cannot be used costs its item" {
    for item in 0 1 2 3 4 5; do
        npy d/$item/x.npy '<i2' '(1,)' '\1\0'
        printf 'a' >d/$item/t.txt
    done
    npy d/1/x.npy '>i2' '(1,)' '\1\0'
    npy d/2/x.npy '<i2' '(2,)' '\1\0'
    printf '\377' >d/3/t.txt
    printf 'x' >d/4/x.npy
    make_syrah a.syr "{'t': ('str', 'a', 'a'), 'x': ('int16', [1], [1])}"
    tar cf d.tar --sort=name -C d 0 1 2 3 4 5
    run_fail 1 sb convert d.tar b.syr
    cmp a.syr b.syr
    stderr_has 'shardbox convert: 1/x.npy: has big-endian values; left out'
    stderr_has 'shardbox convert: 1: is left out as an item, for one of its arrays cannot be used'
    stderr_has 'shardbox convert: 2/x.npy: has not as many bytes as its .npy header says; left out'
    stderr_has 'shardbox convert: 3/t.txt: is no UTF-8 text; left out'
    stderr_has 'shardbox convert: 4/x.npy: is no .npy file; left out'
}

@test "an item with an array that lies nowhere is left out as a whole" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3]), 'y': ('int8', [4], [5], [6])}" \
        "offsets['y'][1] = 999999"
    make_syrah rest.syr "{'x': ('int8', [1], [3]), 'y': ('int8', [4], [6])}"
    run_fail 1 sb convert a.syr b.syr
    stderr_has 'item 1'
    stderr_has '; left out, with all of its item'
    run_ok sb convert rest.syr rest/
    run_ok sb convert b.syr b/
    diff -r rest b
}

@test "an item that differs from the first is named, and there is no output" {
    npy d/a/x.npy '<i2' '(1,)' '\1\0'
    npy d/b/x.npy '<i4' '(1,)' '\1\0\0\0'
    run_fail 2 sb convert d a.syr
    stderr_has "shardbox convert: b: array 'x': is of type int32, but int16 in the first item"
    npy d/b/x.npy '<i2' '(1,)' '\1\0'
    npy d/b/y.npy '<i2' '(1,)' '\1\0'
    run_fail 2 sb convert d a.syr
    stderr_has "shardbox convert: b: array 'y': the first item has none of that name"
    npy d/a/y.npy '<i2' '(1,)' '\1\0'
    rm d/b/x.npy
    run_fail 2 sb convert d a.syr
    stderr_has "shardbox convert: b: has no array 'x', as the first item has"
    [[ ! -e a.syr ]]
    refute_left_over
}

@test "what has no items becomes no Syrah file" {
    mkdir d
    run_fail 2 sb convert d a.syr
    stderr_is 'shardbox convert: a.syr: there is no item, and what has none cannot be a Syrah file'
    [[ ! -e a.syr ]]
    refute_left_over
}

@test "what stands there is replaced under --force alone" {
    make_syrah a.syr "$two"
    printf 'old' >b.syr
    run_fail 2 sb convert a.syr b.syr
    stderr_is 'shardbox convert: b.syr: exists already; use --force to replace it'
    [[ $(<b.syr) == old ]]
    run_ok sb convert --force a.syr b.syr
    cmp a.syr b.syr
    run_fail 2 sb convert --append a.syr b.syr
    stderr_has '--append is for an archive, a bag or a cache'
}

@test "arrays larger than a batch go in pieces" {
    head -c 9000000 /dev/urandom >values
    make_syrah a.syr "{'x': ('uint8', []), 't': ('str', '')}" \
        "data += open('values', 'rb').read() * 2" \
        "sizes['x'][0] = 9000000" "offsets['t'][0] += 9000000" "sizes['t'][0] = 9000000"
    for kind in dir tar zip barecat; do
        run_ok sb convert a.syr --to="${kind/barecat/archive}" "a.$kind"
    done
    make_syrah b.syr "{'t': ('str', ''), 'x': ('uint8', [])}" \
        "data += open('values', 'rb').read() * 2" \
        "sizes['t'][0] = 9000000" "offsets['x'][0] += 9000000" "sizes['x'][0] = 9000000"
    for kind in tar zip; do
        run_ok sb convert "a.$kind" "$kind.syr"
        cmp a.syr "$kind.syr"
    done
    for kind in dir barecat; do
        run_ok sb convert "a.$kind" "$kind.syr"
        cmp b.syr "$kind.syr"
    done
}

@test "bags are read side by side, an array each" {
    make_syrah a.syr "{'name': ('str', 'abc', 'd'), 'x': ('float32', [1, 2], [3])}"
    run_ok sb convert --to=bagz a.syr bags
    run_ok sb convert bags/*.bagz b.syr
    cmp a.syr b.syr
    run_ok sb convert --to=bag a.syr plain
    run_ok sb convert plain/name.str.bag plain/x.float32.bag c.syr
    cmp a.syr c.syr
    make_syrah one.syr "{'x': ('float32', [3])}"
    run_ok sb convert --records=1 plain/x.float32.bag d.syr
    cmp one.syr d.syr
}

@test "shards of a set of bags are one array" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3])}"
    run_ok sb convert a.syr --array=x --to=bagz 'x.int8@2.bagz'
    for spec in 'x.int8@2.bagz' 'x.int8@*.bagz'; do
        run_ok sb convert --force "$spec" b.syr
        cmp a.syr b.syr
    done
}

@test "records that are files of NumPy lose their headers" {
    npy d/0.npy '<i2' '(1,)' '\1\0'
    npy d/1.npy '<i2' '(2,)' '\2\0\3\0'
    make_syrah a.syr "{'x': ('int16', [1], [2, 3])}"
    run_ok sb convert d x.bagz
    run_ok sb convert x.bagz b.syr
    cmp a.syr b.syr
    mv x.bagz x.npy.bagz
    run_ok sb convert x.npy.bagz c.syr
    cmp a.syr c.syr
}

@test "a type is said where nothing else says it" {
    make_syrah a.syr "{'x': ('int16', [1], [2, 3])}"
    run_ok sb convert --array=x a.syr x.bagz
    run_fail 2 sb convert x.bagz b.syr
    stderr_is 'shardbox convert: x.bagz: neither its name nor its first record says what type its values have; --dtype=float32 does'
    run_ok sb convert --dtype=int16 x.bagz b.syr
    cmp a.syr b.syr
    run_fail 2 sb convert --dtype=int16 a.syr c.syr
    stderr_has '--dtype is for bags that become the arrays of a Syrah file or a cache'
    run_fail 2 sb convert --dtype=int16 x.bagz c.tar
    stderr_has '--dtype is for bags that become the arrays of a Syrah file or a cache'
    run_fail 1 sb convert --dtype=int32 x.bagz d.syr
    stderr_has 'shardbox convert: 00000000/x.int32: has bytes that are no multiple of a int32; left out'
}

@test "bags must have equally many records" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3])}"
    sb convert --array=x a.syr x.int8.bagz
    sb convert --array=x --records=:2 a.syr y.int8.bagz
    run_fail 2 sb convert x.int8.bagz y.int8.bagz b.syr
    stderr_is 'shardbox convert: y.int8.bagz: has 2 records, and x.int8.bagz 3; arrays of the same items are equally many'
    [[ ! -e b.syr ]]
}

@test "a record that is damaged costs its item" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3]), 'y': ('int8', [4], [5], [6])}"
    sb convert --to=bag a.syr bags
    # The limit of the first record, beyond that of the second.
    printf '\3' | put bags/y.int8.bag 3
    run_fail 1 sb convert bags/x.int8.bag bags/y.int8.bag b.syr
    stderr_has 'bags/y.int8.bag: record 1: its limits decrease, from 3 to 2'
    stderr_has 'is left out as an item'
    run_ok sb ls --count b.syr
    output_is 2
}

@test "parts of bags are runs of items" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3]), 'y': ('int8', [4], [5], [6])}"
    sb convert --to=bagz a.syr bags
    for part in 1 2; do
        run_ok sb convert --part=$part/2 bags/x.int8.bagz bags/y.int8.bagz b.syr
    done
    run_ok sb convert b*.syr joined.syr
    cmp a.syr joined.syr
}

@test "a dry run writes nothing" {
    make_syrah a.syr "$two"
    run_ok sb convert -nv a.syr b.syr
    [[ ! -e b.syr ]]
    refute_left_over
}
