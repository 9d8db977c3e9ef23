#!/usr/bin/env bats
# Syrah files as what is read: by convert into anything else, and by the commands that read archives.

load helper
load bag
load syrah

two="{'x': ('float32', [1, 2], [3]), 'name': ('str', 'abc', 'd')}"

@test "items are directories, arrays .npy files with their type, texts .txt" {
    make_syrah a.syr "{'x': ('float32', [1, 2], [3]), 'on': ('bool', [1, 0, 1], []), 'name': ('str', 'abc', 'd')}"
    run_ok sb convert a.syr out/
    [[ $(find out -type f | sort) == 'out/00000000/name.txt
out/00000000/on.npy
out/00000000/x.npy
out/00000001/name.txt
out/00000001/on.npy
out/00000001/x.npy' ]]
    [[ $(<out/00000000/name.txt) == abc ]]
    head -c 128 out/00000000/x.npy | grep -qaF "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    cmp <(tail -c +129 out/00000000/x.npy) <(printf '\0\0\x80\x3f\0\0\0\x40')
    head -c 128 out/00000001/on.npy | grep -qaF "{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }"
    [[ $(stat -c %s out/00000001/on.npy) == 128 ]]
}

@test "every output that holds files has the same" {
    make_syrah a.syr "$two"
    run_ok sb convert a.syr dir/
    for suffix in barecat tar zip tar.zst; do
        run_ok sb convert a.syr "a.$suffix"
        run_ok sb convert "a.$suffix" "from-$suffix/"
        run_ok diff -r dir "from-$suffix"
    done
    run_ok sb convert --to=archive - b.barecat < <(cat a.syr)
    run_ok sb cat b.barecat 00000001/name.txt
    output_is d
}

@test "commands that read archives read it" {
    make_syrah a.syr "$two"
    run_ok sb find a.syr --name='*.txt'
    output_is $'00000000/name.txt\n00000001/name.txt'
    sb convert a.syr b.barecat
    run_ok sb diff -C b.barecat a.syr
    output_is ''
    make_syrah c.syr "{'x': ('float32', [1, 2], [4]), 'name': ('str', 'abc', 'd')}"
    run_fail 1 sb diff -C c.syr a.syr
    output_has '00000001/x.npy'
}

@test "items and arrays are chosen, and items get other names" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3], [4]), 'y': ('int8', [5], [6], [7], [8]), 'z': ('int8', [], [], [], [])}"
    run_ok sb convert --records=2:0:-1 --array=y --array=x --to=tar a.syr b.tar
    run_ok tar tf b.tar
    output_is $'00000002/x.npy\n00000002/y.npy\n00000001/x.npy\n00000001/y.npy'
    run_ok sb convert --array=z --name-format=item-%d a.syr c.tar
    run_ok tar tf c.tar
    output_is $'item-0/z.npy\nitem-1/z.npy\nitem-2/z.npy\nitem-3/z.npy'
    run_fail 2 sb convert --array=w a.syr d.tar
    stderr_is "shardbox convert: a.syr: has no array 'w'; ls shows which it has"
    run_fail 1 sb convert --records=1,9 a.syr d.tar
    stderr_has 'shardbox convert: a.syr: record 9: there are 4'
}

@test "items of several files go on in number" {
    make_syrah a.syr "{'x': ('int8', [1], [2])}"
    make_syrah b.syr "{'x': ('int8', [3])}"
    run_ok sb convert a.syr b.syr c.tar
    run_ok tar tf c.tar
    output_is $'00000000/x.npy\n00000001/x.npy\n00000002/x.npy'
}

@test "--wrap points at the values in place" {
    make_syrah a.syr "$two"
    before=$(sha256sum <a.syr)
    run_ok sb convert --wrap a.syr w.barecat
    [[ $(readlink w.barecat-shard-00000) == a.syr ]]
    run_ok sb find w.barecat --type=f
    output_is $'00000000/name.txt\n00000000/x.float32\n00000001/name.txt\n00000001/x.float32'
    run_ok sb verify w.barecat
    cmp <(sb cat w.barecat 00000000/x.float32) <(printf '\0\0\x80\x3f\0\0\0\x40')
    run_ok sb cat w.barecat 00000001/name.txt
    output_is d
    [[ $(sha256sum <a.syr) == "$before" ]]
    run_fail 2 sb convert --wrap --from=syrah - v.barecat < <(cat a.syr)
    stderr_is 'shardbox convert: standard input: --wrap needs a file that stays; convert it without --wrap'
    run_ok sb convert --wrap --array=x --records=1 a.syr v.barecat
    run_ok sb find v.barecat --type=f
    output_is 00000001/x.float32
}

@test "each array becomes a bag of raw values, in a directory" {
    make_syrah a.syr "$two"
    run_ok sb convert --to=bagz a.syr bags
    [[ $(ls bags) == $'name.str.bagz\nx.float32.bagz' ]]
    run_ok sb cat --frame=line bags/name.str.bagz
    output_is $'abc\nd'
    cmp <(sb cat bags/x.float32.bagz) <(printf '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40')
    run_fail 2 sb convert --to=bagz a.syr bags
    stderr_is 'shardbox convert: bags/x.float32.bagz: is there already; --force replaces it'
    run_ok sb convert --force --to=bag --array=x --array=name --records=1: a.syr bags
    cmp bags/x.float32.bag <(printf '\0\0\x40\x40' && le64 4)
}

