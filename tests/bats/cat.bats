# shardbox cat: files of an archive to standard output, by name.

load helper

# damage NAME: inverts the first stored byte of a file.
damage() {
    local at
    at=$(sql a.barecat "SELECT offset FROM files WHERE path = '$1'")
    flip_byte a.barecat-shard-00000 "$at"
}

# A large file (over 64 MB, so that it is not held), a small one before and after it.
make_large_archive() {
    mkdir large
    echo before >large/a
    truncate -s 67M large/big
    echo after >large/c
    sb pack a.barecat -C large .
}

@test "one file is written as it was packed" {
    make_archive
    sb cat a.barecat numbers | cmp - tree/numbers
}

@test "several files come in the order in which they are named, also twice" {
    make_archive
    run_ok sb cat a.barecat sub/file a.txt empty sub/dir/file.bin a.txt
    output_is $'below sub\nhello\nbelow sub/dir\nhello'
}

@test "every name of a tree gives the file's bytes, whatever is in the name" {
    make_archive
    (cd tree && find . -type f -printf '%P\0' | LC_ALL=C sort -z) >names
    sb cat -0 -T names a.barecat >got
    (cd tree && xargs -0 cat -- <../names) | cmp - got
}

@test "names that are not UTF-8 are found" {
    make_tree tree
    make_raw_names tree
    sb pack -q a.barecat -C tree .
    run_ok sb cat a.barecat $'caf\xe9' $'r\xe9p/file'
    output_is $'latin\nbelow latin'
}

@test "a leading slash or ./ does not matter" {
    make_archive
    run_ok sb cat a.barecat /a.txt ./sub/file sub//dir/file.bin
    output_is $'hello\nbelow sub\nbelow sub/dir'
}

@test "a name that begins with a dash goes behind --" {
    make_archive
    run_ok sb cat a.barecat -- -dash
    output_is dash
}

@test "a missing path is named, the rest is done, exit 1" {
    make_archive
    run_fail 1 sb cat a.barecat a.txt no/such one sub
    output_is $'hello\nx'
    stderr_has "shardbox cat: no/such: no such file in the archive"
    stderr_has "shardbox cat: sub: is a directory"
}

@test "the stored target of a symbolic link is written" {
    make_archive
    run_ok sb cat a.barecat dangling
    output_is nowhere/at/all
}

@test "a name that looks like a pattern is a name" {
    make_archive
    run_ok sb cat a.barecat 'star*[x]?'
    output_is glob
    run_ok sb cat a.barecat '*.txt'
    output_is hello
}

@test "without a PATH every file is written, in the order of the container" {
    make_archive
    sb find -0 --type=f --sort=address a.barecat | sb cat -0 -T - a.barecat >all
    [[ -s all ]] || fail 'nothing'
    sb cat a.barecat | cmp - all
    sb cat --frame=jsonl a.barecat | jq -r .key | sort >named
    sb find --type=f a.barecat | sort | cmp - named
    cat <(sb cat --part=1/2 --frame=u32 a.barecat) <(sb cat --part=2/2 --frame=u32 a.barecat) | wc -c >parts
    sb cat --frame=u32 a.barecat | wc -c | cmp - parts
    run_fail 2 sb cat
}

@test "--frame=tar: members have the modes, owners and times of the files" {
    mkdir d
    printf 'one\n' >d/one
    printf 'two\n' >d/two
    seq 300000 >d/large
    ln -s one d/link
    chmod 640 d/one
    chmod 4755 d/two
    touch -d '2001-02-03 04:05:06.123456789Z' d/one
    touch -d '1969-12-31 23:59:59.5Z' d/large
    tar cf t.tar --format=posix --owner=:70000 --group=:4000000000 -C d one two large
    tar tvf t.tar --numeric-owner --full-time >wanted
    sb convert t.tar a.barecat
    gzip -k t.tar
    for container in a.barecat t.tar t.tar.gz; do
        sb cat --frame=tar $container one two large >out.tar
        tar tvf out.tar --numeric-owner --full-time | cmp - wanted
    done
    sb pack l.barecat -C d link
    sb cat --frame=tar l.barecat link | tar tv | grep '^-rw-r--r--'
}

@test "without a PATH a tar is what tar -xO writes, and a zip what unzip -p does" {
    mkdir -p d/sub
    for i in {1..30}; do echo "file $i" >d/sub/"$i"; done
    ln -s 1 d/sub/link
    tar cf t.tar d
    tar xOf t.tar >theirs
    sb cat t.tar | cmp - theirs
    gzip -k t.tar
    sb cat t.tar.gz | cmp - theirs
    sb cat - <t.tar.gz | cmp - theirs
    cmp <(sb cat --part=1/2 --frame=tar t.tar | tar t | sort) <(sb cat --part=1/2 --frame=tar - <t.tar.gz | tar t | sort)
    rm d/sub/link
    zip -qr z.zip d
    sb cat z.zip | cmp - <(unzip -p z.zip)
    find d | cpio -o --quiet -H newc >c.cpio
    sb cat c.cpio | cmp - <(cpio -i --quiet --to-stdout <c.cpio)
}

