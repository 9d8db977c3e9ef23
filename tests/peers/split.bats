#!/usr/bin/env bats
# Parts that we make Barecat 0.3.1 reads, and what it wrote we split.

load barecat

# reads_as_we_do PART...: Barecat finds no defect in them, and in each the files that we find.
reads_as_we_do() {
    local part
    for part; do
        run_ok barecat verify "$part"
        rm -rf whole && run_ok sb unpack -C whole "$part"
        peer check "$part" whole
    done
}

@test "Barecat reads, walks, globs and verifies parts" {
    make_wide_tree 2000
    sb pack --shard-size=50k a.barecat -C tree .
    run_ok sb split --parts=3 -o 'p-{}.barecat' a.barecat
    reads_as_we_do p-{0,1,2}.barecat
    run_ok sb split --ratio=train=0.7,test=0.3 --shard-size=9k -o '{}.barecat' a.barecat
    reads_as_we_do train.barecat test.barecat
}

@test "Barecat reads, walks, globs and verifies parts over the same shards" {
    make_wide_tree 2000
    sb pack --shard-size=50k a.barecat -C tree .
    run_ok sb split --symlink --ratio=train=0.7,test=0.3 -o '{}.barecat' a.barecat
    reads_as_we_do train.barecat test.barecat
    run_ok sb split --symlink --by-dir --rest=top -o 'd-{}.barecat' a.barecat
    reads_as_we_do d-wide.barecat d-sub.barecat d-top.barecat
}

@test "Barecat merges parts into the whole again" {
    make_wide_tree 2000
    find tree -type l -delete
    sb pack a.barecat -C tree .
    run_ok sb split --parts=3 -o 'p-{}.barecat' a.barecat
    run_ok barecat merge -o whole.barecat p-{0,1,2}.barecat
    run_ok sb verify whole.barecat
    run_ok sb unpack -C whole whole.barecat
    diff -r tree whole
}

@test "we split what Barecat wrote" {
    make_wide_tree 2000
    find tree -type l -delete
    (cd tree && find . -mindepth 1 -printf '%P\0') >names
    barecat create -s 400K -C tree -0 -T "$PWD/names" "$PWD/a.barecat"
    run_ok sb split --parts=3 -o 'p-{}.barecat' a.barecat
    run_ok sb split --symlink --ratio=x=0.5,y=0.5 -o '{}.barecat' a.barecat
    reads_as_we_do p-{0,1,2}.barecat {x,y}.barecat
    mkdir union
    for part in p-{0,1,2}.barecat; do sb unpack --existing=replace -C union "$part"; done
    diff -r tree union
}

@test "an archive with shards of another size, in place, is read by Barecat" {
    make_wide_tree 2000
    sb pack a.barecat -C tree .
    run_ok sb split --shard-size=50k a.barecat
    run_ok barecat verify a.barecat
    peer check a.barecat tree
}
