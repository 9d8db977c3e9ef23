#!/usr/bin/env bats
# The same bytes seen two ways: records of bags as files of an archive, and files of an archive as
# records of bags.

load helper
load bag

# Records, and keys of another order, empty ones in a row and at both ends.
make_pair() {
    make_bag data.bag '' one '' '' 'the fifth' '' ''
    make_bag keys.bag z dir/y x w v dir/u t
}

# The names in order of their addresses.
names() {
    sb find --sort=address "$1" --type=f
}

# same_files ARCHIVE ARCHIVE
same_files() {
    rm -rf first second
    sb unpack -C first "$1" && sb unpack -C second "$2" && diff -r first second
}

# bags_agree BAG BAG: the same records in the same order.
bags_agree() {
    cmp <(sb cat --frame=u32 "$1") <(sb cat --frame=u32 "$2")
}

@test "a record becomes a file that is called by its number" {
    make_bag data.bag one '' three
    run_ok sb convert data.bag a.barecat
    run_ok sb find a.barecat --type=f
    output_is $'00000000\n00000001\n00000002'
    run_ok sb cat a.barecat 00000002
    output_is three
    run_ok sb verify --strict a.barecat
}

@test "--name-format says what it is called" {
    make_bag data.bag one two
    run_ok sb convert --name-format=r/%03d.pb data.bag a.barecat
    run_ok sb find a.barecat --type=f
    output_is $'r/000.pb\nr/001.pb'
    run_ok sb convert --name-format=100%%-%d data.bag b.barecat
    run_ok sb find b.barecat
    output_is $'100%-0\n100%-1'
    for format in name %s %d%d %5000000d %; do
        run_fail 2 sb convert --name-format="$format" data.bag c.barecat
        [[ ! -e c.barecat ]]
    done
    run_fail 2 sb convert --name-format=%d --keys=data.bag data.bag c.barecat
    stderr_has 'choose one'
}

@test "records of several bags are numbered on" {
    make_bag one.bag a b
    make_bagz two.bagz c '' d
    run_ok sb convert one.bag two.bagz one.bag a.barecat
    run_ok sb cat a.barecat 00000000 00000002 00000004 00000006
    output_is acdb
    make_bag keys.bag k0 k1 k2 k3 k4
    run_ok sb convert --keys=keys.bag one.bag two.bagz b.barecat
    run_ok sb cat b.barecat k1 k2 k4
    output_is bcd
    run_ok sb convert --keys=keys.bag one.bag,two.bagz c.barecat
    same_files b.barecat c.barecat
}

@test "with keys, a bag becomes an archive and a bag again: the same records in the same order" {
    make_pair
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    run_ok sb verify --strict a.barecat
    run_ok sb cat a.barecat dir/y v
    output_is 'onethe fifth'
    run_ok sb convert --keys=keys2.bag a.barecat data2.bag
    cmp data.bag data2.bag
    cmp keys.bag keys2.bag
}

@test "also as compressed sets, and by way of a shard limit" {
    make_pair
    run_ok sb convert --keys=keys.bag --shard-size=5 data.bag a.barecat
    run_ok sb convert a.barecat data@3.bagz --keys=keys@3.bagz
    bags_agree data.bag data@3.bagz
    bags_agree keys.bag keys@3.bagz
    run_ok sb convert data@3.bagz --keys=keys@3.bagz b.barecat
    same_files a.barecat b.barecat
}

@test "keys are cut as the records are only where their own number of shards is open" {
    make_pair
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    run_ok sb convert --count=2 a.barecat 'b@*.bag' --keys='b-keys@*.bag'
    [[ -e b-00000-of-00004.bag && -e b-keys-00000-of-00004.bag ]]
    run_ok sb convert --count=2 a.barecat 'c@*.bag' --keys=c-keys@2.bag
    bags_agree keys.bag c-keys@2.bag
}

@test "a key that comes twice: the last record counts, as with names of any container" {
    make_bag data.bag one two three
    make_bag keys.bag same other same
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    run_ok sb cat a.barecat same
    output_is three
    run_fail 1 sb convert --keys=keys.bag --duplicates=error data.bag b.barecat
    run_ok sb cat b.barecat same
    output_is one
}

@test "keys that are no names are named and left out" {
    make_bag data.bag one two three four
    make_bag keys.bag good '' ../up fine
    run_fail 1 sb convert --keys=keys.bag data.bag a.barecat
    stderr_has '../up'
    run_ok sb find a.barecat --type=f
    output_is $'fine\ngood'
    run_fail 2 sb convert --strict --keys=keys.bag data.bag b.barecat
    [[ ! -e b.barecat ]]
}

