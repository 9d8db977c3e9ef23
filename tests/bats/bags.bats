# Bags as containers: specs, how they are told, and the commands that read any container alike.

load helper
load bag

# make_set NAME SUFFIX: four shards that hold the records 0 to 9, three, three, none and four.
make_set() {
    make_bag "$1-00000-of-00004$2" 0 1 2
    make_bag "$1-00001-of-00004$2" 3 4 5
    make_bag "$1-00002-of-00004$2"
    make_bag "$1-00003-of-00004$2" 6 7 8 9
}

# records SPEC...: what unpack makes of it, in order of names, each followed by a blank.
records() {
    rm -rf unpacked
    sb unpack -C unpacked "$@" || return
    (cd unpacked && for name in *; do cat -- "$name" && printf ' '; done)
}

@test "a record is a file, called by its number" {
    make_bag a.bag one '' three
    run_ok sb find --printf '%p %y %s\n' a.bag
    output_is $'00000000 f 3\n00000001 f 0\n00000002 f 5'
    make_bagz a.bagz one '' three
    run_ok sb find --printf '%p %y %s\n' a.bagz
    output_is $'00000000 f 3\n00000001 f 0\n00000002 f 5'
}

@test "unpack writes each record to a file" {
    make_bagz a.bagz one '' three
    run_ok records a.bagz
    output_is "one  three "
    [[ -f unpacked/00000001 && ! -s unpacked/00000001 ]]
}

@test "diff holds bags against each other, and against a tree" {
    make_bag a.bag one two three
    make_bagz a.bagz one two three
    run_ok sb diff -C a.bagz a.bag
    sb unpack -C tree a.bag
    printf 'two and a half' >tree/00000001
    run_fail 1 sb diff -C tree a.bagz
    output_is "size: 00000001: 3 in a.bagz, 14 in tree"
}

@test "a set is read as one: by its number of shards, and by the last that is there" {
    make_set data .bag
    run_ok records data@4.bag
    output_is "0 1 2 3 4 5 6 7 8 9 "
    run_ok records data@*.bag
    output_is "0 1 2 3 4 5 6 7 8 9 "
    make_bag data-00000-of-00001.bag x
    run_ok records data@1.bag
    output_is "x "
    run_ok records data@*.bag
    output_is "0 1 2 3 4 5 6 7 8 9 "
}

@test "lists and globs, and sets among them" {
    make_set data .bag
    make_bagz more.bagz a b
    run_ok records ",more.bagz,data@4.bag,,more.bagz,"
    output_is "a b 0 1 2 3 4 5 6 7 8 9 a b "
    run_ok records 'data-0000[13]*.bag'
    output_is "3 4 5 6 7 8 9 "
    run_ok records 'fs:more.bagz'
    output_is "a b "
}

@test "each file of a list is compressed or not, and has its limits, by its own name" {
    make_bag a.bag a b
    make_bagz b.bagz c d
    make_bagz c.bagz e f
    make_bag d.bag g h
    separate c.bagz 2
    separate d.bag 2
    run_ok records a.bag,b.bagz,c.bagz,d.bag
    output_is "a b c d e f g h "
}

@test "a glob leaves out files of limits" {
    make_bag a.bag a b
    make_bag b.bag c
    separate a.bag 2
    run_ok records '*.bag'
    output_is "a b c "
}

@test "a file that is called so is meant before a spec" {
    make_set data .bag
    make_bag data@4.bag literal
    make_bag 'x,y.bag' comma
    run_ok records data@4.bag
    output_is "literal "
    run_ok records x,y.bag
    output_is "comma "
}

@test "interleaved shards: record g is in shard g modulo n" {
    make_bag i-00000-of-00003.bag 0 3 6
    make_bag i-00001-of-00003.bag 1 4 7
    make_bag i-00002-of-00003.bag 2 5
    run_ok records --layout=interleaved i@3.bag
    output_is "0 1 2 3 4 5 6 7 "
    run_ok records --layout=concatenated i@3.bag
    output_is "0 3 6 1 4 7 2 5 "
}