@test "of all files, what of a hard link has passed by on a pipe is told" {
    mkdir d
    echo one >d/a
    ln d/a d/b
    tar cf t.tar d/a d/b
    run_ok sb cat t.tar
    output_is $'one\none'
    run_fail 1 sh -c 'gzip <t.tar | "$0" cat -' "$SHARDBOX"
    output_is one
    stderr_is "shardbox cat: d/b: is a hard link to 'd/a', whose bytes have passed by; request that name instead"
}

@test "a list of names may lack its last newline or NUL" {
    make_archive
    printf 'a.txt\none' >names
    run_ok sb cat -T names a.barecat
    output_is $'hello\nx'
    printf 'new\nline\0a.txt' >names
    run_ok sb cat -0 --files-from=names a.barecat
    output_is $'newline\nhello'
}

@test "operands come before the list, and the list may be standard input" {
    make_archive
    run_ok sb cat -T - a.barecat sub/file <<<a.txt
    output_is $'below sub\nhello'
}

@test "an empty list asks for nothing; an empty name is not there" {
    make_archive
    run_ok sb cat -T /dev/null a.barecat
    output_is ""
    run_fail 1 sb cat --batch -T - a.barecat <<<""
    output_is " missing"
}

@test "a list that cannot be read is an error" {
    make_archive
    run_fail 2 sb cat -T no-list a.barecat
    stderr_has no-list
    run_fail 2 sb cat -T . a.barecat
}

@test "a list without an end to its first name is refused, not held in memory" {
    make_archive
    head -c 2000000 /dev/zero >names
    run_fail 2 within 20 "$SHARDBOX" cat -T names a.barecat
    stderr_has "are names ended by newlines?"
}

@test "--batch frames each answer" {
    make_archive
    printf '%s\n' a.txt no/such empty sub /one >names
    run_fail 1 sb cat --batch -T names a.barecat
    output_is $'a.txt 6\nhello\n\nno/such missing\nempty 0\n\nsub missing\n/one 1\nx'
    stderr_has "sub: is a directory"
    stderr_has "2 of the requested names are not a file in the archive"
    stderr_lacks "no/such"
}

@test "--batch -0 ends its lines in NUL" {
    make_archive
    printf 'new\nline\0no\nsuch\0' | sb cat --batch -0 -T - a.barecat >got || [ $? -eq 1 ]
    printf 'new\nline 8\0newline\n\nno\nsuch missing\0' | cmp - got
}

# bats test_tags=threads
@test "answers come while input pauses, with any number of threads" {
    make_archive
    for threads in 1 2 5; do
        coproc CAT { exec "$SHARDBOX" cat --batch -j $threads -T - a.barecat; }
        exec 5<&"${CAT[0]}"
        for name in a.txt one sub/file a.txt; do
            printf '%s\n' $name >&"${CAT[1]}"
            read -r -t 20 asked size <&5
            [ "$asked" = $name ]
            head -c "$size" <&5 | cmp - tree/$name
            IFS= read -r -t 20 empty <&5
            [ -z "$empty" ]
        done
        pid=$CAT_PID
        eval "exec ${CAT[1]}>&-"
        wait "$pid"
    done
}

@test "half a name does not hold back the answers before it" {
    make_archive
    coproc CAT { exec "$SHARDBOX" cat -T - a.barecat; }
    printf 'a.txt\non' >&"${CAT[1]}"
    read -r -t 20 line <&"${CAT[0]}"
    [ "$line" = hello ]
    printf 'e\n' >&"${CAT[1]}"
    read -r -n 1 -t 20 line <&"${CAT[0]}"
    [ "$line" = x ]
    pid=$CAT_PID
    eval "exec ${CAT[1]}>&-"
    wait "$pid"
}

@test "--range writes these bytes only, as far as the file goes" {
    make_archive
    run_ok sb cat --range=1:3 a.barecat a.txt
    output_is ell
    run_ok sb cat --range=4: a.barecat a.txt
    output_is o
    run_ok sb cat --range=:2 a.barecat a.txt numbers
    output_is $'he1'
    run_ok sb cat --range=100:5 a.barecat a.txt
    output_is ""
    sb cat --range=1K:2K a.barecat numbers | cmp - <(tail -c +1025 tree/numbers | head -c 2048)
    run_ok sb cat --batch --range=1:3 a.barecat a.txt one
    output_is $'a.txt 3\nell\none 0'
}

