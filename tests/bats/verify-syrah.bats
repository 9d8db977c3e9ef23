#!/usr/bin/env bats
# verify of Syrah files.

load helper
load syrah

two="{'x': ('float32', [1, 2], [3]), 'name': ('str', 'abc', 'd')}"
unproved='a Syrah file has no checksums: bytes that changed go unnoticed'

@test "a sound file is sound as far as that can be told" {
    make_syrah a.syr "$two"
    run_ok sb verify a.syr
    output_is ''
    stderr_is "shardbox verify: a.syr: the structure is sound, and all can be read; $unproved"
    run_ok sb verify --quick a.syr
    [[ -z $output$stderr ]]
    run_ok sb verify -v --quick a.syr
    stderr_is 'shardbox verify: a.syr: the structure is sound; --quick has read no file'"'"'s bytes'
    run_ok sb verify -q --json a.syr
    output_is '{"kind":"summary","container":"Syrah file","defects":0,"items":2,"arrays":2,"bytes_read":16,"unchecked":4,"unproved":"'"$unproved"'"}'
    run_fail 1 sb verify -q --strict a.syr
    output_is "unchecked: $unproved"
    stderr_is "shardbox verify: a.syr: 1 defect; an archive has checksums: 'shardbox convert' makes one of it"
}

@test "through a pipe, too" {
    make_syrah a.syr "$two"
    run_ok sb verify - < <(cat a.syr)
    stderr_is "shardbox verify: standard input: the structure is sound, and all can be read; $unproved"
}

@test "files of no items, and of no arrays" {
    make_syrah a.syr "{'x': ('int8',)}"
    run_ok sb verify a.syr
    stderr_is ''
    make_syrah b.syr "{}"
    run_ok sb verify b.syr
}

@test "arrays outside of the data section, and of no whole number of values, are named" {
    make_syrah a.syr "$two" "offsets['x'][1] = -5" "sizes['name'][0] = 99"
    run_fail 1 sb verify a.syr
    output_is 'bounds: 0/name: lies outside the data section (offset 30, 99 bytes)
bounds: 1/x: lies outside the data section (offset -5, 4 bytes)'
    stderr_is "shardbox verify: a.syr: 2 defects; take it from another copy, or keep what is sound with 'shardbox unpack'"
    make_syrah b.syr "$two" "sizes['x'][0] = 7"
    run_fail 1 sb verify --json b.syr
    output_has '{"kind":"size","path":"0/x","record":0,"offset":22,"text":"has 7 bytes, no multiple of 4"}'
}

@test "arrays that share bytes are named, whatever their order in the file" {
    make_syrah a.syr "{'x': ('int16', [1], [2], [3])}" "offsets['x'] = [26, 24, 22]"
    run_ok sb verify -q a.syr
    make_syrah b.syr "{'x': ('int16', [1], [2], [3])}" "offsets['x'] = [26, 22, 25]"
    run_fail 1 sb verify -q b.syr
    output_is 'overlap: 0/x: shares bytes with 2/x (offset 25, 2 bytes)'
    make_syrah c.syr "{'x': ('int8', [1, 2], [3]), 'y': ('int8', [], [])}" "offsets['y'] = [23, 25]"
    run_ok sb verify -q c.syr
}

@test "arrays may lie in another order in each item" {
    make_syrah a.syr "$two" "offsets['x'][1], offsets['name'][1] = 34, 33"
    run_ok sb verify -q a.syr
}

@test "metadata that cannot be trusted are a defect of what is a Syrah file" {
    make_syrah a.syr "{'x': ('int8', [1], [2]), 'y': ('int8', [1])}"
    run_fail 1 sb verify -q a.syr
    output_is "damaged: a.syr: array 'y' has 1 items, and array 'x' has 2"
    make_syrah b.syr "$two"
    truncate -s -1 b.syr
    run_fail 1 sb verify -q b.syr
    output_has 'damaged: b.syr: the metadata lie outside the file (offset 38, '
    output_has ' bytes): it is cut short, or its header is damaged'
}

@test "a file that was never closed is named for what it is" {
    make_syrah a.syr "$two"
    head -c 22 /dev/zero | put a.syr 0
    run_fail 2 sb verify a.syr
    stderr_is 'shardbox verify: a.syr: is a Syrah file that was never closed: it has no header and no metadata, so that its items cannot be found'
    run_fail 2 sb verify --from=syrah /dev/null
}

@test "options and names that make no sense for items are refused" {
    make_syrah a.syr "$two"
    run_fail 2 sb verify a.syr 0/x
    stderr_is 'shardbox verify: a.syr: has items, not names, and is verified as a whole'
    run_fail 2 sb verify --repair-to=b.bag a.syr
    stderr_is 'shardbox verify: a.syr: is no bag, and --repair-to is for bags'
    run_fail 2 sb verify --present a.syr
    stderr_is 'shardbox verify: a.syr: is no archive, whose shards arrive one by one'
}

@test "reports and metrics count arrays as files" {
    make_syrah a.syr "$two" "sizes['x'][0] = 7"
    run_fail 1 sb verify --report=r --prom=m.prom a.syr
    stderr_is "shardbox verify: a.syr: 1 defect, named in r; take it from another copy, or keep what is sound with 'shardbox unpack'"
    grep -q '"kind":"size","path":"0/x"' r
    grep -q '^shardbox_verify_files{archive="'"$PWD"'/a.syr"} 4$' m.prom
    [[ $(jq -c 'select(.kind == "summary") | [.container, .items, .arrays]' r) == '["Syrah file",2,2]' ]] || fail "$(cat r)"
}
