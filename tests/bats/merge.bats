# shardbox merge: containers of any kind become one archive.

load helper
load bag

# Three inputs: an archive, a tar and a directory. x is in all, d in two of them.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p one/d two/d/e three/f
    echo one-a >one/d/a
    echo one-x >one/x
    echo two-b >two/d/e/b
    echo two-x >two/x
    ln -s x two/link
    echo three-c >three/f/c
    echo three-x >three/x
    chmod 700 one/d
    chmod 750 two/d
    "$SHARDBOX" pack one.barecat -C one .
    tar cf two.tar --numeric-owner -C two .
}

names() {
    sb find "${1:-out.barecat}" | tr '\n' ' '
}

# No two of these share a name.
apart() {
    rm two/x three/x
    tar cf two.tar --numeric-owner -C two .
}

# bats test_tags=threads
@test "archives, tars and directories become one archive" {
    apart
    run_ok sb merge -o out.barecat one.barecat two.tar three
    output_is ""
    stderr_is ""
    [[ $(names) == "d d/a d/e d/e/b f f/c link x " ]]
    [[ $(sb cat out.barecat d/a d/e/b f/c x) == $'one-a\ntwo-b\nthree-c\none-x' ]]
    run_ok sb verify --strict out.barecat
    [[ $(sql out.barecat "SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM dirs
        ORDER BY path") == '|2|2|5|27
d|1|1|2|12
d/e|0|1|1|6
f|0|1|1|8' ]]
}

@test "zip, cpio, compressed tar and standard input too" {
    apart
    (cd two && find . | cpio -o -H newc --quiet >../two.cpio)
    (cd three && python3 -m zipfile -c ../three.zip f)
    gzip -k two.tar
    run_ok sb merge -o out.barecat one.barecat two.tar.gz three.zip
    names=$(names)
    run_ok sb merge -f -o out.barecat three.zip - one.barecat <two.cpio
    [[ $(names) == "$names" ]]
    [[ $(sb cat out.barecat d/e/b) == two-b ]]
    run_ok sb verify --strict out.barecat
}

@test "of a name that two have the first is taken, both are named, and the status is that of convert" {
    local text='only the first is taken (see --duplicates, --prefix and --as-subdirs)'
    run_fail 1 sb merge -o out.barecat one.barecat two.tar
    stderr_is "shardbox merge: x: is in one.barecat and in two.tar; $text
shardbox merge: out.barecat: done in part; problems, named above: 1"
    run_fail 1 sb convert one.barecat two.tar by-convert.barecat
    cmp <(sql out.barecat "SELECT path, size, crc32c FROM files ORDER BY path") \
        <(sql by-convert.barecat "SELECT path, size, crc32c FROM files ORDER BY path")
    [[ $(sb cat out.barecat x) == $(sb cat one.barecat x) ]]

    sb merge -f -o out.barecat three
    run_fail 1 sb merge --append -o out.barecat one.barecat
    stderr_has "x: is in the archive already; left out (see --duplicates, --prefix and --as-subdirs)"
    [[ $(sb cat out.barecat x) == "$(cat three/x)" ]]
    run_ok sb verify --strict out.barecat
    before=$(md5sum out.barecat*)
    run_fail 2 sb merge --strict --force -o out.barecat - one.barecat <two.tar
    stderr_has "x: is in standard input and in one.barecat"
    run_fail 2 sb merge --strict --append -o out.barecat two.tar
    [[ $(md5sum out.barecat*) == "$before" ]]
}

@test "--duplicates=first and last, whatever the kinds and their order" {
    for order in "one.barecat two.tar three" "three one.barecat two.tar" "two.tar three one.barecat"; do
        read -ra inputs <<<"$order"
        run_ok sb merge -f -v --duplicates=first -o out.barecat "${inputs[@]}"
        stderr_has "files passed over, for another has the name: 2"
        [[ $(sb cat out.barecat x) == "${inputs[0]%%.*}-x" ]]
        [[ $(names) == "d d/a d/e d/e/b f f/c link x " ]]
        run_ok sb verify --strict out.barecat
        run_ok sb merge -f -v --duplicates=last -o out.barecat "${inputs[@]}"
        [[ $(sb cat out.barecat x) == "${inputs[2]%%.*}-x" ]]
        [[ $(names) == "d d/a d/e d/e/b f f/c link x " ]]
        run_ok sb verify --strict out.barecat
    done
}

@test "bytes that do not count are not copied" {
    for which in first last; do
        run_ok sb merge -f --duplicates="$which" -o out.barecat one.barecat two.tar three
        ((
            $(stat -c %s out.barecat-shard-00000) ==
            $(sql out.barecat "SELECT sum(size) FROM files")
        )) || fail "there are gaps: $which"
    done
}

@test "of a name that comes twice within a tar the last counts, also against other inputs" {
    mkdir again
    echo again >again/x
    tar rf two.tar --numeric-owner -C again x
    run_ok sb merge -o out.barecat two.tar
    [[ $(sb cat out.barecat x) == again ]]
    run_ok sb merge -f --duplicates=last -o out.barecat one.barecat two.tar
    [[ $(sb cat out.barecat x) == again ]]
    run_ok sb merge -f --duplicates=first -o out.barecat two.tar one.barecat
    [[ $(sb cat out.barecat x) == again ]]
    run_ok sb merge -f --duplicates=first -o out.barecat one.barecat two.tar
    [[ $(sb cat out.barecat x) == one-x ]]
    run_ok sb verify --strict out.barecat
}

@test "directories are never duplicates; whose mode they have" {
    mode_of() {
        sql out.barecat "SELECT printf('%o', mode & 511) FROM dirs WHERE path = 'd'"
    }
    apart
    run_ok sb merge -o out.barecat one.barecat two.tar
    [[ $(mode_of) == 700 ]]
    run_ok sb merge -f --duplicates=first -o out.barecat two.tar one.barecat
    [[ $(mode_of) == 750 ]]
    run_ok sb merge -f --duplicates=last -o out.barecat one.barecat two.tar
    [[ $(mode_of) == 750 ]]
    run_ok sb merge -f --duplicates=last -o out.barecat two.tar one.barecat
    [[ $(mode_of) == 700 ]]
    for which in error first; do
        run_ok sb merge -f -o out.barecat one.barecat
        run_ok sb merge --append --duplicates="$which" -o out.barecat two.tar
        [[ $(mode_of) == 700 ]]
    done
    run_ok sb merge -f -o out.barecat one.barecat
    run_ok sb merge --append --duplicates=last -o out.barecat two.tar
    [[ $(mode_of) == 750 ]]
    run_ok sb verify --strict out.barecat
}

@test "a directory of which an input knows nothing but the name takes nothing from another" {
    tar cf bare.tar --numeric-owner --no-recursion -C two d/e/b
    apart
    sb convert bare.tar bare.barecat
    for which in first last; do
        rm two/d/e/b
        tar cf two.tar --numeric-owner -C two .
        run_ok sb merge -f --duplicates="$which" -o out.barecat bare.barecat two.tar bare.tar
        [[ $(sql out.barecat "SELECT printf('%o', mode & 511) FROM dirs WHERE path = 'd'") == 750 ]]
        echo two-b >two/d/e/b
    done
}

# bats test_tags=threads
@test "--append comes behind what is there" {
    sb merge -o out.barecat one.barecat
    run_ok sb merge --append --duplicates=first -o out.barecat two.tar three
    [[ $(sb cat out.barecat x) == one-x ]]
    [[ $(names) == "d d/a d/e d/e/b f f/c link x " ]]
    run_ok sb merge --append --duplicates=last -o out.barecat three two.tar
    [[ $(sb cat out.barecat x) == two-x ]]
    run_ok sb verify --strict out.barecat
}

@test "--as-subdirs: each under its own name" {
    gzip two.tar
    run_ok sb merge --as-subdirs -o out.barecat one.barecat two.tar.gz three/
    [[ $(names) == "one one/d one/d/a one/x three three/f three/f/c three/x two two/d two/d/e two/d/e/b two/link two/x " ]]
    [[ $(sql out.barecat "SELECT printf('%o', mode & 511) FROM dirs WHERE path = 'two/d'") == 750 ]]
    run_ok sb verify --strict out.barecat
    run_ok sb merge --append --as-subdirs --prefix=in/here -o out.barecat one.barecat
    [[ $(sb cat out.barecat in/here/one/x) == one-x ]]
    (cd three && sb merge --as-subdirs -o ../dot.barecat .)
    [[ $(names dot.barecat) == "three three/f three/f/c three/x " ]]
    run_ok sb verify --strict out.barecat
}

@test "--as-subdirs: two alike, and what has no name" {
    mkdir in
    cp two.tar in/one.tar
    run_fail 2 sb merge --as-subdirs -o out.barecat one.barecat in/one.tar
    stderr_has "both would be the subdirectory one; give one another name"
    run_fail 2 sb merge --as-subdirs -o out.barecat one.barecat - <two.tar
    stderr_has "standard input has no name to be a subdirectory's"
    run_fail 2 sb merge --as-subdirs -o out.barecat one.barecat /
    stderr_has "/: has no name that a subdirectory could have"
    [[ $(echo out.barecat*) == 'out.barecat*' ]]
}

@test "--prefix, --include, --exclude and --shard-size" {
    run_ok sb merge --prefix=p/q --exclude=x --shard-size=6 -o out.barecat one.barecat two.tar three
    [[ $(names) == "p p/q p/q/d p/q/d/a p/q/d/e p/q/d/e/b p/q/f p/q/f/c p/q/link " ]]
    [[ -e out.barecat-shard-00003 ]]
    run_ok sb verify --strict out.barecat
    run_ok sb merge -f --include='d/' -o out.barecat one.barecat two.tar three
    [[ $(names) == "d d/a d/e d/e/b " ]]
}

@test "--prefix makes its directory of an archive whose root has no row, or an empty one" {
    local name
    mkdir none
    sb pack none.barecat -C none .
    sb pack bare.barecat -T /dev/null
    cp none.barecat rowless.barecat
    cp none.barecat-shard-00000 rowless.barecat-shard-00000
    sql rowless.barecat "DELETE FROM dirs"
    for name in none bare rowless; do
        run_ok sb merge -f --prefix=in/new -o out.barecat $name.barecat
        [[ $(names) == 'in in/new ' ]]
        sb merge -f -o out.barecat one.barecat
        run_ok sb merge --append --prefix=in/new -o out.barecat $name.barecat
        [[ $(names) == 'd d/a in in/new x ' ]]
        run_ok sb merge-symlink --append --prefix=in/other -o out.barecat $name.barecat
        [[ $(names) == 'd d/a in in/new in/other x ' ]]
        run_ok sb verify --strict out.barecat
        [[ $(sql out.barecat "SELECT mode & 511 FROM dirs WHERE path = ''") == \
            "$(sql one.barecat "SELECT mode & 511 FROM dirs WHERE path = ''")" ]]
    done
    run_ok sb convert rowless.barecat out.tar
    [[ -z $(tar tf out.tar) ]]
}

@test "a name that is a file in one and a directory in another: the file is left out" {
    mkdir four
    echo four >four/d
    for inputs in "one.barecat four" "four one.barecat"; do
        read -ra inputs <<<"$inputs"
        run_fail 1 sb merge -f -o out.barecat "${inputs[@]}"
        stderr_has "d: is a directory as well; the file was left out"
        [[ $(names) == "d d/a x " ]]
        run_ok sb verify --strict out.barecat
    done
    run_fail 2 sb merge -f --strict -o out.barecat one.barecat four
}

@test "hard links keep their bytes, or are named" {
    ln two/x two/y
    tar cf two.tar --numeric-owner -C two ./x ./y
    run_ok sb merge -o out.barecat two.tar
    [[ $(sb cat out.barecat y) == two-x ]]
    run_fail 1 sb merge -f --duplicates=first -o out.barecat one.barecat two.tar
    stderr_has "y: hard link to x, which is taken from one.barecat; left out"
    [[ $(names) == "d d/a x " ]]
    run_ok sb merge -f --duplicates=last -o out.barecat one.barecat two.tar
    [[ $(sb cat out.barecat x y) == $'two-x\ntwo-x' ]]
    run_ok sb verify --strict out.barecat
}

@test "damage is named, and never stored under a fresh checksum" {
    apart
    printf X | dd of=one.barecat-shard-00000 bs=1 conv=notrunc status=none
    run_fail 1 sb merge -o out.barecat one.barecat two.tar
    stderr_has "d/a: its bytes do not match their checksum; left out"
    stderr_has "out.barecat: done in part; problems, named above: 1"
    [[ $(names) == "d d/e d/e/b link x " ]]
    run_ok sb verify --strict out.barecat
    run_fail 2 sb merge -f --strict -o out.barecat one.barecat two.tar
    [[ $(names) == "d d/e d/e/b link x " ]]
}

@test "an error leaves what was there" {
    sb merge -o out.barecat three
    before=$(md5sum out.barecat*)
    head -c 2000 two.tar >cut.tar
    run_fail 2 sb merge -f --duplicates=first -o out.barecat one.barecat cut.tar
    run_fail 2 sb merge -f -o out.barecat one.barecat none.tar
    stderr_has "none.tar"
    run_fail 2 sb merge -o out.barecat one.barecat
    stderr_has "out.barecat: there is an archive already; use --append to add to it, or --force to replace it"
    [[ $(md5sum out.barecat*) == "$before" ]]
}

@test "an input that is the output is refused" {
    before=$(md5sum one.barecat*)
    run_fail 2 sb merge -f -o one.barecat two.tar one.barecat
    stderr_has "one.barecat: is input and output at once"
    run_fail 2 sb merge --append --prefix=p -o one.barecat ./one.barecat
    stderr_has "is input and output at once"
    [[ $(md5sum one.barecat*) == "$before" ]]
}

@test "-n names all that two have, and writes nothing" {
    run_fail 1 sb merge -n -o out.barecat one.barecat two.tar three
    stderr_has "x: is in one.barecat and in two.tar"
    stderr_has "x: is in one.barecat and in three"
    stderr_has "out.barecat: would not be whole; problems, named above: 2"
    run_ok sb merge -n -v --duplicates=last -o out.barecat one.barecat two.tar three
    grep -qx f/c <<<"$output"
    [[ $(echo out.barecat*) == 'out.barecat*' ]]
    sb pack out.barecat -C three .
    before=$(md5sum out.barecat*)
    run_fail 1 sb merge -n --append -o out.barecat one.barecat
    stderr_has "x: is in the archive already; left out (see --duplicates, --prefix and --as-subdirs)"
    [[ $(md5sum out.barecat*) == "$before" ]]
}

@test "what tars have and archives do not is counted, and listed in the report" {
    ln two/d/e/b two/d/e/again
    tar cf two.tar --format=pax -C two d
    run_ok sb merge --report=report -o out.barecat one.barecat two.tar
    stderr_has "hard links of 1 member are not held"
    run_ok cat report
    output_has ',"lost":["hard-links"]'
}

# bats test_tags=threads
@test "the bytes do not depend on the number of threads" {
    for ((i = 0; i < 300; i++)); do
        head -c $((i * 37)) /dev/zero | tr '\0' "$((i % 10))" >"three/f/$i"
    done
    run_ok sb merge --duplicates=last -j1 --shard-size=64K -o a.barecat one.barecat two.tar three
    run_ok sb merge --duplicates=last -j5 --shard-size=64K -o b.barecat one.barecat two.tar three
    for shard in a.barecat-shard-*; do
        cmp "$shard" "b${shard#a}"
    done
    diff <(sql a.barecat "SELECT * FROM files ORDER BY path") \
        <(sql b.barecat "SELECT * FROM files ORDER BY path")
}

@test "usage" {
    run_fail 2 sb merge one.barecat
    stderr_has "give at least one INPUT, and OUTPUT"
    run_fail 2 sb merge -o out.barecat
    stderr_has "give at least one INPUT"
    run_fail 2 sb merge -o - one.barecat
    stderr_has "cannot be written to a pipe"
    run_fail 2 sb merge -o out.tar.gz one.barecat
    stderr_has "what is made is an archive, and cannot be called like a tar, cpio, zip, bag or Syrah file; 'shardbox convert' turns it into one"
    run_fail 2 sb merge -o out.barecat - -
    stderr_has "standard input can be only one of the INPUTs"
    run_fail 2 sb merge -o out.barecat one.barecat ''
    stderr_has "the name of an INPUT is empty"
    run_fail 2 sb merge --append --force -o out.barecat one.barecat
    stderr_has "--append and --force exclude each other"
}

@test "bags are merged as files, called by their numbers" {
    make_bag a.bag one two
    make_bagz b.bagz three
    make_bagz s-00000-of-00002.bagz four
    make_bagz s-00001-of-00002.bagz five
    run_fail 1 sb merge -o m.barecat a.bag b.bagz
    stderr_has "00000000: is in a.bag and in b.bagz; only the first is taken (see --duplicates, --prefix and --as-subdirs)"
    run_ok sb merge -f --as-subdirs -o m.barecat a.bag b.bagz s@2.bagz
    run_ok sb find --printf '%p %s\n' --type f m.barecat
    output_is $'a/00000000 3\na/00000001 3\nb/00000000 5\ns@2/00000000 4\ns@2/00000001 4'
    run_ok sb cat m.barecat s@2/00000001
    output_is five
    run_ok sb merge -o joined.barecat a.bag,b.bagz
    run_ok sb cat joined.barecat 00000002
    output_is three
    run_ok sb merge --append -o joined.barecat --prefix=more s@2.bagz
    run_ok sb cat joined.barecat more/00000000
    output_is four
    run_ok sb verify joined.barecat
}

@test "OUTPUT typed first, as pack has it, is told from an INPUT that is missing" {
    mkdir -p first
    echo x >first/file
    sb pack first.barecat first
    sb pack second.barecat -C first .
    for command in merge merge-symlink "convert --force"; do
        read -ra words <<<"$command"
        run_fail 2 sb "${words[@]}" joined.barecat first.barecat second.barecat
        stderr_is "shardbox ${command% *}: joined.barecat: no such file, and second.barecat, which is there, would be OUTPUT, as the last operand is; name OUTPUT with -o"
        run_fail 2 sb "${words[@]}" -o new.barecat joined.barecat first.barecat
        stderr_lacks "name OUTPUT"
    done
    sb verify second.barecat
}
