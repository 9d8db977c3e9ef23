# shardbox ls of caches: a row a key, with what it leads to; and the caches of a directory.

load helper
load cache

@test "a row a key, where it stands: segment, structure, arrays, key" {
    make_dicts k
    run_ok sb ls k
    output_is '0 dict emb:float32[0,3],mask:bool[],meta:blob  k/2
0 dict emb:float32[2,2],mask:bool[3],meta:blob k:0
1 dict emb:float32[1],mask:bool[1,1],meta:blob k:1'
    stderr_is ''
    run_ok sb ls --count k
    output_is 3
}

@test "a tensor alone has no name, and a list is told from a tuple" {
    make_tensors t
    run_ok sb ls t
    output_is '0 tensor int64[2]   t:0
0 tensor int64[1,3] t:1'
    make_npy <<<'items/x/item0.npy uint8 [1] 1'
    printf 'a pickle' >items/x/item1.pkl
    make_cache items tuple
    make_cache items list --sequence=list
    run_ok sb ls tuple
    output_is '0 tuple item0:uint8[1],item1:blob x'
    run_ok sb ls list
    output_is '0 list item0:uint8[1],item1:blob x'
    mkdir blobs && printf 'a pickle' >blobs/x.pkl
    make_cache blobs blob
    run_ok sb ls blob
    output_is '0 blob blob x'
}

@test "-l shows each array: segment, row, structure, name, type, shape, bytes, key" {
    make_dicts k
    run_ok sb ls -l k
    output_is '0 0 dict emb  float32 [0,3]  0 k/2
0 0 dict mask bool    []     1 k/2
0 0 dict meta blob    -      0 k/2
0 1 dict emb  float32 [2,2] 16 k:0
0 1 dict mask bool    [3]    3 k:0
0 1 dict meta blob    -      4 k:0
1 0 dict emb  float32 [1]    4 k:1
1 0 dict mask bool    [1,1]  1 k:1
1 0 dict meta blob    -      9 k:1'
    run_ok sb ls -l --array=mask k
    output_is '0 0 dict mask bool []    1 k/2
0 1 dict mask bool [3]   3 k:0
1 0 dict mask bool [1,1] 1 k:1'
    make_tensors t
    run_ok sb ls -lh t
    output_is '0 0 tensor - int64 [2]   16 t:0
0 1 tensor - int64 [1,3] 24 t:1'
}

@test "-a shows superseded rows too" {
    make_dicts k
    run_ok sb ls -a --array=meta --array=mask k
    output_is '-          0 dict mask:bool[],meta:blob    k/2
-          0 dict mask:bool[3],meta:blob   k:0
superseded 0 dict mask:bool[2],meta:blob   k:1
-          1 dict mask:bool[1,1],meta:blob k:1'
    run_ok sb ls -a --count k
    output_is 4
}