@test "a range that is none is wrong usage" {
    make_archive
    for range in 5 : a:b 1:-1 -1:1 1:2:3; do
        run_fail 2 sb cat --range=$range a.barecat a.txt
        stderr_has "is not OFFSET:LENGTH"
    done
}

@test "a damaged file is named and not written, the others are" {
    make_archive
    damage a.txt
    run_fail 1 sb cat a.barecat one a.txt sub/file
    output_is $'xbelow sub'
    stderr_has "shardbox cat: a.txt: "
    stderr_has CRC32C
    run_fail 1 sb cat --batch a.barecat one a.txt sub/file
    output_is $'one 1\nx\na.txt damaged\nsub/file 10\nbelow sub'
}

# bats test_tags=threads
@test "one damaged file among neighbours that are read at once is left out alone" {
    make_archive
    damage sub.d/file
    sb find -0 --type=f --sort=address a.barecat >names
    for threads in 1 3; do
        sb cat -j $threads -0 -T names a.barecat >got 2>said || [ $? -eq 1 ]
        (cd tree && grep -zvxF sub.d/file ../names | xargs -0 cat --) | cmp - got
        [ "$(wc -l <said)" -eq 1 ]
        grep -q 'sub.d/file: ' said
    done
}

@test "--no-check and --range write damaged bytes without a word" {
    make_archive
    damage a.txt
    run_ok sb cat --no-check a.barecat one a.txt
    output_has ello
    run_ok sb cat --range=1:3 a.barecat a.txt
    output_is ell
}

@test "a row that cannot be used is damage" {
    make_archive
    sql a.barecat "UPDATE files SET size = -5 WHERE path = 'a.txt'"
    run_fail 1 sb cat a.barecat a.txt one
    output_is x
    stderr_has "a.txt: "
}

@test "files of a shard that is missing or too short are named" {
    make_archive
    truncate -s 2 a.barecat-shard-00000
    run_fail 1 sb cat --batch a.barecat numbers empty
    output_is $'numbers damaged\nempty 0'
    rm a.barecat-shard-00000
    run_fail 1 sb cat a.barecat numbers empty
    output_is ""
    stderr_has "numbers: "
    stderr_has shard-00000
}

@test "files that are too large to hold are streamed, and checked on the way" {
    make_large_archive
    sb cat a.barecat a big c | cmp - <(cat large/a large/big large/c)
    { printf 'big %s\n' $((67 << 20)) && cat large/big && echo; } >wanted
    sb cat --batch a.barecat big | cmp - wanted
    flip_byte a.barecat-shard-00000 $((66 << 20))
    run_fail 1 sb cat a.barecat big c
    [[ $output == *after ]]
    stderr_has "big: "
}

@test "damage found within the frame of a large file ends the run there" {
    make_large_archive
    flip_byte a.barecat-shard-00000 $((66 << 20))
    sb cat --batch a.barecat a big c >got 2>said || [ $? -eq 1 ]
    [ "$(tail -c 1 got | od -An -tx1)" = " 00" ]
    [ "$(stat -c %s got)" -eq $((4 + 8 + 13 + (67 << 20))) ]
    grep -q 'the output ends within this file' said
    rm a.barecat-shard-00000
    run_fail 1 sb cat --batch a.barecat big c
    output_is $'big damaged\nc damaged'
}

@test "memory is bounded, however many threads read files of the largest size that is held" {
    release_build
    mkdir large
    for i in {1..6}; do
        truncate -s 60M large/"$i"
    done
    sb pack a.barecat -C large .
    (ulimit -v 300000 && sb cat -j 4 a.barecat {1..6}) | cmp -n $((6 * 60 << 20)) - /dev/zero
}

@test "--order=address answers in the order on disk, missing names first" {
    make_archive
    sb find --type=f --sort=address a.barecat | head -5 >by-address
    [ "$(wc -l <by-address)" -eq 5 ]
    { tac by-address && echo no/such; } >names
    sb cat --batch --order=address -T names a.barecat >got || [ $? -eq 1 ]
    grep -a -E '^[^ ]+ ([0-9]+|missing)$' got | sed 's/ .*//' | cmp - <(echo no/such && cat by-address)
}

# bats test_tags=threads
@test "the output does not depend on the number of threads" {
    mkdir tree
    for i in {1..400}; do
        head -c $((i * 97)) /dev/zero | tr '\0' "${i: -1}" >"tree/$i"
    done
    head -c 3000000 /dev/urandom >tree/5000
    sb pack a.barecat -C tree .
    { seq 400 && echo 5000 && seq 400 -1 1 && echo absent; } >names
    sb cat --batch -j 1 -T names a.barecat >one || [ $? -eq 1 ]
    for threads in 2 3 16; do
        sb cat --batch -j $threads -T names a.barecat >got || [ $? -eq 1 ]
        cmp one got
    done
    seq 400 | shuf -r -n 2500 --random-source=tree/5000 >names
    (cd tree && xargs cat) <names >wanted
    for threads in 1 4; do
        sb cat -j $threads -T names a.barecat | cmp - wanted
    done
}

