# shardbox ls of Syrah files: a row for each array of each item.

load helper
load syrah

# Three items: an image of one, two and no bytes, a label, a name.
make_three() {
    make_syrah "${1:-a.syr}" '{"image": ("uint8", [1], [2, 3], []), "label": ("int64", [7], [8], [9]),
                               "the name": ("str", "one", "zwö", "")}' "${@:2}"
}

@test "a row an array: item, type, values, bytes, name" {
    make_three
    run_ok sb ls a.syr
    output_is '0 uint8 1 1 image
0 int64 1 8 label
0 str   3 3 the name
1 uint8 2 2 image
1 int64 1 8 label
1 str   4 4 the name
2 uint8 0 0 image
2 int64 1 8 label
2 str   0 0 the name'
    stderr_is ''
}

@test "-l adds the offset, -h writes sizes for people" {
    make_syrah a.syr '{"x": ("float32", [0] * 500, [1])}'
    run_ok sb ls -l a.syr
    output_is '0 float32 500 2000   22 x
1 float32   1    4 2022 x'
    run_ok sb ls -h a.syr
    output_is '0 float32 500 2.0K x
1 float32   1    4 x'
}

@test "--json has an object a line, with all that is known" {
    make_three
    run_ok sb ls --json a.syr 1
    output_is '{"item":1,"array":"image","dtype":"uint8","length":2,"bytes":2,"offset":34,"file":"a.syr"}
{"item":1,"array":"label","dtype":"int64","length":1,"bytes":8,"offset":36,"file":"a.syr"}
{"item":1,"array":"the name","dtype":"str","length":4,"bytes":4,"offset":44,"file":"a.syr"}'
}

@test "a name that is no UTF-8, or would act on a terminal, is no danger" {
    make_syrah a.syr '{"a\x1b[31mb": ("bool", [1])}'
    run_ok sb ls --json a.syr
    output_has '"array":"a\u001b[31mb"'
}

@test "items are chosen by operands, --records and -T, in the order asked for" {
    make_three
    for words in '-- -1 0:2' '2,0:2' '--records=-1,0:2'; do
        # shellcheck disable=SC2086 # several words
        run_ok sb ls --array=label a.syr $words
        output_is '2 int64 1 8 label
0 int64 1 8 label
1 int64 1 8 label'
    done
    printf '%s\n' 2/image 0 >list
    run_ok sb ls -T list a.syr 1/label
    output_is '1 int64 1 8 label
2 uint8 0 0 image
0 uint8 1 1 image
0 int64 1 8 label
0 str   3 3 the name'
}

@test "each line of a pipe is answered as it comes" {
    make_three
    mkfifo questions
    coproc ITEMS { sb ls -T questions a.syr; }
    pid=$ITEMS_PID
    exec 5>questions
    echo 1/label >&5
    read -r -t 20 answer <&"${ITEMS[0]}"
    [[ $answer == '1 int64 1 8 label' ]]
    exec 5>&-
    wait "$pid"
}

@test "--array may be given several times, and keeps the order of the file" {
    make_three
    run_ok sb ls --array='the name' --array=image --array=image a.syr 0
    output_is '0 uint8 1 1 image
0 str   3 3 the name'
    run_fail 2 sb ls --array=nix a.syr
    stderr_is "shardbox ls: a.syr: has no array 'nix'"
}

@test "--count says how many items there are, or are chosen" {
    make_three
    run_ok sb ls --count a.syr
    output_is 3
    run_ok sb ls --count --records=1: a.syr 0/label
    output_is 3
    run_ok sb ls --count a.syr 5:9
    output_is 0
}

@test "what is not there is named, and the rest is shown" {
    make_three
    run_fail 1 sb ls a.syr 7/label 0/label 0/nix 1:9/label
    output_is '0 int64 1 8 label
1 int64 1 8 label
2 int64 1 8 label'
    stderr_is "shardbox ls: a.syr: item 7: there are 3
shardbox ls: a.syr: 0/nix: there is no array 'nix'"
    run_fail 2 sb ls a.syr x
    stderr_is "shardbox ls: a.syr: 'x' is no item number, and no START:STOP:STEP with a step other than 0; the name of one array follows after a '/', or is in --array=NAME"
}