@test "an item with a damaged array is in none of the bags, so that their records still match" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3]), 'y': ('int8', [4], [5], [6])}" \
        "offsets['y'][1] = 9000"
    run_fail 1 sb convert --to=bag a.syr bags
    stderr_is "shardbox convert: a.syr: item 1, array 'y': lies outside the data section (offset 9000, 1 bytes); left out, with all of its item
shardbox convert: bags: done in part; problems, named above: 1"
    cmp bags/x.int8.bag <(printf '\1\3' && le64 1 2)
    cmp bags/y.int8.bag <(printf '\4\6' && le64 1 2)
    run_ok sb convert --to=bag --array=x a.syr only
    run_fail 1 sb convert --to=bag --records=0,9 a.syr some
    stderr_is "shardbox convert: a.syr: record 9: there are 3
shardbox convert: some: done in part; problems, named above: 1"
}

@test "one array that is chosen, or the only one, may be the output itself" {
    make_syrah a.syr "$two"
    run_ok sb convert --array=name a.syr b.bag
    cmp b.bag <(printf abcd && le64 3 4)
    run_ok sb convert --array=name --to=bag - - < <(cat a.syr)
    make_syrah c.syr "{'x': ('int8', [1], [2, 3])}"
    run_ok sb convert c.syr c.bag
    cmp c.bag <(printf '\1\2\3' && le64 1 3)
    run_fail 2 sb convert a.syr d.bagz
    stderr_is 'shardbox convert: a.syr: each array becomes a bag of its own: give a directory for them and --to=bagz, or choose one with --array=NAME'
    run_fail 2 sb convert --to=bagz - d < <(cat a.syr)
    stderr_has 'which is not done from a pipe; choose one with --array=NAME'
    run_fail 2 sb convert --to=bagz --keys=k.bag a.syr d
    stderr_has 'each array becomes a bag of its own, and --keys is for one'
}

@test "several files become the same bags where they have the same arrays" {
    make_syrah a.syr "{'x': ('int8', [1], [2]), 'y': ('str', 'a', 'b')}"
    make_syrah b.syr "{'y': ('str', 'c'), 'x': ('int8', [3])}"
    run_ok sb convert --to=bag a.syr b.syr bags
    cmp bags/x.int8.bag <(printf '\1\2\3' && le64 1 2 3)
    cmp bags/y.str.bag <(printf 'abc' && le64 1 2 3)
    make_syrah c.syr "{'x': ('int16', [1]), 'y': ('str', 'a')}"
    run_fail 2 sb convert --to=bag a.syr c.syr others
    stderr_is 'shardbox convert: c.syr: has other arrays than a.syr, or of other types'
    [[ ! -e others ]]
}

@test "parts are runs of items" {
    make_syrah a.syr "{'x': ('int8', [1], [2], [3]), 'y': ('int8', [4], [5], [6])}"
    run_ok sb convert --part=1/2 a.syr p.tar
    run_ok tar tf p-00000-of-00002.tar
    output_is $'00000000/x.npy\n00000000/y.npy\n00000001/x.npy\n00000001/y.npy'
    run_ok sb convert --part=2/2 a.syr p.tar
    run_ok tar tf p-00001-of-00002.tar
    output_is $'00000002/x.npy\n00000002/y.npy'
    run_ok sb convert --part=2/2 --array=x a.syr p@2.bag
    cmp p-00001-of-00002.bag <(printf '\3' && le64 1)
    run_ok sb convert --part=1/2 --to=bag a.syr bags
    run_ok sb convert --part=2/2 --to=bag a.syr bags
    [[ $(ls bags) == 'x.int8-00000-of-00002.bag
x.int8-00001-of-00002.bag
y.int8-00000-of-00002.bag
y.int8-00001-of-00002.bag' ]]
    cmp <(sb cat --frame=none bags/y.int8@2.bag) <(printf '\4\5\6')
}

@test "arrays that are damaged are named and left out" {
    make_syrah a.syr "$two" "offsets['x'][0] = 9999"
    run_fail 1 sb convert a.syr b.tar
    stderr_is "shardbox convert: a.syr: item 0, array 'x': lies outside the data section (offset 9999, 8 bytes); left out
shardbox convert: b.tar: done in part; problems, named above: 1"
    run_ok tar tf b.tar
    output_is $'00000000/name.txt\n00000001/x.npy\n00000001/name.txt'
    run_fail 2 sb convert --strict a.syr c.tar
    [[ ! -e c.tar ]]
}

@test "names of arrays are names like any other" {
    make_syrah a.syr "{'a/b': ('int8', [1]), '../c': ('int8', [2]), '': ('int8', [3])}"
    run_fail 1 sb convert a.syr b.tar
    stderr_has '00000000/../c.npy: left out: the name has a .. component'
    run_ok tar tf b.tar
    output_is $'00000000/a/b.npy\n00000000.npy'
    run_fail 2 sb convert --to=bag a.syr bags
    stderr_is "shardbox convert: a.syr: array 'a/b': a bag cannot be called so; choose it with --array=NAME, then OUTPUT is the bag itself"
    [[ ! -e bags ]]
}
