# shardbox convert --from=extents: an index over bytes that are there already.

load helper

# shards TEXT...: each is a shard of a.barecat.
shards() {
    local number=0 text
    for text; do
        printf '%s' "$text" >"a.barecat-shard-0000$number"
        number=$((number + 1))
    done
}

# refused TEXT LIST: with status 2 and that text, and no index.
refused() {
    printf '%s\n' "$2" >list
    run_fail 2 sb convert --from=extents list a.barecat
    stderr_has "$1" || return
    [[ ! -e a.barecat && ! -e a.barecat.new ]]
}

@test "a lost index comes back from a saved listing, to the byte" {
    make_tree tree
    make_raw_names tree
    sb pack --shard-size=100k a.barecat -C tree .
    sb find --json a.barecat >saved
    sha256sum a.barecat-shard-* >sums
    rm a.barecat
    run_ok sb convert --from=extents saved a.barecat
    output_is ""
    stderr_is ""
    cmp <(sb find --json a.barecat) saved
    run_ok sb verify --strict a.barecat
    run_ok sb diff -C tree a.barecat
    sha256sum --quiet -c sums
    [[ $(echo a.barecat*) == "a.barecat a.barecat-shard-00000 a.barecat-shard-00001 "* ]]
    sql a.barecat "SELECT * FROM config ORDER BY key" >config
    sb pack b.barecat -C tree .
    cmp config <(sql b.barecat "SELECT * FROM config ORDER BY key")
}

@test "a listing of a wrapped tar with hard links brings that back, too" {
    mkdir t
    echo one >t/a
    ln t/a t/b
    ln -s a t/c
    tar cf a.tar -C t .
    sb convert -q --wrap a.tar a.barecat
    sb find --json a.barecat >saved
    rm a.barecat
    run_ok sb convert --from=extents - a.barecat <saved
    cmp <(sb find --json a.barecat) saved
    run_ok sb verify --strict a.barecat
    [[ -L a.barecat-shard-00000 ]]
}

@test "a table of path, shard, offset and size will do" {
    shards 'onetwo' 'three'
    printf '%s\t%s\t%s\t%s\n' one 0 0 3 'dir/two words' 0 3 3 three 1 0 5 empty 1 5 0 >list
    run_ok sb convert --from=extents list a.barecat
    [[ $(sb cat a.barecat one 'dir/two words' three empty) == onetwothree ]]
    run_ok sb verify --strict a.barecat
    [[ $(sql a.barecat "SELECT count(*) FROM files WHERE mode IS NULL AND mtime_ns IS NULL") == 4 ]]
    [[ $(sql a.barecat "SELECT num_files_tree, size_tree FROM dirs WHERE path = ''") == '4|11' ]]
}

@test "the list may come through a pipe, mix both forms, and have empty lines" {
    shards 'onetwo'
    run_ok sb convert --from=extents - a.barecat <<'LIST'
{"path":"one","shard":0,"offset":0,"size":3}

two	0	3	3
{"path":"tab\there","shard":0,"offset":0,"size":0,"mode":420,"ignored":[1,{"a":2}]}
{"path_base64":"Y2Fm6Q==","shard":0,"offset":0,"size":0}
LIST
    [[ $(sb find -0 a.barecat | tr '\0' ';') == $'caf\xe9;one;tab\there;two;' ]]
}

@test "--no-checksum reads nothing" {
    shards 'onetwo'
    printf 'one\t0\t0\t3\n' >list
    run_ok sb convert --from=extents --no-checksum list a.barecat
    [[ $(sql a.barecat "SELECT crc32c IS NULL FROM files") == 1 ]]
    run_ok sb verify a.barecat
}

@test "bytes that do not match the listed checksum are named; what the list says stays" {
    make_archive
    sb find --json a.barecat >saved
    rm a.barecat
    flip_byte a.barecat-shard-00000 3
    run_fail 2 sb convert --from=extents --strict saved a.barecat
    [[ ! -e a.barecat ]]
    run_fail 1 sb convert --from=extents saved a.barecat
    stderr_has 'its bytes do not match its CRC32C'
    cmp <(sb find --json a.barecat) saved
    run_fail 1 sb verify a.barecat
}