@test "an array that lies where it cannot is named, and the rest is shown" {
    make_three a.syr 'offsets["image"][1] = 9999' 'sizes["label"][2] = 7'
    run_fail 1 sb ls -l a.syr 1:/image 1:/label
    output_is '1 uint8 damaged damaged damaged image
2 uint8       0       0      48 image
1 int64       1       8      36 label
2 int64 damaged damaged damaged label'
    stderr_is "shardbox ls: a.syr: item 1, array 'image': lies outside the data section (offset 9999, 2 bytes)
shardbox ls: a.syr: item 2, array 'label': has 7 bytes, no multiple of 8"
    run_fail 1 sb ls --json a.syr 1/image
    output_has '"length":null,"bytes":null,"offset":null,"file":"a.syr","defect":"item 1, array '\''image'\'': lies'
}

@test "a file that was never closed is named for what it is" {
    head -c 500 /dev/zero >a.syr
    for command in ls cat du; do
        run_fail 2 sb "$command" a.syr
        stderr_has 'a.syr: is a Syrah file that was never closed'
    done
}

@test "several files are one sequence" {
    make_three a-00000-of-00002.syr
    make_syrah a-00001-of-00002.syr '{"the name": ("str", "four"), "label": ("int64", [4]), "image": ("uint8", [])}'
    for spec in a-00000-of-00002.syr,a-00001-of-00002.syr 'a@2.syr' 'a@*.syr' 'a-*.syr'; do
        run_ok sb ls "$spec" 2:
        output_is '2 uint8 0 0 image
2 int64 1 8 label
2 str   0 0 the name
3 uint8 0 0 image
3 int64 1 8 label
3 str   4 4 the name'
        run_ok sb ls --count "$spec"
        output_is 4
        run_ok sb ls --rsync-list "$spec"
        output_is 'a-00000-of-00002.syr
a-00001-of-00002.syr'
    done
    run_ok sb ls --json 'a@2.syr' 3/label
    output_has '"offset":26,"file":"a-00001-of-00002.syr"'
}

@test "files of other arrays are no sequence" {
    make_three
    make_syrah b.syr '{"image": ("uint8", []), "label": ("int32", [4]), "the name": ("str", "four")}'
    make_syrah c.syr '{"image": ("uint8", []), "label": ("int64", [4]), "the name": ("str", ""), "x": ("str", "")}'
    run_fail 2 sb ls a.syr,b.syr
    stderr_is "shardbox ls: b.syr: has no array 'label' of type int64, as a.syr has: only files of the same arrays are one sequence"
    run_fail 2 sb ls a.syr,c.syr
    stderr_is "shardbox ls: c.syr: has more arrays than a.syr: only files of the same arrays are one sequence"
    run_fail 2 sb ls a.syr,missing.syr
    stderr_has 'missing.syr: No such file'
}

@test "a file is told by its content, and from a pipe by --from" {
    make_three data
    run_ok sb ls --count data
    output_is 3
    run_ok sb ls --count --from=syrah - <data
    output_is 3
    run_ok sb ls --from=syr - 0/image < <(cat data)
    output_is '0 uint8 1 1 image'
    run_fail 2 sb ls --from=syrah "$0"
    stderr_has 'is no Syrah file'
}

@test "options of other containers are refused" {
    make_three
    run_fail 2 sb ls -R a.syr
    stderr_has 'a.syr: is a Syrah file, whose items are listed in their order, without --recursive'
    run_fail 2 sb ls --find=x a.syr
    stderr_has 'without --find'
    run_fail 2 sb ls -T - --from=syrah - <a.syr
    stderr_has 'the Syrah file and -T cannot both be standard input'
    run_fail 2 sb ls --rsync-list a.syr 1
    stderr_has '--rsync-list is of whole files'
    run_fail 2 sb ls --count -T - a.syr
    stderr_has '-T goes with rows of items'
    touch empty.bag
    run_fail 2 sb ls --array=x empty.bag
    stderr_has 'empty.bag: is no Syrah file and no cache, and --array is for these'
}

@test "a tar or a bag that begins like a Syrah file is none" {
    echo x >GS
    tar -cf a.tar GS
    run_ok sb ls a.tar
    output_is GS
    printf 'GS\0\0\2\0 and then text' >record
    { cat record && printf '\24\0\0\0\0\0\0\0'; } >a.bag
    run_ok sb cat a.bag 0
    cmp record <(sb cat a.bag 0)
}

@test "what is too many for a set is said, however long the list of them" {
    run_fail 2 sb ls "$(printf 'a-name-of-some-length.syr,%.0s' {1..129})"
    stderr_has '...: stands for 129 files, and at most 128 are read as one'
}

@test "--csv, and a line of names with -v" {
    make_three
    csv_is_json ls a.syr
    run_ok sb ls -lv a.syr 1/label
    output_is 'item dtype length bytes offset array
   1 int64      1     8     36 label'
}
