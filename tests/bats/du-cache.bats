# shardbox du of caches: what counts, what is superseded, and what the files take.

load helper
load cache

@test "a row a segment, and their total: keys, rows, bytes, superseded bytes, bytes of the file" {
    make_dicts k
    first=$(stat -c %s k/segments/segment_000000.arrow)
    second=$(stat -c %s k/segments/segment_000001.arrow)
    run_ok sb du k
    [[ $(awk '{ print $1, $2, $3, $4, $5, $6 }' <<<"$output") == "keys rows bytes superseded stored path
2 3 24 21 $first k/segments/segment_000000.arrow
1 1 14 0 $second k/segments/segment_000001.arrow
3 4 38 21 $((first + second)) total" ]] || fail 'rows'
    run_ok sb du --json k
    output_is "{\"path\":\"k/segments/segment_000000.arrow\",\"keys\":2,\"rows\":3,\"bytes\":24,\"superseded\":21,\"stored\":$first}
{\"path\":\"k/segments/segment_000001.arrow\",\"keys\":1,\"rows\":1,\"bytes\":14,\"superseded\":0,\"stored\":$second}
{\"total\":true,\"keys\":3,\"rows\":4,\"bytes\":38,\"superseded\":21,\"stored\":$((first + second))}"
}

@test "-s is the total alone, and -h writes sizes as people do" {
    make_dicts k
    run_ok sb du -sh k
    [[ $(awk 'NR == 2 { print $1, $2, $3, $4, $6 }' <<<"$output") == '3 4 38 21 total' ]] || fail 'total'
    [[ ${lines[1]} == *'6.0K total' ]] || fail 'human'
    ((${#lines[@]} == 2)) || fail 'more than the total'
}

@test "--array counts the bytes of these arrays alone" {
    make_dicts k
    run_ok sb du -s --json --array=meta k
    [[ $(jq -c '[.keys, .bytes, .superseded]' <<<"$output") == '[3,13,3]' ]] || fail 'meta'
    run_ok sb du -s --json --array=emb --array=mask k
    [[ $(jq -c '[.keys, .bytes, .superseded]' <<<"$output") == '[3,25,18]' ]] || fail 'emb and mask'
    run_fail 2 sb du --array=emb --array=nothing k
    stderr_is "shardbox du: k: has no array 'nothing'; ls shows which it has"
}

@test "what is superseded is gone from a compact cache" {
    make_dicts k
    sb convert -q --compact k compact
    run_ok sb du -s --json compact
    [[ $(jq -c '[.keys, .rows, .bytes, .superseded]' <<<"$output") == '[3,3,38,0]' ]] || fail 'compact'
}

@test "of a directory of caches, a row for each" {
    mkdir all
    make_dicts all/k
    make_tensors all/t
    run_ok sb du --json all
    [[ $(jq -c '[.path, .keys, .rows, .bytes, .superseded]' <<<"$output") == '["all/k",3,4,38,21]
["all/t",2,2,40,0]
[null,5,6,78,21]' ]] || fail 'rows'
    run_ok sb du -s all
    ((${#lines[@]} == 2)) || fail 'more than the total'
}

@test "a damaged segment is named, and does not count" {
    make_dicts k
    truncate -s 100 k/segments/segment_000001.arrow
    run_fail 1 sb du -s --json k
    [[ $(jq -c '[.keys, .rows, .bytes, .superseded]' <<<"$output") == '[3,3,45,0]' ]] || fail 'total'
    stderr_has 'shardbox du: k/segments/segment_000001.arrow: '
}

@test "options and operands that mean nothing for a cache are refused" {
    make_tensors t
    run_fail 2 sb du --gaps t
    stderr_is "shardbox du: t: is a cache, which --gaps does not go with; try 'shardbox du --help'"
    run_fail 2 sb du -d 1 t
    run_fail 2 sb du --count t
    run_fail 2 sb du t t:0
    stderr_is "shardbox du: t: is a cache, and has no PATHs; try 'shardbox du --help'"
}

@test "--csv has the columns of all objects, of a cache and of several" {
    make_dicts k
    csv_is_json du k
    csv_is_json du .
}