@test "more keys than records, or fewer, are refused before anything is written" {
    make_bag data.bag one two three
    make_bag few.bag a b
    make_bag many.bag a b c d
    for keys in few many; do
        for output in a.barecat tree/ a.tar; do
            run_fail 2 sb convert --keys=$keys.bag data.bag $output
            stderr_has "$keys.bag: has"
            stderr_has 'there are 3 records'
            [[ ! -e $output ]]
        done
        run_fail 2 sh -c '"$0" convert --from=bag --keys=$1.bag - a.barecat <data.bag' "$SHARDBOX" $keys
        [[ ! -e a.barecat ]]
    done
}

@test "keys that are there are only replaced under --force" {
    make_pair
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    printf precious >there.bag
    run_fail 2 sb convert --keys=there.bag a.barecat out.bag
    stderr_has 'there.bag'
    [[ $(<there.bag) == precious && ! -e out.bag ]]
    run_fail 2 sb convert --limits-only --keys=there.bag a.barecat
    [[ $(<there.bag) == precious ]]
    run_ok sb convert --force --keys=there.bag a.barecat out.bag
    cmp there.bag keys.bag
}

@test "--append with keys: both grow, and where they do not go together nothing does" {
    make_pair
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    run_ok sb convert --keys=k.bag a.barecat b.bag
    run_ok sb convert --append --keys=k.bag a.barecat b.bag
    for bag in k b; do
        run_ok sb ls --count $bag.bag
        output_is 14
    done
    cp b.bag before
    run_ok sb convert k.bag,keys.bag longer.bag
    run_fail 2 sb convert --append --keys=longer.bag a.barecat b.bag
    stderr_has 'longer.bag: has 21 keys, and b.bag 14 records; make it anew by convert --records=:14'
    run_fail 2 sb convert --append --keys=keys.bag a.barecat b.bag
    stderr_has 'append to a bag with a key for each of them'
    cmp b.bag before
}

@test "keys and dictionaries replace neither an input, nor an archive, nor the output, also under --force" {
    make_pair
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    run_ok sb convert a.barecat a.tar
    mkdir before
    cp -a -- *.* before/
    for keys in a.barecat a.barecat-shard-00000 a.tar out.bag limits.out.bag; do
        run_fail 2 sb convert --force --keys=$keys a.tar out.bag
        stderr_has "$keys: is "
    done
    run_fail 2 sb convert --force --keys=out-00001-of-00003.bag a.tar out@3.bag
    stderr_has 'out-00001-of-00003.bag: is both the bag of keys and OUTPUT; choose another bag of keys'
    for keys in a.barecat a.barecat-shard-00000; do
        run_fail 2 sb convert --force --limits-only --keys=$keys a.barecat
        stderr_has "$keys: is "
    done
    for dictionary in data.bag a.barecat a.barecat-shard-00000 out.bagz; do
        run_fail 2 sb convert --force --dictionary=$dictionary data.bag out.bagz
        stderr_has "$dictionary: is "
    done
    rm -f stdout stderr
    diff -r . before --exclude=before --exclude="separate-stderr-*"
}

@test "--wrap: an index over a bag's own bytes, which verify and every command read" {
    make_pair
    cp data.bag kept
    run_ok sb convert --wrap --keys=keys.bag data.bag a.barecat
    [[ $(readlink a.barecat-shard-00000) == data.bag ]]
    run_ok sb verify --strict a.barecat
    run_ok sb cat a.barecat dir/y v
    output_is 'onethe fifth'
    run_ok sb convert --keys=keys2.bag a.barecat data2.bag
    cmp data.bag data2.bag
    cmp keys.bag keys2.bag
    cmp data.bag kept
    rm a.barecat*
    run_ok sb convert --wrap --no-checksum --name-format=%d data.bag a.barecat
    run_ok sb cat a.barecat 1
    output_is one
}

@test "--wrap of sets: a shard for each file, names numbered on, also of interleaved ones" {
    make_bag set-00000-of-00003.bag a '' c
    make_bag set-00001-of-00003.bag d e
    make_bag set-00002-of-00003.bag '' g
    run_ok sb convert --wrap 'set@*.bag' a.barecat
    [[ $(readlink a.barecat-shard-00002) == set-00002-of-00003.bag ]]
    run_ok sb find a.barecat --printf='%p=%s '
    output_is '00000000=1 00000001=0 00000002=1 00000003=1 00000004=1 00000005=0 00000006=1 '
    run_ok sb cat a.barecat 00000002 00000004 00000006
    output_is ceg
    run_ok sb convert --wrap --layout=interleaved set@3.bag b.barecat
    for i in {0..6}; do
        sb cat b.barecat "0000000$i"
    done >got
    sb cat --layout=interleaved set@3.bag | cmp - got
    run_ok sb verify --strict b.barecat
}