@test "shards of sizes that cannot be interleaved are refused" {
    make_set data .bag
    run_fail 2 sb find --layout=interleaved data@4.bag
    stderr_is "shardbox find: data@4.bag: cannot be interleaved: data-00000-of-00004.bag has 3 records, data-00002-of-00004.bag has 0"
    make_bag i-00000-of-00002.bag 0
    make_bag i-00001-of-00002.bag 1 2
    run_fail 2 sb find --layout=interleaved i@2.bag
    stderr_has "i-00000-of-00002.bag has 1 records, i-00001-of-00002.bag has 2"
}

@test "a shard that is missing is named" {
    make_set data .bag
    rm data-00002-of-00004.bag
    run_fail 2 sb find data@4.bag
    stderr_is "shardbox find: data-00002-of-00004.bag: is not there: the set is incomplete, or its writing was broken off"
    run_fail 2 sb find none.bagz
    stderr_is "shardbox find: none.bagz: No such file or directory"
    run_fail 2 sb find 'none@*.bagz'
    stderr_is "shardbox find: none@*.bagz: there is no none-00000-of-NNNNN.bagz"
    run_fail 2 sb find 'none*.bagz'
    stderr_is "shardbox find: none*.bagz: no file is called so"
}

@test "what is not on a file system is refused, with the pipe to use" {
    run_fail 2 sb find gs://bucket/data@4.bagz
    stderr_is "shardbox find: gs://bucket/data@4.bagz: is not on a file system; use a pipe: gsutil cat gs://bucket/data@4.bagz | shardbox ... --from=bagz -"
    run_fail 2 sb find /gs:/bucket/data.bag
    stderr_has "gsutil cat gs://bucket/data.bag |"
}

@test "compression and limits can be said, whatever the name" {
    make_bagz packed a b
    make_bag plain.bagz c d
    make_bag tail.bag e f
    cp tail.bag apart.bag
    separate apart.bag 2
    run_ok records --from=bag --compression=zstd packed
    output_is "a b "
    run_ok records --from=bagz packed
    output_is "a b "
    run_ok records --compression=none plain.bagz
    output_is "c d "
    run_ok records --limits=tail tail.bag
    output_is "e f "
    run_ok records --limits=separate apart.bag
    output_is "e f "
    run_fail 2 sb find --limits=separate tail.bag
    stderr_is "shardbox find: limits.tail.bag: No such file or directory"
    run_fail 1 sb unpack -C out plain.bagz
    stderr_has "is not zstd data; if it is stored as it is: --compression=none"
}

@test "--from=bagz is about files that are called neither .bag nor .bagz" {
    make_bag a.bag a
    make_bagz b.bagz b
    make_bagz c c
    run_ok records --from=bagz a.bag,b.bagz,c
    output_is "a b c "
}

@test "one of another suffix is not taken for a bag, but the message says how" {
    make_bagz packed a b
    make_bag plain a b
    run_fail 2 sb find packed
    stderr_is "shardbox find: packed: ends as a bag does; --from=bagz says that it is one"
    run_fail 2 sb find plain
    stderr_is "shardbox find: plain: ends as a bag does; --from=bag says that it is one"
}

@test "a dictionary" {
    seq 100 >words
    seq 50 | zstd -q -D words -o frame
    { cat frame && le64 "$(stat -c %s frame)"; } >d.bagz
    run_ok sb unpack --dictionary=words -C out d.bagz
    [[ $(cat out/00000000) == "$(seq 50)" ]]
    run_fail 1 sb unpack -C none d.bagz
    stderr_has "its zstd data are damaged, or need a --dictionary (offset 0)"
    [[ ! -e none/00000000 ]]
    run_fail 2 sb find --dictionary=nowhere d.bagz
    stderr_is "shardbox find: nowhere: No such file or directory"
}

