# --compress and --decompress: single files on their way.

load helper

@test "--compress stores each file compressed, its suffix added" {
    local pair suffix tool
    make_tree tree
    for pair in gz:gzip bz2:bzip2 xz:xz zst:zstd; do
        suffix=${pair%:*} tool=${pair#*:}
        run_ok sb convert --compress="$suffix" tree "$suffix.tar"
        mkdir "$suffix"
        tar xf "$suffix.tar" -C "$suffix"
        [[ -L $suffix/link && ! -e $suffix/numbers ]]
        command -v "$tool" >/dev/null || continue
        "$tool" -dc "$suffix/numbers.$suffix" | cmp - tree/numbers
        "$tool" -dc "$suffix/empty.$suffix" | cmp - tree/empty
    done
}

@test "--decompress takes it off again" {
    local suffix
    make_archive
    for suffix in gz bz2 xz zst; do
        sb convert --compress="$suffix" a.barecat "$suffix.barecat"
        run_ok sb convert --to=dir --decompress "$suffix.barecat" "$suffix"
        same_tree tree "$suffix"
    done
}

@test "the same files give the same bytes, whatever the threads" {
    local suffix
    make_tree tree
    head -c 5000000 /dev/urandom >tree/large
    for suffix in gz bz2 xz zst; do
        sb convert --threads=1 --compress="$suffix" tree "one.$suffix.tar"
        sb convert --threads=4 --compress="$suffix" tree "four.$suffix.tar"
        cmp "one.$suffix.tar" "four.$suffix.tar"
    done
}

@test "stacked suffixes come off; a name that is only a suffix stays" {
    mkdir tree
    echo text | gzip >tree/a.tar.gz
    cat tree/a.tar.gz >tree/.gz
    command -v zstd >/dev/null || skip "no zstd here"
    zstd -q --rm tree/a.tar.gz
    run_ok sb convert --to=dir --decompress tree out
    [[ $(cat out/a.tar) == text ]]
    cmp out/.gz tree/.gz
}

@test "what is not what its name says is named and left out" {
    mkdir tree
    echo plain >tree/plain.gz
    seq 1000 | gzip >tree/whole
    head -c 500 tree/whole >tree/cut.gz
    { cat tree/whole; echo junk; } >tree/junk.gz
    cat tree/whole tree/whole >tree/twice.gz
    run_fail 1 sb convert --decompress tree out.barecat
    stderr_has "plain"
    stderr_has "cut"
    stderr_has "has junk behind"
    [[ $(sb ls out.barecat) == $'twice\nwhole' ]]
    [[ $(sb cat out.barecat twice | wc -l) == 2000 ]]
}