@test "--wrap --records: some records of a bag in one file, by the numbers that they have there" {
    make_pair
    run_ok sb convert --wrap --records=4:0:-3 data.bag a.barecat
    run_ok sb find a.barecat
    output_is $'00000001\n00000004'
    run_ok sb cat a.barecat 00000004
    output_is 'the fifth'
    make_bag set-00000-of-00002.bag a b
    make_bag set-00001-of-00002.bag c d
    run_fail 2 sb convert --wrap --records=1 set@2.bag b.barecat
    stderr_is 'shardbox convert: set@2.bag: --records with --wrap is for a bag in one file; convert it without --wrap'
    [[ ! -e b.barecat ]]
}

@test "--wrap takes what is stored as it is, whatever it is called, and refuses what is compressed" {
    make_bagz data.bagz one two
    make_bag plain.bagz one two
    run_fail 2 sb convert --wrap data.bagz a.barecat
    stderr_has 'data.bagz: its records are compressed'
    stderr_has 'without --wrap'
    [[ ! -e a.barecat ]]
    run_ok sb convert --wrap --compression=none plain.bagz a.barecat
    run_ok sb cat a.barecat 00000001
    output_is two
    make_bag apart.bag one two
    separate apart.bag 2
    run_ok sb convert --wrap apart.bag b.barecat
    run_ok sb cat b.barecat 00000001
    output_is two
}

# An archive of four shards, with empty files and a link.
make_shards() {
    mkdir tree
    for i in {1..9}; do
        : >"tree/e$i"
        seq "$((i * 20))" >"tree/f$i"
    done
    ln -s f1 tree/link
    sb pack --shard-size=1000 a.barecat -C tree .
}

@test "--limits-only: shards are bags by a file with their limits, and no byte of theirs changes" {
    make_shards
    sha256sum a.barecat* >sums
    run_ok sb convert --limits-only --keys=keys.bag a.barecat
    output_is ''
    stderr_is ''
    sha256sum --quiet -c sums
    [[ -e limits.a.barecat-shard-00003 ]]
    run_ok sb convert --keys=keys2.bag a.barecat copy.bag
    cmp keys.bag keys2.bag
    run_ok sb verify --from=bag 'a.barecat-shard-*'
    sb cat --from=bag --frame=u32 'a.barecat-shard-*' >got
    sb cat --frame=u32 copy.bag | cmp - got
    run_ok sb cat --from=bag --keys=keys.bag 'a.barecat-shard-*' f7
    [[ $output == "$(seq 140)" ]]
    run_ok sb verify --strict a.barecat
}

@test "--limits-only -v says how many; an archive without files has a shard without records" {
    make_shards
    run_ok sb convert --limits-only -v a.barecat
    stderr_is 'shardbox convert: a.barecat: wrote limits of 19 records in 4 shards'
    mkdir nothing
    sb pack b.barecat -C nothing .
    run_ok sb convert --limits-only b.barecat
    run_ok sb ls --count --from=bag b.barecat-shard-00000
    output_is 0
}

@test "--limits-only refuses gaps, with the first place, and what closes them; nothing is made then" {
    make_shards
    # In the middle of a shard, at the end of one, and all of one.
    for name in f3 f7 f8; do
        sb rm a.barecat "$name"
        run_fail 2 sb convert --limits-only --keys=keys.bag a.barecat
        stderr_has 'belong to no file'
        stderr_has 'shardbox defrag'
        [[ ! -e keys.bag && -z $(ls limits.* 2>/dev/null) ]]
        sb defrag a.barecat
    done
    run_ok sb convert --limits-only --keys=keys.bag a.barecat
}

@test "--limits-only refuses files that share bytes, and rows that cannot be" {
    make_shards
    sql a.barecat "UPDATE files SET offset = offset - 1 WHERE path = 'f2'"
    run_fail 2 sb convert --limits-only a.barecat
    stderr_has 'f2: shares bytes with another file'
    sql a.barecat "UPDATE files SET offset = offset + 1, size = size + 100000 WHERE path = 'f2'"
    run_fail 2 sb convert --limits-only a.barecat
    stderr_has 'f2: ends after the end'
    sql a.barecat "UPDATE files SET size = -1 WHERE path = 'f2'"
    run_fail 2 sb convert --limits-only a.barecat
    stderr_has 'shardbox verify'
    [[ -z $(ls limits.* 2>/dev/null) ]]
}

