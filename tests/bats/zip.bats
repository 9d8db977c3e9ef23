# Zip files, as input and as output.

load helper

# A zip of the small tree, whose times are whole seconds: leaves tree/ and a.zip.
make_zip() {
    make_tree tree
    find tree -exec touch -h -d '2001-02-03 04:05:06Z' {} +
    sb convert -q "$@" tree a.zip
}

# The place of a string of bytes in a file, from 0.
place_of() {
    LC_ALL=C grep -obUaF -- "$2" "$1" | head -1 | cut -d: -f1
}

@test "a tree goes through a zip and back unchanged" {
    make_zip
    run_ok sb convert a.zip out --to=dir
    output_is ""
    same_tree tree out
}

@test "so it does when members are stored, and they can be wrapped then" {
    make_zip --method=store
    run_ok sb convert a.zip out --to=dir
    same_tree tree out
    run_ok sb convert --wrap a.zip a.barecat
    run_ok sb diff -C tree a.barecat
}

@test "members that would not get smaller are stored, others deflated" {
    mkdir tree
    head -c 5000 /dev/urandom >tree/noise
    head -c 5000 /dev/zero >tree/zeros
    run_ok sb convert -q tree a.zip
    size=$(stat -c %s a.zip)
    ((size > 5000 && size < 6000))
    run_fail 2 sb convert --wrap a.zip a.barecat
    stderr_has "zeros"
}