@test "every line is checked, and errors name it" {
    shards 'onetwo'
    refused 'list: line 1: is neither JSON nor path, shard, offset and size' 'one'
    refused 'list: line 1: is neither JSON' $'one\t0\t0'
    refused 'list: line 1: is neither JSON' $'one\t0\t-1\t3'
    refused 'list: line 1: is neither JSON' $'one\t0\t0\t3 '
    refused 'list: line 1: is no JSON object' '{"path":"one",}'
    refused 'list: line 1: has no path' '{"shard":0,"offset":0,"size":3}'
    refused 'list: line 1: has no path' '{"path":5,"shard":0,"offset":0,"size":3}'
    refused 'list: line 1: has no shard' '{"path":"one","offset":0,"size":3}'
    refused 'list: line 1: its offset is no number' '{"path":"a","shard":0,"offset":"0","size":3}'
    refused 'list: line 1: its size is no number' '{"path":"a","shard":0,"offset":0,"size":1e3}'
    refused 'list: line 1: its size is no number' '{"path":"a","shard":0,"offset":0,"size":-1}'
    refused 'list: line 1: its crc32c is no' '{"path":"a","shard":0,"offset":0,"size":1,"crc32c":-1}'
    refused 'list: line 1: type is none of' '{"path":"a","type":"x","shard":0,"offset":0,"size":1}'
    refused 'list: line 1: has a NUL' '{"path":"a\u0000b","shard":0,"offset":0,"size":1}'
    refused 'list: line 1: path_base64 is no base64' '{"path_base64":"=!","shard":0,"offset":0,"size":1}'
    refused 'list: line 1: is of an entry that had a defect' '{"path":"a","type":"file","defect":"x"}'
    refused 'list: line 2: its path ' $'one\t0\t0\t3\n../two\t0\t3\t3'
    refused 'list: line 2: its path ' $'one\t0\t0\t3\n/two\t0\t3\t3'
    refused 'list: line 1: two: ends at 7, and shard 0 has 6 bytes' $'two\t0\t3\t4'
    refused 'list: line 1: its extent ends beyond' $'two\t0\t3\t9223372036854775807'
    refused 'list: line 1: there is no shard 1' $'two\t1\t0\t1'
}

@test "a name that comes twice, a file that is a directory, and shared bytes are refused" {
    shards 'onetwo'
    refused 'list: line 3: a has the name of line 1' $'a\t0\t0\t1\nb\t0\t1\t1\na\t0\t2\t1'
    refused 'list: line 1: a is the name of a directory too' $'a\t0\t0\t1\na/b\t0\t1\t1'
    refused 'list: line 2: b shares bytes with line 1' $'a\t0\t0\t3\nb\t0\t2\t3'
    refused 'list: line 2: b shares bytes with line 1' $'a\t0\t0\t3\nb\t0\t0\t3'
}

@test "shards must be there, and an index that is there is only replaced under --force" {
    printf 'a\t0\t0\t1\n' >list
    run_fail 2 sb convert --from=extents list a.barecat
    stderr_has 'a.barecat-shard-00000: not there'
    shards 'onetwo'
    sb convert --from=extents list a.barecat
    printf 'b\t0\t0\t1\n' >list
    run_fail 2 sb convert --from=extents list a.barecat
    stderr_has 'there is an archive already'
    [[ $(sb find a.barecat) == a ]]
    run_ok sb convert --force --from=extents list a.barecat
    [[ $(sb find a.barecat) == b ]]
    [[ $(<a.barecat-shard-00000) == onetwo ]]
    run_fail 2 sb convert --from=extents missing b.barecat
}

@test "options that would have no effect are refused" {
    shards 'onetwo'
    printf 'a\t0\t0\t1\n' >list
    run_fail 2 sb convert --from=extents --prefix=x list a.barecat
    run_fail 2 sb convert --from=extents --append list a.barecat
    run_fail 2 sb convert --from=extents --to=tar list a.tar
    run_fail 2 sb convert --from=extents list list a.barecat
}

@test "--dry-run checks everything and makes nothing" {
    shards 'onetwo'
    printf 'a\t0\t0\t1\n' >list
    run_ok sb convert --dry-run --from=extents list a.barecat
    [[ $(echo a.barecat*) == a.barecat-shard-00000 ]]
    [[ $(<a.barecat-shard-00000) == onetwo ]]
}