@test "--limits-only replaces limits under --force alone, writes none in a dry run, and takes one archive" {
    make_shards
    run_ok sb convert --limits-only --dry-run --keys=keys.bag a.barecat
    [[ ! -e keys.bag && -z $(ls limits.* 2>/dev/null) ]]
    run_ok sb convert --limits-only a.barecat
    run_fail 2 sb convert --limits-only a.barecat
    stderr_has '--force'
    run_ok sb convert --limits-only --force a.barecat
    run_fail 2 sb convert --limits-only a.barecat b.barecat
    run_fail 2 sb convert --limits-only
    run_fail 2 sb convert --limits-only --wrap a.barecat
    stderr_has '--limits-only changes no bytes'
}

@test "limits are of the archive as it was: records that came later are not among them" {
    make_shards
    run_ok sb convert --limits-only a.barecat
    mkdir more
    printf 'later\n' >more/later
    sb pack --append a.barecat -C more .
    run_ok sb ls --count --from=bag 'a.barecat-shard-*'
    output_is 19
    run_ok sb convert --limits-only --force a.barecat
    run_ok sb cat --from=bag 'a.barecat-shard-*' -1
    output_is later
}

# Many small records that have much in common, a line each.
make_lines() {
    seq -f '{"user": "someone-%.0f", "action": "looked at", "page": "/a/page/of/the/site"}' "$1"
}

@test "a dictionary of zstd --train: records are stored with it, and with another one anew" {
    mkdir tree
    (cd tree && make_lines 2000 | split -l 1 -a 4 -d)
    zstd -q --train tree/* --maxdict=2048 -o d
    zstd -q --train tree/x1* --maxdict=1024 -o other
    sb pack a.barecat -C tree .
    tar -cf a.tar -C tree .
    sb convert a.tar plain.bagz
    for input in a.barecat a.tar tree; do
        run_ok sb convert --dictionary=d "$input" "$input.bagz"
        run_ok sb verify --dictionary=d "$input.bagz"
    done
    (($(stat -c %s a.tar.bagz) < $(stat -c %s plain.bagz) * 2 / 3))
    run_fail 1 sb cat a.tar.bagz 0
    for threads in 1 3; do
        run_ok sb convert --threads=$threads --from-dictionary=d a.tar.bagz --dictionary=other t$threads.bagz
    done
    cmp t1.bagz t3.bagz
    sb cat --dictionary=d a.tar.bagz >before
    sb cat --dictionary=other t1.bagz | cmp - before
}

@test "keys that hold NUL, that are too long, or a directory's name: left out and named" {
    make_bag data.bag one two three four
    printf 'a\0bgoodgood/below%070000d' 7 >keys.bag
    le64 3 7 17 70017 >>keys.bag
    run_fail 1 sb convert --keys=keys.bag data.bag a.barecat
    stderr_has 'NUL'
    stderr_has 'longer than any name'
    run_ok sb cat a.barecat good/below
    output_is three
    run_ok sb verify --strict a.barecat
}

@test "an append that was killed between records and keys, whose records are moved away: nothing is guessed" {
    need_shim
    make_pair
    mkdir none x y
    run_ok sb convert --keys=keys.bag data.bag a.barecat
    run_ok sb convert --keys=y/k.bag a.barecat x/b.bag
    local n refused=0 count
    for ((n = 1; ; n++)); do
        rm -rf at
        mkdir at
        cp -r x y at
        run env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=write,sync,rename,unlink,create FAULT_AT=$n \
            FAULT_HOW=kill "$SHARDBOX" convert -q --append --keys=at/y/k.bag a.barecat at/x/b.bag
        ((status == 137)) || break
        mv at/x away
        run --separate-stderr sb convert -q --append none at/y/k.bag
        if ((status != 0)); then
            refused=$((refused + 1))
            stderr_is "shardbox convert: at/y/k.bag: keys were being added to it, and their records to \
$PWD/at/x/b.bag, which is missing, so that it is unknown whether they were added; bring it back"
        fi
        mv away at/x
        run_ok sb convert -q --append --keys=at/y/k.bag none at/x/b.bag
        run_ok sb ls --count at/x/b.bag
        count=$output
        run_ok sb ls --count at/y/k.bag
        output_is "$count"
        [[ $(find at -name '*shardbox*' -o -name 'limits*') == '' ]] || fail "call $n: $(find at)"
    done
    ((status == 0 && n > 20 && refused > 0)) || fail "$n calls, $refused refused"
}
