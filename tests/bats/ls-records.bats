# shardbox ls of bags: a row a record, and from a record's bytes back to its number.

load helper
load bag

# Eight records; the second and the last are the same, two are empty.
records=(alpha beta '' 'gamma gamma' delta '' epsilon beta)

# The first eight records in three shards, in the order of layout=interleaved.
make_interleaved() {
    make_bagz i-00000-of-00003.bagz "${records[0]}" "${records[3]}" "${records[6]}"
    make_bagz i-00001-of-00003.bagz "${records[1]}" "${records[4]}" "${records[7]}"
    make_bagz i-00002-of-00003.bagz "${records[2]}" "${records[5]}"
}

# s@2.bag: five records and three.
make_set() {
    make_bag s-00000-of-00002.bag "${records[@]:0:5}"
    make_bag s-00001-of-00002.bag "${records[@]:5:3}"
}

@test "a row a record: its number, its size as stored, its size" {
    make_bag a.bag "${records[@]}"
    run_ok sb ls a.bag
    output_is '0  5  5
1  4  4
2  0  0
3 11 11
4  5  5
5  0  0
6  7  7
7  4  4'
    stderr_is ''
}

@test "sizes of compressed records are those that their frames declare" {
    make_bagz a.bagz "${records[@]}"
    run_ok sb ls a.bagz
    [[ $(awk '{ print $3 }' <<<"$output" | xargs) == '5 4 0 11 5 0 7 4' ]] || fail 'sizes'
    (($(awk '{ sum += $2 } END { print sum }' <<<"$output") == $(stat -c %s a.bagz) - 64)) ||
        fail 'stored sizes'
}

@test "a frame that does not declare its size is decoded" {
    printf 'as much as there is' | zstd -q -c >frame
    size=$(stat -c %s frame)
    (cat frame && le64 "$size") >a.bagz
    run_ok sb ls a.bagz
    output_is "0 $size 19"
    run_ok sb du --json a.bagz
    output_is "{\"path\":\"a.bagz\",\"records\":1,\"stored\":$size,\"bytes\":19}"
}

@test "-l adds the shard and the offset" {
    make_set
    run_ok sb ls -l s@2.bag
    output_is '0  5  5 0  0
1  4  4 0  5
2  0  0 0  9
3 11 11 0  9
4  5  5 0 20
5  0  0 1  0
6  7  7 1  0
7  4  4 1  7'
}

@test "-h shows sizes for people" {
    make_bag a.bag "$(printf '%05000d' 0)" x
    run_ok sb ls -h a.bag
    output_is '0 4.9K 4.9K
1    1    1'
}

@test "--json is an object a line" {
    make_set
    run_ok sb ls --json --records=4:6 s@2.bag
    output_is '{"index":4,"shard":0,"offset":20,"stored":5,"size":5,"file":"s-00000-of-00002.bag"}
{"index":5,"shard":1,"offset":0,"stored":0,"size":0,"file":"s-00001-of-00002.bag"}'
}

@test "records of an interleaved set come in the order of their numbers" {
    make_interleaved
    run_ok sb ls -l --layout=interleaved i@3.bagz
    [[ $(awk '{ print $1 ":" $3 ":" $4 }' <<<"$output" | xargs) == \
    '0:5:0 1:4:1 2:0:2 3:11:0 4:5:1 5:0:2 6:7:0 7:4:1' ]] || fail 'rows'
}

@test "--count is the number of records, and needs none of them" {
    make_set
    run_ok sb ls --count s@2.bag
    output_is 8
    run_ok sb ls --count --records=::3 s@2.bag
    output_is 3
    : >none.bag
    run_ok sb ls --count none.bag
    output_is 0
}

@test "--records takes slices as Python has them, -T a list of them" {
    make_bag a.bag "${records[@]}"
    run_ok sb ls --records=-1,::3 --records=1 a.bag
    output_is '7  4  4
0  5  5
3 11 11
6  7  7
1  4  4'
    printf '4\n-3:\n' >list
    run_ok sb ls -T list a.bag
    output_is '4 5 5
5 0 0
6 7 7
7 4 4'
    printf '6\0' >list
    run_ok sb ls -0T list a.bag
    output_is '6 7 7'
}

