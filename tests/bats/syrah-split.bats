#!/usr/bin/env bats
# split of Syrah files, and of caches: items, and keys, are never torn apart.

load helper
load syrah
load cache

five="{'x': ('int16', [1, 2], [3], [], [4, 5, 6], [7]), 'name': ('str', 'abc', 'd', 'e', '', 'f')}"

# items ARCHIVE: how many files each item has in it.
items() {
    sb find --type=f "$1" | cut -d/ -f1 | sort | uniq -c | sed 's/^ *//'
}

@test "parts of like size are runs of items" {
    make_syrah a.syr "$five"
    run_ok sb split --parts=2 -o 'p-{}.barecat' a.syr
    [[ $(items p-0.barecat) == $'2 00000000\n2 00000001' ]]
    [[ $(items p-1.barecat) == $'2 00000002\n2 00000003\n2 00000004' ]]
    run_ok sb split --parts=9 -n -o 'n-{}.barecat' a.syr
    [[ $(awk '$1 == 2' <<<"$output" | wc -l) == 5 ]]
}

@test "an item that is larger than --size has a part to itself" {
    make_syrah a.syr "{'x': ('uint8', [1] * 300, [2], [3]), 'y': ('uint8', [4], [5], [6])}"
    run_ok sb split -n --size=520 -o 'p-{}.barecat' a.syr
    [[ ${lines[0]} =~ ^' '*'2 '+' '*'557 p-0.barecat'$ ]] || fail 'the first part'
    [[ ${lines[1]} =~ ^' '*'4 '+' '*'516 p-1.barecat'$ ]] || fail 'the second part'
    ((${#lines[@]} == 2))
}

@test "by chance, an item's name decides for all of it" {
    make_syrah a.syr "{'x': ('int8', *([[1]] * 40)), 'y': ('int8', *([[2]] * 40))}"
    run_ok sb split --ratio=train=0.5,val=0.5 -o 'p-{}.barecat' a.syr
    [[ $(items p-train.barecat) && $(items p-val.barecat) ]]
    run ! grep -v '^2 ' <(items p-train.barecat; items p-val.barecat)
}

@test "lists name items, or what is in them" {
    make_syrah a.syr "$five"
    printf '00000003/x.npy\n00000001\n' >list
    run_ok sb split --by-list=a=list --rest=b -o 'p-{}.barecat' a.syr
    [[ $(items p-a.barecat) == $'2 00000001\n2 00000003' ]]
    [[ $(items p-b.barecat) == $'2 00000000\n2 00000002\n2 00000004' ]]
    printf '00000003/name.txt\n' >other
    run_fail 2 sb split --by-list=a=list --by-list=b=other -o 'q-{}.barecat' a.syr
    stderr_has 'other: 00000003 is in the list of a too; a file goes into one part'
    printf '00000009\n' >missing
    run_fail 1 sb split --by-list=a=missing -o 'q-{}.barecat' a.syr
    stderr_has '00000009: is listed, but not there'
}

@test "items may be chosen first" {
    make_syrah a.syr "$five"
    run_ok sb split --records=3: --parts=2 -o 'p-{}.tar' a.syr
    run_ok tar tf p-0.tar
    output_is $'00000003/name.txt\n00000003/x.npy'
}

@test "parts are Syrah files again" {
    make_syrah a.syr "$five"
    run_ok sb split --parts=2 -o 'p-{}.syr' a.syr
    run_ok sb verify -q p-0.syr
    run_ok sb verify -q p-1.syr
    run_ok sb convert p-0.syr p-1.syr joined/
    run_ok sb convert a.syr whole/
    run_ok diff -r whole joined
}

@test "so are keys of caches" {
    make_syrah a.syr "{'x': ('int8', *([[1]] * 20)), 'y': ('int8', *([[2]] * 20))}"
    sb convert -q --to=cache --key-prefix=c: a.syr c
    for how in --parts=2 --size=1000 --ratio=a=0.5,b=0.5; do
        run_ok sb split --force "$how" -o 'p-{}.barecat' c
        for part in p-*.barecat; do
            ! items "$part" | grep -v '^2 ' || fail "$how: torn apart"
        done
    done
}

@test "parts of a cache are caches with --to=cache, whose keys are as they were" {
    make_npy < <(for i in {0..9}; do echo "tree/$i/x.npy int8 [1] $i"; echo "tree/$i/y.npy int8 [1] $i"; done)
    make_cache tree c --key-prefix=t:dir/
    run_ok sb split -q --ratio=a=0.5,b=0.5 --to=cache -o '{}' c
    run_ok sb verify -q a
    run_ok sb verify -q b
    run_ok sb convert -q --to=cache --compact a b joined
    diff <(sb ls --json c | jq -c 'del(.file, .row, .segment, .arrays[].offset)' | sort) \
        <(sb ls --json joined | jq -c 'del(.file, .row, .segment, .arrays[].offset)' | sort)
    [[ $(sb cat --raw joined t:dir/7/y | od -An -tu1) == *7 ]] || fail 'not its value'
    run_fail 2 sb split --ratio=a=0.5,b=0.5 --to=cache -o '{}' c
    stderr_has 'a: exists already'
}

@test "so are keys of tensors alone, slashes and all, and lists remain lists" {
    make_npy < <(for i in {0..9}; do echo "tree/$i.npy int8 [1] $i"; done)
    make_cache tree t --key-prefix=t:dir/
    run_ok sb split -q --parts=2 --to=cache -o '{}' t
    diff <(sb ls t | sed 's/.* //' | sort) <({ sb ls 0 && sb ls 1; } | sed 's/.* //' | sort)
    make_npy < <(for i in {0..3}; do echo "lists/$i/item0.npy int8 [1] $i"; done)
    make_cache lists l --sequence=list
    run_ok sb split -q --parts=1 --to=cache -o 'l-{}' l
    [[ $(sb ls --json l-0 | jq -r .structure | sort -u) == list ]] || fail 'no lists'
}

@test "keys with a slash that lead to one array alone are keys of their own" {
    make_npy < <(for i in {0..9}; do echo "tree/$i.npy int8 [1] $i"; done)
    make_cache tree t --key-prefix=t:dir/
    run_ok sb split --parts=2 -o 'p-{}.barecat' t
    [[ $(sb find --type=f p-0.barecat | wc -l) == 5 ]] || fail 'not halved'
    run_ok sb split --force --size=300 -o 'p-{}.barecat' t
    [[ $(sb find --type=f p-0.barecat | wc -l) == 2 ]] || fail 'no size'
    printf '%s\n' t:dir/3 t:dir/7.npy >some
    run_ok sb split --by-list=some=some --rest=rest -o '{}.barecat' t
    [[ $(sb find --type=f some.barecat | xargs) == 't:dir/3.npy t:dir/7.npy' ]] || fail 'not the list'
    echo t:dir/99 >>some
    run_fail 1 sb split --force --by-list=some=some -o '{}.barecat' t
    stderr_has 't:dir/99: is listed, but not there'
}