@test "names that are not UTF-8 go through" {
    mkdir tree
    make_raw_names tree
    touch -d '2001-02-03 04:05:06Z' tree/*
    run_ok sb convert -q tree a.zip
    run_ok sb convert -q a.zip out --to=dir
    diff -r tree out
}

# bats test_tags=threads
@test "the bytes do not depend on the number of threads" {
    make_tree tree
    for i in {1..300}; do
        seq "$i" 1000 >"tree/$i"
    done
    head -c 5000000 /dev/zero >tree/large
    for threads in 1 2 4; do
        sb convert -q --threads=$threads tree $threads.zip
    done
    cmp 1.zip 2.zip
    cmp 1.zip 4.zip
}

@test "a file and a pipe get the same bytes" {
    make_zip
    sb convert -q --to=zip tree - | cat >b.zip
    cmp a.zip b.zip
}

@test "a large member is streamed, and is deflated or stored" {
    mkdir tree
    head -c 5000000 /dev/zero >tree/zeros
    head -c 3000000 /dev/urandom >tree/noise
    for method in deflate store; do
        run_ok sb convert -qf --method=$method tree a.zip
        run_ok sb convert -q a.zip $method --to=dir
        diff -r tree $method
        tar -cf a.tar tree
        run_ok sb convert -qf --method=$method --strip-components=1 a.tar a.zip
        run_ok sb convert -q a.zip $method-of-tar --to=dir
        diff -r tree $method-of-tar
    done
}

@test "a hard link becomes a file of its own; to a pipe it is left out and named" {
    mkdir tree
    seq 1000 >tree/a
    ln tree/a tree/b
    tar -cf a.tar -C tree a b
    run_ok sb convert a.tar a.zip
    stderr_has "hard links of 1"
    run_ok sb convert a.zip out --to=dir
    cmp tree/a out/b
    run_fail 1 bash -c '"$0" convert --to=zip a.tar - | cat >b.zip; exit "${PIPESTATUS[0]}"' "$SHARDBOX"
    stderr_has "b: is a hard link, and a zip that goes to a pipe cannot be read again"
    [[ $(sb ls b.zip) == a ]]
}

@test "a hard link to what is not there is left out and named" {
    mkdir tree
    seq 1000 >tree/a
    ln tree/a tree/b
    tar -cf a.tar -C tree a b
    run_fail 1 sb convert --exclude=a a.tar a.zip
    stderr_has "b: hard link to a, which was left out; left out"
    tar --delete -f a.tar a
    run_fail 1 sb convert a.tar b.zip
    stderr_has "b: is a hard link to what is not in the output; left out"
}

@test "of a name that comes twice the last counts" {
    echo first >a
    tar -cf a.tar a
    echo second >a
    tar -rf a.tar a
    run_ok sb convert -q a.tar a.zip
    [[ $(sb ls a.zip) == a ]]
    [[ $(sb cat a.zip a) == second ]]
}

@test "a FIFO is left out and named" {
    mkfifo pipe
    tar -cf a.tar pipe
    run_fail 1 sb convert a.tar a.zip
    stderr_has "pipe: is a FIFO"
}

@test "times that a zip cannot hold are clamped and counted" {
    mkdir tree
    touch -d '1975-01-01Z' tree/old
    touch -d '2200-01-01Z' tree/future
    touch -d '2000-01-01Z' tree tree/usual
    run_ok sb convert tree a.zip
    stderr_is "shardbox convert: a.zip: times out of range of 2 members are not held by a zip; --report=FILE lists them"
    [[ $(sb find --printf='%TY %p\n' a.zip) == *'2107 future'* ]]
    run_fail 2 sb convert --strict tree b.zip
    stderr_has "has times out of range, which b.zip does not hold"
    [[ ! -e b.zip ]]
}

@test "a zip on a pipe keeps modes and links" {
    make_zip
    run_ok sh -c 'cat a.zip | "$0" convert - out --to=dir' "$SHARDBOX"
    same_tree tree out
}

@test "a zip on a pipe that is larger than --max-size is not written to disk" {
    make_zip
    run_fail 2 sh -c 'cat a.zip | "$0" convert --max-size=100 - b.zip' "$SHARDBOX"
    stderr_has "standard input: has more than the 100 bytes that --max-size allows"
    [[ ! -e b.zip ]]
}

@test "a bomb stops at --max-size" {
    mkdir tree
    truncate -s 300M tree/zeros
    sb convert -q tree a.zip
    (($(stat -c %s a.zip) < 2000000))
    run_fail 2 sb convert --max-size=10M a.zip out --to=dir
    stderr_has "--max-size"
    run_fail 2 sb convert --max-size=10M a.zip a.barecat
    [[ ! -e a.barecat ]]
}

@test "members whose last bytes come out after all their compressed ones were taken are whole" {
    # Runs of one byte, of all lengths beyond what comes out at a time: deflate packs 258 into a bit or two.
    python3 -c 'import zipfile
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for size in range(262144, 262144 + 300, 3):
        archive.writestr(str(size), b"a" * size)'
    run_ok sb verify a.zip
    run_ok sb unpack -C out a.zip
    [[ $(find out -type f -size -262144c | wc -l) == 0 ]]
    run_ok sb convert a.zip a.barecat
    run_ok sb diff -C a.zip a.barecat
}

@test "a damaged member is named and left out, the others are taken" {
    make_zip --method=store
    place=$(place_of a.zip "below sub/dir")
    flip_byte a.zip "$place"
    run_fail 1 sb convert a.zip a.barecat
    stderr_has "sub/dir/file.bin: its bytes do not have the CRC-32 that the zip holds; left out"
    run_ok sb cat a.barecat sub/file
    run_fail 1 sb cat a.zip sub/dir/file.bin
    output_is ""
    run_ok sb cat a.zip sub/file
    run_fail 1 sb convert --to=zip --force a.zip b.zip
    [[ $(sb ls -R b.zip) != *file.bin* ]]
}

@test "a damaged large member is not in the zip that is made of it" {
    mkdir tree
    head -c 5000000 /dev/urandom >tree/large
    echo small >tree/small
    sb convert -q --method=store tree a.zip
    flip_byte a.zip 3000000
    for output in file pipe; do
        if [[ $output == file ]]; then
            run_fail 1 sb convert -q a.zip b.zip
            (($(stat -c %s b.zip) < 1000))
        else
            run_fail 1 sh -c '"$0" convert -q --to=zip a.zip - >b.zip' "$SHARDBOX"
        fi
        stderr_has "large: its bytes do not have the CRC-32"
        [[ $(sb ls b.zip) == small ]]
        [[ $(sb cat b.zip small) == small ]]
    done
}

@test "a zip that was cut short is refused" {
    make_zip
    size=$(stat -c %s a.zip)
    for cut in 1 22 100 $((size / 2)) $((size - 4)); do
        head -c "-$cut" a.zip >b.zip
        run_fail 2 sb convert b.zip c.barecat
        stderr_has "b.zip: the end of the zip is missing: it was cut short"
        [[ ! -e c.barecat ]]
    done
}

@test "bytes before a zip are another program's, those behind it are told" {
    make_zip
    { echo '#!/bin/sh'; cat a.zip; } >b.zip
    run_ok sb convert b.zip out --from=zip --to=dir
    same_tree tree out
    { cat a.zip; echo junk; } >b.zip
    run_ok sb convert b.zip c.barecat
    stderr_has "b.zip: has 5 bytes after its end"
}

@test "an interrupted or failed run leaves the old zip" {
    make_zip
    cp a.zip before.zip
    echo no >not-a-zip
    run_fail 2 sb convert -f not-a-zip a.zip
    cmp a.zip before.zip
    run_fail 2 sb convert tree a.zip
    stderr_has "a.zip"
    cmp a.zip before.zip
    [[ $(find . -name '*zip*' | sort) == $'./a.zip\n./before.zip\n./not-a-zip' ]]
}

@test "levels of deflate are 1 to 9" {
    make_zip --level=9
    run_fail 2 sb convert --level=10 tree b.zip
    [[ ! -e b.zip ]]
}

@test "65,536 members and more are zip64" {
    mkdir tree
    (cd tree && seq 70000 | xargs touch)
    run_ok sb convert -q tree a.zip
    [[ $(sb ls a.zip | wc -l) == 70000 ]]
    run_ok sb cat a.zip 70000
}

# A zip of files with these names, as DOS would have made it: the system in each record is its.
dos_zip() {
    mkdir dos
    for name; do
        touch "dos/$name"
    done
    sb convert -q --method=store dos dos.zip
    LC_ALL=C grep -obUaP 'PK\x01\x02' dos.zip | cut -d: -f1 | while read -r at; do
        printf '\0' | dd of=dos.zip bs=1 seek=$((at + 5)) conv=notrunc status=none
    done
}

@test "names that DOS wrote are CP437, unless they are UTF-8" {
    dos_zip $'M\x81ller' café
    run_ok sb find dos.zip
    output_is $'Müller\ncafé'
    run_ok sb ls --iconv=CP850 dos.zip
    output_is $'Müller\ncafé'
    run_ok sb unpack -C out dos.zip
    [[ -e out/Müller && -e out/café ]]
}

@test "--iconv says what names are, unless they are flagged as UTF-8" {
    mkdir tree
    touch tree/$'\xcd\xc9\xd2' tree/ü
    sb convert -q tree a.zip
    run_ok sb find a.zip
    output_is $'ü\n\xcd\xc9\xd2'
    run_ok sb convert --iconv=KOI8-R a.zip a.barecat
    run_ok sb find a.barecat
    output_is $'ü\nмир'
    run_fail 1 sb find --iconv=UTF-8 a.zip
    stderr_is 'shardbox find: \315\311\322: its name is not in the charset UTF-8, and is taken as it is'
    run_fail 2 sb merge --iconv=KLINGON -o m.barecat a.zip
    stderr_has "--iconv: 'KLINGON' is no charset that can be read here; 'iconv -l' lists those"
}
