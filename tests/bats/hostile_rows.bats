#!/usr/bin/env bats
# Rows of the wrong type and range. verify names each; the other commands name the rows they meet
# and go on with the rest.

load helper
load hostile

# bad_file SET-CLAUSE: the row of dir/file cannot be used; the others can.
bad_file() {
    rm -rf ./*
    make_good
    alter "UPDATE files SET $1 WHERE path = 'dir/file'"
    run_fail 1 on verify a.barecat
    [[ $output$stderr == *dir/file* ]] || fail "verify does not name the file: $1"
    run_fail 1 sb find --json a.barecat
    stderr_has dir/file
    output_has '"path":"top"'
    run_fail 1 on ls a.barecat
    output_has top
    run_fail 1 on cat a.barecat
    stderr_has dir/file
    output_is ''
    run_fail 1 on diff a.barecat
    run_fail 1 on unpack a.barecat
    stderr_has dir/file
    [[ ! -e out/dir/file ]] || fail "unpacked: $1"
    cmp out/dir/other tree/dir/other
    cmp out/top tree/top
    run_ok sb cat a.barecat top
    output_is third
}

@test "a shard that is no number, negative, or no five digits" {
    bad_file "shard = 'abc'"
    bad_file "shard = x'00ff'"
    bad_file "shard = 0.5"
    bad_file "shard = -1"
    bad_file "shard = 1000000000"
    bad_file "shard = 9223372036854775807"
}

@test "an offset that is no number, or negative" {
    bad_file "offset = 'abc'"
    bad_file "offset = -5"
    bad_file "offset = 1.5"
    bad_file "offset = -9223372036854775808"
}

@test "a size that is no number, absent, or negative" {
    bad_file "size = 'abc'"
    bad_file "size = NULL"
    bad_file "size = -1"
    bad_file "size = 1e300"
}

@test "offset and size past 2^63 together" {
    bad_file "offset = 9223372036854775807"
    bad_file "offset = 9223372036854775000, size = 9223372036854775000"
}

@test "sizes whose sum no number holds, with and without shards so large" {
    local large=9223372036854775807 shards command
    for shards in short large; do
        rm -rf ./*
        make_good
        sb pack b.barecat -C more .
        alter "UPDATE files SET offset = 0, size = iif(path = 'top', 0, $large), shard = rowid - 1;
            UPDATE dirs SET size_tree = $large"
        for shard in 00000 00001 00002; do
            [[ $shards == short ]] || truncate -s $large a.barecat-shard-$shard || continue 2
        done
        for command in 'ls -lR a.barecat' 'ls --json -R a.barecat' 'find a.barecat' \
            'du -a a.barecat' 'du --gaps a.barecat' 'verify -q --quick a.barecat' \
            'verify -q --quick --strict a.barecat' 'diff --quick -C tree a.barecat' \
            'unpack -n -C out a.barecat' 'convert -n a.barecat c.barecat' \
            'convert -n a.barecat c.tar' 'merge -n -o c.barecat a.barecat' \
            'merge-symlink -fv -o c.barecat a.barecat' 'rm -rnv a.barecat dir top' \
            'split -n --by-dir -o s a.barecat' 'split --symlink --parts=2 -o l a.barecat' \
            'split -n --shard-size=1G a.barecat' \
            'defrag -nv a.barecat' 'defrag -n --json --quick a.barecat' 'mv a.barecat top other' \
            'upgrade a.barecat' 'pack --append a.barecat -C more .' 'verify -q -n --quick --repair-from=tree a.barecat'; do
            # shellcheck disable=SC2086 # words
            run --separate-stderr within 10 "$SHARDBOX" $command
            refuse_crash "$command, $shards shards"
            stderr_lacks "try 'shardbox"
            [[ $output$stderr != *[\ :\(]-[1-9]* ]] || fail "a negative sum: $command"
        done
        [[ $shards == short ]] || continue
        for command in 'verify -q a.barecat' 'diff -C tree a.barecat' 'unpack -C out a.barecat' \
            'cat a.barecat dir/file dir/other' 'convert a.barecat d.barecat' 'convert a.barecat d.tar' \
            'convert a.barecat d.zip' 'merge -f -o c.barecat a.barecat' 'split --parts=2 -o p a.barecat' \
            'defrag a.barecat'; do
            # shellcheck disable=SC2086 # words
            run --separate-stderr within 10 "$SHARDBOX" $command
            refuse_crash "$command"
            ((status == 1 || status == 2)) || fail "passed: $command"
        done
    done
}

@test "a checksum that is none" {
    bad_file "crc32c = 'abc'"
    bad_file "crc32c = -1"
    bad_file "crc32c = 4294967296"
}

@test "a mode, owner or time that is none" {
    bad_file "mode = 'abc'"
    bad_file "mode = -1"
    bad_file "mode = 1 << 40"
    bad_file "uid = 'abc'"
    bad_file "gid = x'00'"
    bad_file "mtime_ns = 'abc'"
}

@test "a mode that says device, FIFO or directory in the table of files" {
    bad_file "mode = 8576"
    bad_file "mode = 4516"
    bad_file "mode = 16877"
}

@test "statistics of directories that are no numbers, or wrong" {
    for change in "num_files = 'abc'" "num_subdirs = -1" "size_tree = 1e30" "num_files_tree = x'01'" \
        "size_tree = size_tree + 1" "num_files = NULL"; do
        rm -rf ./*
        make_good
        alter "UPDATE dirs SET $change WHERE path = 'dir'"
        run_fail 1 on verify a.barecat
        [[ $output$stderr == *dir* ]] || fail "verify does not name the directory: $change"
        run --separate-stderr on du a.barecat
        refuse_crash du
        run_ok on cat a.barecat
        run_ok sb upgrade a.barecat
        run_ok on verify a.barecat
    done
}

# Names that must never be made; each is stored in place of dir/file.
@test "names that no file may have" {
    for name in "''" "'../x'" "'a/../../x'" "'/abs'" "'a//b'" "'./a'" "'a/'" "'.'" "'..'" "'a/.'" \
        "CAST(x'610062' AS TEXT)" "printf('%065537d', 1)" "x'646972'"; do
        rm -rf ./*
        make_good
        alter "UPDATE files SET path = $name WHERE path = 'dir/file'"
        run_fail 1 on verify a.barecat
        run_fail 1 on unpack a.barecat
        cmp out/top tree/top
        [[ $(find out | wc -l) == 4 ]] || fail "more was unpacked: $(find out)"
        [[ ! -e x && ! -e ../x && ! -e /abs ]]
        run --separate-stderr on find a.barecat
        refuse_crash find
        run --separate-stderr on ls a.barecat
        refuse_crash ls
    done
}

@test "a name deeper than anything can hold: named, and the rest is done" {
    make_good
    deep=$(printf 'd/%.0s' {1..3000})
    alter "UPDATE files SET path = '${deep}x' WHERE path = 'dir/file'"
    run_fail 1 timeout -s KILL 20 "$SHARDBOX" verify --quick -q a.barecat
    run --separate-stderr on unpack a.barecat
    refuse_crash unpack
    cmp out/top tree/top
    for command in ls find du diff; do
        command_line "$command" a.barecat
        run --separate-stderr timeout -s KILL 20 "${command_line[@]}"
        refuse_crash "$command"
    done
}

@test "a path that is a file and a directory" {
    make_good
    alter "INSERT INTO files (path, shard, offset, size, mode) VALUES ('dir', 0, 0, 3, 33188)"
    run_fail 1 on verify a.barecat
    run_fail 1 on unpack a.barecat
    cmp out/top tree/top
    for command in ls find du; do
        run --separate-stderr on "$command" a.barecat
        refuse_crash "$command"
        ((status < 2))
    done
}

@test "a file below a file" {
    make_good
    alter "INSERT INTO files (path, shard, offset, size, mode) VALUES ('top/below', 0, 0, 3, 33188)"
    run_fail 1 on verify a.barecat
    run_fail 1 on unpack a.barecat
    cmp out/dir/file tree/dir/file
}

@test "a file whose directories have no rows is found and unpacked, and verify says so" {
    make_good
    alter "DELETE FROM dirs WHERE path = 'dir'"
    run_fail 1 on verify a.barecat
    run_ok on cat a.barecat
    run_ok on find a.barecat
    output_has dir/file
    run_ok on unpack a.barecat
    cmp out/dir/file tree/dir/file
    run_ok sb upgrade a.barecat
    run_ok on verify a.barecat
}

@test "no root directory, no configuration" {
    make_good
    alter "DELETE FROM dirs WHERE path = ''"
    run_fail 1 on verify a.barecat
    run_ok on find a.barecat
    output_has dir/file
}

@test "no checksum: counted as unchecked, and a defect under --strict" {
    make_good
    alter "UPDATE files SET crc32c = NULL WHERE path = 'top'"
    run_ok on verify a.barecat
    run_fail 1 sb verify --strict a.barecat
    [[ $output$stderr == *top* ]]
}

@test "extents that overlap: both are named" {
    make_good
    alter "UPDATE files SET offset = offset + 1 WHERE path = 'dir/file'"
    run_fail 1 on verify a.barecat
    [[ $output$stderr == *dir/file* && $output$stderr == *dir/other* ]]
}