@test "a number that is not there is named, and the rest is listed" {
    make_bag a.bag "${records[@]}"
    run_fail 1 sb ls --records=0,8,1 a.bag
    output_is '0 5 5
1 4 4'
    stderr_is 'shardbox ls: a.bag: record 8: there are 8'
}

@test "numbers on a pipe that stays open are answered one by one" {
    make_bag a.bag "${records[@]}"
    coproc ls_records { sb ls -T - a.bag 3>&-; }
    echo 3 >&"${ls_records[1]}"
    read -r -t 60 -u "${ls_records[0]}" row
    [[ $row == '3 11 11' ]]
    echo -1 >&"${ls_records[1]}"
    read -r -t 60 -u "${ls_records[0]}" row
    [[ $row == '7  4  4' ]]
}

@test "a damaged record's row says so; the rest is listed" {
    make_bagz a.bagz "${records[@]}"
    printf 'XXXX' | put a.bagz 0
    run_fail 1 sb ls --records=:2 a.bagz
    [[ ${lines[0]} == "0 "*" damaged" && ${lines[1]} == "1 "*"  4" ]] || fail 'rows'
    stderr_has 'shardbox ls: a.bagz: record 0: '
    ((${#stderr_lines[@]} == 1)) || fail 'more than one message'
    run_fail 1 sb ls --json --records=0 a.bagz
    output_has '"size":null,"file":"a.bagz","defect":"record 0: '
    run_fail 1 sb ls --find=beta a.bagz
    [[ $output == '1 '*' 4' ]] || fail 'what is behind it is not found'
    stderr_has 'shardbox ls: a.bagz: record 0: '
}

@test "limits that decrease, or lie outside, are those of damaged records" {
    make_bag a.bag "${records[@]}"
    le64 3 | put a.bag $((36 + 8))
    run_fail 1 sb ls --records=:4 a.bag
    output_is '0       5       5
1 damaged damaged
2       6       6
3      11      11'
    stderr_has 'shardbox ls: a.bag: record 1: its limits decrease'
    run_fail 1 sb ls --json -l --records=1 a.bag
    output_has '{"index":1,"shard":0,"offset":null,"stored":null,"size":null,"file":"a.bag","defect":"'
    run_fail 1 sb ls --find=epsilon a.bag
    output_is '6 7 7'
}

@test "--shards is a row per shard" {
    make_set
    run_ok sb ls --shards s@2.bag
    output_is 'shard      records           bytes path
00000            5              25 s-00000-of-00002.bag
00001            3              11 s-00001-of-00002.bag'
    run_ok sb ls --shards -0 s@2.bag
    tr '\0' ' ' < <(sb ls --shards -0 s@2.bag) >names
    [[ $(<names) == 's-00000-of-00002.bag s-00001-of-00002.bag ' ]] || fail 'names'
    make_bagz a.bagz x
    run_ok sb ls --shards --json a.bagz
    output_is "{\"shard\":0,\"path\":\"a.bagz\",\"records\":1,\"bytes\":$(($(stat -c %s a.bagz) - 8)),\"compression\":\"zstd\",\"limits\":\"tail\"}"
}

@test "--rsync-list has limits before their bag, and what a '@*' looks for last" {
    mkdir dir
    (
        cd dir
        make_set
        separate s-00000-of-00002.bag 5
        separate s-00001-of-00002.bag 3
    )
    run_ok sb ls --rsync-list 'dir/s@*.bag'
    output_is 'limits.s-00001-of-00002.bag
s-00001-of-00002.bag
limits.s-00000-of-00002.bag
s-00000-of-00002.bag'
    make_bag a.bag x
    run_ok sb ls --rsync-list dir/s@2.bag,a.bag
    output_is 'dir/limits.s-00001-of-00002.bag
dir/s-00001-of-00002.bag
a.bag
dir/limits.s-00000-of-00002.bag
dir/s-00000-of-00002.bag'
}

@test "--find is the first record with these bytes, --find-all each" {
    make_bag a.bag "${records[@]}"
    make_bagz a.bagz "${records[@]}"
    for bag in a.bag a.bagz; do
        run_ok sb ls --find=beta $bag
        [[ $output == '1 '*4 ]] || fail 'not the first'
        run_ok sb ls --find-all=beta $bag
        [[ $(awk '{ print $1 }' <<<"$output" | xargs) == '1 7' ]] || fail 'not all'
        run_ok sb ls --find= $bag
        [[ $output == '2 0 0' ]] || fail 'not the empty one'
        run_ok sb ls --find=delta --find=alpha --find=delta --json $bag
        [[ $(grep -o '"index":.' <<<"$output" | xargs) == 'index:4 index:0 index:4' ]] ||
            fail 'not in the order of the keys'
    done
}

@test "--find in an interleaved set: the first by number, all in order" {
    make_interleaved
    run_ok sb ls --layout=interleaved --find=beta i@3.bagz
    [[ $output == '1 '* ]] || fail 'not the first'
    run_ok sb ls --layout=interleaved --find-all=beta --find-all= i@3.bagz
    [[ $(awk '{ print $1 }' <<<"$output" | xargs) == '1 7 2 5' ]] || fail 'not all'
}

@test "a key that is not there is named; the exit status is 1" {
    make_bag a.bag "${records[@]}"
    run_fail 1 sb ls --find=bet --find=delta --find=$'b\nta' a.bag
    output_is '4 5 5'
    stderr_is "shardbox ls: a.bag: no record is 'bet'
shardbox ls: a.bag: no record is 'b\\nta'"
}

@test "--find without a key takes those of -T, behind those that are given" {
    make_bag a.bag "${records[@]}" $'new\nline'
    printf 'delta\n\nbeta\n' >keys
    run_ok sb ls --find=alpha --find -T keys a.bag
    [[ $(awk '{ print $1 }' <<<"$output" | xargs) == '0 4 2 1' ]] || fail 'not those'
    printf 'new\nline\0' >keys
    run_ok sb ls -0 --find -T keys a.bag
    output_is '8 8 8'
    run_fail 2 sb ls --find a.bag
    stderr_has 'write --find=KEY, or -T FILE for a list of them'
}

@test "keys on a pipe that stays open are answered one by one" {
    make_bagz a.bagz "${records[@]}"
    coproc ls_found { sb ls --find-all -T - a.bagz 2>&1 3>&-; }
    echo beta >&"${ls_found[1]}"
    read -r -t 60 -u "${ls_found[0]}" first
    read -r -t 60 -u "${ls_found[0]}" second
    [[ $first == '1 '*4 && $second == '7 '*4 ]]
    echo nothing >&"${ls_found[1]}"
    read -r -t 60 -u "${ls_found[0]}" row
    [[ $row == "shardbox ls: a.bagz: no record is 'nothing'" ]]
    echo alpha >&"${ls_found[1]}"
    read -r -t 60 -u "${ls_found[0]}" row
    [[ $row == '0 '*5 ]]
}

# bats test_tags=threads
@test "what is found does not depend on threads, nor on how keys come" {
    seq -f 'record %g' 20000 >lines
    python3 - <<'END'
import struct
end, limits, data = 0, [], b''
for line in open('lines', 'rb'):
    data += line[:-1]
    limits.append(len(data))
open('big.bag', 'wb').write(data + b''.join(struct.pack('<Q', x) for x in limits))
END
    shuf -n 500 --random-source=lines lines >keys
    sed 's/record //' keys | awk '{ print $1 - 1 }' >wanted
    for threads in 1 2 5; do
        sb ls --find -T keys -j $threads big.bag | awk '{ print $1 }' | cmp - wanted
        mkfifo pipe
        (echo 'record 1' && cat keys) >pipe &
        sb ls --find -T pipe -j $threads big.bag | awk 'NR > 1 { print $1 }' | cmp - wanted
        rm pipe
    done
    sb ls -j 4 big.bag | awk '{ print "record " $1 + 1 }' | cmp - lines
}

@test "what goes with archives is refused for bags, and the other way round" {
    make_bag a.bag x
    run_fail 2 sb ls -S a.bag
    stderr_has 'a.bag: is a bag, whose records are listed in their order, without --by-size'
    run_fail 2 sb ls --tree a.bag
    run_fail 2 sb ls a.bag x
    stderr_has 'a.bag: is a bag, and has records, not files: choose some with --records'
    run_fail 2 sb ls --find=x --find-all=y a.bag
    run_fail 2 sb ls --find=x --records=0 a.bag
    run_fail 2 sb ls --count -T list a.bag
    run_fail 2 sb ls -0 a.bag
    make_archive
    run_fail 2 sb ls --count a.barecat
    stderr_has "--count goes with bags, and with --samples; 'shardbox du --count -s a.barecat' counts files"
}

@test "on a terminal, or with -v, there is a line of names above the columns" {
    make_set
    run_ok sb ls -v s@2.bag
    [[ ${lines[0]} == 'index stored size' ]] || fail 'without -l'
    run_ok sb ls -lv --records=3 s@2.bag
    output_is 'index stored size shard offset
    3     11   11     0      9'
    run_ok script -qec "$(printf '%q ' "$SHARDBOX" ls -l --records=3 s@2.bag)" /dev/null
    [[ ${lines[0]//$'\r'/} == 'index stored size shard offset' ]] || fail 'a terminal'
    run_ok sb ls -v --count s@2.bag
    output_is 8
    run_ok sb ls -v --find=delta s@2.bag
    output_is $'index stored size\n    4      5    5'
}

@test "--csv has a column for each key, also where only some rows have it" {
    make_set
    csv_is_json ls s@2.bag
    csv_is_json ls --find-all=beta s@2.bag
    csv_is_json ls --shards s@2.bag
    run_ok sb ls --csv --find=beta s@2.bag
    output_is 'key,index,shard,offset,stored,size,file,defect
beta,1,0,5,4,4,s-00000-of-00002.bag,'
    make_bag a.bag 'a,b' $'"\xff\n'
    run_ok sb ls --csv --find='a,b' a.bag
    [[ ${lines[1]} == '"a,b",0,0,0,3,3,a.bag,' ]] || fail 'quoted'
}

@test "-F and -p change nothing of rows, --full-time and -L are of trees" {
    make_set
    sb ls s@2.bag >plain
    sb ls -aFp s@2.bag | cmp - plain
    run_fail 2 sb ls --full-time s@2.bag
    stderr_has 'is a bag, whose records are listed in their order, without --full-time'
}

@test "on a slow file system -T lists the same with any number of threads" {
    need_slow
    seq 3000 >lines
    sb convert --frame=line lines a.bagz
    shuf --random-source=<(yes) -i 0-2999 -n 300 >list
    sed -i '20i 3000' list
    run_fail 1 sb ls -T list a.bagz
    wanted=$output
    for threads in 1 2 8; do
        run_fail 1 slow_sb ls -T list "-j$threads" a.bagz
        output_is "$wanted"
        stderr_is 'shardbox ls: a.bagz: record 3000: there are 3000'
    done
}

@test "on a slow file system --find and cat --keys give the same with any number of threads" {
    need_slow
    seq -f 'key %g' 3000 >lines
    sb convert --frame=line lines k.bagz
    seq 3000 | sb convert --frame=line - a.bagz
    shuf --random-source=<(yes) -n 300 lines >keys
    sed -i -e '150i nothing' -e "\$a $(head -n 1 keys)" keys
    for threads in 1 2 8; do
        run_fail 1 slow_sb ls --find --json -T keys "-j$threads" k.bagz
        stderr_is "shardbox ls: k.bagz: no record is 'nothing'"
        ((${#lines[@]} == 301)) || fail 'rows'
        [[ $(sed 's/.*"key":"key \([0-9]*\)".*/\1/' < <(printf '%s\n' "$output")) == "$(grep key keys | cut -d' ' -f2)" ]]
        [[ $(sed 's/.*"index":\([0-9]*\).*/\1/' < <(printf '%s\n' "$output")) == "$(awk '/key/ { print $2 - 1 }' keys)" ]]
        run_fail 1 slow_sb cat --keys=k.bagz -T keys "-j$threads" --frame=line a.bagz
        stderr_is 'shardbox cat: nothing: no such record in k.bagz'
        output_is "$(grep key keys | cut -d' ' -f2)"
    done
}