@test "on a pipe, and as standard input, --from says that it is one" {
    make_bagz a.bagz one '' three
    run_ok bash -c 'cat a.bagz | "$SHARDBOX" find --from=bagz --printf "%s " -'
    output_is "3 0 5 "
    run_ok bash -c '"$SHARDBOX" find --from=bagz --printf "%s " - <a.bagz'
    output_is "3 0 5 "
    run_ok bash -c 'cat a.bagz | "$SHARDBOX" unpack --from=bagz -C out - && cat out/*'
    output_is onethree
    run_ok bash -c '"$SHARDBOX" find --from=bagz --printf "%s " <(cat a.bagz)'
    output_is "3 0 5 "
    make_bag a.bag one ''
    run_ok bash -c 'cat a.bag | "$SHARDBOX" find --from=bag --printf "%s " -'
    output_is "3 0 "
    run_ok bash -c '"$SHARDBOX" find --from=bag - < <(:)'
    output_is ""
}

@test "one from a pipe can only have its limits at its tail" {
    make_bag a.bag one
    run_fail 2 bash -c 'cat a.bag | "$SHARDBOX" find --from=bag --limits=separate -'
    stderr_is "shardbox find: standard input: its limits can only be at its tail"
}

@test "no bytes at all are a bag without records" {
    : >a.bag
    run_ok sb find a.bag
    output_is ""
    make_bag b.bag ''
    run_ok records a.bag,b.bag,a.bag
    output_is " "
}

@test "a left-over file of limits: what was whole by then is there, and it is told" {
    make_bag a.bag one two three
    separate a.bag 3
    truncate -s 7 a.bag
    run_fail 1 sb find --printf '%p %s\n' a.bag
    output_is $'00000000 3\n00000001 3'
    stderr_has "a.bag: its writing was broken off: of 3 records in its limits file, the first 2 are there"
}

@test "an append that was killed leaves the records that were there before" {
    make_bag a.bag one two three
    tail -c 24 a.bag >limits.a.bag
    printf 'new records over the limits' | put a.bag 11
    run_ok records a.bag
    output_is "one two three "
}

@test "neither pipes nor devices nor directories are bags" {
    mkfifo pipe.bag
    mkdir directory.bag
    make_bag a.bag one
    run_fail 2 timeout 5 "$SHARDBOX" find a.bag,pipe.bag
    stderr_is "shardbox find: pipe.bag: is a pipe; read it as: ... --from=bagz - <pipe.bag"
    run_fail 2 sb find a.bag,directory.bag
    stderr_is "shardbox find: directory.bag: a bag must be a regular file"
    run_fail 2 sb find --from=bag /dev/zero
    stderr_is "shardbox find: /dev/zero: is neither a file nor a pipe"
    mkfifo limits.a.bag
    run_fail 2 timeout 5 "$SHARDBOX" find a.bag
    stderr_is "shardbox find: limits.a.bag: limits must be a regular file; for those at the tail: --limits=tail"
    run_ok sb find --limits=tail a.bag
}

@test "sets of more shards than files may be open" {
    for i in {0..59}; do
        make_bag "$(printf 'm-%05d-of-00060.bag' "$i")" "$i" $((i + 60))
    done
    run_ok bash -c 'ulimit -n 40 && "$SHARDBOX" unpack --layout=interleaved -C out m@60.bag'
    [[ $(cat out/*) == $(printf %d {0..119}) ]]
}

@test "an archive that is called like a bag is read as one, unless --from says otherwise" {
    echo one >a
    sb pack packed.barecat a
    mv packed.barecat packed.bagz
    mv packed.barecat-shard-00000 packed.bagz-shard-00000
    run_ok sb ls packed.bagz
    output_is a
    run_ok sb cat packed.bagz a
    output_is one
    run_ok sb verify packed.bagz
    run_ok sb convert packed.bagz out.bagz
    run_ok sb cat out.bagz 0
    output_is one
    run_fail 2 sb ls --from=bagz packed.bagz
    stderr_has "packed.bagz: is no bag, or was cut"
}

@test "a bag whose first record is a database is a bag all the same" {
    echo one >a
    sb pack index a
    sb pack holder.barecat index
    sb convert holder.barecat tail.bag
    head -c 15 tail.bag | cmp - <(printf 'SQLite format 3')
    run_ok sb ls --count tail.bag
    output_is 1
    sb cat tail.bag 0 | cmp - index
    sb convert --limits=separate holder.barecat beside.bag
    run_ok sb ls --count beside.bag
    output_is 1
}
