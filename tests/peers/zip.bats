#!/usr/bin/env bats
# Info-ZIP, bsdtar, Python's zipfile and jar read what we write, and we read what they write.

load containers

# Without what their readers of zips change: Info-ZIP needs -^ to keep control characters, and
# libarchive takes a backslash for a '/' and composes accents.
without_bsdtars_changes() {
    cp -a "$1" "$2"
    rm "$2"/back* "$2"/$'u\xcc\x88ber'
}

# What unzip makes of a zip of the tree: it has no times for links.
unzips_to() {
    rm -rf unzip
    run_ok unzip -q^ -d unzip "$2"
    find unzip -type l -exec touch -h -d '2001-02-03 04:05:06Z' {} +
    same_tree "$1" unzip
}

@test "unzip, bsdtar and Python's zipfile read the zip that we write, stored or deflated" {
    make_text_tree tree
    without_bsdtars_changes tree kept
    sb pack a.barecat -C tree .
    for method in store deflate; do
        run_ok sb convert --force --method="$method" a.barecat a.zip
        run_ok unzip -tq a.zip
        run_ok zipinfo a.zip
        run_ok python_peer check-zip a.zip tree
        unzips_to tree a.zip
        rm -rf bsdtar
        mkdir bsdtar
        run_ok bsdtar -xpf a.zip -C bsdtar
        rm -r bsdtar/back* bsdtar/*ber
        same_tree kept bsdtar
    done
}

@test "they read the zip that we write to a pipe" {
    make_text_tree tree
    sb convert --to=zip tree - | cat >a.zip
    unzips_to tree a.zip
    run_ok python_peer check-zip a.zip tree
}

@test "names that are not UTF-8 go through a zip and back" {
    make_ustar_tree tree
    run_ok sb convert tree a.zip
    run_ok unzip -tq a.zip
    unpacks_to tree a.zip
}

@test "we read what Info-ZIP writes: links, stored, deflated, bzip2, streamed" {
    make_text_tree tree
    for option in -0 -6 -9 -Zbzip2 -fz; do
        rm -f a.zip
        (cd tree && zip -qry "$option" ../a.zip .)
        unpacks_to tree a.zip
    done
    # Some releases of zip put no links into a stream.
    find tree -type l -delete
    set_times tree '2001-02-03 04:05:06Z'
    (cd tree && zip -qry - .) | cat >a.zip
    unpacks_to tree a.zip
    rm -rf piped
    run_ok sb unpack -C piped - < <(cat a.zip)
    same_tree tree piped
}

@test "we read every method that Python's zipfile writes" {
    make_text_tree tree
    touch -d '2001-02-03 04:05:06Z' tree/of-no-bytes
    for method in stored deflated bzip2 lzma; do
        TZ=UTC python_peer write-zip "$method" tree a.zip
        unpacks_to tree a.zip
    done
}

@test "we read what bsdtar writes: stored, deflated, zip64" {
    make_text_tree tree
    for options in zip:compression=store zip:compression=deflate zip:zip64; do
        bsdtar -C tree --format=zip --options="$options" -cf a.zip .
        unpacks_to tree a.zip
    done
}

@test "of a member that is named twice the last counts, as it does for Python's zipfile" {
    python_peer twice a.zip
    run_ok sb convert a.zip a.barecat
    run_ok sb cat a.barecat name
    output_is new
    run_ok sb unpack -C out a.zip
    [[ $(<out/name) == new ]]
}

@test "a member of 5 GiB is zip64 for us and for unzip" {
    every_third_day
    mkdir tree
    printf 'head' >tree/big
    truncate -s 5G tree/big
    printf 'tail' >>tree/big
    run_ok sb convert --level=1 tree a.zip
    unzip -p a.zip big | cmp - tree/big
    (cd tree && zip -q -1 ../b.zip big)
    sb cat b.zip big | cmp - tree/big
}

@test "70,000 members are zip64 for us and for Python's zipfile" {
    mkdir tree
    (cd tree && seq 70000 | split -l 1 -a 5 -d)
    run_ok sb convert --method=store tree a.zip
    python3 -c 'import sys, zipfile
assert len(zipfile.ZipFile("a.zip").namelist()) == 70000'
    (cd tree && zip -qr0 ../b.zip .)
    [[ $(sb find --type=f b.zip | wc -l) == 70000 ]]
}

@test "jar reads what we write, and we read what it writes" {
    need jar
    make_text_tree tree
    find tree -type l -delete
    # Its zips say that they are of MS-DOS, where this is a '/'.
    rm tree/back*
    sb convert tree a.zip
    mkdir jar
    (cd jar && jar xf ../a.zip)
    diff -r tree jar
    jar cf a.jar -C tree .
    run_ok sb unpack -C ours a.jar
    rm -r ours/META-INF
    diff -r tree ours
}

@test "a wheel of PyPI, and the jar in it" {
    [[ -e $PEERS/wheel/ready ]] || skip "PyPI is out of reach"
    for file in "$PEERS"/wheel/*.whl; do
        run_ok unzip -q -d theirs "$file"
        run_ok sb unpack -C ours "$file"
        same_tree theirs ours
        run_ok sb verify "$file"
        find theirs -name '*.jar' >jars
        run_ok sb convert "$file" a.barecat
        run_ok sb diff -C theirs a.barecat
    done
    [[ -s jars ]]
    while read -r file; do
        rm -rf theirs.jar ours.jar
        run_ok unzip -q -d theirs.jar "$file"
        run_ok sb unpack -C ours.jar "$file"
        same_tree theirs.jar ours.jar
    done <jars
}
