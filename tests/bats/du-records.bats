# shardbox du of bags: records, stored bytes and bytes, shard by shard.

load helper
load bag

make_set() {
    make_bag s-00000-of-00002.bag alpha beta
    make_bag s-00001-of-00002.bag gamma '' delta
}

@test "a row for each shard, and their total" {
    make_set
    run_ok sb du s@2.bag
    output_is '     records          stored           bytes  ratio path
           2               9               9   1.00 s-00000-of-00002.bag
           3              10              10   1.00 s-00001-of-00002.bag
           5              19              19   1.00 total'
}

@test "one file is its own total" {
    make_bag a.bag ''
    run_ok sb du a.bag
    output_is '     records          stored           bytes  ratio path
           1               0               0      - a.bag'
}

@test "bytes of compressed records are those that come out of them" {
    make_bagz a.bagz "$(printf '%05000d' 0)" "$(printf '%05000d' 1)" ''
    run_ok sb du --json a.bagz
    stored=$(($(stat -c %s a.bagz) - 24))
    output_is "{\"path\":\"a.bagz\",\"records\":3,\"stored\":$stored,\"bytes\":10000}"
    run_ok sb du -h a.bagz
    output_has ' 9.8K '
    [[ $(awk 'NR > 1 { print $4 }' <<<"$output") == \
    $(awk -v stored=$stored 'BEGIN { printf "%.2f", 10000 / stored }') ]] || fail 'ratio'
}

@test "-s is the total alone" {
    make_set
    run_ok sb du -s s@2.bag
    output_is '     records          stored           bytes  ratio path
           5              19              19   1.00 total'
    run_ok sb du -s --json s@2.bag
    output_is '{"total":true,"records":5,"stored":19,"bytes":19}'
}

@test "each file of a list is read by its own name" {
    make_bag a.bag "$(printf '%05000d' 0)"
    make_bagz b.bagz "$(printf '%05000d' 0)"
    run_ok sb du --json -j 2 a.bag,b.bagz
    [[ ${lines[0]} == '{"path":"a.bag","records":1,"stored":5000,"bytes":5000}' ]] || fail a.bag
    [[ ${lines[1]} == '{"path":"b.bagz","records":1,'*',"bytes":5000}' ]] || fail b.bagz
    [[ ${lines[2]} == '{"total":true,"records":2,'*',"bytes":10000}' ]] || fail total
}

@test "damaged records are named, and the rest is counted" {
    make_bagz a.bagz alpha beta gamma
    printf 'XXXX' | put a.bagz 0
    run_fail 1 sb du a.bagz
    [[ $(awk 'NR > 1 { print $3 }' <<<"$output") == 9 ]] || fail 'bytes'
    stderr_has 'shardbox du: a.bagz: record 0: '
    ((${#stderr_lines[@]} == 1)) || fail 'more than one message'
}

@test "sizes that are only claimed are named, and add up to nothing" {
    # Frames that declare 2^63 - 1 bytes: a single segment, a size of 8 bytes.
    (for _ in 1 2 3; do
        printf '\x28\xb5\x2f\xfd\xe0'
        le64 $((2 ** 62 - 1 + 2 ** 62))
        printf '\x01\x00\x00'
    done && le64 16 32 48) >a.bagz
    run_fail 1 sb du --json a.bagz
    output_is '{"path":"a.bagz","records":3,"stored":48,"bytes":0}'
    stderr_has 'shardbox du: a.bagz: record 2: declares a size that cannot be (offset 32)'
}

@test "what goes with archives is refused for bags, and the other way round" {
    make_bag a.bag x
    run_fail 2 sb du -a a.bag
    stderr_has 'a.bag: is a bag, which --all does not go with'
    run_fail 2 sb du a.bag x
    stderr_has 'a.bag: is a bag, and has no PATHs; several of them are one argument, with commas between'
    make_archive
    run_fail 2 sb du --limits=tail a.barecat
    stderr_has '--limits goes with bags'
}

@test "-c totals one file too, -k says so in the heading, --csv has the columns of all objects" {
    make_bag a.bag "$(printf '%02000d' 0)" x
    run_ok sb du -ck a.bag
    output_is '     records       stored(K)        bytes(K)  ratio path
           2               2               2   1.00 a.bag
           2               2               2   1.00 total'
    run_ok sb du -b a.bag
    [[ ${lines[1]} == *' 2001            2001   1.00 a.bag' ]] || fail 'bytes'
    make_bag s-00000-of-00002.bag one
    make_bag s-00001-of-00002.bag two three
    csv_is_json du s@2.bag
    run_ok sb du --csv s@2.bag
    [[ ${lines[0]} == path,total,records,stored,bytes ]] || fail 'names'
}
