#!/usr/bin/env bats
# GNU tar, bsdtar, cpio and Python's tarfile read what we write, and we read what they write.

load containers

@test "GNU tar, bsdtar and Python's tarfile read the tar that we write of an archive" {
    make_odd_tree tree
    sb pack a.barecat -C tree .
    run_ok sb convert a.barecat a.tar
    run_ok python_peer check-tar a.tar tree
    for program in tar bsdtar; do
        mkdir "out.$program"
        run_ok "$program" -xpf a.tar -C "out.$program"
        same_tree tree "out.$program"
    done
}

@test "they read the tar that we write of a directory, on a pipe" {
    make_odd_tree tree
    for program in tar bsdtar; do
        mkdir "out.$program"
        sb convert --to=tar tree - | "$program" -xpf - -C "out.$program"
        same_tree tree "out.$program"
    done
}

@test "every compression that we write passes the test of its own program, and GNU tar reads it" {
    make_odd_tree tree
    sb pack a.barecat -C tree .
    while read -r suffix program; do
        run_ok sb convert a.barecat "a.tar.$suffix"
        run_ok "$program" -t "a.tar.$suffix"
        rm -rf out
        mkdir out
        "$program" -dc "a.tar.$suffix" | tar -xpf - -C out
        same_tree tree out
    done <<<'gz gzip
bz2 bzip2
xz xz
zst zstd
lz4 lz4'
}

@test "we read every format that GNU tar writes" {
    make_ustar_tree tree
    for format in v7 oldgnu gnu ustar posix; do
        (cd tree && tar --format="$format" -cf ../a.tar -- *  .hidden)
        unpacks_to tree a.tar
        same_file straight/a.txt straight/sub/hard
    done
}

@test "we read long names and nanoseconds of GNU tar" {
    make_odd_tree tree
    tar --format=posix -C tree -cf a.tar .
    unpacks_to tree a.tar
    same_file straight/numbers straight/zz-hard
    set_times tree '2001-02-03 04:05:06Z'
    tar --format=gnu -C tree -cf a.tar .
    unpacks_to tree a.tar
}

@test "fractions of a second before 1970, with GNU tar and Python (bsdtar 3.6 takes -1.75 for -0.25)" {
    mkdir tree theirs
    : >tree/file
    touch -d '1969-12-31 23:59:58.25Z' tree/file
    run_ok sb convert tree a.tar
    run_ok python_peer check-tar a.tar tree
    run_ok tar -xf a.tar -C theirs
    same_tree tree theirs
    tar --format=posix -C tree -cf b.tar file
    unpacks_to tree b.tar
}

@test "we read every format that bsdtar writes" {
    make_ustar_tree tree
    for format in ustar pax gnutar v7tar odc newc bin; do
        bsdtar -C tree --format="$format" -cf a.tar . 2>bsdtar.log || fail "$(cat bsdtar.log)"
        unpacks_to tree a.tar
    done
}

@test "we read every compression that bsdtar writes" {
    make_ustar_tree tree
    for filter in gzip bzip2 xz lzma zstd lz4 compress; do
        bsdtar -C tree "--$filter" -cf a.tar .
        unpacks_to tree a.tar
        rm -rf piped
        run_ok sb unpack -C piped - <a.tar
        same_tree tree piped
    done
}

@test "we read every format that Python's tarfile writes" {
    make_odd_tree tree
    python_peer write-tar pax tree a.tar
    # Its pax header holds a float, which has no room for all nanoseconds.
    set_times tree '2001-02-03 04:05:06Z'
    python_peer write-tar pax tree a.tar
    unpacks_to tree a.tar
    python_peer write-tar gnu tree a.tar
    unpacks_to tree a.tar
    rm -r tree
    make_ustar_tree tree
    python_peer write-tar ustar tree a.tar
    unpacks_to tree a.tar
}

@test "we read every format that GNU cpio writes" {
    make_ustar_tree tree
    for format in newc crc odc bin hpbin ustar tar; do
        (cd tree && find . -print0 | LC_ALL=C sort -z | cpio -0 --quiet -o -H "$format") >a.cpio 2>/dev/null
        case $format in
        hpbin) run_ok sb unpack -C hpbin a.cpio ;;
        *) unpacks_to tree a.cpio ;;
        esac
    done
}

@test "tars of each other's making are the same to GNU tar, by way of an archive" {
    make_odd_tree tree
    rm tree/sub/hard tree/zz-hard
    tar --format=posix --sort=name --numeric-owner -C tree -cf a.tar .
    sb convert a.tar a.barecat
    sb convert a.barecat b.tar
    # A list pads its times to the longest so far: the root's may end in a zero that is not printed.
    diff <(tar --numeric-owner --full-time -tvf a.tar | sed 's,  *, ,g; s, \./, ,; s,/$,,' | sort) \
        <(tar --numeric-owner --full-time -tvf b.tar | sed 's,  *, ,g; s, \./, ,; s,/$,,' | sort)
}

@test "hard links stay links from tar to tar, and are files of their own in an archive" {
    make_odd_tree tree
    tar --format=posix -C tree -cf a.tar .
    run_ok sb convert a.tar b.tar
    mkdir out
    tar -xpf b.tar -C out
    same_tree tree out
    same_file out/a.txt out/sub/hard
    run_ok sb convert a.tar a.barecat
    run_ok sb unpack -C files a.barecat
    same_tree tree files
    [[ ! files/a.txt -ef files/sub/hard ]]
}

@test "of a member that is named twice the last counts, as it does for GNU tar" {
    python_peer twice a.tar
    run_ok sb convert a.tar a.barecat
    run_ok sb cat a.barecat name
    output_is new
    run_ok sb unpack -C out a.tar
    [[ $(<out/name) == new ]]
    run_ok sb convert a.tar b.tar
    mkdir theirs
    run_ok tar -xf b.tar -C theirs
    [[ $(<theirs/name) == new ]]
}

@test "sparse members of 9 GiB, in every way that GNU tar and bsdtar write them" {
    every_third_day
    mkdir tree
    printf 'head' >tree/big
    truncate -s 9G tree/big
    printf 'tail' >>tree/big
    set_times tree '2001-02-03 04:05:06Z'
    tar --format=gnu -C tree -cSf gnu.tar big
    for version in 0.0 0.1 1.0; do
        tar --format=posix --sparse-version="$version" -C tree -cSf "$version.tar" big
    done
    bsdtar --format=pax -C tree -cf bsd.tar big
    for file in *.tar; do
        run_ok sb find --type=f --json "$file"
        output_has "\"size\":$((9 << 30 | 4))"
    done
    for file in gnu.tar 1.0.tar; do
        sb convert --to=tar "$file" - | tar -xOf - big | cmp - tree/big
    done
}

@test "a source tarball of Debian" {
    [[ -e $PEERS/source/ready ]] || skip "Debian's mirror is out of reach"
    for file in "$PEERS"/source/*.tar.[gx]z; do
        rm -rf theirs ours
        mkdir theirs
        tar -xpf "$file" -C theirs
        run_ok sb unpack -p -C ours "$file"
        same_tree theirs ours
        run_ok sb convert --force "$file" a.barecat
        run_ok sb diff -C theirs a.barecat
        run_ok sb convert --force a.barecat b.tar.zst
        rm -rf back
        mkdir back
        run_ok tar -xpf b.tar.zst -C back
        same_tree theirs back
    done
}