@test "an archive that is replaced under a running cat gives no wrong bytes" {
    make_archive
    coproc CAT { exec "$SHARDBOX" cat --batch -T - a.barecat 2>said; }
    echo absent >&"${CAT[1]}"
    read -r -t 20 line <&"${CAT[0]}"
    [ "$line" = "absent missing" ]
    mkdir other
    head -c 500000 /dev/urandom >other/numbers
    sb pack --force a.barecat -C other .
    echo numbers >&"${CAT[1]}"
    line=
    read -r -t 20 line <&"${CAT[0]}" || true
    [ -z "$line" ]
    status=0
    wait "$CAT_PID" || status=$?
    [ $status -eq 1 ]
    [ -s said ]
}

@test "a full disk is an error, a reader that has enough is none" {
    make_archive
    run_fail 2 bash -c '"$SHARDBOX" cat a.barecat numbers >/dev/full'
    stderr_has "standard output"
    run_ok bash -c '"$SHARDBOX" cat a.barecat numbers numbers numbers | head -1'
    output_is 1
    stderr_is ""
}

@test "a pattern is every file it matches, as for ls, unless a file has that name" {
    mkdir -p t/cats/dir.json
    for name in a.json b.jpg d.json '*.jpg'; do
        echo "$name" >"t/cats/$name"
    done
    ln -s a.json t/cats/link.json
    sb pack a.barecat -C t .
    for target in a.tar a.zip a.tar.gz; do
        sb convert a.barecat $target
    done
    for container in a.barecat a.tar a.zip a.tar.gz; do
        run_ok sb cat $container 'cats/*.json'
        output_is $'a.json\nd.json'
        run_ok sb cat $container '/cats/?.json' '**/b.*'
        [[ $(sort <<<"$output") == $'a.json\nb.jpg\nd.json' ]]
        run_fail 1 sb cat $container 'cats/*.png' cats/b.jpg
        output_is b.jpg
        stderr_is "shardbox cat: cats/*.png: no such file in the archive; '*' stays within a directory, '**/' means any below"
    done
    for container in a.barecat a.tar a.zip; do
        run_ok sb cat $container 'cats/*.jpg'
        output_is '*.jpg'
        run_ok sb cat --batch $container 'cats/?.json'
        output_has 'cats/d.json 7'
        run_ok sb cat --part=2/2 $container 'cats/*.json'
        output_is d.json
    done
    run_ok bash -c '"$SHARDBOX" cat - "cats/[ab].*" <a.tar'
    [[ $(sort <<<"$output") == $'a.json\nb.jpg' ]]
    echo 'cats/*.json' >names
    run_fail 1 sb cat -T names a.barecat
    stderr_is "shardbox cat: cats/*.json: no such file in the archive; '*' stays within a directory, '**/' means any below"
}

@test "what is not an archive is an error" {
    echo text >file
    run_fail 2 sb cat file a
    run_fail 2 sb cat no-archive a
    stderr_has no-archive
}

@test "many names are looked up on several threads, and answered in their order" {
    mkdir many
    (cd many && seq 4000 | split -l 1 -a 4 - f)
    sb pack many.barecat -C many .
    sqlite3 many.barecat "UPDATE files SET size = 'x' WHERE path = 'faamw'"
    (cd many && ls && ls -r) | sed '100a none\n.' >names
    run_fail 1 sb cat --batch -j1 -T names many.barecat
    one=$output one_says=$stderr
    [[ $(grep -c missing <<<"$one") == 2 && $(grep -c damaged <<<"$one") == 2 ]]
    for threads in 2 8; do
        run_fail 1 sb cat --batch "-j$threads" -T names many.barecat
        [[ $output == "$one" && $stderr == "$one_says" ]]
    done
    need_slow
    for threads in 2 16; do
        run_fail 1 slow_sb cat --batch "-j$threads" -T names many.barecat
        [[ $output == "$one" && $stderr == "$one_says" ]]
    done
}

# bats test_tags=threads
@test "names in pieces: what is there is answered, also while many are looked up ahead" {
    mkdir many
    (cd many && seq 3000 | split -l 1 -a 4 - f)
    sb pack many.barecat -C many .
    (cd many && ls) >names
    (cat names names && sleep 1 && cat names) | sb cat -j 4 -T - many.barecat >got
    { seq 3000 && seq 3000 && seq 3000; } | cmp - got
}