@test "--json tells all that is known" {
    make_dicts k
    run_ok sb ls --json k k:1
    offsets='[ .arrays[].offset ]'
    [[ $(jq -c "del(.arrays[].offset)" <<<"$output") == '{"key":"k:1","structure":"dict","superseded":false,"arrays":[{"name":"emb","dtype":"float32","shape":[1],"bytes":4},{"name":"mask","dtype":"bool","shape":[1,1],"bytes":1},{"name":"meta","dtype":"blob","bytes":9}],"segment":1,"row":0,"file":"k/segments/segment_000001.arrow"}' ]] || fail 'the object'
    read -r emb mask meta < <(jq -r "$offsets | map(tostring) | join(\" \")" <<<"$output")
    [[ $mask == null ]] || fail 'bits have an offset'
    [[ $(tail -c +$((meta + 1)) k/segments/segment_000001.arrow | head -c 9) == 'one again' ]] ||
        fail 'the offset of the blob'
    cmp <(tail -c +$((emb + 1)) k/segments/segment_000001.arrow | head -c 4) \
        <(sb cat --raw k k:1/emb)
    make_tensors t
    run_ok sb ls --json t
    [[ $(jq -c '[.key, .arrays[0].name, .arrays[0].shape]' <<<"$output") == '["t:0",null,[2]]
["t:1",null,[1,3]]' ]] || fail 'tensors'
    run_ok sb ls -a --json k
    [[ $(jq -c .superseded <<<"$output" | xargs) == 'false false true false' ]] || fail 'rows'
}

@test "keys that are asked for, in that order; also KEY/NAME, and those of a list" {
    make_dicts k
    run_ok sb ls k k:1/emb k/2 k:1/mask
    output_is '1 dict emb:float32[1]                         k:1
0 dict emb:float32[0,3],mask:bool[],meta:blob k/2
1 dict mask:bool[1,1]                         k:1'
    printf 'k:0/mask\0k/2/mask' >keys
    run_ok sb ls -0 -T keys k
    output_is '0 dict mask:bool[3] k:0
0 dict mask:bool[]  k/2'
    run_fail 1 sb ls k nobody k:0 k:0/nothing
    output_is '0 dict emb:float32[2,2],mask:bool[3],meta:blob k:0'
    stderr_is 'shardbox ls: nobody: no such key in the cache
shardbox ls: k:0/nothing: the key has no such array'
}

@test "keys are written as they are on a pipe, and escaped in JSON" {
    make_npy <<<'tree/a/emb.npy int8 [1] 1'
    mv tree/a tree/$'a\033[1m\nb'
    make_cache tree k
    sb ls k >out
    printf '0 dict emb:int8[1] a\033[1m\nb\n' | cmp - out
    run_ok sb ls --json k
    output_has '"key":"a\u001b[1m\nb"'
}

@test "of a directory of caches, a row for each: keys, segments, bytes, structure, name" {
    mkdir all
    make_dicts all/k
    make_tensors all/t
    mkdir all/nothing
    run_ok sb ls all
    bytes=$(cat all/k/segments/* | wc -c)
    [[ $(awk '{ print $1, $2, $4, $5 }' <<<"$output") == '3 2 dict k
2 1 tensor t' ]] || fail 'rows'
    [[ $(awk 'NR == 1 { print $3 }' <<<"$output") == "$bytes" ]] || fail 'bytes'
    run_ok sb ls --json all
    [[ ${lines[0]} == "{\"cache\":\"k\",\"keys\":3,\"segments\":2,\"bytes\":$bytes,\"structure\":\"dict\"}" ]] ||
        fail 'JSON'
    run_fail 2 sb ls all t:0
    stderr_is "shardbox ls: all: holds caches: list one of them, such as those that 'shardbox ls all' shows; try 'shardbox ls --help'"
    run_fail 2 sb ls -l all
    stderr_is "shardbox ls: all: holds caches, which are listed without --long; try 'shardbox ls --help'"
}

@test "neither index.pkl nor schema.json is needed" {
    make_dicts k
    sb ls --json k >before
    rm k/index.pkl k/schema.json
    sb ls --json k | cmp - before
    run_ok sb ls k k:1 k/2
    output_is '1 dict emb:float32[1],mask:bool[1,1],meta:blob k:1
0 dict emb:float32[0,3],mask:bool[],meta:blob  k/2'
}

@test "a damaged segment is named and the others are listed; where none is sound it is an error" {
    make_dicts k
    truncate -s 100 k/segments/segment_000001.arrow
    run_fail 1 sb ls k
    output_is '0 dict emb:float32[0,3],mask:bool[],meta:blob  k/2
0 dict emb:float32[2,2],mask:bool[3],meta:blob k:0
0 dict emb:float32[2,2],mask:bool[2],meta:blob k:1'
    stderr_has 'shardbox ls: k/segments/segment_000001.arrow: '
    ((${#stderr_lines[@]} == 1)) || fail 'more than one message'
    run_fail 1 sb ls --count k
    output_is 3
    truncate -s 100 k/segments/segment_000000.arrow
    run_fail 2 sb ls k
    output_is ''
    [[ ${stderr_lines[2]} == 'shardbox ls: k: no segment of this cache can be read' ]] || fail 'why'
}

@test "options that mean nothing for a cache are refused, and those of a cache for other things" {
    make_tensors t
    run_fail 2 sb ls --sort=size t
    stderr_is "shardbox ls: t: is a cache, whose keys are listed in their order, without --sort; try 'shardbox ls --help'"
    run_fail 2 sb ls --records=1 t
    run_fail 2 sb ls --tree t
    run_fail 2 sb ls -0 t
    run_fail 2 sb ls -a t t:0
    run_fail 2 sb ls --count t t:0
    : >x.bag
    run_fail 2 sb ls --array=emb x.bag
    stderr_is "shardbox ls: x.bag: is no Syrah file and no cache, and --array is for these; try 'shardbox ls --help'"
}

@test "an array that no segment has is refused, and a directory that is not there" {
    make_dicts k
    run_fail 2 sb ls --array=emb --array=nothing k
    output_is ''
    stderr_is "shardbox ls: k: has no array 'nothing'; ls shows which it has"
    run_fail 2 sb ls --from=cache nowhere
    stderr_is 'shardbox ls: nowhere: No such file or directory'
    run_fail 2 sb ls --count nowhere
    stderr_is 'shardbox ls: nowhere: No such file or directory'
}

@test "a cache is not changed in place, as archives are" {
    make_dicts k
    for command in 'rm k k:0' 'mv k k:0 k:9' 'defrag k' 'upgrade k' 'pack --append k .'; do
        # shellcheck disable=SC2086 # words of a command
        run_fail 2 sb $command
        stderr_has "k: is a cache, and only archives can be changed; 'shardbox convert' makes one of it"
    done
}

@test "--csv has lists as their JSON; a line of names with -v" {
    make_dicts k
    csv_is_json ls k
    csv_is_json ls .
    run_ok sb ls --csv k k:1
    [[ ${lines[1]} == 'k:1,dict,false,"[{""name"":""emb"",""dtype"":""float32"",""shape"":[1],'* ]] || fail 'a list'
    run_ok sb ls -v k k:1
    output_is 'segment structure arrays                                  key
      1 dict      emb:float32[1],mask:bool[1,1],meta:blob k:1'
    run_ok sb ls -v .
    [[ ${lines[0]} == '        keys segments           bytes structure cache' ]] || fail 'caches'
}
