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
    long=$(printf 'n%.0s' {1..300})
    for name in "''" "'../x'" "'a/../../x'" "'/abs'" "'a//b'" "'./a'" "'a/'" "'.'" "'..'" "'a/.'" \
        "CAST(x'610062' AS TEXT)" "'$long'" "x'646972'"; do
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
