#!/usr/bin/env bats
# tests/bench/make_archive, which makes the archives that bench-scale measures: what it writes is
# what pack could have written.

load helper

MAKE_ARCHIVE=$(realpath -- "${MAKE_ARCHIVE:-$PROJECT/build/release/tests/bench/make_archive}")

make_archive() {
    "$MAKE_ARCHIVE" "$@" >seconds
}

# Everything of the files but their places: describe ARCHIVE
describe() {
    sql "$1" 'SELECT path, size, crc32c, mode, mtime_ns FROM files ORDER BY path;
        SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM dirs ORDER BY path'
}

@test "a synthetic archive is whole: rows, statistics, and every byte" {
    make_archive --bytes=100-100K --per-directory=50 a.barecat 1000
    run_ok sb verify --strict a.barecat
    output_is ''
    [[ $(sql a.barecat 'SELECT count(*), avg(length(path)) BETWEEN 39 AND 41, min(size) >= 100,
        max(size) <= 102400, count(DISTINCT size) > 500 FROM files') == '1000|1|1|1|1' ]]
    grep -qE '^[0-9]+\.[0-9]{6}$' seconds || fail 'no time'
}

@test "its shards are holes, as many as their limit makes, each full to its last extent" {
    make_archive --bytes=3M --shard-size=10M a.barecat 10
    run_ok sb verify --strict a.barecat
    [[ $(stat -c %s a.barecat-shard-*) == $'9437184\n9437184\n9437184\n3145728' ]] || fail 'sizes'
    [[ $(du -c --block-size=1K a.barecat-shard-* | sed -n '$s/\t.*//p') -lt 100 ]] || fail 'no holes'
}

@test "--list prints the names that an archive of the same options has" {
    make_archive --depth=5 --per-directory=3 --fanout=2 --length=90 --seed=7 a.barecat 100
    run_ok "$MAKE_ARCHIVE" --depth=5 --per-directory=3 --fanout=2 --length=90 --seed=7 \
        --list $(seq 0 99)
    output_is "$(sql a.barecat 'SELECT path FROM files ORDER BY path')"
    [[ $(sql a.barecat 'SELECT max(num_subdirs) FROM dirs WHERE path != ""') == 2 ]]
    run_ok "$MAKE_ARCHIVE" --depth=0 --length=12 --list 5
    [[ $output == 0005_*.* ]]
}

@test "a file is decided by its number and the seed: in any order, and in parts" {
    local -a tree=(--bytes=1-100 --depth=4 --fanout=3 --per-directory=3)
    make_archive "${tree[@]}" a.barecat 300
    make_archive "${tree[@]}" --shuffle b.barecat 300
    make_archive "${tree[@]}" c.barecat 100
    make_archive "${tree[@]}" --first=100 --append c.barecat 200
    describe a.barecat >expected
    describe b.barecat | diff expected -
    describe c.barecat | diff expected -
    run_ok sb verify --strict b.barecat
    run_ok sb verify --strict c.barecat
    make_archive "${tree[@]}" --seed=1 d.barecat 300
    ! describe d.barecat | cmp -s expected - || fail 'the seed counts for nothing'
}

@test "what it does not understand is refused" {
    for options in '' 'a.barecat' 'a.barecat 0' '--depth=101 a.barecat 1' '--bytes=0-5 a.barecat 1' \
        '--bytes=9-5 a.barecat 1' '--bytes=4G a.barecat 1' '--list' '--list x'; do
        # shellcheck disable=SC2086 # several words
        run_fail 2 "$MAKE_ARCHIVE" $options
        stderr_has 'usage: make_archive'
    done
    [[ ! -e a.barecat ]]
}

# Lines as tests/bench/scale prints them: `find` is linear, `append` the same for all sizes.
make_results() {
    local size
    echo '# 2026-01-01, a machine.' >results
    for size in 10000 1000000 21000000; do
        echo "bytes $size $((size * 187)) 0"
        echo "find $size $((size / 10000)).0 46875"
        printf "append $size %s 5000\n" 0.050 0.010 0.011
    done >>results
}

@test "scale-report makes tables of medians, goals and what a billion files would take" {
    make_results
    run_ok "$PROJECT/tests/bench/scale-report" tables results
    [[ ${lines[0]} == '2026-01-01, a machine.' ]]
    output_has '| at 21 million files | goal | measured | met |'
    output_has '| most memory of any command | ≤ 256 MB | 48 MB | yes |'
    output_has '| index, for each file | ≤ 190 bytes | 187 bytes | yes |'
    output_has '| time | 10 thousand | 1 million | 21 million | a billion, worked out |'
    output_has '| `find --name` over everything | 1 s | 100 s | 35 min | 27.8 h |'
    output_has '| 1,000 files added | 11.0 ms | 11.0 ms | 11.0 ms | 11.0 ms |'
    run_ok "$PROJECT/tests/bench/scale-report" short results
    output_has '| files | 1 million | 21 million |'
}

@test "scale-report draws curves" {
    make_results
    run_ok "$PROJECT/tests/bench/scale-report" time results
    [[ ${lines[0]} == '<svg xmlns='* && ${lines[-1]} == '</svg>' ]]
    [[ $(grep -c '<polyline' <<<"$output") == 2 ]]
    output_has '>1,000 files added</text>'
    run_fail 2 "$PROJECT/tests/bench/scale-report" pictures results
    echo '# 2026-01-01, a machine.' >empty
    run_fail 1 "$PROJECT/tests/bench/scale-report" time empty
    stderr_is 'scale-report: no figures'
}
